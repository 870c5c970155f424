"""Creation of the graph of a training step.

Communications and their order follow Megatron-LM or, with ``zero: 3``, FSDP. Their sizes are computed as in
docs/predict.md#training-steps. Communication inside a server counts as part of the computation that waits for it.
Communication between servers is a separate operation, on the stream for its kind of communication.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.prediction.collectives.channels import Collective
    from railweave.prediction.jobs.plan import JobPlan


WIDTH = 2
"""The size in bytes of an activation or a parameter that is sent (as bf16)."""


@dataclass(frozen=True, slots=True)
class LayerCommunication:
    """A communication of a layer.

    ``kind`` is the parallelism that needs it, such as ``TP``. ``size_bytes`` is the size as nccl-tests counts it.
    """

    kind: str
    collective: Collective
    size_bytes: int


Piece = float | LayerCommunication
"""A piece of a layer's work: either a computation, given as its time in ps, or a communication."""


class Layers:
    """The computations and communications of a job's layers, and the sizes of their parameters."""

    def __init__(self, plan: JobPlan) -> None:
        self._plan = plan
        self._known: dict[tuple[int, bool], list[Piece]] = {}

    def pieces(self, layer: int, *, forward: bool) -> list[Piece]:
        """Return the computations and communications of a layer in one direction, in order.

        ``forward`` is True for the forward pass, and False for the backward pass. The result is cached: for each layer if the model has
        experts, otherwise once for all layers.
        """
        key = layer if self._plan.model.experts else -1, forward
        if key not in self._known:
            self._known[key] = self._forward(layer) if forward else self._backward(layer)
        return self._known[key]

    def parameters(self, layer: int) -> tuple[int, int]:
        """Return the numbers of parameters of a layer on one rank: (parameters outside the layer's experts, parameters of its experts).

        All data replicas have the parameters outside the experts.
        """
        model, layout = self._plan.model, self._plan.layout
        experts = model.experts // layout.expert * model.of_expert // layout.tensor if model.sparse(layer) else 0
        return model.shared_parameters(layer) // layout.tensor, experts

    def embedding(self, stage: int) -> int:
        """Return the number of embedding parameters on a rank of a stage."""
        model, layout = self._plan.model, self._plan.layout
        last = stage == layout.pipeline - 1 and (layout.pipeline > 1 or not model.tied)
        return ((stage == 0) + last) * model.embedding // layout.tensor

    def boundary_bytes(self) -> int:
        """Return the bytes that a rank sends to the next stage.

        Each rank of a tensor group sends a part. The receiving ranks gather the parts inside their server (SC21, section 4.1).
        """
        return self._activations() // self._plan.layout.tensor

    def _activations(self) -> int:
        return int(self._plan.kernels.tokens * self._plan.model.hidden * WIDTH)

    def _forward(self, layer: int) -> list[Piece]:
        attention, block, experts = self._measured(0) or self._plan.kernels.forward(layer)
        context = self._context("all-gather")
        return [*context, *self._tensor(attention), *self._tensor(block), *self._experts(layer, experts)]

    def _backward(self, layer: int) -> list[Piece]:
        times = self._measured(1) or self._plan.kernels.backward(layer, self._plan.job.recompute)
        attention, block, experts = times
        pieces = [*self._experts(layer, experts), *self._tensor(block), *self._tensor(attention)]
        return pieces + self._context("reduce-scatter")

    def _measured(self, place: int) -> tuple[float, float, float] | None:
        given = self._plan.job.layer
        return None if given is None else (given[place] / 2, given[place] / 2, 0.0)

    def _tensor(self, compute: float) -> list[Piece]:
        """Return the pieces of work of a block whose matrices are split over a tensor group. ``compute`` is the computing time in ps.

        If the group also splits the sequence, data is gathered before the computation and scattered after it. Otherwise, an all-reduce
        follows the computation.
        """
        if self._plan.layout.tensor == 1:
            return [compute]
        size = self._activations()
        if not self._plan.job.parallel.sequence:
            return [compute, LayerCommunication("TP", "all-reduce", size)]
        return [LayerCommunication("TP", "all-gather", size), compute, LayerCommunication("TP", "reduce-scatter", size)]

    def _context(self, collective: Collective) -> list[Piece]:
        """Return the exchange of keys and values, or of their gradients, in a context group.

        ``collective`` is the operation that exchanges them: all-gather or reduce-scatter. The list is empty without context parallelism.
        Source: The Llama 3 Herd of Models, section 3.3.2.
        """
        model, layout = self._plan.model, self._plan.layout
        if layout.context == 1:
            return []
        values = 2 * self._plan.kernels.tokens * layout.context * model.kv_heads * model.head_dim
        return [LayerCommunication("CP", collective, int(values * WIDTH / layout.tensor))]

    def _experts(self, layer: int, compute: float) -> list[Piece]:
        """Return the pieces of work that send tokens to their experts, compute, and send the results back.

        ``compute`` is the computing time in ps. The list is empty if the layer has no experts. If the ranks of a tensor group share the
        sequence, each rank sends only its part of the tokens.
        """
        model, layout = self._plan.model, self._plan.layout
        if not model.sparse(layer):
            return []
        if layout.expert == 1:
            return [compute]
        share = layout.tensor if self._plan.job.parallel.sequence else 1
        sent = LayerCommunication("EP", "all-to-all", self._activations() * model.top_k // share)
        return [sent, compute, sent]


class Stage:
    """A pipeline stage, which adds its operations to the graph of a step.

    ``inside_ps`` is a function that takes a communication and returns its time in ps, or None if a group of the communication spans
    several servers.
    """

    def __init__(
        self, plan: JobPlan, layers: Layers, graph: Graph, number: int, inside_ps: Callable[[Communication], int | None]
    ) -> None:
        self.plan, self.layers, self.number = plan, layers, number
        self._graph, self._inside_ps = graph, inside_ps
        self._groups: dict[str, tuple[tuple[int, ...], ...]] = {}
        self._timed: dict[LayerCommunication, tuple[Communication, int | None]] = {}
        self._to: dict[int, Communication] = {}
        self._bytes: dict[Communication, int] = {}

    @property
    def all_layers(self) -> list[int]:
        """The numbers of the stage's layers, one model part after another."""
        return [layer for part in self.plan.layers[self.number] for layer in part]

    def compute(
        self,
        label: str,
        time_ps: float,
        after: Sequence[int],
        inside: Sequence[tuple[str, int]] = (),
        inside_bytes: int = 0,
    ) -> int:
        """Add a computation to the graph and return the number of its operation.

        - ``label``: a description for people. ``time_ps``: its time.
        - ``after``: the operations that the computation waits for.
        - ``inside``: (kind, time in ps) of communication inside servers that ``time_ps`` includes.
        - ``inside_bytes``: the bytes of this communication.
        """
        op = Op(self.number, COMPUTE, label, round(time_ps), tuple(after), None, tuple(inside), inside_bytes)
        return self._graph.add(op)

    def communication(self, kind: str, collective: Collective, size_bytes: int) -> Communication:
        """Return a communication of ``size_bytes`` that runs in all groups of ``kind`` (such as ``TP`` for tensor parallelism) of the stage."""
        if kind not in self._groups:
            self._groups[kind] = tuple(tuple(group) for group in self.plan.layout.groups(kind, self.number))
        return Communication(kind, self.number, collective, max(size_bytes, 1), self._groups[kind])

    def in_layer(self, sent: LayerCommunication) -> tuple[Communication, int | None]:
        """Return (the communication ``sent`` of a layer, as a communication of this stage; its time in ps).

        The time is None if the communication leaves a server.
        """
        if sent not in self._timed:
            communication = self.communication(sent.kind, sent.collective, sent.size_bytes)
            self._timed[sent] = communication, self._inside_ps(communication)
        return self._timed[sent]

    def send(self, communication: Communication, label: str, after: Sequence[int], stream: str) -> int:
        """Add a communication to a stream of the graph and return the number of its operation. ``after`` are the operations that it waits for.

        ``label`` is a description for people. If the communication stays inside servers, the operation has a fixed time.
        """
        time = self._inside_ps(communication)
        number = self._graph.communication(communication) if time is None else None
        sent = communication.sent_bytes if number is None else 0
        return self._graph.add(Op(self.number, stream, label, time or 0, tuple(after), number, inside_bytes=sent))

    def send_to(self, stage: int, label: str, after: int) -> int:
        """Add a transfer to the pipeline stage ``stage`` after operation ``after``, and return the number of the transfer's operation.

        Each rank sends to the rank at the same position in the other stage. ``label`` is a description for people.
        """
        if stage not in self._to:
            here, there = (self.plan.layout.groups("TP", stage_number) for stage_number in (self.number, stage))
            pairs = [tuple(zip(a, b, strict=True)) for a, b in zip(here, there, strict=True)]
            joined = tuple(pair for some in pairs for pair in some)
            size = max(self.layers.boundary_bytes(), 1)
            self._to[stage] = Communication("PP", self.number, "send-recv", size, joined, place=stage)
        return self.send(self._to[stage], label, (after,), f"PP to {stage}")

    def bytes_of(self, communication: Communication) -> int:
        """Return the total bytes that a communication sends, over all groups of the stage."""
        if communication not in self._bytes:
            self._bytes[communication] = communication.sent_bytes
        return self._bytes[communication]

    def hides(self, kind: str) -> bool:
        """Return True if a GPU continues computing while a layer's communication of ``kind`` is sent."""
        return {"TP": self.plan.job.overlap.tensor, "EP": self.plan.job.overlap.expert}.get(kind, False)


@dataclass
class Chunk:
    """A turn (the pass of one micro-batch through one model part) that is being added to the graph.

    Computations are merged into one operation until a message leaves the server.

    - ``first``: the operations that the turn waits for.
    - ``waits``: the operations that the next computation waits for.
    - ``ended``: the operations of the computations so far.
    """

    stage: Stage
    name: str
    first: tuple[int, ...]
    waits: list[int] = field(init=False)
    ended: list[int] = field(default_factory=list[int])
    _time: float = 0.0
    _inside: dict[str, int] = field(default_factory=dict[str, int])
    _bytes: int = 0
    _hidden: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.waits = list(self.first)

    def add(self, pieces: Sequence[Piece]) -> None:
        """Add computations and communications to the turn."""
        for piece in pieces:
            if not isinstance(piece, LayerCommunication):
                self._time += piece
                continue
            communication, time = self.stage.in_layer(piece)
            hides = self.stage.hides(piece.kind)
            if time is None:
                self.cut()
                sent = self.stage.send(communication, self.name, [*self.ended[-1:], *self.waits], piece.kind)
                (self._hidden if hides else self.waits).append(sent)
                continue
            self._bytes += self.stage.bytes_of(communication)
            if not hides:
                self._time += time
                self._inside[piece.kind] = self._inside.get(piece.kind, 0) + time

    def cut(self) -> None:
        """Close the current computation and add it to the graph as an operation."""
        if round(self._time):
            inside = list(self._inside.items())
            self.ended.append(self.stage.compute(self.name, self._time, self.waits, inside, self._bytes))
            self.waits, self._time, self._inside, self._bytes = [], 0.0, {}, 0

    def end(self) -> int:
        """End the turn and return its last operation."""
        self.cut()
        if not self.ended or self.waits or self._hidden:
            self.ended.append(self.stage.compute(self.name, 0, list(dict.fromkeys([*self.waits, *self._hidden]))))
        return self.ended[-1]


@dataclass(frozen=True, slots=True)
class Turn:
    """The forward or backward pass of one micro-batch through ``part``, one of the model parts of a stage."""

    forward: bool
    microbatch: int
    part: int


def turns(stage: int, stages: int, microbatches: int, parts: int) -> list[Turn]:
    """Return the turns of a stage, in order. A turn is the pass of one micro-batch, forward or backward, through one model part of the stage.

    ``stages`` is the number of stages, and ``parts`` the number of model parts of each. With several parts, the number of micro-batches
    must be a multiple of the stages (Megatron-LM).
    """
    total = microbatches * parts
    if parts == 1:
        ahead = min(stages - stage - 1, total)
    else:
        ahead = min((stages - stage - 1) * 2 + (parts - 1) * stages, total)
        ahead = total if microbatches == stages else ahead
    forward = [Turn(True, *_place(number, stages, parts, forward=True)) for number in range(total)]
    backward = [Turn(False, *_place(number, stages, parts, forward=False)) for number in range(total)]
    order = forward[:ahead]
    for forward_turn, back in zip(forward[ahead:], backward, strict=False):
        order += [forward_turn, back]
    return order + backward[total - ahead :]


def _place(number: int, stages: int, parts: int, *, forward: bool) -> tuple[int, int]:
    """Return (the index of the micro-batch, the index of the model part) of pass ``number`` of a pipeline stage.

    Passes are counted from 0, separately for the forward and the backward passes. A group of as many micro-batches as there are stages
    passes through one part, then the same group passes through the next part (Megatron-LM, `schedules.py`). For example, with 4 stages and
    2 parts, micro-batches 0 to 3 pass through part 0 in forward passes 0 to 3, and through part 1 in forward passes 4 to 7. Backward passes
    go through the last part first.
    """
    if parts == 1:
        return number, 0
    round_, place = divmod(number, stages * parts)
    part, microbatch = divmod(place, stages)
    return round_ * stages + microbatch, part if forward else parts - 1 - part


LEAST_BUCKET, EACH_REPLICA = 40_000_000, 1_000_000
"""Two numbers that give the size of a gradient bucket in parameters: max(``LEAST_BUCKET``, ``EACH_REPLICA`` x number of replicas).

The layers of a bucket send their gradients together. Source: Megatron-LM, `distributed_data_parallel_config.py`.
"""


class Replicas:
    """The exchange of a stage's parameters and gradients among its data-parallel replicas."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        plan = stage.plan
        self._zero, self._overlap = plan.job.parallel.zero, plan.job.overlap
        self._count = plan.layout.data * plan.layout.context
        self._bucket = self._overlap.bucket or max(LEAST_BUCKET, EACH_REPLICA * self._count)
        self._gathered: dict[int, int] = {}
        self._pending: list[int] = []
        self._reduced: list[int] = []

    def begin(self) -> None:
        """Gather parameters at the start of a step, during the forward pass of the first micro-batch.

        This happens only with ``zero`` 1 or 2, if the job file lets communication of parameters overlap with computation.
        """
        if self._zero in {1, 2} and self._overlap.parameters:
            for bucket in self._buckets(self._stage.all_layers):
                gathered = self._send("all-gather", bucket, WIDTH, (), "parameters")
                self._gathered |= dict.fromkeys(bucket, gathered) if gathered is not None else {}

    def gather(self, chunk: Chunk, layer: int, *, again: bool) -> None:
        """Make the next pieces of work of ``chunk`` wait until a layer's parameters are gathered.

        With ``zero: 3``, the parameters are gathered for every use, while the previous layer is computed. ``again`` is
        True if the parameters were already used in this step.
        """
        if self._zero == 3:
            chunk.cut()
            gathered = self._send(
                "all-gather", [layer], WIDTH, chunk.ended[-2:-1] or chunk.first, "again" if again else "parameters"
            )
            chunk.waits += [] if gathered is None else [gathered]
        elif not again and layer in self._gathered:
            chunk.cut()
            chunk.waits.append(self._gathered.pop(layer))

    def ready(self, chunk: Chunk, layer: int) -> None:
        """Record that the backward computation of a layer is done, in the turn ``chunk`` (the pass of a micro-batch).

        Send the pending gradients if they fill a bucket. With ``zero: 3``, always send them.
        """
        self._pending.append(layer)
        full = sum(sum(self._stage.layers.parameters(pending_layer)) for pending_layer in self._pending) >= self._bucket
        if self._zero == 3 or (self._overlap.gradients and full):
            chunk.cut()
            self._reduce(self._pending, chunk.ended[-1])
            self._pending = []

    def finish(self, ended: int) -> None:
        """Send the remaining gradients, including the gradients of the embeddings, after all layers. ``ended`` is the last operation."""
        buckets = self._buckets(self._pending) or [[]]
        for bucket in buckets:
            self._reduce(
                bucket, ended, self._stage.layers.embedding(self._stage.number) if bucket is buckets[-1] else 0
            )

    def update(self) -> None:
        """Add the optimizer step. With ``zero`` 1 or 2 and no overlap of parameters, also gather the parameters right after it."""
        stage, layers = self._stage, self._stage.layers
        each = [layers.parameters(layer) for layer in stage.all_layers]
        shared = sum(dense_parameters for dense_parameters, _ in each) + layers.embedding(stage.number)
        experts = sum(expert_parameters for _, expert_parameters in each)
        if self._zero:
            shared, experts = shared / self._count, experts / (self._count // stage.plan.layout.expert)
        ended = stage.compute("optimizer", stage.plan.kernels.optimizer(shared + experts), self._reduced)
        if self._zero in {1, 2} and not self._overlap.parameters:
            for bucket in self._buckets(stage.all_layers):
                self._send("all-gather", bucket, WIDTH, (ended,), "parameters")

    def _buckets(self, layers: Sequence[int]) -> list[list[int]]:
        """Return the layers in order, as lists. Each list is a bucket: layers whose parameters or gradients are sent together."""
        buckets: list[list[int]] = [[]]
        held = 0
        for layer in layers:
            buckets[-1].append(layer)
            held += sum(self._stage.layers.parameters(layer))
            if held >= self._bucket:
                buckets.append([])
                held = 0
        return [bucket for bucket in buckets if bucket]

    def _reduce(self, layers: Sequence[int], after: int, more: int = 0) -> None:
        width = 4 if self._stage.plan.job.gradients == "fp32" else 2
        operation = self._send(
            "reduce-scatter" if self._zero else "all-reduce", layers, width, (after,), "gradients", more
        )
        self._reduced += [] if operation is None else [operation]

    def _send(
        self, collective: Collective, layers: Sequence[int], width: int, after: Sequence[int], label: str, more: int = 0
    ) -> int | None:
        """Add a collective over the parameters of layers, and return the number of its operation. Return None if there is nothing to send.

        ``width`` is the size of a parameter in bytes, ``more`` is the number of additional parameters, ``after`` are the operations to wait
        for, and ``label`` is a description for people. The parameters of experts are sent afterwards in a second collective, among the
        ranks that hold the same experts; then the number of the second operation is returned.
        """
        each = [self._stage.layers.parameters(layer) for layer in layers]
        experts = self._count // self._stage.plan.layout.expert
        operations: list[int] = []
        for kind, count, members in (
            ("DP", sum(shared for shared, _ in each) + more, self._count),
            ("EDP", sum(expert_parameters for _, expert_parameters in each), experts),
        ):
            if count and members > 1:
                communication = self._stage.communication(kind, collective, count * width)
                operations = [self._stage.send(communication, label, [*after, *operations], "DP")]
        return operations[0] if operations else None


def build(plan: JobPlan, inside_ps: Callable[[Communication], int | None]) -> Graph:
    """Return the graph of a step.

    ``inside_ps`` is a function that returns the time of a communication in ps, or None if a group spans several
    servers.
    """
    graph, layers = Graph(plan.layout.pipeline), Layers(plan)
    stages = [_Turning(Stage(plan, layers, graph, number, inside_ps)) for number in range(plan.layout.pipeline)]
    arrived: dict[tuple[int, Turn], int] = {}
    # stages go in turn as far as what they need is there: operations of a stream are then in their order
    while any(stage.waiting for stage in stages):
        for number, turning in enumerate(stages):
            while turning.waiting and (turning.begins() or (number, turning.waiting[-1]) in arrived):
                turn = turning.waiting.pop()
                ended = turning.take(turn, arrived.get((number, turn)))
                to = turning.following(turn)
                if to is not None:
                    arrived[to] = turning.send(turn, ended, to[0])
                elif turn.forward:  # the last layers: it turns round
                    arrived[number, Turn(False, turn.microbatch, turn.part)] = ended
    for turning in stages:
        turning.replicas.update()
    return graph


class _Turning:
    """A stage with its remaining turns (passes of micro-batches). The next turn is last in the list."""

    def __init__(self, stage: Stage) -> None:
        plan = stage.plan
        self.stage, self.plan, self.replicas = stage, plan, Replicas(stage)
        order = turns(stage.number, plan.layout.pipeline, plan.microbatches, plan.layout.virtual)
        self.waiting = order[::-1]
        self._last = {turn.part: turn for turn in order if not turn.forward}
        """For each part, the turn after which its gradients are complete."""
        self._blocked: list[int] = []
        """Operations that the next turn waits for, if sending is not overlapped."""
        self.replicas.begin()

    def begins(self) -> bool:
        """Return True if the next turn needs no data from another stage: it is a forward pass through the model's first layers."""
        return self.waiting[-1].forward and self.stage.number == 0 and self.waiting[-1].part == 0

    def following(self, turn: Turn) -> tuple[int, Turn] | None:
        """Return (stage, turn) of the next pass of the micro-batch after ``turn``. Return None if ``turn`` was its last pass."""
        stages, parts = self.plan.layout.pipeline, self.plan.layout.virtual
        place = turn.part * stages + self.stage.number + (1 if turn.forward else -1)
        if not 0 <= place < stages * parts:
            return None
        part, stage = divmod(place, stages)
        return stage, Turn(turn.forward, turn.microbatch, part)

    def take(self, turn: Turn, arrived: int | None) -> int:
        """Add a turn to the graph and return its last operation.

        ``arrived`` is the operation that delivers the turn's input, if any.
        """
        chunk = Chunk(self.stage, _name(turn), (*(() if arrived is None else (arrived,)), *self._blocked))
        self._blocked = []
        layout = self.plan.layout
        logits = turn.part == layout.virtual - 1 and self.stage.number == layout.pipeline - 1
        layers = self.plan.layers[self.stage.number][turn.part]
        if turn.forward:
            for layer in layers:
                self.replicas.gather(chunk, layer, again=False)
                chunk.add(self.stage.layers.pieces(layer, forward=True))
            if logits:
                chunk.add([self.plan.kernels.logits()])
            return chunk.end()
        if logits:
            chunk.add([2 * self.plan.kernels.logits()])
        reduces = self._last[turn.part] is turn or self.plan.job.parallel.zero == 3
        before: int | None = None
        for layer in reversed(layers):
            # parameters are asked for before gradients of the layer before are sent (FSDP, BACKWARD_PRE)
            self.replicas.gather(chunk, layer, again=True)
            if reduces and before is not None:
                self.replicas.ready(chunk, before)
            if self.plan.job.recompute == "full":
                chunk.add(self.stage.layers.pieces(layer, forward=True))
            chunk.add(self.stage.layers.pieces(layer, forward=False))
            before = layer
        if reduces and before is not None:
            self.replicas.ready(chunk, before)
        ended = chunk.end()
        if not self.waiting:
            self.replicas.finish(ended)
        return ended

    def send(self, turn: Turn, ended: int, to: int) -> int:
        """Send the activations or gradients of ``turn`` to stage ``to``, after the turn's last operation ``ended``.

        Return the operation that stage ``to`` waits for.
        """
        operation = self.stage.send_to(to, _name(turn), ended)
        if not self.plan.job.overlap.pipeline:
            self._blocked = [operation]
        return operation


def _name(turn: Turn) -> str:
    return f"{'F' if turn.forward else 'B'}{turn.microbatch}" + (f".{turn.part}" if turn.part else "")
