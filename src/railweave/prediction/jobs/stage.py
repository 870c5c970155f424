"""A pipeline stage while its operations are added to the graph, and a turn of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.layers import Layers, Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.jobs.layers import Piece
    from railweave.prediction.jobs.plan import Planned


class Stage:
    """A stage. ``inside_ps``: how long a communication takes whose groups are each inside a server; None of others."""

    def __init__(
        self, plan: Planned, layers: Layers, graph: Graph, number: int, inside_ps: Callable[[Communication], int | None]
    ) -> None:
        self.plan, self.layers, self.number = plan, layers, number
        self._graph, self._inside_ps = graph, inside_ps
        self._groups: dict[str, tuple[tuple[int, ...], ...]] = {}
        self._timed: dict[Sent, tuple[Communication, int | None]] = {}
        self._to: dict[int, Communication] = {}
        self._bytes: dict[Communication, int] = {}

    @property
    def all_layers(self) -> list[int]:
        """The layers of the stage, part by part."""
        return [layer for part in self.plan.layers[self.number] for layer in part]

    def compute(
        self,
        label: str,
        time_ps: float,
        after: Sequence[int],
        inside: Sequence[tuple[str, int]] = (),
        inside_bytes: int = 0,
    ) -> int:
        """Add computing; gives its number."""
        op = Op(self.number, COMPUTE, label, round(time_ps), tuple(after), None, tuple(inside), inside_bytes)
        return self._graph.add(op)

    def communication(self, kind: str, collective: Collective, size_bytes: int) -> Communication:
        """A communication of the stage's groups."""
        if kind not in self._groups:
            self._groups[kind] = tuple(tuple(one) for one in self.plan.layout.groups(kind, self.number))
        return Communication(kind, self.number, collective, max(size_bytes, 1), self._groups[kind])

    def in_layer(self, sent: Sent) -> tuple[Communication, int | None]:
        """What a layer sends, and how long it takes where that is inside a server."""
        if sent not in self._timed:
            communication = self.communication(sent.kind, sent.collective, sent.size_bytes)
            self._timed[sent] = communication, self._inside_ps(communication)
        return self._timed[sent]

    def send(self, one: Communication, label: str, after: Sequence[int], stream: str) -> int:
        """Add a communication; inside a server with the time that it takes there."""
        time = self._inside_ps(one)
        number = self._graph.communication(one) if time is None else None
        sent = one.sent_bytes if number is None else 0
        return self._graph.add(Op(self.number, stream, label, time or 0, tuple(after), number, inside_bytes=sent))

    def send_to(self, stage: int, label: str, after: int) -> int:
        """Add what goes to another stage, from each rank to the one in its place there."""
        if stage not in self._to:
            here, there = (self.plan.layout.groups("TP", one) for one in (self.number, stage))
            pairs = [tuple(zip(a, b, strict=True)) for a, b in zip(here, there, strict=True)]
            joined = tuple(pair for some in pairs for pair in some)
            size = max(self.layers.boundary_bytes(), 1)
            self._to[stage] = Communication("PP", self.number, "send-recv", size, joined, place=stage)
        return self.send(self._to[stage], label, (after,), f"PP to {stage}")

    def bytes_of(self, one: Communication) -> int:
        """What a communication sends, over all groups of the stage."""
        if one not in self._bytes:
            self._bytes[one] = one.sent_bytes
        return self._bytes[one]

    def hides(self, kind: str) -> bool:
        """Whether computing goes on while this is sent within a layer."""
        return {"TP": self.plan.job.overlap.tensor, "EP": self.plan.job.overlap.expert}.get(kind, False)


@dataclass
class Chunk:
    """A turn while it is made: computing is gathered until something is sent between servers.

    ``waits``: what the next computing waits for; ``first``: what the turn does; ``ended``: its computing so far, operation by operation.
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
        """Add computing, and what is sent."""
        for one in pieces:
            if not isinstance(one, Sent):
                self._time += one
                continue
            communication, time = self.stage.in_layer(one)
            hides = self.stage.hides(one.kind)
            if time is None:
                self.cut()
                sent = self.stage.send(communication, self.name, [*self.ended[-1:], *self.waits], one.kind)
                (self._hidden if hides else self.waits).append(sent)
                continue
            self._bytes += self.stage.bytes_of(communication)
            if not hides:
                self._time += time
                self._inside[one.kind] = self._inside.get(one.kind, 0) + time

    def cut(self) -> None:
        """End the computing so far with an operation."""
        if round(self._time):
            inside = list(self._inside.items())
            self.ended.append(self.stage.compute(self.name, self._time, self.waits, inside, self._bytes))
            self.waits, self._time, self._inside, self._bytes = [], 0.0, {}, 0

    def end(self) -> int:
        """End the turn; gives its last operation."""
        self.cut()
        if not self.ended or self.waits or self._hidden:
            self.ended.append(self.stage.compute(self.name, 0, list(dict.fromkeys([*self.waits, *self._hidden]))))
        return self.ended[-1]
