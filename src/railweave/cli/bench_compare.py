"""``railweave bench compare``: a verdict for each row, for people and for a cluster's continuous integration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.bench_report import FABRIC, TOLERANCE
from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling, waiting

if TYPE_CHECKING:
    from railweave.operations.bench.comparing.compared import Compared
    from railweave.operations.bench.comparing.verdicts import Row

MOST = 40
"""Rows that are printed, the worst first."""


def compare(
    a: str = typer.Argument(..., help="A store, or STORE#RUN: what was before, or with --predicted what is judged."),
    b: str | None = typer.Argument(None, help="What is judged: a store, STORE#RUN, or a run of the store of A."),
    predicted: bool = typer.Option(False, "--predicted", help="Judge A by what was predicted of it."),
    fabric: Path | None = FABRIC,
    tolerance: float | None = TOLERANCE,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Lay runs beside earlier ones, or beside their prediction: for each row a ratio, a verdict, and what is likely to hold it back.

    Exits 1 where a row is worse than allowed, or a run failed.
    """
    from railweave.api.bench_report import bench_compare

    with waiting(f"reading {a}", quiet=quiet or as_json), telling(quiet=quiet or as_json) as say:
        found = bench_compare(
            a,
            b,
            predicted=predicted,
            fabric=fabric,
            tolerance=tolerance,
            device=device,
            hardware=hardware,
            progress=say,
        )
    if as_json:
        print_json(found.to_json())
    else:
        _told(found)
    if not found.good:
        raise typer.Exit(1)


def _told(found: Compared) -> None:
    ordered = sorted(found.rows, key=lambda row: (not row.bad, row.ratio or 0.0 if row.bad else 0.0))
    for row in ordered[:MOST]:
        typer.echo(_line(row, found.of))
        for sentence in row.likely:
            typer.echo(f"    {sentence}")
    if len(ordered) > MOST:
        worse = sum(row.bad for row in ordered[MOST:])
        typer.echo(f"… and {len(ordered) - MOST:,} more rows, {worse or 'none'} of them worse; --json has all")
    for one in found.estimate.suspects:
        typer.echo(f"slow: {one.part.to_text()}: {one.to_text()}")
    for note in found.notes:
        typer.echo(f"note: {note}")
    typer.echo(found.verdict())


def _line(row: Row, of: str) -> str:
    colors = {"worse": "red", "failed": "red", "better": "green", "too few repeats": "yellow"}
    verdict = typer.style(row.verdict, fg=colors.get(row.verdict))
    band = "" if row.low is None or row.high is None or row.low == row.high else f", {row.low:.4g} to {row.high:.4g}"
    before = "" if row.before is None else f", {'predicted' if of == 'prediction' else 'before'} {row.before:.4g}{band}"
    ratio = "" if row.ratio is None else f": {row.ratio:.2f}"
    now = "nothing" if row.now is None else f"{row.now:.4g}"
    return f"{verdict}{ratio}  {row.key.to_text()}: {row.key.quantity} {now}{before}".rstrip()
