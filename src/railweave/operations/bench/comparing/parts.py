"""The parts of a network that pairs cross, and which of them nothing tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from railweave.operations.bench.comparing.pairs import Pair

KINDS = ("NIC", "link", "cables", "server", "leaf", "switch", "color", "rail")
"""Kinds of parts; of those that the same pairs cross the first names them. ``cables`` are parallel ones between two switches, of which a
hash takes one; a ``rail`` is all NICs of one name."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part; ``also`` are others that the same pairs cross, so that these pairs cannot tell which it is."""

    kind: str
    name: str
    also: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {"kind": self.kind, "name": self.name, "also": list(self.also)}

    def to_text(self) -> str:
        """``NIC h100-01:gpu0_eth``, and what else it may be."""
        others = f" (or {', '.join(self.also[:3])}{', …' if len(self.also) > 3 else ''})" if self.also else ""
        return f"{self.kind} {self.name}{others}"


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts. ``part`` and ``pair`` have an entry for each crossing: the places of the two.

    ``meeting`` has a row for each pair: a number for each leaf that it crosses in its round, -1 where that is not known.
    """

    parts: tuple[Part, ...]
    part: NDArray[np.int64]
    pair: NDArray[np.int64]
    meeting: NDArray[np.int64]

    def of(self, place: int) -> NDArray[np.int64]:
        """The pairs that cross a part."""
        return self.pair[self.part == place]


def leaves_of(pair: Pair) -> set[str]:
    """The leaves of a pair, as far as they are known."""
    servers = {end.partition(":")[0] for end in (pair.src, pair.dst)}
    found = set(pair.leaves)
    for link in pair.links:
        devices = {end.partition(":")[0] for end in link.split("--")}
        if devices & servers:
            found |= devices - servers
    return found


def crossed(pair: Pair) -> Iterator[tuple[str, str]]:
    """Kind and name of everything that a pair crosses, as far as it is known; a part may come twice."""
    ends = (pair.src, pair.dst)
    servers = {one.partition(":")[0] for one in ends}
    for end in ends:
        yield "NIC", end
        yield "server", end.partition(":")[0]
    names = {one.partition(":")[2] for one in ends}
    if len(names) == 1:
        yield "rail", names.pop()
    if pair.color:
        yield "color", pair.color
    leaves = leaves_of(pair)
    for leaf in leaves:
        yield "leaf", leaf
    for link in pair.links:
        yield ("link" if ":" in link else "cables"), link
        for end in link.split("--"):
            device = end.partition(":")[0]
            if device not in leaves and device not in servers:
                yield "switch", device


def crossings(pairs: Sequence[Pair]) -> Parts:
    """The parts of pairs. Parts that every pair crosses are left out: no pair says anything of them."""
    by_part: dict[tuple[str, str], list[int]] = {}
    meetings: dict[tuple[str, str], int] = {}
    meeting = np.full((len(pairs), 2), -1, np.int64)
    for place, pair in enumerate(pairs):
        for one in dict.fromkeys(crossed(pair)):
            by_part.setdefault(one, []).append(place)
        if pair.round:
            for side, leaf in enumerate(sorted(leaves_of(pair))[:2]):
                meeting[place, side] = meetings.setdefault((pair.round, leaf), len(meetings))
    alike: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    for one, places in by_part.items():
        if len(places) < len(pairs):
            alike.setdefault(tuple(places), []).append(one)
    parts: list[Part] = []
    for names in alike.values():
        (kind, name), *others = sorted(names, key=lambda one: (KINDS.index(one[0]), one[1]))
        parts.append(Part(kind, name, tuple(f"{kind} {name}" for kind, name in others)))
    return Parts(
        tuple(parts),
        np.repeat(np.arange(len(parts)), [len(places) for places in alike]),
        np.array([place for places in alike for place in places], np.int64),
        meeting,
    )
