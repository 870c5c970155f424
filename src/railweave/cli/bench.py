"""``railweave bench``: plan and run benchmarks, store their results, compare and report them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Opt
from railweave.api.running_verbs import (
    BenchCheck,
    BenchCompare,
    BenchExport,
    BenchImport,
    BenchPlan,
    BenchReport,
    BenchRun,
    BenchShow,
    BenchTriage,
)
from railweave.api.verbs import CSV
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, tally, telling, waiting, write_csv
from railweave.counting import counted
from railweave.errors import FileLine, InputError, Problem

if TYPE_CHECKING:
    from railweave.operations.bench.comparing.reported import BenchComparison
    from railweave.operations.bench.runs import ImportResult
    from railweave.operations.bench.triage.triage import TriageResult
    from railweave.operations.store.records import Run
    from railweave.pages.table import Table


@dataclass(frozen=True, kw_only=True)
class BenchReportShown(BenchReport):
    """Options of ``railweave bench report``."""

    html: Annotated[Path, Opt("Page to write (.html).", letter="-o", metavar="FILE")]


@command(BenchReportShown)
def report(options: BenchReportShown, *, as_json: bool, quiet: bool) -> None:
    """Write a page about the runs in a store: measured and predicted bandwidth by message size, slow pairs of NICs with likely causes, and job completion times.

    With --baseline, the page also lists results that became worse; the exit status is 0 nevertheless. For an exit status of 1, use
    `railweave bench compare`.
    """
    from railweave.api.bench import bench_report
    from railweave.writing import write_file

    with waiting(f"reading {options.store}", quiet=quiet or as_json), telling(quiet=quiet or as_json) as say:
        result = bench_report.of(replace(options, progress=say))
        write_file(options.html, result.to_html())
    if as_json:
        print_json({"file": str(options.html), **result.to_json()})
        return
    estimate = result.predicted.estimate
    for suspect, second in zip(estimate.suspects, estimate.runners_up, strict=True):
        other = f"; runner-up {second.part.to_text()}" if second else ""
        typer.echo(f"slow: {suspect.part.to_text()}: {suspect.to_text()}{other}")
    if result.predicted.rows:
        typer.echo(f"compared with the prediction: {result.predicted.verdict()}")
    if result.regressions:
        worse = sum(row.bad for row in result.regressions)
        typer.echo(f"compared with the baseline: {worse} of {counted(len(result.regressions), 'row')} worse")
    for note in result.notes:
        typer.echo(f"note: {note}")
    typer.echo(f"wrote {options.html}: {counted(len(result.runs), 'run')}")


MOST = 40
"""The maximum number of rows to print. The worst rows are printed first."""


@dataclass(frozen=True, kw_only=True)
class BenchCompareShown(BenchCompare):
    """Options of ``railweave bench compare``."""

    csv: Annotated[Path | None, CSV] = None


@command(BenchCompareShown)
def compare(options: BenchCompareShown, *, as_json: bool, quiet: bool) -> None:
    """Compare new results (B) with earlier results (A), or results (A) with their predictions (--predicted).

    Each row of the output has the ratio of two results, a verdict (for example worse) and, with --fabric, the likely bottleneck. Exits 1 if a row is
    worse than --tolerance allows, if a run failed, or if nothing can be compared.
    """
    from railweave.api.bench import bench_compare

    with waiting(f"reading {options.a}", quiet=quiet or as_json), telling(quiet=quiet or as_json) as say:
        comparison = bench_compare.of(replace(options, progress=say))
    write_csv(options.csv, comparison)
    if as_json:
        print_json(comparison.to_json())
    else:
        _print_compared(comparison)
    if not comparison.good:
        raise typer.Exit(1)


def _print_compared(comparison: BenchComparison) -> None:
    for line in comparison.table.first(MOST).to_text(styled=_colored):
        typer.echo(line)
    for suspect in comparison.estimate.suspects:
        typer.echo(f"slow: {suspect.part.to_text()}: {suspect.to_text()}")
    for note in comparison.notes:
        typer.echo(f"note: {note}")
    typer.echo(comparison.verdict())


COLORS = {"worse": "red", "failed": "red", "better": "green", "few": "yellow"}


def _colored(text: str, css: str) -> str:
    return typer.style(text, fg=COLORS.get(css))


@dataclass(frozen=True, kw_only=True)
class BenchPlanShown(BenchPlan):
    """Options of ``railweave bench plan``."""

    output: Annotated[Path, Opt("Plan file to write (JSON), for `railweave bench run`.", letter="-o", metavar="FILE")]


@command(BenchPlanShown)
def plan(options: BenchPlanShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan of benchmark runs that verify a network: perftest between NICs, and nccl-tests or rccl-tests on servers. `railweave bench run` carries out the plan.

    The plan contains the predicted result of each run. Runs between pairs of NICs are grouped so that runs at the same time share no NIC and no link.
    """
    from railweave.api.bench import bench_plan
    from railweave.writing import write_file

    with telling(quiet=quiet or as_json) as say:
        test_plan = bench_plan.of(replace(options, progress=say))
    write_file(options.output, test_plan.to_json())
    if as_json:
        parts: dict[str, int] = {}
        for run in test_plan.runs:
            parts[run.part] = parts.get(run.part, 0) + 1
        print_json(
            {
                "file": str(options.output),
                "suite": test_plan.suite,
                "design_digest": test_plan.design_digest,
                "digest": test_plan.digest,
                "runs": len(test_plan.runs),
                "parts": parts,
                "estimate_s": test_plan.estimate_s,
                "notes": list(test_plan.notes),
            }
        )
    else:
        typer.echo(test_plan.to_text())
        typer.echo(f"wrote {options.output}")


