"""The graph of a training step: operations by rank class and stream, and for each operation the operations that it waits for.

A rank class is the set of ranks of a pipeline stage, which all do the same at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from railweave.prediction.collectives.channels import Collective, bus_factor

COMPUTE = "compute"
"""The stream on which a GPU computes. All other streams are named after the communication that they carry."""


@dataclass(frozen=True, slots=True)
class Communication:
    """A collective that runs at the same time in all groups of one kind in a rank class (the ranks of a pipeline stage).

    - ``kind``: the parallelism of the groups: ``TP``, ``CP``, ``EP``, ``DP``, ``EDP`` or ``PP``.
    - ``groups``: the ranks of each group, in order.
    - ``size_bytes``: the size as nccl-tests counts it. For ``send-recv``, the bytes from the first rank of each pair
      to the second.
    """

    kind: str
    rank_class: int
    collective: Collective
    size_bytes: int
    groups: tuple[tuple[int, ...], ...] = field(compare=False, repr=False)
    place: int = 0
    """A number that distinguishes communications of a rank class that are of the same kind but in different groups.

    For example, the two directions of a pipeline have different numbers.
    """

    @property
    def sent_bytes(self) -> int:
        """Return the total bytes that all ranks send.

        Each rank sends ``size_bytes`` times the factor of the bus bandwidth. With ``send-recv``, only the first rank of
        each pair sends: ``size_bytes`` bytes.
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
    """An operation. It begins when the previous operation on its stream and all operations in ``after`` have ended.

    - ``label``: a description for people.
    - ``time_ps``: the time of a computation, including communication inside its server for which the computation waits.
      0 for a communication between servers.
    - ``communication``: the number of a communication between servers; None for other operations.
    - ``inside``: the part of ``time_ps`` spent on communication inside a server, as (kind, time in ps).
    - ``inside_bytes``: the bytes that all ranks of the class send inside their servers in this time.
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
    """The operations of a step, and the communications that they refer to by number. Operations of one stage are in order.

    ``classes`` is the number of rank classes (pipeline stages).
    """

    classes: int
    ops: list[Op] = field(default_factory=list[Op])
    communications: list[Communication] = field(default_factory=list[Communication])
    _known: dict[Communication, int] = field(default_factory=dict[Communication, int])

    def add(self, op: Op) -> int:
        """Add an operation and return its number."""
        self.ops.append(op)
        return len(self.ops) - 1

    def communication(self, communication: Communication) -> int:
        """Return the number of a communication in the graph, and add the communication if it is new."""
        if communication not in self._known:
            self._known[communication] = len(self.communications)
            self.communications.append(communication)
        return self._known[communication]
