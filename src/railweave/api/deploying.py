"""Changes of running devices: plan, apply and status; first boot and failure campaigns."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.options import verb
from railweave.api.running_verbs import DeployApply, DeployPlan, DeployResume, DeployRollback, DeployStatus, DeployZtp
from railweave.api.sites import network_of_plan, site_of
from railweave.api.upgrading import shifting
from railweave.counting import counted
from railweave.errors import Argument, FileLine, InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.model.network.status import reachable
from railweave.outputs.folder.sources import designed_as, load, path_of
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.network.model import Network
    from railweave.operations.deploy.campaign.carrying import Limits, Result
    from railweave.operations.deploy.campaign.plan import Campaign, PlannedTurn
    from railweave.operations.deploy.campaign.radius import Turn
    from railweave.operations.deploy.drain import DrainWait
    from railweave.operations.deploy.journal import Line, Revision, Step
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.recovery import DeviceCondition
    from railweave.operations.deploy.ztp.making import FirstBootFiles


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
    """Plan a campaign: the faults of each turn, and the effects that the model predicts. Changes no device.

    - ``scenario``: a scenario file. Its faults are applied one after another; overlapping faults are applied together.
    - ``lab``, ``access``: the access to switches, see ``deploy_plan``.
    - ``blast_radius``: the number of switches that a turn may affect, or the names of the switches that any turn may affect, with commas.
    - ``force``: names of path colors, planes, tenants, NICs and switches that may be lost during a turn.
    - ``hold``: the minimum length of a turn in seconds.
    - ``hardware``: see ``load``.

    Raises ``InputError`` for an invalid scenario, and ``LabError`` if the lab is not up.
    """
    from railweave.design.fault_targets import fault_targets
    from railweave.model.intent.scenario import read_scenario
    from railweave.operations.deploy.campaign.plan import Campaign
    from railweave.operations.deploy.campaign.radius import turns

    fabric, say = Path(fabric), progress
    network = load(fabric, hardware=hardware)
    read = read_scenario(Path(scenario), "campaign")
    if not read.scenario.faults:
        raise InputError([Problem(FileLine(str(scenario)), "it has no faults", "a campaign breaks what they say")])
    with in_force(network.catalog):
        site = site_of(fabric, network, lab=lab, access=access)
        say(f"asking {counted(len(site.asked), 'switch', 'switches')} for the configuration")
        running, silent_devices = site.running(
            list(site.asked), lambda answer: say(f"{answer.device}: {answer.status}")
        )
        planned: list[PlannedTurn] = []
        for turn in turns(fault_targets(network, read), hold):
            say(f"working out {turn.name}")
            planned.append(
                _planned(fabric, network, site, turn, running, silent_devices, blast_radius, force, hardware)
            )
    job = _job(fabric, Path(scenario), hardware) if read.scenario.traffic else ""
    return Campaign(str(fabric.resolve()), str(scenario), tuple(planned), job)


def _planned(
    fabric: Path,
    network: Network,
    site: Site,
    turn: Turn,
    running: Mapping[str, Mapping[str, str]],
    silent_devices: Mapping[str, str],
    blast_radius: str,
    force: Sequence[str],
    hardware: Path | str | None,
) -> PlannedTurn:
    from railweave.model.intent.status import with_drained
    from railweave.operations.deploy.campaign import radius
    from railweave.operations.deploy.campaign.plan import PlannedTurn, predicted
    from railweave.operations.deploy.campaign.radius import broken, ports_by_command
    from railweave.operations.deploy.left import gone
    from railweave.operations.deploy.making import make_plan
    from railweave.operations.deploy.waves import Wave

    changed = broken(site.network, site.configs, turn.targets)
    reached = radius.touched(site.network, site.configs, turn)
    text = fabric.read_text(encoding="utf-8")
    after = designed_as(fabric, with_drained(text, radius.patterns(site.configs, site.network, turn)), hardware)
    lost = list(gone(network, after, site.configs))
    beyond = radius.Radius.of(blast_radius, network).beyond(reached)
    refused = [beyond] if beyond else []
    refused += [f"{loss} (--force NAME accepts it)" for loss in radius.unforced(lost, [*force])]
    refused += [f"{name} did not answer: {silent_devices[name]}" for name in reached if name in silent_devices]
    here = {name: running[name] for name in changed if name in running}
    standing = make_plan(fabric, site.network, here, silent={}, live=True, configs=site.configs, canary=False)
    refused += [f"{name} does not run its design: `deploy plan` first" for name in standing.changed]
    plan = make_plan(fabric, site.network, here, silent={}, live=True, configs=site.configs | changed, canary=False)
    refused += [f"{device.device}: {why}" for device in plan.devices for why in device.refused]
    refused += [f"{name} would not change" for name in changed if name in here and name not in plan.changed]
    plan = replace(plan, waves=(Wave(tuple(plan.changed), "one turn of a campaign"),) if plan.changed else ())
    commands, without = _commands(site, turn)
    ports = ports_by_command(site.network, site.configs, turn.targets)
    commands += [f"{name}: shut {', '.join(port_names)}, with a timer there" for name, port_names in ports.items()]
    return PlannedTurn(
        turn,
        reached,
        tuple(lost),
        predicted(site.network, site.configs, turn),
        plan,
        tuple(commands),
        (*refused, *without),
        ports,
    )


def _commands(site: Site, turn: Turn) -> tuple[list[str], list[str]]:
    """Return the outages that are commands, as text, and the reasons why some cannot be carried out."""
    from railweave.systems import system

    lines, refused = list[str](), list[str]()
    for command in turn.commands:
        device, daemon = command.fault.device or "", command.fault.daemon or ""
        outage = system(site.configs[device].nos).outage
        if outage is None:
            refused.append(f"nothing here changes {device}: {system(site.configs[device].nos).without['outage']}")
        elif daemon and daemon not in outage.DAEMONS:
            refused.append(f"{device} has no {daemon!r} that can be ended: {', '.join(outage.DAEMONS)}")
        else:
            lines.append(
                f"{device}: {f'end its {outage.DAEMONS[daemon]}' if daemon else 'restart it'}; it comes back by itself"
            )
    return lines, refused


def _job(fabric: Path, scenario: Path, hardware: Path | str | None) -> str:
    """Return the simulated time of the scenario's traffic with its faults, or the reason why there is none."""
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
    """Carry out a campaign, turn by turn. The campaign ends if the network has not recovered after a turn.

    ``limits`` has the rollback timers of switches. For the other arguments, see ``campaign_plan``. Raises ``InputError`` if the campaign is
    refused, ``StoppedError`` if a switch could not be restored, and ``OutputError`` if another operator is at work.
    """
    from railweave.operations.deploy import journal
    from railweave.operations.deploy.campaign.carrying import Limits, carried_out
    from railweave.operations.deploy.campaign.measuring import packets

    fabric, say = Path(fabric), progress
    if campaign.refused:
        message = f"the campaign is refused: {'; '.join(campaign.refused[:3])}"
        raise InputError([Problem(Option("campaign"), message, "mend that, or say what may be gone with --force")])
    network = load(fabric, hardware=hardware)
    results: list[Result] = []
    with in_force(network.catalog), journal.at_work(fabric) as rows, ExitStack() as stack:
        last = next(iter(rows.revisions()), None)
        if last is not None and last.state == "running":
            fix = "railweave deploy status FABRIC says how things are, deploy resume FABRIC ends it"
            raise InputError([Problem(Option("campaign"), f"revision {last.number} was interrupted", fix)])
        site = site_of(fabric, network, lab=lab, access=access)
        running, _ = site.running(list(site.asked), lambda _: None)
        if site.emulation is not None:
            stack.callback(site.emulation.close)
        sent = packets(site)
        for turn in campaign.turns:
            results.append(carried_out(rows, turn, site, running, sent, limits or Limits(), say))
            say(f"{turn.turn.name}: {results[-1].seen.line()}")
            if not results[-1].good:
                say(f"{turn.turn.name}: the network is not as before: {'; '.join(results[-1].wrong[:3])}")
                break
    return results