@command(BenchRun)
def run(options: BenchRun, *, as_json: bool, quiet: bool) -> None:
    """Carry out a plan of `railweave bench plan`: perftest between servers over SSH, collectives with mpirun or srun. Each result is stored as soon as its run ends.

    A failed or timed-out run is stored as a result. Runs that are already in the store are skipped, so the same command resumes an
    interrupted plan. No files or processes stay on the servers. Exits 1 if a run failed, otherwise 0.
    """
    from railweave.api.bench import bench_run

    with telling(quiet=quiet or as_json) as say:
        result = bench_run.of(replace(options, progress=say))
    if as_json:
        print_json(result.to_json())
    elif options.dry_run:
        for name, line in result.commands:
            typer.echo(f"{name}\n    {line}")
        for note in result.notes:
            typer.echo(f"note: {note}")
        typer.echo(
            f"{len(result.commands):,} runs would be carried out; {len(result.chosen.had):,} are in the store already"
        )
    else:
        typer.echo(result.to_text())
    if not result.good:
        raise typer.Exit(1)


app = typer.Typer(
    no_args_is_help=True, help="Plan and run benchmarks, store their results, and find out why a run is slow or fails."
)


@app.callback()
def _bench() -> None:
    """Plan and run benchmarks, store their results, and find out why a run is slow or fails."""


app.command("plan", short_help="Write a plan of benchmark runs that verify a network.")(plan)
app.command("run", short_help="Carry out a plan and store the results.")(run)


@app.command("import", short_help="Read output files of benchmarks and store their runs.")
@command(BenchImport)
def import_(options: BenchImport, *, as_json: bool, quiet: bool) -> None:
    """Read output files of benchmarks, and add their runs to a store. Reading the same file again adds nothing.

    Lines that are not understood are reported with file and line number. If a file is not benchmark output, no run of any file is added, and the exit status is 2.
    Exits 1 if a table of nccl-tests has no row that could be read, otherwise 0.
    """
    from railweave.api.bench import bench_import

    with waiting(f"reading {counted(len(options.files), 'file')}", quiet=quiet or as_json):
        imported = bench_import.of(options)
    if as_json:
        print_json(
            {
                "runs": [run.to_json() for run in imported.runs],
                "known": imported.known,
                "notes": [str(note) for file in imported.files for note in file.notes],
                "beside": {
                    file: [
                        {"what": row.what, "logged": row.logged, "assumed": row.assumed, "same": row.same}
                        for row in rows
                    ]
                    for file, rows in imported.beside.items()
                },
            }
        )
    else:
        _imported(imported)
    if not imported.good:
        raise typer.Exit(1)


def _imported(imported: ImportResult) -> None:
    for run in imported.runs:
        typer.echo(_line(run))
        for failure in run.failures:
            typer.echo(f"    failed: {failure}")
    for output in imported.files:
        for note in output.notes:
            typer.echo(f"note: {note}")
    for file, rows in imported.beside.items():
        typer.echo(f"{file}: settings that NCCL used, and settings that predictions assume:")
        for row in rows:
            typer.echo(
                f"  {'  ' if row.same else '! '}{row.what}: {row.logged}"
                + ("" if row.same else f"; assumed {row.assumed}")
            )
    known = f"; {imported.known} were there already" if imported.known else ""
    typer.echo(f"{counted(len(imported.runs), 'run')} kept{known}")


def _line(run: Run) -> str:
    where = f" on {', '.join(run.hosts)}" if run.hosts else ""
    return f"{run.id}  {run.tool}: {run.title}{where}, {counted(len(run.samples), 'number')}"


