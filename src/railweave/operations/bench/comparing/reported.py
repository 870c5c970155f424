"""The content of a store as a value: curves over sizes, pairs, what is to blame, regressions, completion times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.operations.bench.comparing.compared import Compared, compare_predicted
from railweave.operations.bench.comparing.completion import CompletionTable, completion_tables
from railweave.operations.bench.comparing.curves import Curve, curves
from railweave.operations.bench.comparing.pairs import Pair, pairs_of
from railweave.operations.bench.comparing.regressions import regressions
from railweave.operations.bench.comparing.rows import numbers
from railweave.operations.bench.comparing.slowest import Slowest, slowest
from railweave.operations.bench.comparing.verdicts import TOLERANCE, Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.store.records import Run


@dataclass(frozen=True, slots=True)
class Reported:
    """The report of a store. ``regressions`` is None where no baseline was given; ``predicted`` has rows where something was predicted."""

    store: str
    runs: tuple[Run, ...]
    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    slowest: tuple[Slowest, ...]
    predicted: Compared
    regressions: tuple[Row, ...] | None
    completion: tuple[CompletionTable, ...]
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing failed, is worse than predicted or than the baseline, or stands out among pairs."""
        worse = any(row.bad for row in self.regressions or ())
        return self.predicted.good and not worse and not self.predicted.estimate.suspects

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object (docs/bench.md)."""
        return {
            "store": self.store,
            "runs": len(self.runs),
            "good": self.good,
            "predicted": self.predicted.to_json(),
            "slowest": [one.to_json() for one in self.slowest],
            "regressions": None if self.regressions is None else [row.to_json() for row in self.regressions],
            "completion": [one.to_json() for one in self.completion],
            "notes": list(self.notes),
        }


def reported(
    store: str,
    runs: Sequence[Run],
    before: Sequence[Run] | None = None,
    *,
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, Foretold] | None = None,
    notes: Sequence[str] = (),
) -> Reported:
    """The report of runs. ``before``: the baseline; the others as ``compare_predicted`` has them.

    Runs of the store that are the baseline themselves are not laid beside it.
    """
    earlier = {run.id for run in before or ()}
    now = [run for run in runs if run.id not in earlier] or list(runs)
    predicted = compare_predicted(now, tolerance, more, accounts)
    pairs = pairs_of(now, more)
    worse = (
        None
        if before is None
        else regressions(numbers(before, more), numbers(now, more), TOLERANCE if tolerance is None else tolerance)
    )
    return Reported(
        store,
        tuple(now),
        tuple(curves(now, before or [], more, accounts)),
        tuple(pairs),
        tuple(slowest(pairs)),
        predicted,
        None if worse is None else tuple(worse),
        tuple(completion_tables(now)),
        (*notes, *predicted.notes),
    )
