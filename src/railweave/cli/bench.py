"""``railweave bench``: benchmarks planned, run, kept, compared and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_findings, print_json, tally, telling, waiting
from railweave.counting import counted
from railweave.errors import FileLine, InputError, Option, Problem

if TYPE_CHECKING:
    from railweave.api.bench import Imported
    from railweave.operations.bench.comparing.reported import Compared
    from railweave.operations.bench.comparing.rows import Row
    from railweave.operations.bench.plan import Memory
    from railweave.operations.bench.running.pair import Launcher
    from railweave.operations.bench.triage.triage import Triaged
    from railweave.operations.store.records import Run


TOLERANCE = typer.Option(
    None,
    "--tolerance",
    help="Part by which a number may be worse, as 0.05; default: beside a prediction as planned, else 0.05.",
)
REPORT_FABRIC = typer.Option(
    None, "--fabric", help="Fabric file or build folder: what nothing was predicted of is predicted, GIDs become NICs."
)


def report(
    store: str = typer.Argument(..., help="The store: a file, postgresql://USER@HOST/NAME, or STORE#RUN for one run."),
    output: Path = typer.Option(..., "-o", "--output", help="The page: a file that ends in .html."),
    baseline: str | None = typer.Option(
        None, "--baseline", help="Earlier results to look for regressions against: a store, or a run of this one."
    ),
    fabric: Path | None = REPORT_FABRIC,
    tolerance: float | None = TOLERANCE,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write a page of what a store says: bandwidth by size beside its prediction, pairs and what is to blame for slow ones, regressions, job completion times.

    Exits 0 whatever the page says; `railweave bench compare` judges.
    """
    from railweave.api.bench import bench_report
    from railweave.operations.bench.page import bench_html
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


MOST = 40
"""Rows that are printed, the worst first."""


