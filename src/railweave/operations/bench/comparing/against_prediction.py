"""Runs laid beside what was predicted of them when they were kept, or is predicted now."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from railweave.operations.bench.comparing.rows import FASTER, Key, key_of, numbers, ratio, where
from railweave.operations.bench.comparing.verdicts import TOLERANCE, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.bench.comparing.rows import Number
    from railweave.operations.store.records import Prediction, Run


def against_prediction(
    runs: Sequence[Run],
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, Foretold] | None = None,
) -> list[Row]:
    """A row for each thing that was both predicted and measured, and one for each run that failed; in order.

    A number is worse where it is below the band of its prediction by more than ``tolerance``; None: by more than the plan of the run
    allows, which is more where nobody knows how far off predictions are, and ``TOLERANCE`` where no plan says it. Several runs of a thing are one row with
    their median, and the prediction of the latest. ``more``: settings that follow from the network (``located``);
    ``accounts``: what was predicted now, by the id of a run, for those of which nothing was predicted when they were kept.
    """
    measured = numbers(runs, more)
    by_id = {run.id: run for run in runs}
    rows: list[Row] = []
    for key, several in measured.items():
        found = _of(key, [by_id[one.run] for one in several], accounts or {})
        if found is not None:
            allowed = allowed_of(by_id[several[-1].run]) if tolerance is None else tolerance
            rows.append(_row(key, several, found, allowed))
    return sorted([*rows, *failed(runs)], key=lambda row: row.key)


def allowed_of(run: Run) -> float:
    """How far below its band a number of a run may be: as its plan says, else ``TOLERANCE``."""
    try:
        found = float(dict(run.settings).get("tolerance", TOLERANCE))
    except ValueError:
        return TOLERANCE
    return found if 0 <= found < 1 else TOLERANCE


def _of(key: Key, runs: Sequence[Run], accounts: Mapping[str, Foretold]) -> Prediction | None:
    """The prediction of a thing in the latest of its runs that has one; one without a place is of both."""
    for run in reversed(runs):
        for one in sound(run.predictions):
            wanted = key_of(one, key.where)
            if replace(key, labels=()) in (wanted, replace(wanted, place=key.place) if not one.place else wanted):
                return one
        account = accounts.get(run.id) if accounts and not run.predictions else None
        if account is not None and key in account.rows:
            return account.rows[key][0]
    return None


def sound(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Predictions that are numbers above 0: a file may hold anything."""
    return [
        one
        for one in predictions
        if all(isfinite(value) and value > 0 for value in (one.value, one.low, one.high)) and one.low <= one.high
    ]


def _row(key: Key, several: Sequence[Number], predicted: Prediction, tolerance: float) -> Row:
    now = median(one.value for one in several)
    # of times the upper end of the band is the slow one
    slow, quick = (predicted.low, predicted.high) if key.quantity in FASTER else (predicted.high, predicted.low)
    beside_slow, beside_quick = ratio(key, slow, now), ratio(key, quick, now)
    row = Row(
        key,
        predicted.value,
        now,
        ratio(key, predicted.value, now),
        "same",
        (0, len(several)),
        predicted.low,
        predicted.high,
        runs=tuple(dict.fromkeys(one.run for one in several)),
        tolerance=tolerance,
    )
    if beside_slow is not None and beside_slow < 1 - tolerance:
        return replace(row, verdict="worse")
    return replace(row, verdict="better") if beside_quick is None or beside_quick > 1 / (1 - tolerance) else row


def failed(runs: Iterable[Run]) -> list[Row]:
    """A row for each run that failed and has no number at all, with what was predicted first of it where anything was."""
    found: list[Row] = []
    for run in runs:
        if run.failures and not run.samples:
            place, why = where(run), run.failures[:3]
            key = Key(place, run.title, -1, "", "")
            row = Row(key, None, None, None, "failed", (0, 1), likely=why, runs=(run.id,))
            for one in sound(run.predictions)[:1]:
                row = replace(row, key=key_of(one, place), before=one.value, low=one.low, high=one.high)
            found.append(row)
    return found
