"""``railweave tune``: better values for fields of the fabric file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.failures import INTERRUPTED
from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_json, telling

if TYPE_CHECKING:
    from railweave.operations.tune.by_rule import Ruled

app = typer.Typer(
    no_args_is_help=True, help="Find better values for fields of the fabric file, and give them as a patch."
)

PAGE = "report.html"
"""The page of a study, in its folder."""


@app.callback()
def _tune() -> None:
    """Find better values for fields of the fabric file, and give them as a patch."""


@app.command(short_help="Search by simulator or hardware; gives a patch.")
def run(
    study: Path = typer.Argument(..., help="Study file: goal, limits and knobs (docs/tune.md)."),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="Folder of the study's files; default: NAME.tune beside the study file."
    ),
    workers: int | None = typer.Option(
        None, min=1, max=1024, help="Processes; default: one a core. The result does not depend on it."
    ),
    ray: str | None = typer.Option(
        None, "--ray", help="Simulate on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, or local to start one here."
    ),
    trials: int | None = typer.Option(None, min=1, max=100_000, help="Trials in place of the study file's number."),
    take: int | None = typer.Option(None, min=0, help="Make the patch of this trial, as of one of the frontier."),
    apply: bool = typer.Option(False, "--apply", help="Write the proposed values into the fabric file."),
    fresh: bool = typer.Option(False, "--fresh", help="Begin again: trials that the folder has are forgotten."),
    access: Path | None = typer.Option(
        None, "--access", help="access.yaml, where the study measures on hardware; default: names as in the design."
    ),
    lab: bool = typer.Option(False, "--lab", help="Hardware is the lab of this fabric file, which is up."),
    secrets: Path | None = typer.Option(
        None, "--secrets", help="Values of secrets, which switches are given with a trial: NAME: value."
    ),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Search for values of fabric file fields that make collectives or jobs faster; the result is a patch.

    The study's `evaluator` says who measures: the simulator, which changes nothing anywhere; the network itself, where each trial is in force
    with a timer on every device while its benchmarks run, and is taken back; or both.

    Ctrl-C keeps what was measured, and the same command goes on. The best values and the file's own are run again on
    fresh seeds: where they do not differ by more than chance, it says so and proposes nothing.
    """
    from railweave.api.tuning import PATCH, folder_of, tune_run
    from railweave.operations.tune.page import tuning_html
    from railweave.operations.tune.run import StoppedError
    from railweave.writing import write_file

    folder = folder_of(study) if output is None else output
    try:
        with telling(quiet=quiet or as_json) as say:
            found = tune_run(
                study,
                output=output,
                workers=workers,
                ray=ray,
                trials=trials,
                take=take,
                apply=apply,
                fresh=fresh,
                device=device,
                hardware=hardware,
                access=access,
                lab=lab,
                secrets=secrets,
                progress=say,
            )
    except StoppedError as stopped:
        typer.echo(f"stopped: {stopped.trials} trials are kept in {folder}; the same command goes on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    write_file(folder / PAGE, tuning_html(found))
    if as_json:
        print_json(found.to_json())
        return
    typer.echo(found.to_text())
    if found.patch:
        typer.echo(found.patch, nl=False)
        if apply:
            typer.echo(f"wrote {found.fabric}")
        else:
            typer.echo(f"nothing was changed; --apply, or patch -p0 < {folder / PATCH}, does")
    typer.echo(f"wrote {folder / PAGE}")


FABRIC = typer.Argument(..., help="Fabric file.")
APPLY = typer.Option(False, "--apply", help="Write the proposed values into the fabric file.")


@app.command(short_help="PFC headroom, thresholds and XON offsets by rule, with the arithmetic.")
def headroom(
    fabric: Path = FABRIC,
    apply: bool = APPLY,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Work out PFC headroom, ingress thresholds and XON offsets from cables, speeds and buffers, and propose what the file has outside their range."""
    from railweave.api.tuning import tune_headroom

    with telling(quiet=quiet or as_json) as say:
        say("working out the design")
        found = tune_headroom(fabric, apply=apply, device=device, hardware=hardware)
    _shown(found, as_json=as_json, applied=apply)


@app.command(short_help="Intervals of the PFC watchdog by rule, with the arithmetic.")
def watchdog(
    fabric: Path = FABRIC,
    apply: bool = APPLY,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Work out how long a PFC watchdog waits and holds, from buffers, speeds and the NICs' timeouts, and propose what the file has outside its range."""
    from railweave.api.tuning import tune_watchdog

    with telling(quiet=quiet or as_json) as say:
        say("working out the design")
        found = tune_watchdog(fabric, apply=apply, device=device, hardware=hardware)
    _shown(found, as_json=as_json, applied=apply)


@app.command(short_help="The next value of one field, from counters of two captures.")
def diagnose(
    fabric: Path = FABRIC,
    capture: Path = typer.Argument(..., help="Folder that `railweave collect` wrote after the load."),
    since: Path = typer.Option(..., "--since", help="An earlier capture: counters are compared with it."),
    slow_jobs: bool = typer.Option(
        False, "--slow-jobs", help="Jobs are slower than predicted: ECN marks without PFC are a symptom too."
    ),
    rehearse: bool = typer.Option(True, "--rehearse/--no-rehearse", help="Run the step in the simulator first."),
    collective: str = typer.Option("all-to-all", help="What is run in the simulator."),
    size: str = typer.Option("16M", help="Its size, as nccl-tests counts it."),
    servers: int | None = typer.Option(None, min=2, help="How many servers take part; default: those of 64 GPUs."),
    tenant: str | None = typer.Option(
        None, help="Tenant that owns them (multi-tenant networks); default: the one with the most NICs."
    ),
    apply: bool = typer.Option(False, "--apply", help="Write the step, unless the simulator says that it is worse."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Read what counters of lossless classes rose by, and propose one next step: drops first, then PFC, then ECN. Exits 1 where --apply was not done."""
    from railweave.api.tuning import tune_diagnose
    from railweave.prediction.collectives.program import size_of

    with telling(quiet=quiet or as_json) as say:
        found = tune_diagnose(
            fabric,
            capture,
            since=since,
            slow_jobs=slow_jobs,
            rehearse=rehearse,
            collective=collective,
            size=size_of(size),
            servers=servers,
            tenant=tenant,
            apply=apply,
            device=device,
            hardware=hardware,
            progress=say,
        )
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
        if found.patch:
            typer.echo(found.patch, nl=False)
            typer.echo(f"wrote {found.fabric}" if apply and found.recommended else "nothing was changed; --apply does")
    if apply and found.step is not None and not found.recommended:
        raise typer.Exit(1)


def _shown(found: Ruled, *, as_json: bool, applied: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    typer.echo(found.to_text())
    if found.patch:
        typer.echo(found.patch, nl=False)
        typer.echo(f"wrote {found.fabric}" if applied else "nothing was changed; --apply does")