def rehearsed(fabric: Path | str, scenario: Path | str) -> list[dict[str, Any]]:
    """Play a scenario in a fabric file's running lab, and return the measurement of each group of faults as a JSON object.

    Raises ``LabError``.
    """
    from railweave.live.lab import life
    from railweave.live.lab.faults.scenario import of_file, play
    from railweave.live.lab.state import locked

    record, lab = life.attach(Path(fabric))
    with lab, locked(record.lab, "fault"):
        targets = of_file(lab, Path(scenario), announce=silent)
        return [measurement.to_json() for measurement in play(lab, targets, silent)]


def lab_results(path: Path | str | None) -> list[dict[str, Any]]:
    """Read the output of ``lab fault --json``, or of ``deploy campaign --rehearse --json``, from a file. Raises ``InputError``."""
    if path is None:
        return []
    try:
        document = json.loads(Path(path_of(path) or "").read_text(encoding="utf-8"))
        return list(document["faults"] if "faults" in document else document["lab"])
    except (OSError, ValueError, KeyError, TypeError):
        fix = "give what `railweave lab fault --scenario FILE --json` printed"
        raise InputError([Problem(FileLine(str(path)), "there are no measured faults in it", fix)]) from None


@verb(DeployZtp)
def deploy_ztp(options: DeployZtp) -> FirstBootFiles:
    """Write the files that new switches load at first boot, by serial number, and configuration for two DHCP servers (ISC Kea, dnsmasq).

    - ``out``: the folder to write, readable only by its owner.
    - ``url``: the address at which switches find the folder, ``http://ADDRESS:PORT``.

    Serial numbers are those of the inventory. Raises ``InputError`` if no switch has a serial number, or a secret has no value.
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


@verb(DeployPlan)
def deploy_plan(options: DeployPlan) -> Plan:
    """Plan the changes that bring switches and servers to the design of a fabric file, in order. Changes no device.

    Raises ``InputError`` for wrong input, and ``LabError`` if the lab is not up.
    """
    from railweave.analysis.drift.running import captured_texts
    from railweave.model.state.capture import read_capture
    from railweave.operations.deploy.making import make_plan

    if (options.capture is not None) + options.live + options.lab != 1:
        fix = "give a folder of saved configurations, or --live to ask the switches now, or --lab"
        raise InputError([Problem(Argument("plan"), "give exactly one of: CAPTURE, --live, --lab", fix)])
    fabric, say = Path(options.fabric), options.progress
    network = load(fabric, device=options.device, hardware=options.hardware)
    with in_force(network.catalog):
        if options.capture is not None:
            network = reachable(network)
            running = {
                name: _by_file(network.switch(name).nos, texts)
                for name, texts in captured_texts(network, options.capture).items()
                if texts and name in {switch.name for switch in network.switches}
            }
            silent_ones = {
                switch.name: "the capture has no configuration of it"
                for switch in network.switches
                if switch.name not in running
            }
            whole, configs, hosts = read_capture(Path(options.capture)).meta.redacted is False, None, None
            if options.servers:
                fix = "--live or --lab asks them"
                raise InputError([Problem(Option("--servers"), "a capture does not say what servers run", fix)])
        else:
            site = site_of(fabric, network, lab=options.lab, access=options.access)
            hosts, silent_hosts = _hosts(site, options.only, say) if options.servers else ({}, {})
            names = [name for name in site.asked if not options.only or name in options.only]
            running, silent_ones = site.running(names, lambda answer: say(f"{answer.device}: {answer.status}"))
            silent_ones |= silent_hosts
            whole, configs, network = True, site.configs, site.network
        return make_plan(
            fabric,
            network,
            running,
            silent=silent_ones,
            live=whole,
            only=options.only,
            most=options.max_unavailable,
            canary=options.canary,
            configs=configs,
            servers=hosts,
            progress=say,
        )


def _hosts(
    site: Site, only: Sequence[str], say: Callable[[str], None]
) -> tuple[dict[str, tuple[dict[str, str], dict[str, str]]], dict[str, str]]:
    """Return the current and the designed state of servers, and the servers that did not answer."""
    from railweave.live.fleet.host_tree import FILE
    from railweave.operations.deploy.host_files import host_files

    names = [name for name in site.servers if not only or name in only]
    texts, silent_ones = host_files(site, names, lambda name, status: say(f"{name}: {status}"))
    return {name: (files, {FILE: site.host_file(name)}) for name, files in texts.items()}, silent_ones


@verb(DeployApply)
def deploy_apply(options: DeployApply) -> Revision:
    """Carry out a plan. Every device tests its change first. Then each wave is changed with a rollback timer, checked and confirmed.

    - ``idle_limit``: the traffic level below which a drained port counts as idle, and the time limit for this.
    - ``upgrade_timeouts``: the time limits for switches to install a release and to restart with it, in an upgrade.

    Raises ``InputError`` if the plan is refused or older than the fabric file, ``StoppedError`` if it stopped early, and ``OutputError`` if
    another operator is at work.
    """
    from railweave.operations.deploy import applying, journal
    from railweave.operations.deploy.plan import read_plan
    from railweave.outputs.folder.rendering import read_secrets

    plan, values = read_plan(Path(options.plan)), read_secrets(path_of(options.secrets))
    applying.may_be_applied(plan, values)
    fabric = Path(plan.fabric)
    network = network_of_plan(fabric, plan, options.hardware)
    with in_force(network.catalog), journal.at_work(fabric) as rows:
        site = site_of(fabric, network, lab=options.lab, access=options.access)
        how = applying.ApplySettings(
            options.confirm_within,
            options.settle,
            options.progress,
            _wait_for(options.wait_for, options.wait_for_timeout),
            options.idle_limit,
            options.upgrade_timeouts,
        )
        if plan.upgrade is not None:
            how = replace(
                how,
                shift=shifting(
                    fabric, rows, how, values, lab=options.lab, access=options.access, hardware=options.hardware
                ),
            )
        return applying.apply(rows, plan, network, site, how, values, dry_run=options.dry_run)


@verb(DeployStatus)
def deploy_status(options: DeployStatus) -> tuple[Revision | None, list[DeviceCondition]]:
    """Return the newest revision, and the actual state of the devices in its plan. Changes no device.

    Raises ``InputError`` as ``load`` does, and ``LabError`` if the lab is not up.
    """
    from railweave.operations.deploy import applying, journal
    from railweave.operations.deploy.recovery import truths
    from railweave.operations.deploy.upgrade_status import releases

    fabric = Path(options.fabric)
    with journal.opened(fabric) as rows:
        newest = next(iter([*rows.under_way(), *rows.revisions()]), None)
        if newest is None:
            return None, []
        network = network_of_plan(fabric, rows.plan(newest.number), options.hardware)
        with in_force(network.catalog):
            site = site_of(fabric, network, lab=options.lab, access=options.access)
            if (upgrade := rows.plan(newest.number).upgrade) is not None:
                return newest, list(asyncio.run(releases(site, upgrade)))
            return newest, asyncio.run(truths(applying.devices(rows, newest, site, {}), at_once=site.at_once))


def deploy_history(fabric: Path | str) -> list[Revision]:
    """Return all revisions of a network, the newest first."""
    from railweave.operations.deploy import journal

    with journal.opened(Path(fabric)) as rows:
        return rows.revisions()


def deploy_log(fabric: Path | str, revision: int) -> tuple[Revision, list[Line], list[Step]]:
    """Return a revision of a network, the log of its run, and every step with its result.

    Raises ``SpecError`` if there is no such revision.
    """
    from railweave.operations.deploy import journal

    with journal.opened(Path(fabric)) as rows:
        return rows.revision(revision), rows.log(revision), rows.steps(revision)


@verb(DeployResume)
def deploy_resume(options: DeployResume) -> Revision:
    """Continue an apply that was interrupted: roll back its unfinished wave, and start again with that wave.

    An upgrade continues where it stopped. Steps that were begun on a switch are repeated as far as necessary.

    - ``lab``, ``access``, ``secrets``, ``settle``, ``confirm_within``: see ``deploy_apply``.
    - ``wait_for``, ``wait_for_timeout``, ``idle_limit``, ``upgrade_timeouts``: see ``deploy_apply``.

    Raises ``InputError`` if nothing was interrupted, and as ``deploy_apply`` does.
    """
    from railweave.operations.deploy import applying, journal
    from railweave.outputs.folder.rendering import read_secrets

    fabric, values = Path(options.fabric), read_secrets(path_of(options.secrets))
    with journal.at_work(fabric) as rows:
        while True:
            newest = next(iter(rows.under_way()), None)
            network = network_of_plan(fabric, None if newest is None else rows.plan(newest.number), options.hardware)
            with in_force(network.catalog):
                site = site_of(fabric, network, lab=options.lab, access=options.access)
                waiting = _wait_for(options.wait_for, options.wait_for_timeout)
                how = applying.ApplySettings(
                    options.confirm_within,
                    options.settle,
                    options.progress,
                    waiting,
                    options.idle_limit,
                    options.upgrade_timeouts,
                )
                shift = shifting(
                    fabric, rows, how, values, lab=options.lab, access=options.access, hardware=options.hardware
                )
                ended = applying.resume(rows, site, replace(how, shift=shift), values, back=options.back)
            if not rows.under_way():  # otherwise it was a part of an upgrade
                return ended


@verb(DeployRollback)
def deploy_rollback(options: DeployRollback) -> Plan:
    """Plan the changes that restore the state of devices before a revision. The plan is applied like any other.

    Raises ``InputError`` if there is no such revision, and as ``deploy_plan`` does.
    """
    from railweave.operations.deploy import journal
    from railweave.operations.deploy.host_files import host_files
    from railweave.operations.deploy.making import plan_back

    fabric, say = Path(options.fabric), options.progress
    network = load(fabric, hardware=options.hardware)
    with journal.opened(fabric) as rows, in_force(network.catalog):
        revision = rows.revision(options.revision)
        if (upgrade := rows.plan(revision.number).upgrade) is not None:
            fix = f"install {', '.join(sorted(set(upgrade.versions.values()))) or 'the former release'} by another upgrade"
            raise InputError([Problem(Argument("revision"), f"revision {options.revision} installed a release", fix)])
        names = [
            change.device
            for change in rows.plan(revision.number).changed.values()
            if not options.only or change.device in options.only
        ]
        before = {name: texts for name in names if (texts := rows.kept(revision.number, name, "before"))}
        site = site_of(fabric, network, lab=options.lab, access=options.access)
        switches = [name for name in before if name not in site.servers]
        running, silent_ones = site.running(switches, lambda answer: say(f"{answer.device}: {answer.status}"))
        if hosts := [name for name in before if name in site.servers]:
            of_servers, silent_hosts = host_files(site, hosts, lambda name, status: say(f"{name}: {status}"))
            running, silent_ones = running | of_servers, silent_ones | silent_hosts
        plan = plan_back(
            fabric,
            site.network,
            running,
            before,
            silent=silent_ones,
            revision=options.revision,
            most=options.max_unavailable,
            configs=site.configs,
        )
        taken = rows.plan(revision.number)
        if options.only:
            return plan
        return replace(
            plan,
            drain=taken.drain.other_way() if taken.drain else None,
            replacement=taken.replacement.other_way() if taken.replacement else None,
        )


def _wait_for(command: str | None, seconds: float) -> DrainWait | None:
    from railweave.operations.deploy.drain import DrainWait

    return None if command is None else DrainWait(command, seconds)


def _by_file(nos: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return saved texts by the file names of the renderer."""
    from railweave.systems import system

    changed_by = system(nos).transaction
    files: Mapping[str, str] = changed_by.FILES if changed_by else {}
    names = {path: Path(path).name for path in texts}
    return {
        name if name in files.values() else files.get(Path(path).stem, next(iter(files.values()), name)): texts[path]
        for path, name in names.items()
    }
