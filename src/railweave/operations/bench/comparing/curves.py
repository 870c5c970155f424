"""Curves of bandwidth by message size, for the latest run, earlier runs and predictions; and the comparison of runs with predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from railweave.operations.bench.comparing.rows import FASTER, TOLERANCE, Key, Number, Row, key_of, numbers, ratio, where

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.operations.bench.comparing.predicting import RunPrediction
    from railweave.operations.store.records import Prediction, Run


def against_prediction(
    runs: Sequence[Run],
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
) -> list[Row]:
    """Return a comparison (row) for each number that was both predicted and measured, and for each failed run, sorted by key.

    A number is worse if it is below the band of its prediction by more than ``tolerance``, a fraction. If ``tolerance`` is
    None, the fraction in the run's plan is used or, without a plan, ``TOLERANCE``. Plans have a larger fraction if the error of
    predictions is unknown.

    - Several runs of the same test share one row. The row has the median of these runs, and the latest run's prediction.
    - ``more``: settings that the network determines, such as ``client`` and ``server``, by run id (``located``).
    - ``accounts``: new predictions, by run id, for runs that were stored without a prediction.
    """
    measured = numbers(runs, more)
    by_id = {run.id: run for run in runs}
    rows: list[Row] = []
    for key, several in measured.items():
        prediction = _of(key, [by_id[number.run] for number in several], accounts or {})
        if prediction is not None:
            allowed = allowed_of(by_id[several[-1].run]) if tolerance is None else tolerance
            rows.append(_row(key, several, prediction, allowed))
    return sorted([*rows, *failed(runs)], key=lambda row: row.key)


def allowed_of(run: Run) -> float:
    """Return the fraction by which a run's numbers may be below the predicted band: the fraction in the run's plan, or else ``TOLERANCE``."""
    try:
        tolerance = float(dict(run.settings).get("tolerance", TOLERANCE))
    except ValueError:
        return TOLERANCE
    return tolerance if 0 <= tolerance < 1 else TOLERANCE


def _of(key: Key, runs: Sequence[Run], accounts: Mapping[str, RunPrediction]) -> Prediction | None:
    """Return the prediction for a measured number, from the latest run that has one; None if no run has one.

    ``key`` identifies the number. A prediction that does not say in-place or out-of-place applies to both. ``accounts`` has new
    predictions by run id.
    """
    for run in reversed(runs):
        for prediction in sound(run.predictions):
            wanted = key_of(prediction, key.where)
            if replace(key, labels=()) in (
                wanted,
                replace(wanted, place=key.place) if not prediction.place else wanted,
            ):
                return prediction
        account = accounts.get(run.id) if accounts and not run.predictions else None
        if account is not None and key in account.rows:
            return account.rows[key][0]
    return None


def sound(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return the predictions whose value and band are finite and above 0. Damaged files may contain other predictions."""
    return [
        prediction
        for prediction in predictions
        if all(isfinite(value) and value > 0 for value in (prediction.value, prediction.low, prediction.high))
        and prediction.low <= prediction.high
    ]


def _row(key: Key, several: Sequence[Number], predicted: Prediction, tolerance: float) -> Row:
    now = median(number.value for number in several)
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
        runs=tuple(dict.fromkeys(number.run for number in several)),
        tolerance=tolerance,
    )
    if beside_slow is not None and beside_slow < 1 - tolerance:
        return replace(row, verdict="worse")
    return replace(row, verdict="better") if beside_quick is None or beside_quick > 1 / (1 - tolerance) else row


def failed(runs: Iterable[Run]) -> list[Row]:
    """Return a comparison (row) for each run that failed and has no result, with the run's first prediction, if there is any."""
    rows: list[Row] = []
    for run in runs:
        if run.failures and not run.samples:
            place, why = where(run), run.failures[:3]
            key = Key(place, run.title, -1, "", "")
            row = Row(key, None, None, None, "failed", (0, 1), likely=why, runs=(run.id,))
            for prediction in sound(run.predictions)[:1]:
                row = replace(
                    row,
                    key=key_of(prediction, place),
                    before=prediction.value,
                    low=prediction.low,
                    high=prediction.high,
                )
            rows.append(row)
    return rows


QUANTITIES = {"busbw_gbytes_per_s": "GB/s of bus bandwidth", "bandwidth_gbps": "Gb/s"}
MOST_EARLIER = 4
"""The largest number of earlier runs that a curve shows. If there are more, it shows the latest ones."""

