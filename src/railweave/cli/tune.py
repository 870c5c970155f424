"""``railweave tune``: find better values for fields of the fabric file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.running_verbs import TuneByRule, TuneDiagnose, TuneRun
from railweave.api.verbs import CSV
from railweave.cli.command import command
from railweave.cli.failures import INTERRUPTED
from railweave.cli.output import print_json, telling, write_csv

if TYPE_CHECKING:
    from railweave.operations.tune.by_rule import RuleResult

app = typer.Typer(
    no_args_is_help=True, help="Find better values for fields of the fabric file, and print them as a patch."
)

PAGE = "report.html"
"""The name of a study's report page, in the study's folder."""


@app.callback()
def _tune() -> None:
    """Find better values for fields of the fabric file, and print them as a patch."""


@dataclass(frozen=True, kw_only=True)
class TuneRunShown(TuneRun):
    """Options of ``railweave tune run``."""

    csv: Annotated[Path | None, CSV] = None


@app.command(short_help="Search by simulator or hardware; prints a patch.")
@command(TuneRunShown)
def run(options: TuneRunShown, *, as_json: bool, quiet: bool) -> None:
    """Search for values of fabric file fields that make collectives or jobs faster. The result is a patch.

    The study's `evaluator` selects where trials run: in the simulator, which changes no device; on the network itself; or both. On the
    network, each trial is applied with a rollback timer on every device, benchmarked, and rolled back.

    Ctrl-C keeps the completed trials; the same command resumes the search. At the end, the best values and the file's values are compared
    again on fresh seeds. If the difference may be chance, tune reports that and proposes nothing.
    """
    from railweave.api.tuning import PATCH, folder_of, tune_run
    from railweave.operations.tune.page import tuning_html
    from railweave.operations.tune.run import StoppedError
    from railweave.writing import write_file

    folder = folder_of(Path(options.study)) if options.output is None else Path(options.output)
    try:
        with telling(quiet=quiet or as_json) as say:
            result = tune_run.of(replace(options, progress=say))
    except StoppedError as stopped:
        typer.echo(f"stopped: {stopped.trials} trials are kept in {folder}; the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    write_file(folder / PAGE, tuning_html(result))
    write_csv(options.csv, result.table)
    if as_json:
        print_json(result.to_json())
        return
    typer.echo(result.to_text())
    if result.patch:
        typer.echo(result.patch, nl=False)
        if options.apply:
            typer.echo(f"wrote {result.fabric}")
        else:
            typer.echo(f"nothing was changed; --apply, or patch -p0 < {folder / PATCH}, does")
    typer.echo(f"wrote {folder / PAGE}")


@app.command(short_help="PFC headroom, thresholds and XON offsets by rule, with the arithmetic.")
@command(TuneByRule)
def headroom(options: TuneByRule, *, as_json: bool, quiet: bool) -> None:
    """Calculate PFC headroom, ingress thresholds and XON offsets from cables, speeds and buffers.

    Proposes a change for each value of the file that is outside the calculated range.
    """
    from railweave.api.tuning import tune_headroom

    with telling(quiet=quiet or as_json) as say:
        say("working out the design")
        result = tune_headroom.of(options)
    _shown(result, as_json=as_json, applied=options.apply)


@app.command(short_help="Intervals of the PFC watchdog by rule, with the arithmetic.")
@command(TuneByRule)
def watchdog(options: TuneByRule, *, as_json: bool, quiet: bool) -> None:
    """Calculate the detection and recovery times of the PFC watchdog from buffers, speeds and the NICs' timeouts.

    Proposes a change for each value of the file that is outside the calculated range.
    """
    from railweave.api.tuning import tune_watchdog

    with telling(quiet=quiet or as_json) as say:
        say("working out the design")
        result = tune_watchdog.of(options)
    _shown(result, as_json=as_json, applied=options.apply)


@app.command(short_help="The next value of one field, from counters of two captures.")
@command(TuneDiagnose)
def diagnose(options: TuneDiagnose, *, as_json: bool, quiet: bool) -> None:
    """Read the increase of lossless-class counters, and propose one next step: for drops first, then for PFC, then for ECN.

    Exits 1 if --apply was requested but could not be done.
    """
    from railweave.api.tuning import tune_diagnose

    with telling(quiet=quiet or as_json) as say:
        result = tune_diagnose.of(replace(options, progress=say))
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
        if result.patch:
            typer.echo(result.patch, nl=False)
            typer.echo(
                f"wrote {result.fabric}"
                if options.apply and result.recommended
                else "nothing was changed; --apply does"
            )
    if options.apply and result.step is not None and not result.recommended:
        raise typer.Exit(1)


def _shown(result: RuleResult, *, as_json: bool, applied: bool) -> None:
    if as_json:
        print_json(result.to_json())
        return
    typer.echo(result.to_text())
    if result.patch:
        typer.echo(result.patch, nl=False)
        typer.echo(f"wrote {result.fabric}" if applied else "nothing was changed; --apply does")
