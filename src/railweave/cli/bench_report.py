"""``railweave bench report``: a page of what a store says."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling, waiting
from railweave.counting import counted

TOLERANCE = typer.Option(
    None,
    "--tolerance",
    help="Part by which a number may be worse, as 0.05; default: beside a prediction as planned, else 0.05.",
)
FABRIC = typer.Option(
    None, "--fabric", help="Fabric file or build folder: what nothing was predicted of is predicted, GIDs become NICs."
)


def report(
    store: str = typer.Argument(..., help="The store: a file, postgresql://USER@HOST/NAME, or STORE#RUN for one run."),
    output: Path = typer.Option(..., "-o", "--output", help="The page: a file that ends in .html."),
    baseline: str | None = typer.Option(
        None, "--baseline", help="Earlier results to look for regressions against: a store, or a run of this one."
    ),
    fabric: Path | None = FABRIC,
    tolerance: float | None = TOLERANCE,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write a page of what a store says: bandwidth by size beside its prediction, pairs and what is to blame for slow ones, regressions, job completion times.

    Exits 0 whatever the page says; `railweave bench compare` judges.
    """
    from railweave.api.bench_report import bench_report
    from railweave.errors import InputError, Option, Problem
    from railweave.operations.bench.page.page import bench_html
    from railweave.writing import write_file

    if output.suffix != ".html":
        raise InputError([Problem(Option("--output"), f"{output} does not end in .html", "name it so")])
    with waiting(f"reading {store}", quiet=quiet or as_json), telling(quiet=quiet or as_json) as say:
        found = bench_report(
            store,
            baseline=baseline,
            fabric=fabric,
            tolerance=tolerance,
            device=device,
            hardware=hardware,
            progress=say,
        )
        write_file(output, bench_html(found))
    if as_json:
        print_json({"file": str(output), **found.to_json()})
        return
    estimate = found.predicted.estimate
    for one, second in zip(estimate.suspects, estimate.runners_up, strict=True):
        other = f"; runner-up {second.part.to_text()}" if second else ""
        typer.echo(f"slow: {one.part.to_text()}: {one.to_text()}{other}")
    if found.predicted.rows:
        typer.echo(f"beside the prediction: {found.predicted.verdict()}")
    if found.regressions is not None:
        worse = sum(row.bad for row in found.regressions)
        typer.echo(f"beside the baseline: {worse} of {counted(len(found.regressions), 'row')} worse")
    for note in found.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"wrote {output}: {counted(len(found.runs), 'run')}")
