"""``railweave deploy``: bring a design onto running switches and servers, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli import deploy_campaign, deploy_drain, deploy_replace, deploy_upgrade, deploy_ztp
from railweave.cli.deploy_output import HOW_TO_END, confirmed, line, planned, show_revision, when
from railweave.cli.options import DEVICE, HARDWARE, JSON, QUIET
from railweave.cli.output import print_json, telling

app = typer.Typer(
    no_args_is_help=True,
    help="Bring a design onto running switches and servers, and back. Devices are changed by `apply`, `resume` and `campaign` alone; the others plan, look, and write files.",
)
_FABRIC = typer.Argument(..., help="Fabric file.")
_ACCESS = typer.Option(None, "--access", help="How switches are reached: access.yaml (docs/collect.md).")
_LAB = typer.Option(False, "--lab", help="The devices of the lab of this fabric file, which is up; needs root.")
_WITHIN = typer.Option(
    600,
    "--confirm-within",
    min=60,
    max=86_000,
    help="Seconds after which a switch goes back by itself if nothing confirms.",
)
_SETTLE = typer.Option(
    60.0, "--settle", min=0, help="Seconds that the network may take after a wave to be as it must be."
)
_MOST = typer.Option(
    0.5,
    "--max-unavailable",
    min=0,
    max=1,
    help="Share of the network (0 to 1) that a wave may take out while it is changed.",
)
_SECRETS = typer.Option(None, "--secrets", help="YAML file of NAME: value for the secrets that the plan refers to.")
_WAIT_FOR = typer.Option(
    None, "--wait-for", help="Command that must end with 0 before each wave in which servers change or lose NICs."
)
_WAIT_FOR_TIMEOUT = typer.Option(3600.0, "--wait-for-timeout", min=0, help="Seconds that --wait-for may take.")
_BELOW = typer.Option(1.0, "--traffic-below", min=0, help="After a drain: Mb/s each way that a port may still carry.")
_EVERY = typer.Option(
    10.0, "--traffic-every", min=0, help="After a drain: seconds between two readings of a port's counters."
)
_FALLS = typer.Option(300.0, "--traffic-within", min=0, help="After a drain: seconds that traffic may take to end.")
_RESTARTS = typer.Option(
    1800.0, "--restart-within", min=0, help="In an upgrade: seconds after which a switch must be back."
)
_OUTPUT = typer.Option(..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it.")


app.command(short_help="The plan that takes a switch, link, path color or server out of use.")(deploy_drain.drain)
app.command(short_help="The plan that brings it back.")(deploy_drain.undrain)
app.command(short_help="The plan that installs another release on switches.")(deploy_upgrade.upgrade)
app.command(short_help="The plan of what follows from a replaced switch, server or NIC.")(deploy_replace.replace)
app.command(short_help="What new switches get at their first boot.")(deploy_ztp.ztp)
app.command(short_help="Break on purpose what a scenario says, with a way back on each switch.")(
    deploy_campaign.campaign
)


@app.callback()
def _deploy() -> None:
    """Bring a design onto running switches and servers, and back. Devices are changed by `apply`, `resume` and `campaign` alone; the others plan, look, and write files."""


@app.command(short_help="What would change on which switch, in which order.")
def plan(
    fabric: Path = _FABRIC,
    capture: Path | None = typer.Argument(None, help="Folder of configurations saved from switches."),
    output: Path = _OUTPUT,
    live: bool = typer.Option(False, "--live", help="Ask every switch for its configuration now."),
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    only: list[str] = typer.Option([], "--only", help="This device alone; may be repeated."),
    max_unavailable: float = _MOST,
    canary: bool = typer.Option(True, "--canary/--no-canary", help="Change one switch alone first."),
    servers: bool = typer.Option(False, "--servers/--no-servers", help="Servers too, by their host.json; as root."),
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Say what brings switches to their design: what changes on each, in which waves, what that disrupts, and what is refused. Nothing is changed.

    Exits 1 where the plan is refused.
    """
    from railweave.api.deploying import deploy_plan

    with telling(quiet=quiet or as_json) as say:
        found = deploy_plan(
            fabric,
            capture,
            live=live,
            lab=lab,
            access=access,
            only=only,
            max_unavailable=max_unavailable,
            canary=canary,
            servers=servers,
            device=device,
            hardware=hardware,
            progress=say,
        )
    planned(found, output, lab=lab, access=access, as_json=as_json)


