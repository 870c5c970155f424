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


@app.callback()
def _tune() -> None:
    """Find better values for fields of the fabric file, and print them as a patch."""


@dataclass(frozen=True, kw_only=True)
class TuneRunShown(TuneRun):
    """Options of ``railweave tune run``."""

    csv: Annotated[Path | None, CSV] = None


@app.command(short_help="Search for better values by simulation, or on the network.")
@command(TuneRunShown)
def run(options: TuneRunShown, *, as_json: bool, quiet: bool) -> None:
    """Search for values of fields in the fabric file that make collectives or jobs faster. The result is a patch of the fabric file.

    A trial tries one combination of values. The field `evaluator` of the study file selects where trials run: in the simulator, on the
    network itself, or both. On the network, railweave configures the values of a trial on the devices, runs benchmarks, and rolls the devices back; a rollback timer on each device does so if railweave fails.

    Ctrl-C keeps the completed trials; the same command resumes the search. At the end, the best values and the file's values are compared
    again with new random seeds. If the difference may be chance, `tune run` reports this and proposes nothing.
    """
    from railweave.api.tuning import tune_run

    try:
        with telling(quiet=quiet or as_json) as say:
            result = tune_run.of(replace(options, progress=say))
    except KeyboardInterrupt as stopped:
        if not stopped.args:  # before the first trial
            raise
        typer.echo(str(stopped), err=True)
        raise typer.Exit(INTERRUPTED) from None
    write_csv(options.csv, result)
    if as_json:
        print_json(result.to_json())
        return
    typer.echo(result.to_text())
    if result.patch:
        typer.echo(result.patch, nl=False)
        if options.apply:
            typer.echo(f"wrote {result.fabric}")
        else:
            typer.echo(f"nothing was changed; --apply, or patch -p0 < {result.patch_file}, does")
    typer.echo(f"wrote {result.page_file}")


@app.command(short_help="Calculate PFC headroom, thresholds and XON offsets.")
@command(TuneByRule)
def headroom(options: TuneByRule, *, as_json: bool, quiet: bool) -> None:
    """Calculate the PFC headroom (buffer for packets that arrive after a pause was sent), ingress thresholds and XON offsets of switches from cable lengths, speeds and buffers. Print each calculation.

    If a value of the fabric file is outside its calculated range, the output proposes a change. The proposals are printed as a patch.
    """
    from railweave.api.tuning import tune_headroom

    with telling(quiet=quiet or as_json) as say:
        say("working out the design")
        result = tune_headroom.of(options)
    _shown(result, as_json=as_json, applied=options.apply)


@app.command(short_help="Calculate the times of the PFC watchdog.")
@command(TuneByRule)
def watchdog(options: TuneByRule, *, as_json: bool, quiet: bool) -> None:
    """Calculate the detection and recovery times of the PFC watchdog (which ends pauses that last too long) from buffers, speeds and the timeouts of NICs. Print each calculation.

    If a value of the fabric file is outside its calculated range, the output proposes a change. The proposals are printed as a patch.
    """
    from railweave.api.tuning import tune_watchdog

    with telling(quiet=quiet or as_json) as say:
        say("working out the design")
        result = tune_watchdog.of(options)
    _shown(result, as_json=as_json, applied=options.apply)


@app.command(short_help="Propose a change from the counters before and after jobs.")
@command(TuneDiagnose)
def diagnose(options: TuneDiagnose, *, as_json: bool, quiet: bool) -> None:
    """Compare the counters of lossless traffic in two captures (folders that `railweave collect` wrote), and propose a change of one buffer or ECN field in the fabric file.

    The change is for the first symptom in this order: dropped packets, PFC pauses, ECN marks. After the change, run jobs, collect and diagnose again.
    Exits 1 if devices do not report a counter and --allow-unseen does not name its kind. Also exits 1 if --apply cannot write the proposed change, because the simulator predicts a worse result or no network can be designed with the change.
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
    if result.unseen or (options.apply and result.step is not None and not result.recommended):
        raise typer.Exit(1)


def _shown(result: RuleResult, *, as_json: bool, applied: bool) -> None:
    if as_json:
        print_json(result.to_json())
        return
    typer.echo(result.to_text())
    if result.patch:
        typer.echo(result.patch, nl=False)
        typer.echo(f"wrote {result.fabric}" if applied else "nothing was changed; --apply does")