@app.command("check", short_help="Compare results with those expected of such servers.")
@command(BenchCheck)
def check(options: BenchCheck, *, as_json: bool, quiet: bool) -> None:
    """Compare measured results with those that are expected of servers with this number of GPUs (--gpus) and this model of NICs (--nic). No fabric file is needed.

    The expected results are simulated on a network without oversubscription. Each expected result is a range, called a
    band, as wide as the known errors of such predictions. The output also names the bottleneck. Exits
    0 if every number is within its band. Exits 1 if a number is outside its band, if a run failed, or if a number
    cannot be predicted. Exits 2 if a file is not benchmark output.
    """
    from railweave.api.bench import bench_check

    with waiting("predicting", quiet=quiet or as_json):
        result = bench_check.of(options)
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
    if not result.good:
        raise typer.Exit(1)


@app.command(short_help="Show the runs of a store.")
@command(BenchShow)
def show(options: BenchShow, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """List the runs of a store. With --run, show the selected runs in full: every number, the settings, the versions and the failures."""
    from railweave.api.bench import bench_show

    stored = bench_show.of(options)
    if as_json:
        print_json({"runs": [run.to_json() for run in stored.runs]})
        return
    if options.run:
        for run in stored.runs:
            typer.echo(_line(run))
            _shown(run, stored.numbers(run))
    else:
        for line in stored.table.to_text(styled=_colored):
            typer.echo(line)
    typer.echo(counted(len(stored.runs), "run"))


def _shown(run: Run, numbers: Table) -> None:
    environment = run.environment
    details = [
        ("file", f"{run.file}:{run.line}"),
        ("began", run.began),
        ("kept", run.kept),
        ("plugin", environment.plugin),
    ]
    details += [("fabric", environment.fabric), ("design", environment.design_digest[:16])]
    details += [*environment.versions, *environment.firmware, *environment.variables, *run.settings, *run.facts]
    for name, text in details:
        if text:
            typer.echo(f"    {name}: {text}")
    for failure in run.failures:
        typer.echo(f"    failed: {failure}")
    for line in numbers.to_text("    "):
        typer.echo(line)


@app.command(short_help="Write the runs of a store as CSV or JSON.")
@command(BenchExport)
def export(options: BenchExport, *, as_json: bool, quiet: bool) -> None:  # noqa: ARG001 - as every verb; it takes no time
    """Write the runs of a store into a file. A CSV file has a line for each measured number; a JSON file has all data of each run."""
    from railweave.api.bench import bench_export

    stored = bench_export.of(options)
    if as_json:
        print_json({"file": str(options.output), "runs": len(stored.runs)})
    else:
        typer.echo(f"wrote {options.output}: {counted(len(stored.runs), 'run')}")


@app.command(short_help="Find the reason why a run is slow or failed.")
@command(BenchTriage)
def triage(options: BenchTriage, *, as_json: bool, quiet: bool) -> None:
    """Search output files of benchmarks for known causes of slow or failed runs.

    Examples are an NCCL net plugin that was not loaded, wrong GIDs, no GPUDirect RDMA, exceeded retries, wrong interfaces and wrong CPU affinity.
    Each finding shows the line that it is based on, and the fix. Exits 1 if a finding is an error, and 2 if a file is not benchmark output.
    """
    from railweave.api.bench import bench_triage

    with waiting(f"reading {counted(len(options.files), 'file')}", quiet=quiet or as_json):
        outputs = bench_triage.of(options)
    findings = [diagnosis.finding for triaged in outputs for diagnosis in triaged.diagnoses]
    given = set(map(str, options.files))
    unread = [output for output in outputs if not output.known]
    none_known = len(unread) == len(outputs)
    unknown = [
        Problem(
            FileLine(output.read.file),
            "the file is empty" if output.blank else "no output of a benchmark is known in it",
            f"give what a run printed: {output.advice}",
        )
        for output in unread
        if output.read.file in given or none_known
    ]
    outputs = [output for output in outputs if output.known or output.read.file in given]
    if unknown and (as_json or none_known):
        raise InputError(unknown)
    unjudged = [output for output in outputs if output.advice and output.known and not findings]
    advice = list(dict.fromkeys(output.advice for output in unjudged))
    if as_json:
        report = {"findings": [diagnosis.to_json() for triaged in outputs for diagnosis in triaged.diagnoses]}
        print_json(report | ({"advice": advice} if advice else {}))
    else:
        _print_triaged(outputs)
        for sentence in advice:
            typer.echo(f"no message from NCCL was found: {sentence}")
        if skipped := len(unread) - len(unknown):
            typer.echo(f"left out: {counted(skipped, 'file')} of folders without output of a benchmark")
        if len(unjudged) < len(outputs):
            typer.echo(tally(findings))
    if unknown:
        raise InputError(unknown)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _print_triaged(outputs: list[TriageResult]) -> None:
    for triaged in outputs:
        for diagnosis in triaged.diagnoses:
            print_findings([diagnosis.finding])
            if diagnosis.evidence:
                typer.echo(f"    | {diagnosis.evidence}")


app.command("report", short_help="Write a page about the results in a store.")(report)
app.command("compare", short_help="Compare runs with earlier runs or with predictions.")(compare)
