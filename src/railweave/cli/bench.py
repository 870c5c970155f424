"""``railweave bench``: results of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.bench_compare import compare
from railweave.cli.bench_plan import plan
from railweave.cli.bench_report import report
from railweave.cli.bench_run import run as run_
from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_findings, print_json, tally, waiting
from railweave.counting import counted
from railweave.errors import FileLine, InputError, Problem

if TYPE_CHECKING:
    from railweave.api.bench import Imported
    from railweave.operations.bench.triage.triage import Triaged
    from railweave.operations.store.records import Run

app = typer.Typer(
    no_args_is_help=True, help="Plan and run benchmarks, keep their results, and find out why a run is slow or fails."
)


@app.callback()
def _bench() -> None:
    """Plan and run benchmarks, keep their results, and find out why a run is slow or fails."""


app.command("plan", short_help="Plan the runs that prove a network.")(plan)
app.command("run", short_help="Carry out a plan, and keep what comes of it.")(run_)

FILES = typer.Argument(..., help="Outputs of perftest, nccl-tests, rccl-tests, NCCL_DEBUG=INFO, MLPerf; tables as CSV.")
STORE = typer.Argument(..., help="The store: a file, or postgresql://USER@HOST/NAME.")
FABRIC = typer.Option(None, "--fabric", help="Fabric file or build folder of the network that it ran on.")
RUN = typer.Option([], "--run", help="The run whose id begins so; may be repeated; all where it is left out.")


@app.command("import", short_help="Read outputs of benchmarks and keep their runs.")
def import_(
    files: list[Path] = FILES,
    store: str = typer.Option(
        ..., "--store", help="A file, made where it is not there, or postgresql://USER@HOST/NAME."
    ),
    fabric: Path | None = FABRIC,
    gbits: bool | None = typer.Option(
        None,
        "--report-gbits/--report-mib",
        help="The unit of perftest's JSON, which does not say it; where it is left out the message rate decides.",
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Read outputs of benchmarks and keep their runs in a store, all or none. Reading a file again adds nothing.

    What was not understood is said with file and line. Exits 0, or 2 where a file is no output of a benchmark.
    """
    from railweave.api.bench import bench_import

    with waiting(f"reading {counted(len(files), 'file')}", quiet=quiet or as_json):
        found = bench_import(files, store, fabric=fabric, gbits=gbits, device=device, hardware=hardware)
    if as_json:
        print_json(
            {
                "runs": [one.to_json() for one in found.runs],
                "known": found.known,
                "notes": [str(note) for one in found.files for note in one.notes],
                "beside": {
                    file: [
                        {"what": one.what, "logged": one.logged, "assumed": one.assumed, "same": one.same}
                        for one in rows
                    ]
                    for file, rows in found.beside.items()
                },
            }
        )
        return
    _imported(found)


def _imported(found: Imported) -> None:
    for run in found.runs:
        typer.echo(_line(run))
        for failure in run.failures:
            typer.echo(f"    failed: {failure}")
    for one in found.files:
        for note in one.notes:
            typer.echo(f"note: {note}")
    for file, rows in found.beside.items():
        typer.echo(f"{file}: what NCCL did, and what predictions assume:")
        for row in rows:
            typer.echo(
                f"  {'  ' if row.same else '! '}{row.what}: {row.logged}"
                + ("" if row.same else f"; assumed {row.assumed}")
            )
    known = f"; {found.known} were there already" if found.known else ""
    typer.echo(f"{counted(len(found.runs), 'run')} kept{known}")


def _line(run: Run) -> str:
    where = f" on {', '.join(run.hosts)}" if run.hosts else ""
    return f"{run.id}  {run.tool}: {run.title}{where}, {counted(len(run.samples), 'number')}"


