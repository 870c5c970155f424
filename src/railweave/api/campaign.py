"""Failure campaigns: what is broken on purpose on a running network, or on its lab, and what that does."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.sites import designed_as, site_of
from railweave.api.sources import load, path_of, silent
from railweave.counting import counted
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.model.catalog import in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.network.model import Network
    from railweave.operations.deploy.campaign.carrying import Limits, Result
    from railweave.operations.deploy.campaign.plan import Campaign, Planned
    from railweave.operations.deploy.campaign.radius import Turn


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
    progress: Callable[[str], None] | None = None,
) -> Campaign:
    """What a campaign would break, turn by turn, and what the model says of it. Nothing is changed anywhere.

    - ``scenario``: a scenario file; its faults are broken one after another, those that overlap together.
    - ``lab``, ``access``: how switches are reached, see ``deploy_plan``.
    - ``blast_radius``: how many switches a turn may touch, or the names of those that any may, with commas between.
    - ``force``: names of what may be gone meanwhile: path colors, planes, tenants, NICs, switches.
    - ``hold``: seconds that a turn lasts at least. ``hardware``: see ``load``.

    Raises ``InputError`` for a scenario that cannot be, ``LabError`` where the lab is not up.
    """
    from railweave.design.fault_targets import fault_targets
    from railweave.model.intent.scenario import read_scenario
    from railweave.operations.deploy.campaign.plan import Campaign
    from railweave.operations.deploy.campaign.radius import turns

    fabric, say = Path(fabric), progress or silent
    network = load(fabric, hardware=hardware)
    read = read_scenario(Path(scenario), "campaign")
    if not read.scenario.faults:
        raise InputError([Problem(FileLine(str(scenario)), "it has no faults", "a campaign breaks what they say")])
    with in_force(network.catalog):
        site = site_of(fabric, network, lab=lab, access=access)
        say(f"asking {counted(len(site.asked), 'switch', 'switches')} for the configuration")
        running, quiet = site.running(list(site.asked), lambda one: say(f"{one.device}: {one.status}"))
        found: list[Planned] = []
        for turn in turns(fault_targets(network, read), hold):
            say(f"working out {turn.name}")
            found.append(_planned(fabric, network, site, turn, running, quiet, blast_radius, force, hardware))
    job = _job(fabric, Path(scenario), hardware) if read.scenario.traffic else ""
    return Campaign(str(fabric.resolve()), str(scenario), tuple(found), job)


def _planned(
    fabric: Path,
    network: Network,
    site: Site,
    turn: Turn,
    running: Mapping[str, Mapping[str, str]],
    quiet: Mapping[str, str],
    blast_radius: str,
    force: Sequence[str],
    hardware: Path | str | None,
) -> Planned:
    from railweave.model.intent.status import with_drained
    from railweave.operations.deploy.campaign import radius
    from railweave.operations.deploy.campaign.plan import Planned, predicted
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
    refused += [f"{one} (--force NAME accepts it)" for one in radius.unforced(lost, [*force])]
    refused += [f"{name} did not answer: {quiet[name]}" for name in reached if name in quiet]
    here = {name: running[name] for name in changed if name in running}
    standing = make_plan(fabric, site.network, here, silent={}, live=True, configs=site.configs, canary=False)
    refused += [f"{name} does not run its design: `deploy plan` first" for name in standing.changed]
    plan = make_plan(fabric, site.network, here, silent={}, live=True, configs=site.configs | changed, canary=False)
    refused += [f"{one.device}: {why}" for one in plan.devices for why in one.refused]
    refused += [f"{name} would not change" for name in changed if name in here and name not in plan.changed]
    plan = replace(plan, waves=(Wave(tuple(plan.changed), "one turn of a campaign"),) if plan.changed else ())
    commands, without = _commands(site, turn)
    ports = ports_by_command(site.network, site.configs, turn.targets)
    commands += [f"{name}: shut {', '.join(own)}, with a timer there" for name, own in ports.items()]
    return Planned(
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
    """Outages that are commands, as text; and why some cannot be made."""
    from railweave.systems import system

    lines, refused = list[str](), list[str]()
    for one in turn.commands:
        device, daemon = one.fault.device or "", one.fault.daemon or ""
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
    """The time of the scenario's traffic with its faults, by the simulator; why there is none, otherwise."""
    from railweave.api.predicting import simulate

    try:
        found = simulate(fabric, scenario=scenario, hardware=hardware, watch=False)
    except InputError as error:
        return f"not predicted: {error.problems[0].what}"
    return f"{found.time_ps / 1e9:,.3f} ms" if found.complete else "it does not end"


def campaign_run(
    fabric: Path | str,
    campaign: Campaign,
    *,
    lab: bool = False,
    access: Path | str | None = None,
    limits: Limits | None = None,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[Result]:
    """Carry out a campaign, turn by turn; it ends with the first turn after which the network is not as before.

    ``limits``: how long switches wait until they restore themselves. Others: see ``campaign_plan``. Raises ``InputError`` where it is
    refused, ``StoppedError`` where a switch could not be restored, ``OutputError`` where somebody else is at work.
    """
    from railweave.operations.deploy import journal
    from railweave.operations.deploy.campaign.carrying import Limits, carried_out
    from railweave.operations.deploy.campaign.measuring import packets

    fabric, say = Path(fabric), progress or silent
    if campaign.refused:
        what = f"the campaign is refused: {'; '.join(campaign.refused[:3])}"
        raise InputError([Problem(Option("campaign"), what, "mend that, or say what may be gone with --force")])
    network = load(fabric, hardware=hardware)
    found: list[Result] = []
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
        for one in campaign.turns:
            found.append(carried_out(rows, one, site, running, sent, limits or Limits(), say))
            say(f"{one.turn.name}: {found[-1].seen.line()}")
            if not found[-1].good:
                say(f"{one.turn.name}: the network is not as before: {'; '.join(found[-1].wrong[:3])}")
                break
    return found


def rehearsed(fabric: Path | str, scenario: Path | str) -> list[dict[str, Any]]:
    """What ``lab fault`` measures of a scenario in the lab of a fabric file, which is up: the JSON object of each group of faults. Raises ``LabError``."""
    from railweave.live.lab import life
    from railweave.live.lab.faults.scenario import of_file, play
    from railweave.live.lab.state import locked

    record, lab = life.attach(Path(fabric))
    with lab, locked(record.lab, "fault"):
        targets = of_file(lab, Path(scenario), announce=lambda _: None)
        return [one.to_json() for one in play(lab, targets, silent)]


def lab_results(path: Path | str | None) -> list[dict[str, Any]]:
    """What ``lab fault --json``, or ``deploy campaign --rehearse --json``, has printed into a file. Raises ``InputError``."""
    if path is None:
        return []
    try:
        found = json.loads(Path(path_of(path) or "").read_text(encoding="utf-8"))
        return list(found["faults"] if "faults" in found else found["lab"])
    except (OSError, ValueError, KeyError, TypeError):
        fix = "give what `railweave lab fault --scenario FILE --json` printed"
        raise InputError([Problem(FileLine(str(path)), "there are no measured faults in it", fix)]) from None
