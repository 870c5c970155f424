"""The heat map of pairs as SVG: a cell for each two NICs, servers or leaves between which something was measured."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from railweave.operations.bench.comparing.parts import leaves_of
from railweave.pages.markup import number, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.bench.comparing.pairs import Pair

MOST = 64
"""Rows that a person still reads: where NICs are more, cells are of servers, and then of leaves."""
CELL, LABEL, TOP = 14.0, 190.0, 8.0
DARKEST = 0.5
"""A level at which a cell is as strong as it gets."""

SCATTER = 2.0
"""Standard deviations below the usual at which a cell begins to show."""

Ends = tuple[str, str]


def pair_map(pairs: Sequence[Pair], usual: float = 1.0, noise: float = 0.0) -> tuple[str, str]:
    """The picture, and a sentence on what its cells are; both empty where there is no pair to show.

    ``usual``, ``noise``: the level of pairs where nothing is wrong, and its standard deviation as a part.
    """
    told = [one for one in pairs if one.relative is not None]
    for kind, of in KINDS.items():
        ends = [(one, of(one)) for one in told]
        named = sorted({name for _, pair in ends if pair for name in pair})
        if named and (len(named) <= MOST or kind == "leaf"):
            left_out = len(named) - MOST
            if left_out > 0:
                named = _worst(ends, named)
            return _svg([one for one in ends if one[1]], named, usual, noise), _about(kind, max(left_out, 0))
    return "", ""


def _nics(pair: Pair) -> Ends:
    return pair.src, pair.dst


def _servers(pair: Pair) -> Ends:
    return pair.src.partition(":")[0], pair.dst.partition(":")[0]


def _leaves(pair: Pair) -> Ends | None:
    found = sorted(leaves_of(pair))
    return (found[0], found[-1]) if found else None


KINDS: dict[str, Callable[[Pair], Ends | None]] = {"NIC": _nics, "server": _servers, "leaf": _leaves}
"""What cells are of: the first that is few enough."""


def _worst(ends: Sequence[tuple[Pair, Ends | None]], named: Sequence[str]) -> list[str]:
    """Those with the lowest medians, in order of name."""
    levels: dict[str, list[float]] = {name: [] for name in named}
    for pair, names in ends:
        for name in set(names or ()):
            levels[name].append(pair.relative or 0.0)
    return sorted(sorted(named, key=lambda name: median(levels[name]))[:MOST])


def _about(kind: str, left_out: int) -> str:
    rest = f" The {left_out} leaves that are best are left out." if left_out else ""
    return (
        f"Each cell is the slowest of the pairs between two {'leaves' if kind == 'leaf' else kind + 's'}, of all colors and in both directions. "
        f"The stronger it is, the slower that pair is beside what it should have.{rest}"
    )


def _svg(ends: Sequence[tuple[Pair, Ends | None]], names: Sequence[str], usual: float, noise: float) -> str:
    place = {name: number_ for number_, name in enumerate(names)}
    cells: dict[tuple[int, int], list[float]] = {}
    failed: Counter[tuple[int, int]] = Counter()
    for pair, pair_names in ends:
        if pair_names is None or not all(name in place for name in pair_names):
            continue
        one, other = sorted(place[name] for name in pair_names)
        for key in {(one, other), (other, one)}:
            cells.setdefault(key, []).append((pair.relative or 0.0) / usual)
            failed[key] += pair.gbps == 0
    width = LABEL + CELL * len(names) + 4
    height = TOP + CELL * len(names) + 4
    parts: list[str] = []
    for name, row in place.items():
        shown = name if len(name) <= 28 else f"{name[:13]}…{name[-14:]}"
        y = TOP + CELL * row
        parts.append(
            f'<text class="name" x="{number(LABEL - 6)}" y="{number(y + 11)}">{text(shown)}<title>{text(name)}</title></text>'
        )
    for (row, column), levels in sorted(cells.items()):
        level = min(levels)
        strength = min(max((1 - level - SCATTER * noise) / (1 - DARKEST), 0.0), 1.0)
        box = f'x="{number(LABEL + CELL * column)}" y="{number(TOP + CELL * row)}" width="{number(CELL - 1)}" height="{number(CELL - 1)}"'
        said = f"{names[row]} and {names[column]}\n{level:.0%} of the usual, the slowest of {len(levels)}"
        said += f", {failed[row, column]} with nothing" if failed[row, column] else ""
        parts.append(f'<rect class="well" {box}/>')
        parts.append(f'<rect class="slow" {box} style="fill-opacity:{strength:.2f}"><title>{text(said)}</title></rect>')
    style = f"max-width:{number(width * 1.3)}px;min-width:{number(width * 0.8)}px"
    return f'<svg class="chart pairs" viewBox="0 0 {number(width)} {number(height)}" role="img" style="{style}">{"".join(parts)}</svg>'