@app.command(short_help="Show the runs of a store.")
def show(
    store: str = STORE,
    run: list[str] = RUN,
    as_json: bool = JSON,
    quiet: bool = QUIET,  # noqa: ARG001 - as every verb; it takes no time
) -> None:
    """Show the runs of a store; of runs that are named by --run what they ran on, and every number."""
    from railweave.operations.store.store import opened

    with opened(store) as found:
        runs = found.runs(ids=run)
    if as_json:
        print_json({"runs": [one.to_json() for one in runs]})
        return
    for one in runs:
        typer.echo(_line(one))
        if run:
            _shown(one)
    typer.echo(counted(len(runs), "run"))


def _shown(run: Run) -> None:
    environment = run.environment
    told = [
        ("file", f"{run.file}:{run.line}"),
        ("began", run.began),
        ("kept", run.kept),
        ("plugin", environment.plugin),
    ]
    told += [("fabric", environment.fabric), ("design", environment.design_digest[:16])]
    told += [*environment.versions, *environment.firmware, *environment.variables, *run.settings, *run.facts]
    for name, text in told:
        if text:
            typer.echo(f"    {name}: {text}")
    for failure in run.failures:
        typer.echo(f"    failed: {failure}")
    for one in run.samples:
        size = "" if one.size_bytes is None else f" {one.size_bytes} bytes"
        place = f" {one.place}" if one.place else ""
        typer.echo(f"    {one.operation}{size}{place}: {one.quantity} {one.value:g}")


@app.command(short_help="Write the runs of a store as CSV or JSON.")
def export(
    store: str = STORE,
    output: Path = typer.Option(..., "-o", "--output", help="A file that ends in .csv or .json."),
    run: list[str] = RUN,
    as_json: bool = JSON,
    quiet: bool = QUIET,  # noqa: ARG001 - as every verb; it takes no time
) -> None:
    """Write the runs of a store: as CSV a line for each number, as JSON everything."""
    from railweave.errors import InputError, Option, Problem
    from railweave.operations.store.export import to_csv, to_json
    from railweave.operations.store.store import opened
    from railweave.writing import write_file

    forms = {".csv": to_csv, ".json": to_json}
    if output.suffix not in forms:
        raise InputError([Problem(Option("--output"), f"{output} ends in neither .csv nor .json", "name it so")])
    with opened(store) as found:
        runs = found.runs(ids=run)
    write_file(output, forms[output.suffix](runs))
    if as_json:
        print_json({"file": str(output), "runs": len(runs)})
    else:
        typer.echo(f"wrote {output}: {counted(len(runs), 'run')}")


@app.command(short_help="Find out from its output why a run is slow or fails.")
def triage(
    files: list[Path] = typer.Argument(..., help="Outputs of runs, with NCCL_DEBUG=INFO where it is about NCCL."),
    fabric: Path | None = FABRIC,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Look through outputs of runs: plugin not loaded, wrong GIDs, no GPUDirect, retries exceeded, interfaces, affinity and more.

    Each finding has the line that shows it, and what to do. Exits 1 where there is an error among them, 2 where a
    file is no output of a benchmark.
    """
    from railweave.api.bench import bench_triage

    with waiting(f"reading {counted(len(files), 'file')}", quiet=quiet or as_json):
        found = bench_triage(files, fabric=fabric, device=device, hardware=hardware)
    findings = [one.finding for triaged in found for one in triaged.diagnoses]
    unknown = [
        Problem(FileLine(one.read.file), "no output of a benchmark is known in it", "give what a run printed")
        for one in found
        if one.read.empty and not one.diagnoses
    ]
    if unknown and (as_json or len(unknown) == len(found)):
        raise InputError(unknown)
    if as_json:
        print_json({"findings": [one.to_json() for triaged in found for one in triaged.diagnoses]})
    else:
        _told(found)
        typer.echo(tally(findings))
    if unknown:
        raise InputError(unknown)
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _told(found: list[Triaged]) -> None:
    for triaged in found:
        for one in triaged.diagnoses:
            print_findings([one.finding])
            if one.evidence:
                typer.echo(f"    | {one.evidence}")


app.command("report", short_help="Write a page of what a store says.")(report)
app.command("compare", short_help="Judge runs by earlier ones, or by their prediction.")(compare)
