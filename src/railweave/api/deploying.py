"""Changes of running devices: plan, apply and status; drains, upgrades and replacements; first boot and failure campaigns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.options import verb
from railweave.api.running_verbs import (
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
)
from railweave.api.sites import running_fabric
from railweave.errors import Argument, InputError, Option, Problem
from railweave.lazy import attributes
from railweave.model.catalog import in_force
from railweave.outputs.folder.sources import load, path_of
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.api.running_verbs import Rollout
    from railweave.operations.deploy.acknowledging import ComparedDevice
    from railweave.operations.deploy.applying import ApplySettings
    from railweave.operations.deploy.campaign.carrying import Limits, Result
    from railweave.operations.deploy.campaign.plan import Campaign
    from railweave.operations.deploy.journal import Line, Revision, Step
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.recovery import DeviceCondition
    from railweave.operations.deploy.traffic import IdleLimit as IdleLimit  # noqa: PLC0414 - a parameter of deploy_apply
    from railweave.operations.deploy.upgrading import UpgradeTimeouts as UpgradeTimeouts  # noqa: PLC0414 - as well
    from railweave.operations.deploy.ztp.making import FirstBootFiles


if not TYPE_CHECKING:  # types of parameters; other modules are imported when they are used
    __getattr__ = attributes(
        __name__,
        {
            "railweave.operations.deploy.campaign.carrying": ("Limits",),
            "railweave.operations.deploy.traffic": ("IdleLimit",),
            "railweave.operations.deploy.upgrading": ("UpgradeTimeouts",),
        },
    )


def campaign_plan(
    fabric: Path | str,
    scenario: Path | str,
    *,
    lab: bool = False,
    access: Path | str | None = None,
    blast_radius: str = "1",
    force: Sequence[str] = (),
    hold: float = 20,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] = silent,
) -> Campaign:
    """Plan a campaign of faults: the faults of each turn, and the effects that the model predicts. Changes no device.

    - ``scenario``: a scenario file. Its faults are injected in turns, one after another; faults that overlap in time
      form one turn.
    - ``lab``, ``access``: the access to switches, see ``deploy_plan``.
    - ``blast_radius``: the largest number of switches that a turn may affect, or the switches that may be
      affected, as names separated by commas.
    - ``force``: names of path colors, planes, tenants, NICs and switches that may be lost during a turn.
    - ``hold``: the minimum length of a turn in seconds.
    - ``hardware``: see ``load``.

    Raises ``InputError`` for an invalid scenario, and ``LabError`` if the lab is not up.
    """
    from railweave.operations.deploy.campaign.plan import plan_campaign

    running = running_fabric(fabric, lab=lab, access=access, hardware=hardware, progress=progress)
    return plan_campaign(
        running,
        Path(scenario),
        blast_radius=blast_radius,
        force=force,
        hold=hold,
        job=lambda: _job(running.path, Path(scenario), hardware),
    )


def _job(fabric: Path, scenario: Path, hardware: Path | str | None) -> str:
    """Return the simulated time of the scenario's traffic under its faults, for example "12.5 ms", or the problem."""
    from railweave.api.predicting import simulate

    try:
        result = simulate(fabric, scenario=scenario, hardware=hardware, watch=False)
    except InputError as error:
        return f"not predicted: {error.problems[0].what}"
    return f"{result.time_ps / 1e9:,.3f} ms" if result.complete else "it does not end"


def campaign_run(
    fabric: Path | str,
    campaign: Campaign,
    *,
    lab: bool = False,
    access: Path | str | None = None,
    limits: Limits | None = None,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] = silent,
) -> list[Result]:
    """Carry out a campaign turn by turn, and return the result of each turn. The campaign ends if the network has not recovered after a turn.

    ``limits`` has the rollback timers of switches; None means the defaults of ``Limits``. For the other arguments, see
    ``campaign_plan``. Raises ``InputError`` if the campaign is refused, ``StoppedError`` if a switch could not be restored,
    and ``OutputError`` if another operator is at work.
    """
    from railweave.operations.deploy.campaign.carrying import Limits, run_campaign

    running = running_fabric(fabric, lab=lab, access=access, hardware=hardware, progress=progress)
    return run_campaign(running, campaign, limits or Limits())


