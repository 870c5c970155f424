"""``railweave deploy``: apply a design to running switches and servers, and roll it back."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railweave.api.options import Argument, Opt
from railweave.api.running_verbs import (
    FABRIC_FILE,
    DeployAcknowledge,
    DeployApply,
    DeployDrain,
    DeployPlan,
    DeployReplace,
    DeployResume,
    DeployRollback,
    DeployStatus,
    DeployUndrain,
    DeployUpgrade,
    DeployZtp,
    Reaching,
)
from railweave.cli import deploy_campaign
from railweave.cli.command import command
from railweave.cli.deploy_output import (
    HOW_TO_END,
    compared_table,
    confirmed,
    device_table,
    line,
    planned,
    revision_table,
    show_revision,
    when,
)
from railweave.cli.output import done, print_json, telling
from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.api.options import Verb
    from railweave.operations.deploy.plan import Plan


@dataclass(frozen=True, kw_only=True)
class PlanFile(Reaching):
    """Options of every plan: the file to write, and how to reach the devices."""

    output: Annotated[
        Path,
        Opt(
            "Plan file to write, for `deploy apply`. It contains configurations, so only you can read it.",
            letter="-o",
            metavar="FILE",
        ),
    ]


def _plan(run: Verb[..., Any, Plan], options: PlanFile, *, as_json: bool, quiet: bool) -> None:
    """Create a plan, write it to its file, and show it."""
    with telling(quiet=quiet or as_json) as say:
        new_plan = run.of(changed(options, progress=say))
    planned(new_plan, options.output, lab=options.lab, access=options.access, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class DeployReplaceShown(DeployReplace, PlanFile):
    """Options of ``railweave deploy replace``."""


@command(DeployReplaceShown)
def replace(options: DeployReplaceShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan of the changes that are needed after you have replaced a switch, server or NIC: the inventory entry, and the addresses, labels, switch configurations and server files that depend on it.

    `deploy apply` carries out the plan. The new part itself may be unreachable now. Exits 1 if `deploy apply` would refuse the plan, for example because another
    device that must change did not answer; the output lists the reasons.
    """
    from railweave.api.deploying import deploy_replace

    _plan(deploy_replace, options, as_json=as_json, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class DeployDrainShown(DeployDrain, PlanFile):
    """Options of ``railweave deploy drain``."""


@command(DeployDrainShown)
def drain(options: DeployDrainShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan to drain devices or links: to move all traffic to other paths, for example before maintenance.

    `deploy apply` carries out the plan: it marks the parts as drained under `status:` in the fabric file, changes the routing of the switches, and waits
    until the parts carry no traffic. `deploy drain` prints what the drain leaves of the network. Exits 1 if `deploy apply` would refuse the plan, for example because
    a NIC would have no path (--force allows this) or a switch did not answer; the output lists the reasons.
    """
    from railweave.api.deploying import deploy_drain

    _plan(deploy_drain, options, as_json=as_json, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class DeployUndrainShown(DeployUndrain, PlanFile):
    """Options of ``railweave deploy undrain``."""


@command(DeployUndrainShown)
def undrain(options: DeployUndrainShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan that returns drained devices or links to service (see `deploy drain`). `deploy apply` carries out the plan. Exits 1 if `deploy apply` would refuse it; the output lists the reasons."""
    from railweave.api.deploying import deploy_undrain

    _plan(deploy_undrain, options, as_json=as_json, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class DeployUpgradeShown(DeployUpgrade, PlanFile):
    """Options of ``railweave deploy upgrade``."""


@command(DeployUpgradeShown)
def upgrade(options: DeployUpgradeShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan that upgrades switches to a release, in batches of switches that can be out of service together. `deploy apply` carries out the plan.

    `deploy apply` drains the switches of a batch (routing moves their traffic to other paths), then upgrades and restarts them. After the restart, it checks their releases, compares their sessions and routes with those before the upgrade, and returns the batch to service. It stops at the first switch that does not return to its
    earlier state. Exits 1 if `deploy apply` would refuse the plan, for example because a switch did not answer; the output lists the reasons.
    """
    from railweave.api.deploying import deploy_upgrade

    _plan(deploy_upgrade, options, as_json=as_json, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class DeployZtpShown(DeployZtp):
    """Options of ``railweave deploy ztp``."""

    url: Annotated[
        str,
        Opt(
            "URL at which switches find the output folder: http://ADDRESS:PORT. Required without --serve. Default: the address of --serve.",
            metavar="URL",
        ),
    ] = ""
    serve: Annotated[
        str | None,
        Opt(
            "After writing, also serve the folder by HTTP at this address of this machine, until Ctrl-C. Only switches whose serial numbers are in the inventory get files. Default: only write the files.",
            metavar="ADDRESS:PORT",
        ),
    ] = None


@command(DeployZtpShown)
def ztp(options: DeployZtpShown, *, as_json: bool, quiet: bool) -> None:
    """Write the files that new switches fetch from a web server at first boot (zero-touch provisioning), and the configuration of a DHCP server.

    The DHCP configuration is written for ISC Kea and for dnsmasq; use either. After the first boot, `deploy apply` can
    reach the switches. Switches without a serial number in the inventory, with an IPv6 management address, or with an
    operating system that has no first-boot support get no files; the output names them.
    """
    from railweave.api.deploying import deploy_ztp, deploy_ztp_serve

    address = _address(options.serve) if options.serve else None
    if not options.url and options.serve is None:
        raise typer.BadParameter("say where switches find the folder: --url, or --serve", param_hint="--url")
    with telling(quiet=quiet or as_json) as say:
        say("writing the files of each switch")
        made = deploy_ztp.of(changed(options, url=options.url or f"http://{options.serve}"))
    if as_json:
        print_json(made.to_json())
    else:
        for device in made.devices:
            typer.echo(
                f"{device.serial}: {device.name}, {device.system}, {device.ip}, {counted(len(device.files), 'file')}"
            )
        for name, why in made.without.items():
            typer.echo(f"{name} is left out: {why}", err=True)
        typer.echo(f"DHCP: {options.out}/kea-dhcp4.conf or {options.out}/dnsmasq.conf; files: {made.url}")
    if address:
        deploy_ztp_serve(options.out, address, progress=partial(typer.echo, err=True))


@command(DeployAcknowledge)
def acknowledge(options: DeployAcknowledge, *, as_json: bool, quiet: bool) -> None:
    """Compare newly booted switches with the design and the inventory: host name, model, serial number, and the cables that LLDP shows at either end.

    A switch that matches is acknowledged: this is recorded in the journal (the folder NAME.state next to the fabric file NAME.yaml), and `deploy plan` may then include the switch. Exits
    1 if a switch differs, or if it does not report one of these facts. The output then shows the designed and the
    reported value, and the remedy.
    """
    from railweave.api.deploying import deploy_acknowledge

    with telling(quiet=quiet or as_json) as say:
        compared = deploy_acknowledge.of(changed(options, progress=say))
    if as_json:
        print_json([device.to_json() for device in compared])
    else:
        for row in compared_table(compared).to_text():
            typer.echo(row)
        for device in compared:
            for why in device.refused:
                typer.echo(f"{device.device}: refused: {why}")
            if device.good:
                typer.echo(
                    f"{device.device}: acknowledged{f', serial number {device.serial}' if device.serial else ''}"
                )
            for part in device.unseen if device.good else ():
                typer.echo(f"{device.device}: not seen, and accepted: {part.what} ({part.why})")
    if not all(device.good for device in compared):
        raise typer.Exit(1)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is no ADDRESS:PORT", param_hint="--serve")
    return host, int(port)


app = typer.Typer(
    no_args_is_help=True,
    help="Apply a design to running switches and servers, and roll it back. Only `apply`, `resume` and `campaign` change devices. The other commands query devices and write files, such as plans, which `apply` carries out.",
)


@dataclass(frozen=True, kw_only=True)
class TimeLimits:
    """Time limits for traffic to end after a drain, and for a switch to be reachable after its upgrade."""

    traffic_below: Annotated[
        float,
        Opt(
            "If the plan drains parts: rate in Mb/s below which a port counts as idle, in each direction.",
            least=0,
            metavar="MBPS",
        ),
    ] = 1.0
    traffic_every: Annotated[
        float,
        Opt(
            "If the plan drains parts: time between two readings of the port counters, in seconds.",
            least=0,
            metavar="SECONDS",
        ),
    ] = 10.0
    traffic_within: Annotated[
        float,
        Opt(
            "If the plan drains parts: longest time to wait until all their ports are idle, in seconds.",
            least=0,
            metavar="SECONDS",
        ),
    ] = 300.0
    restart_within: Annotated[
        float,
        Opt(
            "If the plan upgrades switches: longest time to wait until a switch is reachable after its restart, in seconds.",
            least=0,
            metavar="SECONDS",
        ),
    ] = 1800.0

    def waits(self, settle: float) -> dict[str, Any]:
        """Return the time limits as keyword arguments of ``deploy_apply``.

        ``settle`` is the value of --settle, in seconds.
        """
        from railweave.api.deploying import IdleLimit, UpgradeTimeouts

        timeouts = UpgradeTimeouts(restart_s=self.restart_within, settle_s=max(settle, UpgradeTimeouts().settle_s))
        return {
            "idle_limit": IdleLimit(self.traffic_below, self.traffic_every, self.traffic_within),
            "upgrade_timeouts": timeouts,
        }


app.command(short_help="Write a plan that moves traffic off a switch, link or server.")(drain)
app.command(short_help="Write a plan that returns a drained part to service.")(undrain)
app.command(short_help="Write a plan that installs a different release on switches.")(upgrade)
app.command(short_help="Write a plan of the changes after you replaced a part.")(replace)
app.command(short_help="Write the files that new switches get at first boot.")(ztp)
app.command(short_help="Compare new switches with the design before they are configured.")(acknowledge)
app.command(short_help="Inject faults into a running network and measure the effect.")(deploy_campaign.campaign)


@app.callback()
def _deploy() -> None:
    """Apply a design to running switches and servers, and roll it back.

    Only `apply`, `resume` and `campaign` change devices. The other commands query devices and write files, such as plans, which `apply` carries out.
    """


@dataclass(frozen=True, kw_only=True)
class DeployPlanShown(DeployPlan, PlanFile):
    """Options of ``railweave deploy plan``."""


@app.command(short_help="Write a plan that brings running switches to the design.")
@command(DeployPlanShown)
def plan(options: DeployPlanShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan that brings running switches to the design. `deploy apply` carries out the plan.

    The plan has the changes of each switch, their order in waves (groups of devices that change together), and what each wave disrupts. Exits 1
    if `deploy apply` would refuse the plan, for example because a wave disrupts too much of the network (--max-unavailable); the output lists the reasons.
    """
    from railweave.api.deploying import deploy_plan

    _plan(deploy_plan, options, as_json=as_json, quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class DeployApplyShown(DeployApply, TimeLimits):
    """Options of ``railweave deploy apply``."""

    digest: Annotated[
        str,
        Opt(
            "Digest (checksum) of the plan, as printed by the command that wrote the plan. It confirms that you have read this plan. Without --digest, --yes or --dry-run, `deploy apply` asks for the digest.",
            metavar="DIGEST",
        ),
    ] = ""
    yes: Annotated[bool, Opt("Apply the plan without its digest.")] = False


@app.command(short_help="Carry out a plan wave by wave, with rollback.")
@command(DeployApplyShown)
def apply(options: DeployApplyShown, *, as_json: bool, quiet: bool) -> None:
    """Carry out a plan on the devices. First, as a test, every device loads its change, checks it and discards it.

    Then the devices change in waves (groups of devices that change together). The devices of a wave commit their changes with a rollback timer. railweave checks the network, and confirms the wave before the timer ends.

    If a check fails, the wave is rolled back, later waves do not start, and the exit status is 1. Confirmed waves stay in place. `deploy history` then lists the changes as a revision with a number.
    """
    from railweave.api.deploying import deploy_apply

    confirmed(options.plan, options.digest, agreed=options.yes or options.dry_run, as_json=as_json)
    with telling(quiet=quiet or as_json) as say:
        revision = deploy_apply.of(changed(options, progress=say, **options.waits(options.settle)))
    show_revision(revision, as_json=as_json)


@app.command(short_help="Show the result of the last `deploy apply`.")
@command(DeployStatus)
def status(options: DeployStatus, *, as_json: bool, quiet: bool) -> None:
    """Show the result of the last `deploy apply`, and whether each of its devices now has the earlier configuration, the new one or a different one. Exits 1 if the `deploy apply` is still running or was interrupted."""
    from railweave.api.deploying import deploy_status

    busy: list[str] = []

    def at_work(who: str) -> None:
        busy.append(who)
        done(quiet=quiet or as_json)
        typer.echo(f"{who} is at work on {options.fabric} now", err=True)

    with telling(quiet=quiet or as_json) as say:
        say("asking the switches of the last apply")
        newest, devices = deploy_status.of(changed(options, at_work=at_work))
    if as_json:
        print_json({"revision": newest and vars(newest), "devices": [vars(device) for device in devices]})
    elif newest is None:
        typer.echo("nothing was ever applied")
    else:
        typer.echo(line(newest))
        for row in device_table(devices).to_text("  "):
            typer.echo(row)
        if newest.state == "running" and not busy:
            typer.echo(HOW_TO_END[any(device.of_upgrade for device in devices)])
    if newest is not None and newest.state == "running":
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class History:
    """Options of ``railweave deploy history``."""

    fabric: Annotated[Path, FABRIC_FILE]
    revision: Annotated[
        int | None, Argument("Number of the revision whose full log to show. Default: list all revisions.")
    ] = None


@app.command(short_help="List every `deploy apply`, or show the log of one.")
@command(History)
def history(options: History, *, as_json: bool, quiet: bool) -> None:
    """List the revisions of a network, newest first: number, result, time, operator and plan. With REVISION, show the full log of that revision.

    A revision is a set of changes that railweave applied to devices together. Each `deploy apply` makes a revision. So do each drain and return to service during an upgrade, each group of faults that `deploy campaign` injects together, and each trial of `railweave tune run` on the network.
    """
    del quiet  # it says nothing while it works
    from railweave.api.deploying import deploy_history, deploy_log

    if options.revision is not None:
        revision, log, steps = deploy_log(options.fabric, options.revision)
        if as_json:
            print_json(vars(revision) | {"log": [vars(each) for each in log], "steps": [vars(step) for step in steps]})
            return
        typer.echo(line(revision))
        for entry in log:
            typer.echo(f"  {when(entry.at)} {entry.line}")
        for step in (step for step in steps if step.failed or step.ended is None):
            how = step.failed or "interrupted"
            typer.echo(f"  {when(step.began)} {step.verb} of {step.device} in wave {step.wave}: {how}")
        return
    revisions = deploy_history(options.fabric)
    if as_json:
        print_json([vars(revision) for revision in revisions])
        return
    for row in revision_table(revisions).to_text():
        typer.echo(row)
    if not revisions:
        typer.echo("nothing was ever applied")


@dataclass(frozen=True, kw_only=True)
class DeployResumeShown(DeployResume, TimeLimits):
    """Options of ``railweave deploy resume``."""


@app.command(short_help="Finish or roll back an interrupted `deploy apply`.")
@command(DeployResumeShown)
def resume(options: DeployResumeShown, *, as_json: bool, quiet: bool) -> None:
    """Resume a `deploy apply` that was interrupted, for example by a power failure of this machine.

    The plan and the completed steps are read from the journal, the folder NAME.state next to the fabric file NAME.yaml. If the unfinished
    wave (a group of devices that change together) had passed its checks, it is confirmed.
    Otherwise it is rolled back and started again. Then the later waves follow. Interrupted trials of `railweave tune run` and faults of
    `deploy campaign` are rolled back. Exits 1 if a wave fails, and 2 if nothing was interrupted.
    """
    from railweave.api.deploying import deploy_resume

    with telling(quiet=quiet or as_json) as say:
        revision = deploy_resume.of(changed(options, progress=say, **options.waits(options.settle)))
    show_revision(revision, as_json=as_json)


@dataclass(frozen=True, kw_only=True)
class DeployRollbackShown(DeployRollback, PlanFile):
    """Options of ``railweave deploy rollback``."""


@app.command(short_help="Write a plan that undoes an earlier `deploy apply`.")
@command(DeployRollbackShown)
def rollback(options: DeployRollbackShown, *, as_json: bool, quiet: bool) -> None:
    """Write a plan that undoes a revision (a set of changes that railweave applied; `deploy history` lists them): its devices return to the configuration that they had before. `deploy apply` carries out the plan. Exits 1 if `deploy apply` would refuse it; the output lists the reasons."""
    from railweave.api.deploying import deploy_rollback

    _plan(deploy_rollback, options, as_json=as_json, quiet=quiet)
