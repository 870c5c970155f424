"""Results of benchmarks beside each other, and beside what was predicted: a page, and verdicts row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.api.sources import network_of
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.model.network.model import Network
    from railweave.operations.bench.comparing.compared import Compared
    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.bench.comparing.reported import Reported
    from railweave.operations.store.records import Run


def bench_report(
    store: Path | str,
    *,
    baseline: Path | str | None = None,
    fabric: Network | Path | str | None = None,
    tolerance: float | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Reported:
    """The content of a store, as ``railweave bench report`` shows it; ``operations.bench.page.page.bench_html`` makes the page of it.

    - ``store``: a file or a ``postgresql://`` address; ``STORE#RUN`` for the runs whose id begins so.
    - ``baseline``: another store, or a run of this one, that regressions are looked for against.
    - ``fabric``: the network that runs were on: pairs are found in it by their GIDs, and collectives of which nothing was predicted are predicted.
    - ``tolerance``: part by which a number may be worse; None: beside a prediction what the plan of the run allows, else 0.05.
    - ``device``, ``hardware``: see ``load``.
    - ``progress``: called with a few words on what is being done.

    Raises ``SpecError`` where there is no store, ``InputError`` for a run that it has not, and as ``load`` does.
    """
    from railweave.operations.bench.comparing.reported import reported
    from railweave.operations.bench.comparing.stores import runs_of

    _allowed(tolerance)
    runs = runs_of(str(store))
    before = None if baseline is None else runs_of(str(baseline), str(store))
    more, accounts, notes = _of_network(runs, fabric, device, hardware, progress)
    return reported(str(store), runs, before, tolerance=tolerance, more=more, accounts=accounts, notes=notes)


def bench_compare(
    a: Path | str,
    b: Path | str | None = None,
    *,
    predicted: bool = False,
    fabric: Network | Path | str | None = None,
    tolerance: float | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Compared:
    """Runs beside earlier ones (``a`` before, ``b`` now), or beside what was predicted of them: a verdict for each row.

    - ``a``, ``b``: stores, or ``STORE#RUN`` for the runs whose id begins so; ``b`` may be a run of the store of ``a``.
    - ``predicted``: compare ``a`` with its predictions; ``b`` is left out.
    - ``fabric``, ``tolerance``, ``device``, ``hardware``, ``progress``: see ``bench_report``. With ``fabric`` rows have the simulator's
      account of what holds them back.

    ``good`` of the result is False where a row is worse than allowed, or failed. Raises as ``bench_report`` does, and ``InputError`` where
    neither or both of ``b`` and ``predicted`` are given.
    """
    from railweave.operations.bench.comparing.compared import compare_predicted, compare_runs
    from railweave.operations.bench.comparing.stores import runs_of

    _allowed(tolerance)
    if predicted == (b is not None):
        fix = "give two stores or runs, or one and --predicted"
        raise InputError([Problem(Argument("B"), "there must be one of B and --predicted", fix)])
    before = runs_of(str(a))
    now = before if b is None else runs_of(str(b), str(a))
    more, accounts, notes = _of_network(now, fabric, device, hardware, progress)
    if b is None:
        return compare_predicted(now, tolerance, more, accounts, notes)
    if more and fabric is not None:
        more = _of_network(before, fabric, device, hardware, progress, predict=False)[0] | more
    return compare_runs(before, now, tolerance, more, accounts)


def _allowed(tolerance: float | None) -> None:
    if tolerance is not None and not 0 <= tolerance < 1:
        what = f"a tolerance of {tolerance:g}"
        raise InputError([Problem(Argument("tolerance"), what, "give a part from 0 to below 1, as 0.05")])


def _of_network(
    runs: Sequence[Run],
    fabric: Network | Path | str | None,
    device: Sequence[str],
    hardware: Path | str | None,
    progress: Callable[[str], None] | None,
    *,
    predict: bool = True,
) -> tuple[dict[str, dict[str, str]], dict[str, Foretold], list[str]]:
    """Where runs took place, what is predicted of them, and why some are not."""
    if fabric is None:
        return {}, {}, []
    from railweave.operations.bench.comparing.located import located
    from railweave.operations.bench.comparing.predicting import foretold

    network = network_of(fabric, device, hardware)
    with in_force(network.catalog):
        more = located(runs, network)
        accounts, notes = foretold(runs, network, progress) if predict else ({}, [])
    return more, accounts, notes