def lab_results(file: Path | str | None) -> list[dict[str, Any]]:
    """Return the results in an output file of ``railweave lab fault --json``, as a JSON object for each group of faults.

    Return an empty list if ``file`` is None. Raises ``InputError`` if the file cannot be read or contains no such results.
    """
    from railweave.operations.deploy.campaign import carrying

    return carrying.lab_results(file)


def rehearsed(fabric: Path | str, scenario: Path | str) -> list[dict[str, Any]]:
    """Inject the faults of a scenario file into a fabric file's running lab. Return a JSON object of measurements for each group of faults.

    Raises ``InputError`` if the scenario is invalid, and ``LabError`` if the lab is not up.
    """
    from railweave.live.lab.faults.scenario import injected

    return [measurement.to_json() for measurement in injected(Path(fabric), Path(scenario)).measured]


@verb(DeployZtp)
def deploy_ztp(options: DeployZtp) -> FirstBootFiles:
    """Write the files that new switches load at first boot, by serial number, and configurations for two DHCP servers (ISC Kea, dnsmasq).

    - ``out``: the folder to write. Only its owner can read it.
    - ``url``: the address at which switches find the folder, ``http://ADDRESS:PORT``.

    Serial numbers come from the inventory. Raises ``InputError`` if no switch has a serial number, or if a secret
    has no value.
    """
    from railweave.operations.deploy.ztp.making import make, write
    from railweave.outputs.folder.rendering import read_secrets

    network = load(Path(options.fabric), hardware=options.hardware)
    with in_force(network.catalog):
        made = make(
            network,
            options.url,
            secrets=read_secrets(path_of(options.secrets)),
            given=options.image,
            whole=options.whole,
            only=options.only,
        )
    write(made, Path(options.out), options.interface)
    return made


def deploy_ztp_serve(
    folder: Path | str,
    address: tuple[str, int],
    *,
    progress: Callable[[str], None] = silent,
) -> None:
    """Serve a folder of ``deploy_ztp`` by HTTP until interrupted. Only switches with known serial numbers get files.

    - ``address``: the IP address and port at which the server listens.
    - ``progress``: a function that is called when the server is ready, and with a line for each request.

    Raises ``InputError`` if the folder does not contain first-boot files, and ``OutputError`` if the address cannot be
    used.
    """
    from railweave.operations.deploy.ztp.serving import Server

    with Server(Path(folder), address, progress) as server:
        progress(f"serving {folder} at {address[0]}:{server.server_address[1]}, until Ctrl-C")
        server.serve_forever()


@verb(DeployAcknowledge)
def deploy_acknowledge(options: DeployAcknowledge) -> list[ComparedDevice]:
    """Compare newly booted switches with the design and the inventory, and enter those that match in the journal. Changes no device.

    A switch that runs no routing yet must be acknowledged in this way; otherwise, ``deploy_plan`` refuses to configure it.
    Raises ``InputError`` for an unknown name, ``LabError`` if the lab is not up, and ``OutputError`` if another operator is
    at work.
    """
    from railweave.operations.deploy.acknowledging import acknowledge

    return acknowledge(options.running(options.fabric, options.progress), options.what, options.allow_unseen)


def deploy_read(plan: Path | str) -> Plan:
    """Return the plan in a plan file, if it can be applied.

    Raises ``SpecError`` if the file is not a plan or was edited by hand. Raises ``InputError``, with the reasons
    (``Plan.refused``), if planning found that the plan must not be applied.
    """
    from railweave.operations.deploy.applying import check_not_refused
    from railweave.operations.deploy.plan import read_plan

    read = read_plan(Path(plan))
    check_not_refused(read)
    return read


