"""Comparison of runs with earlier runs of the same tests.

A number counts as worse if it has become worse by more than the tolerance and by more than chance explains. A row is the comparison of
one number, before and now.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, lgamma, log, pi, sqrt
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

import numpy as np

from railweave.operations.bench.comparing.rows import FASTER, QUANTITY, TOLERANCE, Key, Number, Row, ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.operations.store.records import Run

PRIOR = 4.0
"""The weight of the usual scatter of all tests in the variance of one test, in degrees of freedom.

Without this addition, three repeats would show little about the scatter of one test.
"""
LEAST = 0.002
"""The smallest assumed standard deviation of the results of one test, as a fraction.

Results have only three digits, so repeated runs may have equal results by coincidence.
"""


def usual_deviation(rows: Sequence[Sequence[float]]) -> float | None:
    """Return the median of the rows' standard deviations, in logarithms. A row holds the results of one test.

    Return None if no row has two numbers above 0.
    """
    deviations = [sqrt(variance(map(log, row))) for row in rows if len(row) > 1 and min(row) > 0]
    return median(deviations) if deviations else None


def chance_of_slower(before: Sequence[float], after: Sequence[float], usual: float | None, least: float = 0.0) -> float:
    """Return the probability that ``after`` would be this low by chance if the true decrease were at most the fraction ``least``.

    The test is a one-sided t-test of logarithms. Its variance combines the variance of ``before`` and ``after`` with
    ``usual`` (the usual deviation), which counts as ``PRIOR`` degrees of freedom (a moderated t-test: G. Smyth, Linear
    models and empirical Bayes methods, 2004). Numbers must be above 0, and higher is better. The result is 1 if neither
    ``before`` nor ``after`` has two numbers and ``usual`` is None.
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
    """Return the probability that Student's t with ``freedom`` degrees of freedom exceeds ``t``."""
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
"""The midpoints of 1,000 equal intervals between 0 and 1, for numerical integration."""


def adjusted(chances: Sequence[float]) -> list[float]:
    """Return the probabilities ``chances`` corrected for their number, one for each test (S. Holm, 1979).

    Without this correction, at a level of 1 %, one of 100 unchanged tests would seem worse by chance.
    """
    corrected = [1.0] * len(chances)
    most = 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        most = max(most, min(1.0, chances[place] * (len(chances) - rank)))
        corrected[place] = most
    return corrected


HOST_MEMORY = 0.85
"""The smallest normal ratio of the rate from host memory to the rate from GPU memory. Below it, the server is the cause.

In the Thor2 guide, the ratio is 0.73.
"""


def host_memory_notes(runs: Iterable[Run]) -> list[str]:
    """Return a note for each perftest operation that is slow from host memory and fast from GPU memory in otherwise equal tests.

    NIC and network are the same in both tests, so host memory is the limit. The usual cause is that memory interleaving is off in
    the BIOS: about 235 instead of 320 Gb/s (Thor2 guide, section 5.1, question 8).
    """
    rates: dict[tuple[str, str], dict[int, dict[str, list[float]]]] = {}
    for run in runs:
        settings = dict(run.settings)
        pairs = settings.get("Number of qps", settings.get("Number_of_qps", ""))
        for sample in run.samples if run.tool == "perftest" else ():
            if sample.quantity == QUANTITY and sample.size_bytes and sample.value > 0:
                sizes = rates.setdefault((sample.operation, pairs), {}).setdefault(sample.size_bytes, {})
                sizes.setdefault("host" if settings.get("memory") == "host" else "GPU", []).append(sample.value)
    notes: list[str] = []
    for (operation, _), sizes in rates.items():
        common = [size for size, kinds in sizes.items() if len(kinds) > 1]
        if not common:
            continue
        host, gpu = (median(sizes[max(common)][kind]) for kind in ("host", "GPU"))
        if host < HOST_MEMORY * gpu:
            notes.append(
                f"{operation}, {max(common)} bytes: {host:.0f} Gb/s from host memory, {gpu:.0f} Gb/s from GPU memory: the NICs and the"
                " network carry the higher rate, so host memory is the limit. If memory interleaving is off, set it to Auto in the"
                " BIOS; `railweave host check --only system-memory-interleaving` on both servers shows whether it is on"
                " (Thor2 guide, section 5.1, question 8)"
            )
    return notes


SURE = 0.05
"""The largest accepted probability that a comparison reports any row as worse by chance."""
FEWEST = 2
"""The smallest number of runs on each side with which a row may be called worse. A single run shows nothing about the scatter."""


def regressions(
    before: Mapping[Key, Sequence[Number]],
    now: Mapping[Key, Sequence[Number]],
    tolerance: float = TOLERANCE,
    fewest: int = FEWEST,
) -> list[Row]:
    """Return a row for every key that was measured before or now, sorted.

    - A row is worse if its median is worse by more than ``tolerance`` and this is unlikely to be chance. The test of
      chance needs ``FEWEST`` runs on each side.
    - If ``before`` or ``now`` has fewer than ``fewest`` runs, the verdict of a row that would be worse is ``too few repeats``.
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