def compare(
    a: str = typer.Argument(..., help="A store, or STORE#RUN: what was before, or with --predicted what is judged."),
    b: str | None = typer.Argument(None, help="What is judged: a store, STORE#RUN, or a run of the store of A."),
    predicted: bool = typer.Option(False, "--predicted", help="Judge A by what was predicted of it."),
    fabric: Path | None = REPORT_FABRIC,
    tolerance: float | None = TOLERANCE,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Lay runs beside earlier ones, or beside their prediction: for each row a ratio, a verdict, and what is likely to hold it back.

    Exits 1 where a row is worse than allowed, or a run failed.
    """
    from railweave.api.bench import bench_compare

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
        _print_compared(found)
    if not found.good:
        raise typer.Exit(1)


def _print_compared(found: Compared) -> None:
    ordered = sorted(found.rows, key=lambda row: (not row.bad, row.ratio or 0.0 if row.bad else 0.0))
    for row in ordered[:MOST]:
        typer.echo(_row_line(row, found.of))
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


def _row_line(row: Row, of: str) -> str:
    colors = {"worse": "red", "failed": "red", "better": "green", "too few repeats": "yellow"}
    verdict = typer.style(row.verdict, fg=colors.get(row.verdict))
    band = "" if row.low is None or row.high is None or row.low == row.high else f", {row.low:.4g} to {row.high:.4g}"
    before = "" if row.before is None else f", {'predicted' if of == 'prediction' else 'before'} {row.before:.4g}{band}"
    ratio = "" if row.ratio is None else f": {row.ratio:.2f}"
    now = "nothing" if row.now is None else f"{row.now:.4g}"
    return f"{verdict}{ratio}  {row.key.to_text()}: {row.key.quantity} {now}{before}".rstrip()


MEMORIES: dict[str, Memory] = {"host": "host", "cuda": "cuda", "rocm": "rocm"}


def plan(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    output: Path = typer.Option(..., "-o", "--output", help="The file of the plan, as JSON."),
    suite: str = typer.Option("quick", help="quick, acceptance, knobs, table12, table1.3 or fifty-km."),
    part: list[str] = typer.Option([], help="A part of the suite, as mesh; may be repeated; default: all."),
    hosts: str | None = typer.Option(
        None, help="Servers in the order of their ranks: A,B,C-[1-4]; the first N; or stripes-alternate. Default: all."
    ),
    memory: str | None = typer.Option(
        None, help="Where perftest's buffers lie: host, cuda or rocm; default: in the GPUs beside the NICs."
    ),
    on: str | None = typer.Option(
        None, "--fabric", help="The fabric that is proved, where there are several; else that of the GPUs' own NICs."
    ),
    predict: bool = typer.Option(True, "--predict/--no-predict", help="Whether to predict what each run should give."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Plan the runs of perftest and nccl-tests that prove a network, each with what it should give by the simulator.

    Pairs of NICs run in rounds in which no two share a NIC or a link. The plan is written whole or not at all.
    """
    from railweave.api.bench import bench_plan
    from railweave.operations.bench.planning.making import plan_text
    from railweave.writing import write_file

    if memory is not None and memory not in MEMORIES:
        raise InputError([Problem(Option("--memory"), f"{memory!r} is no memory", f"give {', '.join(MEMORIES)}")])
    with telling(quiet=quiet or as_json) as say:
        found = bench_plan(
            fabric,
            suite,
            hosts=hosts,
            memory=None if memory is None else MEMORIES[memory],
            fabric=on,
            parts=part,
            predict=predict,
            device=device,
            hardware=hardware,
            progress=say,
        )
    write_file(output, found.to_json())
    if as_json:
        parts: dict[str, int] = {}
        for one in found.runs:
            parts[one.part] = parts.get(one.part, 0) + 1
        print_json(
            {
                "file": str(output),
                "suite": found.suite,
                "design_digest": found.design_digest,
                "digest": found.digest,
                "runs": len(found.runs),
                "parts": parts,
                "estimate_s": found.estimate_s,
                "notes": list(found.notes),
            }
        )
    else:
        typer.echo(plan_text(found))
        typer.echo(f"wrote {output}")


LAUNCHERS: dict[str, Launcher] = {"mpirun": "mpirun", "srun": "srun"}
HERE = "here"


def run(
    plan: Path = typer.Argument(..., help="The file of `railweave bench plan`."),
    store: str = typer.Option(
        ..., "--store", help="A file, made where it is not there, or postgresql://USER@HOST/NAME."
    ),
    access: Path | None = typer.Option(
        None, "--access", help="How servers are reached: access.yaml (docs/collect.md); by their names without it."
    ),
    only: list[str] = typer.Option(
        [],
        "--only",
        help="A run or a part of the plan, as mesh or 'pairs/*'; may be repeated. Runs that need something set first are left out unless named.",
    ),
    again: bool = typer.Option(False, "--again", help="Also runs that the store has of this plan."),
    failed: bool = typer.Option(False, "--failed", help="Also runs that the store has of this plan, if they failed."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Show what would be run; nothing is asked, nothing is written."
    ),
    launcher: str = typer.Option("mpirun", help="What starts collectives: mpirun or srun."),
    launch_on: str | None = typer.Option(
        None,
        "--launch-on",
        help="The server that it is started on, or here; default: mpirun on the first server of the run, srun here.",
    ),
    ranks: str | None = typer.Option(
        None, "--ranks", help="What starts each rank, before -- PROGRAM; default: railweave host env."
    ),
    mpi_script: Path | None = typer.Option(
        None, "--mpi-script", help="A script in the place of the mpirun.sh that `railweave build` writes."
    ),
    srun_option: list[str] = typer.Option(
        [], "--srun-option", help="A word for srun, as --partition=gpu; may be repeated."
    ),
    perftest: str = typer.Option("", "--perftest", help="The folder of perftest on servers; default: on their path."),
    nccl_tests: str = typer.Option(
        "", "--nccl-tests", help="The folder of nccl-tests or rccl-tests on servers; default: on their path."
    ),
    timeout: float | None = typer.Option(
        None, "--timeout", min=1, help="Seconds after which a run is ended; default: as planned."
    ),
    at_once: int = typer.Option(256, "--at-once", min=1, max=4096, help="Runs at the same time, of those that may be."),
    host_check: bool = typer.Option(
        True, "--host-check/--no-host-check", help="Whether `host check` runs on the servers before, and is kept."
    ),
    sudo: bool = typer.Option(
        False, "--sudo", help="`host check` as root by `sudo -n`, which must ask for no password."
    ),
    outputs: Path | None = typer.Option(
        None, "--outputs", help="The folder for what programs print; default: STORE.outputs."
    ),
    on: Path | None = typer.Option(
        None, "--fabric", help="Fabric file or build folder, where it is not where the plan says."
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Carry out a plan: perftest between servers over SSH, collectives by mpirun or srun. Each result is kept as soon as it is there.

    A run that fails or does not end is a result too. Runs that the store has already are not repeated, so that the same command goes on where an
    interrupted one stopped. Nothing stays on a server. Exits 0, or 1 where a run failed.
    """
    from railweave.api.bench_run import bench_run

    if launcher not in LAUNCHERS:
        raise InputError([Problem(Option("--launcher"), f"{launcher!r} is none", f"give {' or '.join(LAUNCHERS)}")])
    with telling(quiet=quiet or as_json) as say:
        found = bench_run(
            plan,
            store,
            fabric=on,
            access=access,
            only=only,
            again=again,
            failed=failed,
            launcher=LAUNCHERS[launcher],
            launch_on="" if launch_on == HERE else launch_on,
            ranks=ranks,
            mpi_script=mpi_script,
            srun_options=srun_option,
            perftest=perftest,
            nccl_tests=nccl_tests,
            at_once=at_once,
            timeout_s=timeout,
            host_check=host_check,
            sudo=sudo,
            outputs=outputs,
            dry_run=dry_run,
            device=device,
            hardware=hardware,
            progress=say,
        )
    if as_json:
        print_json(found.to_json())
    elif dry_run:
        for name, line in found.commands:
            typer.echo(f"{name}\n    {line}")
        for note in found.notes:
            typer.echo(f"note: {note}")
        typer.echo(
            f"{len(found.commands):,} runs would be carried out; {len(found.chosen.had):,} are in the store already"
        )
    else:
        typer.echo(found.to_text())
    if not found.good:
        raise typer.Exit(1)


app = typer.Typer(
    no_args_is_help=True, help="Plan and run benchmarks, keep their results, and find out why a run is slow or fails."
)


@app.callback()
def _bench() -> None:
    """Plan and run benchmarks, keep their results, and find out why a run is slow or fails."""


app.command("plan", short_help="Plan the runs that prove a network.")(plan)
app.command("run", short_help="Carry out a plan, and keep what comes of it.")(run)

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
        _print_triaged(found)
        typer.echo(tally(findings))
    if unknown:
        raise InputError(unknown)
    if any(one.severity == "error" for one in findings):
        raise typer.Exit(1)


def _print_triaged(found: list[Triaged]) -> None:
    for triaged in found:
        for one in triaged.diagnoses:
            print_findings([one.finding])
            if one.evidence:
                typer.echo(f"    | {one.evidence}")


app.command("report", short_help="Write a page of what a store says.")(report)
app.command("compare", short_help="Judge runs by earlier ones, or by their prediction.")(compare)