@verb(DeployPlan)
def deploy_plan(options: DeployPlan) -> Plan:
    """Plan the changes that make switches and servers match the design of a fabric file, and the order of the changes. Changes no device.

    Raises ``InputError`` for wrong input, and ``LabError`` if the lab is not up.
    """
    from railweave.operations.deploy.planning import plan_from_capture, plan_to_design
    from railweave.operations.deploy.waves import PlanLimits

    limits = PlanLimits(options.max_unavailable, options.canary, frozenset(options.allow_cut), options.step)
    if (options.capture is not None) + options.live + options.lab != 1:
        fix = "give a folder of saved configurations, or --live to ask the switches now, or --lab"
        raise InputError([Problem(Argument("plan"), "give exactly one of: CAPTURE, --live, --lab", fix)])
    if options.capture is None:
        return plan_to_design(
            options.running(options.fabric, options.progress),
            only=options.only,
            servers=options.servers,
            limits=limits,
            device=options.device,
        )
    network = load(Path(options.fabric), device=options.device, hardware=options.hardware)
    if options.servers:
        fix = "read the servers with --live or --lab"
        raise InputError([Problem(Option("--servers"), "a capture does not hold the state of servers", fix)])
    return plan_from_capture(
        Path(options.fabric),
        network,
        Path(options.capture),
        only=options.only,
        limits=limits,
        say=options.progress,
    )


@verb(DeployDrain)
def deploy_drain(options: DeployDrain) -> Plan:
    """Plan a drain: routing moves all traffic away from switches, links, path colors or servers. Changes nothing itself.

    ``deploy_apply`` carries the plan out, and waits until the drained parts carry no traffic. The plan contains the new ``status:`` of the
    fabric file. Raises ``InputError`` for an unknown name, and ``LabError`` if the lab is not up.
    """
    from railweave.operations.deploy.drain import plan_drain

    return plan_drain(
        options.running(options.fabric, options.progress),
        options.what,
        force=options.force,
        also_pending=options.also_pending,
    )


@verb(DeployUndrain)
def deploy_undrain(options: DeployUndrain) -> Plan:
    """Plan the return of drained parts to service.

    - ``again``: True to accept that no part is drained. Switches that still have a drain's configuration, because an
      earlier undrain was interrupted, are then restored.

    Other arguments and errors are those of ``deploy_drain``. Also raises ``InputError`` if none of the parts is drained.
    """
    from railweave.operations.deploy.drain import plan_undrain

    return plan_undrain(
        options.running(options.fabric, options.progress),
        options.what,
        again=options.again,
        also_pending=options.also_pending,
    )


@verb(DeployReplace)
def deploy_replace(options: DeployReplace) -> Plan:
    """Plan all changes after a switch, server or NIC was replaced: inventory, addresses, labels, configurations, server files.

    This function changes nothing itself. ``deploy_apply`` writes the inventory, and changes the switches and servers whose
    configuration depends on it. A replaced switch that already answers gets its whole configuration. Raises ``InputError``
    for an invalid name or value, and ``LabError`` if the lab is not up.
    """
    from railweave.operations.deploy.planning import plan_replacement

    return plan_replacement(
        options.running(options.fabric, options.progress),
        options.what,
        options.serial,
        options.mac,
        also_pending=options.also_pending,
    )


@verb(DeployUpgrade)
def deploy_upgrade(options: DeployUpgrade) -> Plan:
    """Plan the installation of a release on switches, batch by batch. Changes nothing itself.

    ``deploy_apply`` drains each batch, installs the release, restarts the switches, checks them and undrains them. Raises
    ``InputError`` for wrong input, and ``LabError`` if the lab is not up.
    """
    from railweave.operations.deploy.upgrade import plan_upgrade

    return plan_upgrade(
        options.running(options.fabric, options.progress),
        options.release,
        options.image,
        only=options.only,
        at_once=options.batch,
        most=options.max_unavailable,
        force=options.force,
        root=options.lab,
    )


@verb(DeployRollback)
def deploy_rollback(options: DeployRollback) -> Plan:
    """Plan the changes that restore devices to their configuration before a revision. Changes nothing itself.

    Raises ``InputError`` if there is no such revision, and the errors of ``deploy_plan``.
    """
    from railweave.operations.deploy.planning import plan_before

    return plan_before(
        options.running(options.fabric, options.progress),
        options.revision,
        only=options.only,
        most=options.max_unavailable,
    )