@app.command(short_help="Carry out a plan, wave by wave, with a way back.")
def apply(
    plan: Path = typer.Argument(..., help="File that `deploy plan` wrote."),
    digest: str = typer.Option(
        "", "--digest", help="The plan's digest, as `deploy plan` shows it: that you have read this plan."
    ),
    yes: bool = typer.Option(False, "--yes", help="Apply it without its digest."),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Stop after every switch has tried its change and discarded it."
    ),
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    secrets: Path | None = _SECRETS,
    confirm_within: int = _WITHIN,
    settle: float = _SETTLE,
    wait_for: str | None = _WAIT_FOR,
    wait_for_timeout: float = _WAIT_FOR_TIMEOUT,
    traffic_below: float = _BELOW,
    traffic_every: float = _EVERY,
    traffic_within: float = _FALLS,
    restart_within: float = _RESTARTS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Carry out a plan. Every switch loads its change, checks it and discards it first; then wave by wave: commit with a timer on the switch, check, confirm.

    Where a wave fails it is taken back, and nothing after it begins. Exits 1 then.
    """
    from railweave.api.deploying import deploy_apply
    from railweave.operations.deploy.traffic import Quiet
    from railweave.operations.deploy.upgrading import Patience

    confirmed(plan, digest, agreed=yes or dry_run, as_json=as_json)
    with telling(quiet=quiet or as_json) as say:
        revision = deploy_apply(
            plan,
            lab=lab,
            access=access,
            secrets=secrets,
            confirm_within=confirm_within,
            settle=settle,
            dry_run=dry_run,
            wait_for=wait_for,
            wait_for_timeout=wait_for_timeout,
            quiet=Quiet(traffic_below, traffic_every, traffic_within),
            patience=Patience(restart_s=restart_within, settle_s=max(settle, Patience().settle_s)),
            hardware=hardware,
            progress=say,
        )
    show_revision(revision, as_json=as_json)


@app.command(short_help="How the last apply ended, and what switches run.")
def status(
    fabric: Path = _FABRIC,
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Ask the switches of the last apply what they run, and lay it beside the journal. Nothing is changed. Exits 1 after an interruption."""
    from railweave.api.deploying import deploy_status
    from railweave.operations.deploy.journal import who_is_at_work
    from railweave.operations.deploy.upgrade_status import Runs

    if who := who_is_at_work(fabric):
        typer.echo(f"{who} is at work on {fabric} now", err=True)
    with telling(quiet=quiet or as_json) as say:
        say("asking the switches of the last apply")
        newest, found = deploy_status(fabric, lab=lab, access=access, hardware=hardware)
    if as_json:
        print_json({"revision": newest and vars(newest), "devices": [vars(one) for one in found]})
    elif newest is None:
        typer.echo("nothing was ever applied")
    else:
        typer.echo(line(newest))
        for one in found:
            typer.echo(f"  {one.line()}")
        if newest.state == "running" and not who:
            typer.echo(HOW_TO_END[any(isinstance(one, Runs) for one in found)])
    if newest is not None and newest.state == "running":
        raise typer.Exit(1)


@app.command(short_help="Every apply so far, or the log of one.")
def history(
    fabric: Path = _FABRIC,
    revision: int | None = typer.Argument(None, min=1, help="A revision's number: show its log."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """List the revisions of a network, the newest first: when, who, which plan, how it ended; or show everything that one of them did."""
    del quiet  # it says nothing while it works
    from railweave.api.deploying import deploy_history, deploy_log

    if revision is not None:
        one, log, steps = deploy_log(fabric, revision)
        if as_json:
            print_json(vars(one) | {"log": [vars(each) for each in log], "steps": [vars(step) for step in steps]})
            return
        typer.echo(line(one))
        for said in log:
            typer.echo(f"  {when(said.at)} {said.line}")
        for step in (one for one in steps if one.failed or one.ended is None):
            how = step.failed or "interrupted"
            typer.echo(f"  {when(step.began)} {step.verb} of {step.device} in wave {step.wave}: {how}")
        return
    found = deploy_history(fabric)
    if as_json:
        print_json([vars(one) for one in found])
        return
    for one in found:
        typer.echo(line(one))
    if not found:
        typer.echo("nothing was ever applied")


@app.command(short_help="End an apply that was interrupted.")
def resume(
    fabric: Path = _FABRIC,
    back: bool = typer.Option(
        False, "--back", help="Bring the unfinished wave back and stop; waves that were confirmed stay."
    ),
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    secrets: Path | None = _SECRETS,
    confirm_within: int = _WITHIN,
    settle: float = _SETTLE,
    wait_for: str | None = _WAIT_FOR,
    wait_for_timeout: float = _WAIT_FOR_TIMEOUT,
    traffic_below: float = _BELOW,
    traffic_every: float = _EVERY,
    traffic_within: float = _FALLS,
    restart_within: float = _RESTARTS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """End an apply that was interrupted: by a kill, a loss of power, or a lost connection. Its unfinished wave is brought back, and begun again."""
    from railweave.api.deploying import deploy_resume
    from railweave.operations.deploy.traffic import Quiet
    from railweave.operations.deploy.upgrading import Patience

    with telling(quiet=quiet or as_json) as say:
        revision = deploy_resume(
            fabric,
            lab=lab,
            access=access,
            secrets=secrets,
            settle=settle,
            confirm_within=confirm_within,
            back=back,
            wait_for=wait_for,
            wait_for_timeout=wait_for_timeout,
            quiet=Quiet(traffic_below, traffic_every, traffic_within),
            patience=Patience(restart_s=restart_within, settle_s=max(settle, Patience().settle_s)),
            hardware=hardware,
            progress=say,
        )
    show_revision(revision, as_json=as_json)


@app.command(short_help="The plan back to what ran before a revision.")
def rollback(
    fabric: Path = _FABRIC,
    revision: int = typer.Argument(..., min=1, help="Its number, as `deploy history` lists it."),
    output: Path = _OUTPUT,
    only: list[str] = typer.Option([], "--only", help="This device alone; may be repeated."),
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    max_unavailable: float = _MOST,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that brings switches back to what they ran before a revision. `deploy apply` carries it out, as any other plan."""
    from railweave.api.deploying import deploy_rollback

    with telling(quiet=quiet or as_json) as say:
        found = deploy_rollback(
            fabric,
            revision,
            lab=lab,
            access=access,
            only=only,
            max_unavailable=max_unavailable,
            hardware=hardware,
            progress=say,
        )
    planned(found, output, lab=lab, access=access, as_json=as_json)
