"""The slowest of each kind of part, by the median over the pairs that cross it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from railweave.operations.bench.comparing.parts import KINDS, crossed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.bench.comparing.pairs import Pair

FEWEST = 2
"""Pairs of which a median is taken."""
MOST = 3
"""Parts of a kind that are told."""


@dataclass(frozen=True, slots=True)
class Slowest:
    """A part: the median of its pairs, and of all others of its kind, each as a part of what pairs should have."""

    kind: str
    name: str
    level: float
    others: float
    pairs: int

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "kind": self.kind,
            "name": self.name,
            "level": round(self.level, 4),
            "others": round(self.others, 4),
            "pairs": self.pairs,
        }


def slowest(pairs: Sequence[Pair], most: int = MOST) -> list[Slowest]:
    """So many of each kind that has several, the slowest first. A median: one bad peer does not make a NIC slow."""
    levels: dict[str, dict[str, list[float]]] = {}
    for pair in pairs:
        if pair.relative is not None:
            for kind, name in dict.fromkeys(crossed(pair)):
                levels.setdefault(kind, {}).setdefault(name, []).append(pair.relative)
    found: list[Slowest] = []
    for kind in KINDS:
        of = {name: values for name, values in levels.get(kind, {}).items() if len(values) >= FEWEST}
        if len(of) > 1:
            medians = {name: median(values) for name, values in of.items()}
            usual = median(medians.values())
            names = sorted(of, key=lambda one: (medians[one], one))[:most]
            found += [Slowest(kind, name, medians[name], usual, len(of[name])) for name in names]
    return found
