"""Upgrades of switches to a different release: a plan that ``deploy_apply`` carries out, batch by batch."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.draining import deploy_drain, deploy_undrain
from railweave.api.options import verb
from railweave.api.running_verbs import DeployUpgrade
from railweave.api.sites import network_of_plan, site_of
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem, unknown_switches
from railweave.model.catalog import in_force
from railweave.outputs.folder.sources import designed_as, load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.deploy.applying import ApplySettings
    from railweave.operations.deploy.journal import Journal
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.waves import Wave
    from railweave.systems.installation import Image


@verb(DeployUpgrade)
def deploy_upgrade(options: DeployUpgrade) -> Plan:
    """Plan the installation of a release on switches, batch by batch. Changes nothing itself.

    ``deploy_apply`` drains, installs, restarts, checks and undrains each batch. Raises ``InputError`` for wrong input, and ``LabError`` if
    the lab is not up.
    """
    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.live.check.identity import same_release
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.upgrade import Upgrade, image_of, rendered_otherwise, restarts
    from railweave.operations.deploy.upgrade_status import states
    from railweave.operations.deploy.waves import waves
    from railweave.systems import system

    fabric, say = Path(options.fabric), options.progress
    network = load(fabric, hardware=options.hardware)
    with in_force(network.catalog):
        site = site_of(fabric, network, lab=options.lab, access=options.access)
        chosen = _chosen(network, site.asked, options.only)
        nos = _one_system({site.asked[name].system for name in chosen})
        installed = (
            image_of(options.image, options.release, nos) if not options.lab else _root(options.image, options.release)
        )
        say(f"asking {counted(len(chosen), 'switch', 'switches')} for the release")
        device_states, silent_ones = asyncio.run(states(site, chosen, attempts=site.attempts))
        versions = {
            name: (state.identity.version if state.identity else None) or "" for name, state in device_states.items()
        }
        there = [name for name in chosen if name in versions and same_release(versions[name], options.release)]
        names = [name for name in chosen if name not in there and name not in silent_ones]
        say("ordering them by what is left while they are out")
        changes = restarts(site.network, names, options.release)
        plane = ControlPlane(site.configs.values(), site.network.absent)
        ordered = waves(site.network, plane, changes, most=options.max_unavailable, canary=True, at_once=options.batch)
        lines = [f"{options.release} runs already on {', '.join(there)}"] if there else []
        by_version = {versions[name]: [other for other in names if versions[other] == versions[name]] for name in names}
        lines += [f"{version or 'no known release'} runs on {', '.join(some)}" for version, some in by_version.items()]
        drained = [name for name in names if name in network.drained]
        lost, refused = _losses(fabric, network, ordered, drained, force=options.force, hardware=options.hardware)
        refused += [f"{name} did not answer: {why}" for name, why in silent_ones.items()]
        by_system = system(nos).upgrade
        told = (
            by_system.commands(installed)
            if by_system and not options.lab
            else [f"restart the daemons from {options.image}"]
        )
        if by_system is None or (by_system.BY_HAND and not options.lab):
            refused.append(
                by_system.BY_HAND
                if by_system
                else f"nothing here installs releases of {nos}: {system(nos).without['upgrade']}"
            )
        lines += [f"each is told: {line}" for line in told] if names else []
        if "://" in installed.source:
            lines.append("the switches fetch the image themselves: its checksum is compared only where a file is given")
        say("comparing what is rendered for that release")
        lines += [*lost, *(rendered_otherwise(network, names, options.release) if names and not options.lab else ())]
    upgrade = Upgrade(
        installed,
        nos,
        {name: versions[name] for name in names},
        tuple(drained),
        options.force,
        tuple(told),
        tuple(lines),
        tuple(refused),
    )
    design = hashlib.sha256(site.network.to_json()).hexdigest()
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return Plan(str(fabric.resolve()), design, made, True, (), ordered, silent_ones, upgrade=upgrade)


def _chosen(network: Network, asked: Mapping[str, object], only: Sequence[str]) -> list[str]:
    if unknown := [name for name in only if name not in {switch.name for switch in network.switches}]:
        raise unknown_switches(unknown)
    away = network.absent - network.drained
    return [name for name in asked if (not only or name in only) and name not in away]


def _one_system(systems: set[str]) -> str:
    if len(systems) != 1:
        message = f"the switches run {', '.join(sorted(systems)) or 'nothing'}"
        raise InputError([Problem(Option("--release"), message, "name switches of one operating system by --only")])
    return systems.pop()


def _root(image: str, release: str) -> Image:
    from railweave.systems.installation import Image

    if not (Path(image) / "usr/lib/frr/zebra").exists():
        fix = "give the folder that holds another FRRouting, as `make validators` makes it"
        raise InputError([Problem(Option("--image", image), "it is no root folder of FRRouting, as a lab needs", fix)])
    return Image(release, str(Path(image).resolve()))


def _losses(
    fabric: Path,
    network: Network,
    ordered: Sequence[Wave],
    drained: Sequence[str],
    *,
    force: bool,
    hardware: Path | str | None,
) -> tuple[list[str], list[str]]:
    """Return the losses while batches are out of service, as lines and as reasons to refuse the plan.

    Only one batch of each kind is examined, because batches of one kind are alike.
    """
    from railweave.model.device.build import device_config
    from railweave.model.intent.status import with_drained
    from railweave.operations.deploy.left import gone

    lines, refused, seen = list[str](), list[str](), set[str]()
    text = fabric.read_text(encoding="utf-8")
    for number, wave in enumerate(ordered, 1):
        names = [name for name in wave.devices if name not in drained]
        if wave.why in seen or not names:
            continue
        seen.add(wave.why)
        after = designed_as(fabric, with_drained(text, names), hardware)
        configs = {switch.name: device_config(after, switch.name) for switch in after.switches}
        for loss in gone(network, after, configs):
            (lines if force else refused).append(
                f"wave {number}: forced: {loss}"
                if force
                else f"wave {number}: {loss} (--force takes it out all the same)"
            )
    return lines, refused


def shifting(
    fabric: Path,
    rows: Journal,
    how: ApplySettings,
    secrets: Mapping[str, str],
    *,
    lab: bool,
    access: Path | str | None,
    hardware: Path | str | None,
) -> Callable[[Sequence[str], bool], None]:
    """Return a function that drains switches during an upgrade, or returns them to use, each time with its own plan and revision.

    The function does nothing if the switches are already in this state. It raises ``InputError`` if the drain is refused, and
    ``StoppedError``.
    """
    from railweave.operations.deploy import applying

    def shift(names: Sequence[str], back: bool) -> None:
        upgrade = next(revision for revision in rows.under_way() if rows.plan(revision.number).upgrade is not None)
        network = load(fabric, hardware=hardware)
        wanted = [name for name in names if name in network.drained]
        told = rows.plan(upgrade.number).upgrade
        plan = (
            deploy_undrain(
                fabric, wanted or names, again=True, lab=lab, access=access, hardware=hardware, progress=how.say
            )
            if back
            else deploy_drain(
                fabric,
                names,
                lab=lab,
                access=access,
                force=bool(told and told.force),
                hardware=hardware,
                progress=how.say,
            )
        )
        if back and not wanted and not plan.changed and not plan.refused:
            return
        applying.may_be_applied(plan, secrets)
        planned_network = network_of_plan(fabric, plan, hardware)
        with in_force(planned_network.catalog):
            site = site_of(fabric, planned_network, lab=lab, access=access)
            shift_how = replace(how, wait_for=None)
            applying.apply(rows, plan, planned_network, site, shift_how, secrets, dry_run=False, part_of=upgrade.number)

    return shift
