"""What replicas send each other: parameters before they are needed, gradients once they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.prediction.jobs.layers import WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.jobs.stage import Chunk, Stage

LEAST_BUCKET, EACH_REPLICA = 40_000_000, 1_000_000
"""Parameters of a bucket: the larger of the first and the second for each replica (Megatron-LM, ``distributed_data_parallel_config.py``)."""


class Replicas:
    """The parameters of a stage among its replicas."""

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
        """What is gathered at the beginning of a step, while the first micro-batch goes forward."""
        if self._zero in {1, 2} and self._overlap.parameters:
            for bucket in self._buckets(self._stage.all_layers):
                gathered = self._send("all-gather", bucket, WIDTH, (), "parameters")
                self._gathered |= dict.fromkeys(bucket, gathered) if gathered is not None else {}

    def gather(self, chunk: Chunk, layer: int, *, again: bool) -> None:
        """Have a layer wait for its parameters; with ``zero: 3`` they are gathered each time, while the layer before it is computed."""
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
        """A layer has gone backward: send its gradients with those before, once they make a bucket."""
        self._pending.append(layer)
        full = sum(sum(self._stage.layers.parameters(one)) for one in self._pending) >= self._bucket
        if self._zero == 3 or (self._overlap.gradients and full):
            chunk.cut()
            self._reduce(self._pending, chunk.ended[-1])
            self._pending = []

    def finish(self, ended: int) -> None:
        """All layers have gone backward: send the gradients that are left, and those of embeddings."""
        buckets = self._buckets(self._pending) or [[]]
        for bucket in buckets:
            self._reduce(
                bucket, ended, self._stage.layers.embedding(self._stage.number) if bucket is buckets[-1] else 0
            )

    def update(self) -> None:
        """The optimizer, and the parameters that are gathered after it."""
        stage, layers = self._stage, self._stage.layers
        each = [layers.parameters(layer) for layer in stage.all_layers]
        shared = sum(own for own, _ in each) + layers.embedding(stage.number)
        experts = sum(own for _, own in each)
        if self._zero:
            shared, experts = shared / self._count, experts / (self._count // stage.plan.layout.expert)
        ended = stage.compute("optimizer", stage.plan.kernels.optimizer(shared + experts), self._reduced)
        if self._zero in {1, 2} and not self._overlap.parameters:
            for bucket in self._buckets(stage.all_layers):
                self._send("all-gather", bucket, WIDTH, (ended,), "parameters")

    def _buckets(self, layers: Sequence[int]) -> list[list[int]]:
        """Layers in their order, as many together as make a bucket."""
        found: list[list[int]] = [[]]
        held = 0
        for layer in layers:
            found[-1].append(layer)
            held += sum(self._stage.layers.parameters(layer))
            if held >= self._bucket:
                found.append([])
                held = 0
        return [one for one in found if one]

    def _reduce(self, layers: Sequence[int], after: int, more: int = 0) -> None:
        width = 4 if self._stage.plan.job.gradients == "fp32" else 2
        found = self._send("reduce-scatter" if self._zero else "all-reduce", layers, width, (after,), "gradients", more)
        self._reduced += [] if found is None else [found]

    def _send(
        self, collective: Collective, layers: Sequence[int], width: int, after: Sequence[int], what: str, more: int = 0
    ) -> int | None:
        """A collective over parameters of layers, of experts in groups of their own; gives the last operation, None where nothing is sent."""
        each = [self._stage.layers.parameters(layer) for layer in layers]
        experts = self._count // self._stage.plan.layout.expert
        found: list[int] = []
        for kind, count, members in (
            ("DP", sum(shared for shared, _ in each) + more, self._count),
            ("EDP", sum(own for _, own in each), experts),
        ):
            if count and members > 1:
                one = self._stage.communication(kind, collective, count * width)
                found = [self._stage.send(one, what, [*after, *found], "DP")]
        return found[0] if found else None
