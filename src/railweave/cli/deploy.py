"""``railweave deploy``: bring a design onto running switches and servers, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli import deploy_campaign
from railweave.cli.deploy_output import HOW_TO_END, confirmed, line, planned, show_revision, when
from railweave.cli.output import DEVICE, HARDWARE, JSON, QUIET, print_json, telling
from railweave.counting import counted


def replace(
    fabric: Path = typer.Argument(..., help="Fabric file."),
    what: str = typer.Argument(..., help="A switch, a server, or a NIC as SERVER:NIC, as the inventory names it."),
    serial: str = typer.Option("", "--serial", help="Serial number of the new one."),
    mac: str = typer.Option("", "--mac", help="MAC address of the new NIC, as a0:88:c2:3b:50:66."),
    output: Path = typer.Option(
        ..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it."
    ),
    lab: bool = typer.Option(
        False, "--lab", help="The devices of the lab of this fabric file, which is up; needs root."
    ),
    access: Path | None = typer.Option(
        None, "--access", help="How switches are reached: access.yaml (docs/collect.md)."
    ),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan of all that follows from a replaced switch, server or NIC: inventory, addresses, labels, configurations, files of servers.

    Nothing is changed; `deploy apply` writes the inventory and changes the devices. Exits 1 where the plan is refused.
    """
    from railweave.api.draining import deploy_replace

    with telling(quiet=quiet or as_json) as say:
        found = deploy_replace(
            fabric, what, serial=serial, mac=mac, lab=lab, access=access, hardware=hardware, progress=say
        )
    planned(found, output, lab=lab, access=access, as_json=as_json)


