"""Bandwidth by size: of the latest run of a thing, of earlier ones, and as it was predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.operations.bench.comparing.against_prediction import sound
from railweave.operations.bench.comparing.rows import key_of, numbers, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.bench.comparing.rows import Key
    from railweave.operations.store.records import Run

QUANTITIES = {"busbw_gbytes_per_s": "GB/s of bus bandwidth", "bandwidth_gbps": "Gb/s"}
MOST_EARLIER = 4
"""Earlier runs of a curve: the latest of them."""

Group = tuple[str, str, str, str, tuple[tuple[str, str], ...]]
"""Where, operation, place, quantity, and labels but the name of a row: rows of a table that differ in size alone are one curve."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Bandwidth over ``sizes``, in ``unit``. ``now``, ``earlier`` (with their titles) and ``predicted`` (value, low, high) have an entry for each size."""

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
        """What it is of."""
        told = ", ".join(filter(None, (self.where, *(f"{name} {text}" for name, text in self.labels[:4]))))
        return " ".join(filter(None, (self.operation, self.place, told and f"({told})")))


def curves(
    runs: Sequence[Run],
    before: Sequence[Run] = (),
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, Foretold] | None = None,
) -> list[Curve]:
    """A curve for each operation, place and set of GPUs of which some run has several sizes. ``before``: runs that are earlier than all others.

    ``more``, ``accounts``: see ``against_prediction``.
    """
    found: dict[Group, dict[str, dict[int, float]]] = {}
    ordered = {run.id: run for run in (*before, *runs)}
    for run in ordered.values():
        for key, several in numbers([run], more).items():
            if key.quantity in QUANTITIES and key.size_bytes > 0:
                group = _group(key)
                found.setdefault(group, {}).setdefault(run.id, {})[key.size_bytes] = several[0].value
    result: list[Curve] = []
    for group, by_run in sorted(found.items()):
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
    accounts: Mapping[str, Foretold],
) -> Curve:
    *earlier, last = by_run
    return Curve(
        *group[:3],
        unit=QUANTITIES[group[3]],
        sizes=tuple(sizes),
        run=last,
        now=tuple(by_run[last].get(size) for size in sizes),
        earlier=tuple(
            (_title(runs[one]), tuple(by_run[one].get(size) for size in sizes)) for one in earlier[-MOST_EARLIER:]
        ),
        predicted=_predicted(group, sizes, [runs[one] for one in by_run], more, accounts),
        labels=group[4],
    )


def _group(key: Key) -> Group:
    labels = tuple(one for one in key.labels if one[0] != "row_id")
    return key.where, key.operation, key.place, key.quantity, labels


def _predicted(
    group: Group,
    sizes: Sequence[int],
    runs: Sequence[Run],
    more: Mapping[str, Mapping[str, str]],
    accounts: Mapping[str, Foretold],
) -> tuple[tuple[float, float, float] | None, ...]:
    """Of the latest run that has any."""
    for run in reversed(runs):
        found: dict[int, tuple[float, float, float]] = {}
        for one in sound(run.predictions):
            key = key_of(one, where(run, more.get(run.id)))
            if _group(replace(key, place=key.place or group[2], labels=group[4])) == group:
                found[key.size_bytes] = one.value, one.low, one.high
        if not run.predictions and run.id in accounts:
            for key, (one, _) in accounts[run.id].rows.items():
                if _group(key) == group:
                    found[key.size_bytes] = one.value, one.low, one.high
        if found:
            return tuple(found.get(size) for size in sizes)
    return tuple(None for _ in sizes)


def _title(run: Run) -> str:
    return f"{run.began or run.kept} ({run.id[:6]})".strip()