Group = tuple[str, str, str, str, tuple[tuple[str, str], ...]]
"""The key of a curve: (``where``, operation, in-place or out-of-place, quantity, labels of its numbers without the label ``row_id``).

``where`` is the planned run, the pair of NICs or the number of GPUs. Table rows that differ only in size belong to the same
curve.
"""


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve of bandwidth over message size. ``unit`` is the unit of its numbers.

    - ``where``: the planned run, the pair of NICs or the number of GPUs. ``place``: in-place or out-of-place.
    - ``run``: the id of the latest run. ``now``: its number for each of ``sizes``; None if it has no number for a size.
    - ``earlier``: (title, numbers) of each earlier run; the numbers are for the same sizes as in ``now``.
    - ``predicted``: for each of ``sizes``, the predicted value and the low and high ends of its band; None without a
      prediction.
    """

    where: str
    operation: str
    place: str
    unit: str
    sizes: tuple[int, ...]
    run: str
    now: tuple[float | None, ...]
    earlier: tuple[tuple[str, tuple[float | None, ...]], ...]
    predicted: tuple[tuple[float, float, float] | None, ...]
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """Return the title of the curve: the operation, in-place or out-of-place, the run and the first labels."""
        details = ", ".join(filter(None, (self.where, *(f"{name} {text}" for name, text in self.labels[:4]))))
        return " ".join(filter(None, (self.operation, self.place, details and f"({details})")))


def curves(
    runs: Sequence[Run],
    before: Sequence[Run] = (),
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
) -> list[Curve]:
    """Return the curves of the results in ``runs``, one per ``Group``. A group in which no run has several sizes has no curve.

    - ``before``: runs that are earlier than all of ``runs``.
    - ``more``: settings that the network determines, such as ``client`` and ``server``, by run id (``located``).
    - ``accounts``: new predictions, by run id, for runs that were stored without a prediction.
    """
    by_group: dict[Group, dict[str, dict[int, float]]] = {}
    ordered = {run.id: run for run in (*before, *runs)}
    for run in ordered.values():
        for key, several in numbers([run], more).items():
            if key.quantity in QUANTITIES and key.size_bytes > 0:
                group = _group(key)
                by_group.setdefault(group, {}).setdefault(run.id, {})[key.size_bytes] = several[0].value
    result: list[Curve] = []
    for group, by_run in sorted(by_group.items()):
        sizes = sorted({size for values in by_run.values() for size in values})
        if max(map(len, by_run.values())) > 1:
            result.append(_curve(group, by_run, sizes, ordered, more or {}, accounts or {}))
    return result


def _curve(
    group: Group,
    by_run: Mapping[str, Mapping[int, float]],
    sizes: Sequence[int],
    runs: Mapping[str, Run],
    more: Mapping[str, Mapping[str, str]],
    accounts: Mapping[str, RunPrediction],
) -> Curve:
    *earlier, last = by_run
    return Curve(
        *group[:3],
        unit=QUANTITIES[group[3]],
        sizes=tuple(sizes),
        run=last,
        now=tuple(by_run[last].get(size) for size in sizes),
        earlier=tuple(
            (_title(runs[run_id]), tuple(by_run[run_id].get(size) for size in sizes))
            for run_id in earlier[-MOST_EARLIER:]
        ),
        predicted=_predicted(group, sizes, [runs[run_id] for run_id in by_run], more, accounts),
        labels=group[4],
    )


def _group(key: Key) -> Group:
    labels = tuple(label for label in key.labels if label[0] != "row_id")
    return key.where, key.operation, key.place, key.quantity, labels


def _predicted(
    group: Group,
    sizes: Sequence[int],
    runs: Sequence[Run],
    more: Mapping[str, Mapping[str, str]],
    accounts: Mapping[str, RunPrediction],
) -> tuple[tuple[float, float, float] | None, ...]:
    """Return, for each size, the predicted value and the low and high ends of its band; None without a prediction.

    These values come from the latest run that has predictions for the curve with the key ``group``. ``more`` holds settings that
    the network determines, and ``accounts`` new predictions, both by run id.
    """
    for run in reversed(runs):
        by_size: dict[int, tuple[float, float, float]] = {}
        for prediction in sound(run.predictions):
            key = key_of(prediction, where(run, more.get(run.id)))
            if _group(replace(key, place=key.place or group[2], labels=group[4])) == group:
                by_size[key.size_bytes] = prediction.value, prediction.low, prediction.high
        if not run.predictions and run.id in accounts:
            for key, (prediction, _) in accounts[run.id].rows.items():
                if _group(key) == group:
                    by_size[key.size_bytes] = prediction.value, prediction.low, prediction.high
        if by_size:
            return tuple(by_size.get(size) for size in sizes)
    return tuple(None for _ in sizes)


def _title(run: Run) -> str:
    return f"{run.began or run.kept} ({run.id[:6]})".strip()
