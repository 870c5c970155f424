"""Ranks that do the same: they are run as one, as the ranks of a pipeline stage are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from railweave.prediction.jobs.traces.matching import Slots
    from railweave.prediction.jobs.traces.trace import Trace


@dataclass(frozen=True)
class Classes:
    """Of each rank its class, and the first rank of each."""

    of: tuple[int, ...]
    first: tuple[int, ...]

    def ranks(self, number: int) -> list[int]:
        """The ranks of a class."""
        return [rank for rank, own in enumerate(self.of) if own == number]


def classes_of(trace: Trace, slots: Slots) -> Classes:
    """Ranks whose nodes are the same, and which communicate with ranks that are again the same, and so on.

    The coarsest such division: it begins with what ranks do by themselves, and parts classes whose ranks differ in the classes they communicate with, until none does.
    """
    found = _numbered([_own(trace, slots, rank) for rank in range(len(trace.ranks))])
    place = [{slot: number for number, slot in enumerate(own)} for own in slots.slots]
    count = 0
    while max(found) + 1 > count:
        count = max(found) + 1
        of_groups: dict[int, Hashable] = {}
        seen: list[Hashable] = []
        for rank, own in enumerate(slots.slots):
            others: list[Hashable] = []
            for kind, peer, tag in own:
                if kind == "collective":
                    if peer not in of_groups:
                        of_groups[peer] = tuple(
                            sorted((found[one], place[one].get((kind, peer, 0), -1)) for one in trace.groups[peer])
                        )
                    others.append(of_groups[peer])
                else:
                    other = ("receive" if kind == "send" else "send"), rank, tag
                    others.append((found[peer], place[peer][other]))
            seen.append((found[rank], tuple(others)))
        found = _numbered(seen)
    first = [found.index(number) for number in range(max(found) + 1)]
    return Classes(tuple(found), tuple(first))


def _own(trace: Trace, slots: Slots, rank: int) -> Hashable:
    """What a rank does by itself."""
    return tuple(
        (node.kind, node.time_ps, node.after, node.collective, node.size_bytes, node.flops, node.moved_bytes, slot)
        for node, slot in zip(trace.ranks[rank].nodes, slots.of[rank], strict=True)
    )


def _numbered(values: list[Hashable]) -> list[int]:
    """Values as numbers in the order of their first."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(value, len(known)) for value in values]
