"""What a rank computes and sends in a layer, forward and backward (docs/jobs.md has the table, with sources)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.jobs.plan import Planned

WIDTH = 2
"""Bytes of an activation or a parameter as it is sent: bf16."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a layer sends: ``kind`` and size are as of ``graph.Communication``."""

    kind: str
    collective: Collective
    size_bytes: int


Piece = float | Sent
"""Computing, ps, or what is sent."""


class Layers:
    """The layers of a job."""

    def __init__(self, plan: Planned) -> None:
        self._plan = plan
        self._known: dict[tuple[int, bool], list[Piece]] = {}

    def pieces(self, layer: int, *, forward: bool) -> list[Piece]:
        """What a layer computes and sends one way, in order. Layers with experts are alike, and those without."""
        key = layer if self._plan.model.experts else -1, forward
        if key not in self._known:
            self._known[key] = self._forward(layer) if forward else self._backward(layer)
        return self._known[key]

    def parameters(self, layer: int) -> tuple[int, int]:
        """What a rank has of a layer: what all replicas share, and its experts."""
        model, layout = self._plan.model, self._plan.layout
        experts = model.experts // layout.expert * model.of_expert // layout.tensor if model.sparse(layer) else 0
        return model.shared_parameters(layer) // layout.tensor, experts

    def embedding(self, stage: int) -> int:
        """What a rank of a stage has of the embeddings."""
        model, layout = self._plan.model, self._plan.layout
        last = stage == layout.pipeline - 1 and (layout.pipeline > 1 or not model.tied)
        return ((stage == 0) + last) * model.embedding // layout.tensor

    def boundary_bytes(self) -> int:
        """What a rank sends to the next stage: the ranks of a tensor send a part each, and gather it inside the server (SC21, section 4.1)."""
        return self._activations() // self._plan.layout.tensor

    def _activations(self) -> int:
        return int(self._plan.kernels.tokens * self._plan.model.hidden * WIDTH)

    def _forward(self, layer: int) -> list[Piece]:
        attention, block, experts = self._measured(0) or self._plan.kernels.forward(layer)
        context = self._context("all-gather")
        return [*context, *self._tensor(attention), *self._tensor(block), *self._experts(layer, experts)]

    def _backward(self, layer: int) -> list[Piece]:
        found = self._measured(1) or self._plan.kernels.backward(layer, self._plan.job.recompute)
        attention, block, experts = found
        own = [*self._experts(layer, experts), *self._tensor(block), *self._tensor(attention)]
        return own + self._context("reduce-scatter")

    def _measured(self, place: int) -> tuple[float, float, float] | None:
        given = self._plan.job.layer
        return None if given is None else (given[place] / 2, given[place] / 2, 0.0)

    def _tensor(self, compute: float) -> list[Piece]:
        """A block that the ranks of a tensor share: gathered before and scattered after, or added up."""
        if self._plan.layout.tensor == 1:
            return [compute]
        size = self._activations()
        if not self._plan.job.parallel.sequence:
            return [compute, Sent("TP", "all-reduce", size)]
        return [Sent("TP", "all-gather", size), compute, Sent("TP", "reduce-scatter", size)]

    def _context(self, collective: Collective) -> list[Piece]:
        """Keys and values of the whole sequence, or their gradients (The Llama 3 Herd of Models, section 3.3.2)."""
        model, layout = self._plan.model, self._plan.layout
        if layout.context == 1:
            return []
        values = 2 * self._plan.kernels.tokens * layout.context * model.kv_heads * model.head_dim
        return [Sent("CP", collective, int(values * WIDTH / layout.tensor))]

    def _experts(self, layer: int, compute: float) -> list[Piece]:
        """Tokens to their experts and back. A rank sends those it has once a tensor's ranks share the sequence."""
        model, layout = self._plan.model, self._plan.layout
        if not model.sparse(layer):
            return []
        if layout.expert == 1:
            return [compute]
        share = layout.tensor if self._plan.job.parallel.sequence else 1
        sent = Sent("EP", "all-to-all", self._activations() * model.top_k // share)
        return [sent, compute, sent]