_FABRIC = typer.Argument(..., help="Fabric file.")
_WHAT = typer.Argument(
    ...,
    help="A switch, a server, a link as A--B or SERVER:NIC, as in cabling.csv; or a path color. May be several.",
    metavar="WHAT...",
)
_OUTPUT = typer.Option(..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it.")
_LAB = typer.Option(False, "--lab", help="The devices of the lab of this fabric file, which is up; needs root.")
_ACCESS = typer.Option(None, "--access", help="How switches are reached: access.yaml (docs/collect.md).")


def drain(
    fabric: Path = _FABRIC,
    what: list[str] = _WHAT,
    output: Path = _OUTPUT,
    force: bool = typer.Option(
        False, "--force", help="Though a path color, a plane, a tenant or a NIC would be gone; the plan says which."
    ),
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that takes something out of use by routing; `deploy apply` carries it out, and waits until it carries nothing.

    It says what is left, and changes `status:` of the fabric file when it is applied. Exits 1 where the plan is refused.
    """
    from railweave.api.draining import deploy_drain

    with telling(quiet=quiet or as_json) as say:
        found = deploy_drain(fabric, what, lab=lab, access=access, force=force, hardware=hardware, progress=say)
    planned(found, output, lab=lab, access=access, as_json=as_json)


def undrain(
    fabric: Path = _FABRIC,
    what: list[str] = _WHAT,
    output: Path = _OUTPUT,
    lab: bool = _LAB,
    access: Path | None = _ACCESS,
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that brings back into use what was drained; `deploy apply` carries it out."""
    from railweave.api.draining import deploy_undrain

    with telling(quiet=quiet or as_json) as say:
        found = deploy_undrain(fabric, what, lab=lab, access=access, hardware=hardware, progress=say)
    planned(found, output, lab=lab, access=access, as_json=as_json)


def upgrade(
    fabric: Path = typer.Argument(..., help="Fabric file."),
    release: str = typer.Option(..., "--release", help="The release that must run afterwards, as 25.4R1."),
    image: str = typer.Option(
        "",
        "--image",
        help="A file of this machine, which is copied to each switch, or a URL that the switches reach; with --lab another FRRouting's root folder.",
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="File of the plan. It holds configuration: only you can read it."
    ),
    only: list[str] = typer.Option([], "--only", help="This switch alone; may be repeated."),
    batch: int = typer.Option(1, "--batch", min=1, help="Switches that are out together, at most."),
    max_unavailable: float = typer.Option(
        0.5, "--max-unavailable", min=0, max=1, help="Share of the network (0 to 1) that a batch may take out."
    ),
    force: bool = typer.Option(
        False, "--force", help="Though a path color, a plane, a tenant or a NIC is gone meanwhile; the plan says which."
    ),
    lab: bool = typer.Option(
        False, "--lab", help="The devices of the lab of this fabric file, which is up; needs root."
    ),
    access: Path | None = typer.Option(
        None, "--access", help="How switches are reached: access.yaml (docs/collect.md)."
    ),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write the plan that installs a release on switches, ordered by redundancy; nothing is changed. `deploy apply` carries it out.

    For each batch it drains, waits until nothing flows, installs, restarts, waits, compares release, sessions and routes with what was before, and undrains. It stops at the first switch that does not come back as it was. Exits 1 where the plan is refused.
    """
    from railweave.api.upgrading import deploy_upgrade

    with telling(quiet=quiet or as_json) as say:
        found = deploy_upgrade(
            fabric,
            release,
            image=image,
            only=only,
            batch=batch,
            max_unavailable=max_unavailable,
            force=force,
            lab=lab,
            access=access,
            hardware=hardware,
            progress=say,
        )
    planned(found, output, lab=lab, access=access, as_json=as_json)


def ztp(
    fabric: Path = typer.Argument(..., help="Fabric file; NAME.inventory.csv beside it has the serial numbers."),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write. It holds secrets: only you can read it."),
    url: str | None = typer.Option(
        None, "--url", help="Where switches find the folder: http://ADDRESS:PORT. Without it, what --serve says."
    ),
    whole: bool = typer.Option(
        False, "--whole", help="The full configuration, not only what `deploy apply` needs to reach a switch."
    ),
    image: list[str] = typer.Option([], "--image", help="Image to run, as SYSTEM=FILE; may be repeated."),
    only: list[str] = typer.Option([], "--only", help="This switch alone; may be repeated."),
    interface: str = typer.Option("*", "--interface", help="Where the DHCP server listens; * for every interface."),
    serve: str | None = typer.Option(
        None, "--serve", help="ADDRESS:PORT: serve the folder there until Ctrl-C, to known serial numbers alone."
    ),
    secrets: Path | None = typer.Option(
        None, "--secrets", help="YAML file of NAME: value for the secrets that the configuration refers to."
    ),
    hardware: Path | None = HARDWARE,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Write what new switches get at their first boot, by serial number: files for a web server, and text for the DHCP servers ISC Kea and dnsmasq.

    Afterwards `deploy apply` reaches them. A switch without a serial number in the inventory is left out, and named.
    """
    from railweave.api.deploying import deploy_ztp

    address = _address(serve) if serve else None
    if url is None and serve is None:
        raise typer.BadParameter("say where switches find the folder: --url, or --serve", param_hint="--url")
    with telling(quiet=quiet or as_json) as say:
        say("writing the files of each switch")
        made = deploy_ztp(
            fabric,
            output,
            url or f"http://{serve}",
            whole=whole,
            image=image,
            only=only,
            interface=interface,
            secrets=secrets,
            hardware=hardware,
        )
    if as_json:
        print_json(made.to_json())
    else:
        for one in made.devices:
            typer.echo(f"{one.serial}: {one.name}, {one.system}, {one.ip}, {counted(len(one.files), 'file')}")
        for name, why in made.without.items():
            typer.echo(f"{name} is left out: {why}", err=True)
        typer.echo(f"DHCP: {output}/kea-dhcp4.conf or {output}/dnsmasq.conf; files: {made.url}")
    if address:
        _serve(output, address)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise typer.BadParameter(f"{text!r} is no ADDRESS:PORT", param_hint="--serve")
    return host, int(port)


def _serve(folder: Path, address: tuple[str, int]) -> None:
    from railweave.operations.deploy.ztp.serving import Server

    with Server(folder, address, lambda line: typer.echo(line, err=True)) as server:
        typer.echo(f"serving {folder} at {address[0]}:{server.server_address[1]}, until Ctrl-C", err=True)
        server.serve_forever()


app = typer.Typer(
    no_args_is_help=True,
    help="Bring a design onto running switches and servers, and back. Devices are changed by `apply`, `resume` and `campaign` alone; the others plan, look, and write files.",
)
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


app.command(short_help="The plan that takes a switch, link, path color or server out of use.")(drain)
app.command(short_help="The plan that brings it back.")(undrain)
app.command(short_help="The plan that installs another release on switches.")(upgrade)
app.command(short_help="The plan of what follows from a replaced switch, server or NIC.")(replace)
app.command(short_help="What new switches get at their first boot.")(ztp)
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
