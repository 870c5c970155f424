"""The graph of a step: computing and communication of each rank class, in streams, and what each waits for.

A rank class is the ranks of a pipeline stage: they do the same at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from railweave.prediction.collectives.channels import Collective, bus_factor

COMPUTE = "compute"
"""The stream on which a GPU computes; every other is named after what is sent on it."""


@dataclass(frozen=True, slots=True)
class Communication:
    """A collective of a kind of group, in all groups of a rank class at once.

    ``kind``: ``TP``, ``CP``, ``EP``, ``DP``, ``EDP`` or ``PP``; ``groups``: ranks of each, in order; ``size_bytes``: as nccl-tests counts it, of
    ``send-recv`` what the first rank of each pair sends to the second.
    """

    kind: str
    rank_class: int
    collective: Collective
    size_bytes: int
    groups: tuple[tuple[int, ...], ...] = field(compare=False, repr=False)
    place: int = 0
    """Tells communications of a class apart that have other groups: forth and back of a pipeline."""

    @property
    def sent_bytes(self) -> int:
        """Return the bytes that all ranks send.

        Each rank sends the bus bandwidth's part of the size; with ``send-recv`` only the first of each pair sends.
        """
        pairs = self.collective == "send-recv"
        return round(
            sum(
                self.size_bytes * (1 if pairs else len(group) * bus_factor(self.collective, len(group)))
                for group in self.groups
            )
        )


@dataclass(frozen=True, slots=True)
class Op:
    """A piece of work. It begins when all of ``after`` have ended, and what is before it on its stream.

    ``time_ps``: of computing, with what it waits for inside a server, which ``inside`` has by kind; of communication 0. ``inside_bytes``: what
    all ranks of the class send inside their servers meanwhile. ``label`` is for people.
    """

    rank_class: int
    stream: str
    label: str
    time_ps: int
    after: tuple[int, ...]
    communication: int | None = None
    inside: tuple[tuple[str, int], ...] = ()
    inside_bytes: int = 0


@dataclass(slots=True)
class Graph:
    """Operations in an order in which those of a stream follow one another, and the communications that they name."""

    classes: int
    ops: list[Op] = field(default_factory=list[Op])
    communications: list[Communication] = field(default_factory=list[Communication])
    _known: dict[Communication, int] = field(default_factory=dict[Communication, int])

    def add(self, op: Op) -> int:
        """Add an operation; gives its number."""
        self.ops.append(op)
        return len(self.ops) - 1

    def communication(self, communication: Communication) -> int:
        """The number of a communication."""
        if communication not in self._known:
            self._known[communication] = len(self.communications)
            self.communications.append(communication)
        return self._known[communication]
