"""The graph of a step of a training job.

What is sent, and when, is Megatron-LM's, and of ``zero: 3`` that of FSDP; sizes are those of docs/jobs.md. Communication inside a server is part of
the computing that waits for it; between servers it is an operation of its own on the stream of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.prediction.jobs.graph import Communication, Graph
from railweave.prediction.jobs.layers import Layers
from railweave.prediction.jobs.pipeline import Turn, turns
from railweave.prediction.jobs.replicas import Replicas
from railweave.prediction.jobs.stage import Chunk, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.prediction.jobs.plan import Planned


def build(plan: Planned, inside_ps: Callable[[Communication], int | None]) -> Graph:
    """The step. ``inside_ps``: how long a communication takes whose groups are each inside a server; None of the others."""
    graph, layers = Graph(plan.layout.pipeline), Layers(plan)
    stages = [_Turning(Stage(plan, layers, graph, number, inside_ps)) for number in range(plan.layout.pipeline)]
    arrived: dict[tuple[int, Turn], int] = {}
    # stages go in turn as far as what they need is there: operations of a stream are then in their order
    while any(one.waiting for one in stages):
        for number, one in enumerate(stages):
            while one.waiting and (one.begins() or (number, one.waiting[-1]) in arrived):
                turn = one.waiting.pop()
                ended = one.take(turn, arrived.get((number, turn)))
                to = one.following(turn)
                if to is not None:
                    arrived[to] = one.send(turn, ended, to[0])
                elif turn.forward:  # the last layers: it turns round
                    arrived[number, Turn(False, turn.microbatch, turn.part)] = ended
    for one in stages:
        one.replicas.update()
    return graph


class _Turning:
    """A stage with the turns that it has before it, the next one last."""

    def __init__(self, stage: Stage) -> None:
        plan = stage.plan
        self.stage, self.plan, self.replicas = stage, plan, Replicas(stage)
        order = turns(stage.number, plan.layout.pipeline, plan.microbatches, plan.layout.virtual)
        self.waiting = order[::-1]
        self._last = {one.part: one for one in order if not one.forward}
        """Of each part the turn after which its gradients are whole."""
        self._blocked: list[int] = []
        """What the next turn waits for, where sending is not overlapped."""
        self.replicas.begin()

    def begins(self) -> bool:
        """Whether the next turn waits for no other: forward through the first layers."""
        return self.waiting[-1].forward and self.stage.number == 0 and self.waiting[-1].part == 0

    def following(self, turn: Turn) -> tuple[int, Turn] | None:
        """Who takes the micro-batch next, and as which turn; None: it has gone through."""
        stages, parts = self.plan.layout.pipeline, self.plan.layout.virtual
        place = turn.part * stages + self.stage.number + (1 if turn.forward else -1)
        if not 0 <= place < stages * parts:
            return None
        part, stage = divmod(place, stages)
        return stage, Turn(turn.forward, turn.microbatch, part)

    def take(self, turn: Turn, arrived: int | None) -> int:
        """Add a turn; gives the operation it ends with."""
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
        """Add the way of activations or gradients to another stage; gives the operation that the other waits for."""
        found = self.stage.send_to(to, _name(turn), ended)
        if not self.plan.job.overlap.pipeline:
            self._blocked = [found]
        return found


def _name(turn: Turn) -> str:
    return f"{'F' if turn.forward else 'B'}{turn.microbatch}" + (f".{turn.part}" if turn.part else "")
