"""A trace: the computation and communication of each rank as nodes, and for each node the nodes that it waits for."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from railweave.prediction.collectives.channels import Collective

NodeKind = Literal["compute", "host", "memory", "collective", "send", "receive", "none"]
"""The kind of a node.

- ``compute``: computation on a GPU.
- ``host``: work of a CPU.
- ``memory``: data that a GPU moves to or from memory.
- ``none``: a node that takes no time and only orders other nodes.

The other kinds are communications.
"""


class Node(NamedTuple):
    """A piece of work of a rank. It is a named tuple because traces have millions of nodes.

    - ``number``: the node's number in the file, or its line in a text file.
    - ``time_ps``: the measured time; 0 if the time was not measured.
    - ``after``: the indexes of the nodes of the same rank that this node waits for.
    - ``size_bytes``: the size of a communication as nccl-tests counts it.
    - ``group``: the index of a collective's group in ``Trace.groups``.
    - ``peer``: the other rank of a message.
    - ``tag``: separates messages between the same two ranks.
    - ``flops``, ``moved_bytes``: the operations of a computation, and the bytes that it moves to or from memory.
    - ``label``: the kind of parallelism that the node belongs to, if known.
    """

    number: int
    name: str
    kind: NodeKind
    time_ps: int = 0
    after: tuple[int, ...] = ()
    collective: Collective | None = None
    size_bytes: int = 0
    group: int = -1
    peer: int = -1
    tag: int = 0
    flops: int = 0
    moved_bytes: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class RankTrace:
    """The nodes of a rank. Every node comes after the nodes that it waits for.

    ``text`` is True if ``file`` is a text file; the number of a node is then its line number.
    """

    file: str
    nodes: tuple[Node, ...]
    text: bool = False

    def problem(self, node: Node, message: str, fix: str = "") -> Problem:
        """Return an error about a node of this rank, which names the file and the node, or its line in a text file.

        ``fix`` is the advice.
        """
        if self.text:
            return Problem(FileLine(self.file, node.number), message, fix)
        return node_problem(self.file, node.number, node.name, message, fix)


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace of ranks 0, 1, and so on.

    - ``groups``: the ranks of each group, in order.
    - ``notes``: the assumptions made, for people.
    - ``hosts``: the server that each rank ran on and its GPU there; empty if unknown.
    """

    ranks: tuple[RankTrace, ...]
    groups: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...] = ()
    hosts: tuple[tuple[str, int], ...] = ()

    @property
    def nodes(self) -> int:
        """The number of nodes of all ranks."""
        return sum(len(rank.nodes) for rank in self.ranks)


def node_problem(file: str, number: int, name: str, message: str, fix: str = "") -> Problem:
    """Return an error that names the file, and the node by its number and name. ``fix`` is the advice."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in name[:60])
    return Problem(FileLine(file), f"node {number}{f' ({shown})' if shown else ''}: {message}", fix)


def in_order(file: str, nodes: Sequence[Node], begins: Sequence[int], after: Sequence[Iterable[int]]) -> RankTrace:
    """Return the nodes of a rank in an order in which each node comes after the nodes that it waits for.

    Among nodes for which this leaves a choice, the order is by start time and number. ``begins`` has the start time of each node. ``after``
    has, for each node, the indexes of the nodes that it waits for. Raises ``SpecError`` if nodes wait for each other in a cycle.
    """
    order, missing = sorted_by(after, lambda place: (begins[place], nodes[place].number))
    if missing:
        stuck, *way = circle(missing, after)
        message = "it waits for itself" + (
            f", through {' and '.join(f'node {nodes[step].number}' for step in way[:6])}" if way else ""
        )
        fix = "remove the cycle of dependencies"
        raise SpecError([node_problem(file, nodes[stuck].number, nodes[stuck].name, message, fix)])
    place_of = {place: number for number, place in enumerate(order)}
    return RankTrace(
        file,
        tuple(
            nodes[place]._replace(after=tuple(sorted(place_of[earlier] for earlier in after[place]))) for place in order
        ),
    )


def sorted_by(
    after: Sequence[Iterable[int]], key: Callable[[int], tuple[int, ...]]
) -> tuple[list[int], frozenset[int]]:
    """Return (indexes in order, indexes that cannot be ordered).

    Each index comes after the indexes that it waits for. Otherwise, indexes are sorted by ``key``. ``after`` has, for
    each index, the indexes that it waits for. Indexes that wait for each other in a cycle cannot be ordered.
    """
    following: list[list[int]] = [[] for _ in after]
    missing = [0] * len(after)
    for place, before in enumerate(after):
        for earlier in before:
            following[earlier].append(place)
            missing[place] += 1
    ready = [(key(place), place) for place, left in enumerate(missing) if not left]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        place = heapq.heappop(ready)[1]
        order.append(place)
        for later in following[place]:
            missing[later] -= 1
            if not missing[later]:
                heapq.heappush(ready, (key(later), later))
    return order, frozenset(place for place, left in enumerate(missing) if left)


def circle(missing: frozenset[int], after: Sequence[Iterable[int]]) -> list[int]:
    """Return one cycle of indexes that wait for each other. ``missing`` has the indexes that cannot be ordered.

    ``after`` has, for each index, the indexes that it waits for.
    """
    at = min(missing)
    way: dict[int, None] = {}
    while at not in way:
        way[at] = None
        at = next(earlier for earlier in after[at] if earlier in missing)
    return list(way)[list(way).index(at) :]