@verb(DeployApply)
def deploy_apply(options: DeployApply) -> Revision:
    """Carry out a plan and return its revision.

    First, every device tests its change. Then each wave of devices is changed with a rollback timer, checked and confirmed.

    - ``idle_limit``: the traffic level below which a drained port counts as idle, and the time limit for this.
    - ``upgrade_timeouts``: the time limits for switches to install a release and to restart with it, in an upgrade.

    Raises ``InputError`` if the plan is refused or older than the fabric file, ``StoppedError`` if a wave failed, and
    ``OutputError`` if another operator is at work.
    """
    from railweave.operations.deploy import applying, journal
    from railweave.operations.deploy.plan import read_plan
    from railweave.outputs.folder.rendering import read_secrets

    plan, secrets = read_plan(Path(options.plan)), read_secrets(path_of(options.secrets))
    applying.may_be_applied(plan, secrets)
    running = options.running(plan.fabric, options.progress)
    network = applying.network_of_plan(running, plan)
    with in_force(network.catalog), journal.at_work(running.path) as rows:
        how = applying.with_shifts(running, rows, _settings(options), secrets)
        return applying.apply(rows, plan, network, running.site_of(network), how, secrets, dry_run=options.dry_run)


@verb(DeployResume)
def deploy_resume(options: DeployResume) -> Revision:
    """Continue an interrupted ``deploy_apply``. A wave that had passed its checks is confirmed; any other unfinished wave is repeated.

    The devices of a repeated wave are first rolled back. An upgrade continues with the step at which it stopped.

    - ``lab``, ``access``, ``secrets``, ``settle``, ``confirm_within``: see ``deploy_apply``.
    - ``wait_for``, ``wait_for_timeout``, ``idle_limit``, ``upgrade_timeouts``: see ``deploy_apply``.

    Raises ``InputError`` if nothing was interrupted, and the errors of ``deploy_apply``.
    """
    from railweave.operations.deploy import applying, journal
    from railweave.outputs.folder.rendering import read_secrets

    running, secrets = options.running(options.fabric, options.progress), read_secrets(path_of(options.secrets))
    with journal.at_work(running.path) as rows:
        return applying.resume_all(running, rows, _settings(options), secrets, back=options.back)


def _settings(options: Rollout) -> ApplySettings:
    from railweave.operations.deploy.applying import ApplySettings
    from railweave.operations.deploy.drain import DrainWait

    return ApplySettings(
        options.confirm_within,
        options.settle,
        options.progress,
        None if options.wait_for is None else DrainWait(options.wait_for, options.wait_for_timeout),
        options.idle_limit,
        options.upgrade_timeouts,
    )


@verb(DeployStatus)
def deploy_status(options: DeployStatus) -> tuple[Revision | None, list[DeviceCondition]]:
    """Return the newest revision (None if there is none), and the actual state of each device in its plan. Changes no device.

    - ``at_work``: a function that is called if someone is changing the network now. Its argument is a text with the user,
      host and process.

    Raises ``LabError`` if the lab is not up, and the errors of ``load``.
    """
    from railweave.operations.deploy import applying, journal

    if who := journal.who_is_at_work(Path(options.fabric)):
        options.at_work(who)
    running = options.running(options.fabric)
    with journal.opened(running.path) as rows:
        newest = next(iter([*rows.under_way(), *rows.revisions()]), None)
        if newest is None:
            return None, []
        network = applying.network_of_plan(running, rows.plan(newest.number))
        with in_force(network.catalog):
            return newest, applying.conditions(rows, newest, running.site_of(network))


def deploy_history(fabric: Path | str) -> list[Revision]:
    """Return all revisions of a network, beginning with the newest."""
    from railweave.operations.deploy import journal

    with journal.opened(Path(fabric)) as rows:
        return rows.revisions()


def deploy_log(fabric: Path | str, revision: int) -> tuple[Revision, list[Line], list[Step]]:
    """Return a revision of a network, the lines of its log, and its steps with their results.

    Raises ``SpecError`` if there is no such revision.
    """
    from railweave.operations.deploy import journal

    with journal.opened(Path(fabric)) as rows:
        return rows.revision(revision), rows.log(revision), rows.steps(revision)
