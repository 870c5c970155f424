"""Runs laid beside earlier runs of the same: what is worse by more than allowed, and by more than chance."""

from __future__ import annotations

from dataclasses import replace
from math import exp, lgamma, log, pi, sqrt
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

import numpy as np

from railweave.operations.bench.comparing.rows import FASTER, TOLERANCE, Key, Number, Row, ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


PRIOR = 4.0
"""Degrees of freedom that the scatter of all rows has beside a row's own: three repeats alone say little of theirs."""
LEAST = 0.002
"""Standard deviation of a row, as a part, at least: what is printed has three digits, and a run that repeats exactly is chance."""


def usual_deviation(rows: Sequence[Sequence[float]]) -> float | None:
    """The median of the rows' standard deviations, of logarithms; None where no row has two numbers above 0."""
    deviations = [sqrt(variance(map(log, row))) for row in rows if len(row) > 1 and min(row) > 0]
    return median(deviations) if deviations else None


def chance_of_slower(before: Sequence[float], after: Sequence[float], usual: float | None, least: float = 0.0) -> float:
    """Return the probability that numbers come out so much lower by chance, if they are at most ``least`` (a part) lower than before.

    The test is a one-sided t-test of logarithms. Its variance is that of both rows, drawn towards ``usual`` as if that had ``PRIOR``
    degrees of freedom (a moderated t-test: G. Smyth, Linear models and empirical Bayes methods, 2004). Numbers are above 0,
    and more is better. The result is 1 if neither side has two numbers and the scatter is unknown.
    """
    earlier, other = [log(value) for value in before], [log(value) for value in after]
    freedom = sum(len(row) - 1 for row in (earlier, other))
    squares = sum((len(row) - 1) * variance(row) for row in (earlier, other) if len(row) > 1)
    prior = PRIOR if usual is not None else 0.0
    if freedom + prior <= 0:
        return 1.0
    deviation = max(sqrt((squares + prior * (usual or 0.0) ** 2) / (freedom + prior)), LEAST)
    lower = fmean(earlier) - fmean(other) + log(1 - least)
    return student_tail(lower / (deviation * sqrt(1 / len(earlier) + 1 / len(other))), freedom + prior)


def student_tail(t: float, freedom: float) -> float:
    """The chance that Student's t of so many degrees of freedom exceeds ``t``."""
    if t < 0:
        return 1 - student_tail(-t, freedom)
    # with t = sqrt(freedom) * tan(angle) the tail is the integral of cos(angle) ^ (freedom - 1) from there to a right angle; here over
    # the cosine, as cosine * (1 - u^2), so that its square root at the end is no trouble
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi)
    cosine = 1 / sqrt(1 + t * t / freedom)
    places = cosine * (1 - MIDDLES**2)
    total = float((places ** (freedom - 1) / np.sqrt(1 - places**2) * MIDDLES).mean())
    return min(scale * total * 2 * cosine, 0.5)


MIDDLES = (np.arange(1000) + 0.5) / 1000
"""Of a thousand parts of the way from 0 to 1."""


def adjusted(chances: Sequence[float]) -> list[float]:
    """The same for all of several questions: with 100 rows, one in 100 has a chance of 1 % (S. Holm, 1979)."""
    corrected = [1.0] * len(chances)
    most = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        most = max(most, min(1.0, chances[place] * (len(chances) - rank)))
        corrected[place] = most
    return corrected


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
                [number.value for number in several]
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
        and all(number.value > 0 for side in (before, now) for number in side[row.key])
    ]
    chances = adjusted([_chance(rows[place].key, before, now, scatter) for place in asked])
    for place, chance in zip(asked, chances, strict=True):
        row = rows[place]
        unsure = row.verdict == "worse" and chance > SURE
        rows[place] = replace(row, chance=chance, verdict="same" if unsure else row.verdict)
    return rows


def _row(key: Key, before: Sequence[Number], now: Sequence[Number], tolerance: float, fewest: int) -> Row:
    before_median = median(each.value for each in before) if before else None
    other = median(each.value for each in now) if now else None
    repeats = len(before), len(now)
    runs = tuple(dict.fromkeys(each.run for each in now))
    if before_median is None or other is None:
        return Row(
            key, before_median, other, None, "only now" if before_median is None else "only before", repeats, runs=runs
        )
    relative = ratio(key, before_median, other)
    if relative is None:
        # nothing before, or a time of nothing now
        return Row(key, before_median, other, None, "same" if before_median == other else "better", repeats, runs=runs)
    row = Row(key, before_median, other, relative, "same", repeats, runs=runs)
    if relative < 1 - tolerance:
        return replace(row, verdict="worse" if min(repeats) >= fewest else "too few repeats")
    return replace(row, verdict="better") if relative > 1 / (1 - tolerance) else row


def _chance(
    key: Key,
    before: Mapping[Key, Sequence[Number]],
    now: Mapping[Key, Sequence[Number]],
    scatter: Mapping[str, float | None],
) -> float:
    def values(side: Mapping[Key, Sequence[Number]]) -> list[float]:
        return [number.value if key.quantity in FASTER else 1 / number.value for number in side[key]]

    return chance_of_slower(values(before), values(now), scatter[key.quantity])
