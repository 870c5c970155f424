"""Reports on runs: the content of a store, and comparisons of two sets of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import Argument, InputError, Problem
from railweave.json_values import JsonObject
from railweave.model.catalog import in_force
from railweave.operations.bench.comparing.completion import CompletionTable, completion_tables
from railweave.operations.bench.comparing.curves import Curve, against_prediction, curves, failed
from railweave.operations.bench.comparing.estimate import Estimate, Slowest, estimate, slowest, with_causes
from railweave.operations.bench.comparing.located import located
from railweave.operations.bench.comparing.predicting import foretold
from railweave.operations.bench.comparing.regressions import regressions
from railweave.operations.bench.comparing.rows import TOLERANCE, Pair, Row, numbers, pairs_of, row_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.comparing.predicting import RunPrediction
    from railweave.operations.store.records import Run
    from railweave.pages.table import Table


@dataclass(frozen=True, slots=True)
class BenchComparison(JsonObject):
    """The result of a comparison.

    - ``of``: the reference, ``runs`` or ``prediction``.
    - ``notes``: the parts that could not be compared, and why.
    """

    JSON = ("beside=of", "tolerance", "good", "verdict", "rows", "pairs=estimate", "notes")

    of: str
    tolerance: float
    rows: tuple[Row, ...]
    estimate: Estimate
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if no row is worse than allowed."""
        return not any(row.bad for row in self.rows)

    @property
    def table(self) -> Table:
        """The rows with their verdicts, the worst first."""
        return row_table(self.rows, self.of)

    def verdict(self) -> str:
        """A sentence with the number of rows of each verdict."""
        counts = Counter(row.verdict for row in self.rows)
        if not counts:
            return "There is nothing to compare."
        return f"{len(self.rows)} rows: {', '.join(f'{count} {word}' for word, count in counts.most_common())}."


def compare_runs(
    before: Sequence[Run],
    now: Sequence[Run],
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
) -> BenchComparison:
    """Compare runs with earlier runs. ``more``: settings that follow from the network; ``accounts``: predictions made now.

    Both are by run id. ``tolerance``: the fraction by which a number may be worse; None: ``TOLERANCE``.
    """
    allowed = TOLERANCE if tolerance is None else tolerance
    rows = [*regressions(numbers(before, more), numbers(now, more), allowed, fewest=1), *failed(now)]
    notes = () if any(row.before is not None and row.now is not None for row in rows) else (NOTHING_IN_COMMON,)
    return _compared("runs", rows, now, allowed, more, accounts, notes)


def compare_predicted(
    runs: Sequence[Run],
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
    notes: Sequence[str] = (),
) -> BenchComparison:
    """Compare runs with their stored predictions, or with new ones (``accounts``) if none were stored.

    ``notes``: sentences to include in the result. For the other parameters see ``against_prediction``.
    """
    given = accounts or {}
    rows = against_prediction(runs, tolerance, more, given)
    without = sum(not run.predictions and run.id not in given for run in runs)
    remarks = list(notes)
    if without:
        remarks.append(f"of {without} of {len(runs)} runs nothing was predicted")
    return _compared("prediction", rows, runs, tolerance, more, accounts, remarks)


NOTHING_IN_COMMON = (
    "the two have nothing in common that was measured: operation, size, place and number of GPUs must be the same"
)


def _compared(
    of: str,
    rows: Sequence[Row],
    runs: Sequence[Run],
    tolerance: float | None,
    more: Mapping[str, Mapping[str, str]] | None,
    accounts: Mapping[str, RunPrediction] | None,
    notes: Sequence[str],
) -> BenchComparison:
    pairs = pairs_of(runs, more)
    estimated = estimate(pairs)
    allowed = TOLERANCE if tolerance is None else tolerance
    return BenchComparison(
        of, allowed, tuple(with_causes(rows, pairs, estimated, accounts or {})), estimated, tuple(notes)
    )


@dataclass(frozen=True, slots=True)
class StoreReport(JsonObject):
    """The report of a store.

    - ``regressions``: comparison with the baseline; None if no baseline was given.
    - ``predicted``: comparison with predictions; it has no rows if nothing was predicted.
    """

    JSON = ("store", "runs=#runs", "good", "predicted", "slowest", "regressions", "completion", "notes")

    store: str
    runs: tuple[Run, ...]
    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    slowest: tuple[Slowest, ...]
    predicted: BenchComparison
    regressions: tuple[Row, ...] | None
    completion: tuple[CompletionTable, ...]
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if no row is worse than its prediction or the baseline, no run failed, and no part of the network is suspected."""
        worse = any(row.bad for row in self.regressions or ())
        return self.predicted.good and not worse and not self.predicted.estimate.suspects

    def to_html(self) -> str:
        """Return the report as a page."""
        from railweave.operations.bench.page import bench_html

        return bench_html(self)


def reported(
    store: str,
    runs: Sequence[Run],
    before: Sequence[Run] | None = None,
    *,
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
    notes: Sequence[str] = (),
) -> StoreReport:
    """Return the report of runs. ``before``: the runs of the baseline; None: no baseline.

    For the other parameters see ``compare_predicted``. Runs that belong to the baseline are not compared with it.
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
    return StoreReport(
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


def check_tolerance(tolerance: float | None) -> None:
    """Raise ``InputError`` for a tolerance that is not a part from 0 to below 1."""
    if tolerance is not None and not 0 <= tolerance < 1:
        message = f"a tolerance of {tolerance:g}"
        raise InputError([Problem(Argument("tolerance"), message, "give a part from 0 to below 1, as 0.05")])


def of_network(
    runs: Sequence[Run], network: Network | None, progress: Callable[[str], None], *, predict: bool = True
) -> tuple[dict[str, dict[str, str]], dict[str, RunPrediction], list[str]]:
    """Return the locations of runs and their predictions, both by run id, and notes on runs that have no prediction."""
    if network is None:
        return {}, {}, []
    with in_force(network.catalog):
        more = located(runs, network)
        accounts, notes = foretold(runs, network, progress) if predict else ({}, [])
    return more, accounts, notes
