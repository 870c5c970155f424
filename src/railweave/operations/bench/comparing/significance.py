"""Whether numbers of repeated runs differ by more than chance."""

from __future__ import annotations

from math import exp, lgamma, log, pi, sqrt
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIOR = 4.0
"""Degrees of freedom that the scatter of all rows has beside a row's own: three repeats alone say little of theirs."""
LEAST = 0.002
"""Standard deviation of a row, as a part, at least: what is printed has three digits, and a run that repeats exactly is chance."""


def usual_deviation(rows: Sequence[Sequence[float]]) -> float | None:
    """The median of the rows' standard deviations, of logarithms; None where no row has two numbers above 0."""
    found = [sqrt(variance(map(log, row))) for row in rows if len(row) > 1 and min(row) > 0]
    return median(found) if found else None


def chance_of_slower(before: Sequence[float], after: Sequence[float], usual: float | None, least: float = 0.0) -> float:
    """How likely numbers that are no more than ``least`` (a part) lower than before would come out so much lower by chance.

    A one-sided t-test of logarithms, whose variance is that of both rows, drawn towards ``usual`` as if that had ``PRIOR`` degrees
    of freedom (a moderated t-test: G. Smyth, Linear models and empirical Bayes methods, 2004). Numbers are above 0, more is better.
    1 where neither side has two numbers and nothing is known of the scatter.
    """
    one, other = [log(value) for value in before], [log(value) for value in after]
    freedom = sum(len(row) - 1 for row in (one, other))
    squares = sum((len(row) - 1) * variance(row) for row in (one, other) if len(row) > 1)
    prior = PRIOR if usual is not None else 0.0
    if freedom + prior <= 0:
        return 1.0
    deviation = max(sqrt((squares + prior * (usual or 0.0) ** 2) / (freedom + prior)), LEAST)
    lower = fmean(one) - fmean(other) + log(1 - least)
    return student_tail(lower / (deviation * sqrt(1 / len(one) + 1 / len(other))), freedom + prior)


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
    found = [1.0] * len(chances)
    most = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        most = max(most, min(1.0, chances[place] * (len(chances) - rank)))
        found[place] = most
    return found
