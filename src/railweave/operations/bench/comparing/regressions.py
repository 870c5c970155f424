"""Runs laid beside earlier runs of the same: what is worse by more than allowed, and by more than chance."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from railweave.operations.bench.comparing.rows import FASTER, ratio
from railweave.operations.bench.comparing.significance import adjusted, chance_of_slower, usual_deviation
from railweave.operations.bench.comparing.verdicts import TOLERANCE, Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.bench.comparing.rows import Key, Number

SURE = 0.05
"""The chance, over all rows of a comparison, of saying that a row is worse where none is."""
FEWEST = 2
"""Runs on each side without which nothing is said to be worse: one run says nothing of how far the next is from it."""


def regressions(
    before: Mapping[Key, Sequence[Number]],
    now: Mapping[Key, Sequence[Number]],
    tolerance: float = TOLERANCE,
    fewest: int = FEWEST,
) -> list[Row]:
    """Every thing that was measured before or now, in order.

    It is worse where its median is worse by more than ``tolerance``, and numbers so far apart are unlikely by chance: that is asked
    where both sides have ``FEWEST`` runs. Where it is worse but one side has fewer than ``fewest``, the verdict is that there are too few.
    """
    rows = [_row(key, before.get(key, ()), now.get(key, ()), tolerance, fewest) for key in sorted({*before, *now})]
    scatter = {
        quantity: usual_deviation(
            [
                [one.value for one in several]
                for side in (before, now)
                for key, several in side.items()
                if key.quantity == quantity
            ]
        )
        for quantity in {row.key.quantity for row in rows}
    }
    asked = [
        place
        for place, row in enumerate(rows)
        if row.verdict in {"worse", "same", "better"}
        and min(row.repeats) >= FEWEST
        and all(one.value > 0 for side in (before, now) for one in side[row.key])
    ]
    chances = adjusted([_chance(rows[place].key, before, now, scatter) for place in asked])
    for place, chance in zip(asked, chances, strict=True):
        row = rows[place]
        unsure = row.verdict == "worse" and chance > SURE
        rows[place] = replace(row, chance=chance, verdict="same" if unsure else row.verdict)
    return rows


def _row(key: Key, before: Sequence[Number], now: Sequence[Number], tolerance: float, fewest: int) -> Row:
    one = median(each.value for each in before) if before else None
    other = median(each.value for each in now) if now else None
    repeats = len(before), len(now)
    runs = tuple(dict.fromkeys(each.run for each in now))
    if one is None or other is None:
        return Row(key, one, other, None, "only now" if one is None else "only before", repeats, runs=runs)
    found = ratio(key, one, other)
    if found is None:
        # nothing before, or a time of nothing now
        return Row(key, one, other, None, "same" if one == other else "better", repeats, runs=runs)
    row = Row(key, one, other, found, "same", repeats, runs=runs)
    if found < 1 - tolerance:
        return replace(row, verdict="worse" if min(repeats) >= fewest else "too few repeats")
    return replace(row, verdict="better") if found > 1 / (1 - tolerance) else row


def _chance(
    key: Key,
    before: Mapping[Key, Sequence[Number]],
    now: Mapping[Key, Sequence[Number]],
    scatter: Mapping[str, float | None],
) -> float:
    def values(side: Mapping[Key, Sequence[Number]]) -> list[float]:
        return [one.value if key.quantity in FASTER else 1 / one.value for one in side[key]]

    return chance_of_slower(values(before), values(now), scatter[key.quantity])
