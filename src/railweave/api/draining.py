"""Plans for ``deploy_apply`` that take a part of a network out of use, return it to use, or replace hardware."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.running_verbs import DeployDrain, DeployReplace, DeployUndrain
from railweave.api.sites import site_of
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force
from railweave.model.intent.reading.source import companion
from railweave.outputs.folder.sources import INVENTORY, designed_as, designed_with, load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.deploy.drain import DrainTargets
    from railweave.operations.deploy.plan import Plan


@verb(DeployReplace)
def deploy_replace(options: DeployReplace) -> Plan:
    """Plan all changes after a switch, server or NIC was replaced: inventory, addresses, labels, configurations, server files.

    Changes nothing itself. ``deploy_apply`` writes the inventory, and changes the switches and servers whose configuration depends on it. A
    replaced switch that already answers gets its whole configuration. Raises ``InputError`` for an invalid name or value, and ``LabError``
    if the lab is not up.
    """
    from railweave.live.check.learnt import filled
    from railweave.live.fleet.host_tree import FILE
    from railweave.model.device.build import device_config
    from railweave.model.device.host import host_config
    from railweave.operations.deploy.host_files import host_files
    from railweave.operations.deploy.making import make_plan
    from railweave.operations.deploy.plan import Replacement, cells, follows, inventory_text, part

    fabric, say = Path(options.fabric), options.progress
    before = load(fabric, hardware=options.hardware)
    file = companion(fabric, INVENTORY)
    text = inventory_text(file)
    wanted = filled(text, cells(before, options.what, options.serial, options.mac))
    device, _ = part(before, options.what)
    after = _designed(fabric, wanted, options.what, options.hardware)
    with in_force(after.catalog):
        say("working out what follows")
        lines = list(follows(before, after, options.what))
        site = site_of(fabric, after, lab=options.lab, access=options.access)
        switches = [
            name for name in site.asked if name == device or device_config(before, name) != device_config(after, name)
        ]
        servers = [name for name in site.servers if host_config(before, name) != host_config(after, name)]
        running, silent_ones = (
            site.running(switches, lambda answer: say(f"{answer.device}: {answer.status}")) if switches else ({}, {})
        )
        texts, silent_hosts = (
            host_files(site, servers, lambda name, status: say(f"{name}: {status}")) if servers else ({}, {})
        )
        silent_ones |= silent_hosts
        hosts = {name: (files, {FILE: site.host_file(name)}) for name, files in texts.items()}
        chosen = [*switches, *servers]
        plan = make_plan(
            fabric,
            site.network,
            running,
            silent=silent_ones,
            live=True,
            only=[name for name in chosen if name in running or name in hosts or name in silent_ones],
            configs=site.configs,
            servers=hosts,
            progress=say,
        )
    refused = [f"{name} did not answer: {why}" for name, why in silent_ones.items() if name != device]
    if device in silent_ones:
        lines.append(
            f"{device} does not answer yet: its configuration is not in this plan; when it does, "
            f"`railweave deploy plan FABRIC --live --only {device}{' --servers' if device in site.servers else ''}` has it"
        )
    if options.what == device:
        lines.append(
            f"{device} may show another host key: take the old one from known_hosts, and compare the new one there"
        )
    changed = Replacement(options.what, str(file.resolve()), text, wanted, tuple(lines), tuple(refused))
    return replace(plan, replacement=changed)


def _designed(fabric: Path, inventory: str, subject: str, hardware: Path | str | None) -> Network:
    """Return the network with a different inventory. Raises ``InputError`` without the path of the temporary file if a value is invalid."""
    try:
        return designed_with(fabric, inventory, hardware)
    except InputError as error:
        raise InputError(
            [Problem(Argument(subject), problem.what, problem.fix) for problem in error.problems]
        ) from None


@verb(DeployDrain)
def deploy_drain(options: DeployDrain) -> Plan:
    """Plan a drain: routing takes switches, links, path colors or servers out of use. Changes nothing itself.

    ``deploy_apply`` carries the plan out, and waits until the drained parts carry no traffic. The plan contains the new ``status:`` of the
    fabric file. Raises ``InputError`` for an unknown name, and ``LabError`` if the lab is not up.
    """
    from railweave.model.intent.status import with_drained, without_drained
    from railweave.operations.deploy.drain import named

    fabric = Path(options.fabric)
    before = load(fabric, hardware=options.hardware)
    targets = [named(before, word) for word in options.what]
    text = fabric.read_text(encoding="utf-8")
    patterns = [pattern for target in targets for pattern in target.patterns]
    wanted = [pattern for pattern in patterns if not _is_drained(before, pattern)]
    after = designed_as(fabric, with_drained(text, wanted), options.hardware)
    in_use = (
        before
        if len(wanted) == len(patterns)
        else designed_as(fabric, without_drained(text, patterns), options.hardware)
    )
    return _planned(
        fabric,
        (before, after),
        targets,
        text,
        with_drained(text, wanted),
        other=in_use,
        back=False,
        lab=options.lab,
        access=options.access,
        force=options.force,
        progress=options.progress,
    )


@verb(DeployUndrain)
def deploy_undrain(options: DeployUndrain) -> Plan:
    """Plan the return of drained parts to use. Arguments and errors are those of ``deploy_drain``; a part that is not drained is an error.

    - ``again``: accept parts that are not drained. Switches that still run a drain, because its end was interrupted, are restored.
    """
    from railweave.model.intent.status import with_active, with_drained, without_drained
    from railweave.operations.deploy.drain import named

    fabric = Path(options.fabric)
    before = load(fabric, hardware=options.hardware)
    targets = [named(before, word) for word in options.what]
    wanted = [pattern for target in targets for pattern in target.patterns if _is_drained(before, pattern)]
    if not wanted and not options.again:
        fix = "`status:` of the fabric file says what is"
        raise InputError([Problem(Argument("what"), f"{', '.join(options.what)}: not drained", fix)])
    text = fabric.read_text(encoding="utf-8")
    changed = without_drained(text, wanted)
    if left := [pattern for pattern in wanted if _is_drained(designed_as(fabric, changed, options.hardware), pattern)]:
        changed = with_active(changed, left)  # a line for several says so
    after = designed_as(fabric, changed, options.hardware)
    patterns = [pattern for target in targets for pattern in target.patterns]
    return _planned(
        fabric,
        (before, after),
        targets,
        text,
        changed,
        other=before if wanted else designed_as(fabric, with_drained(text, patterns), options.hardware),
        back=True,
        lab=options.lab,
        access=options.access,
        force=True,
        progress=options.progress,
    )


def _is_drained(network: Network, pattern: str) -> bool:
    """Return whether everything that an entry of ``status:`` names is drained."""
    from railweave.operations.deploy.drain import named

    devices = {device.name for device in (*network.switches, *network.servers)}
    return {pattern} <= network.drained if pattern in devices else named(network, pattern).links <= network.drained


def _planned(
    fabric: Path,
    networks: tuple[Network, Network],
    targets: Sequence[DrainTargets],
    text: str,
    changed: str,
    *,
    other: Network,
    back: bool,
    lab: bool,
    access: Path | str | None,
    force: bool,
    progress: Callable[[str], None],
) -> Plan:
    """Return the plan from one network to another. The switches that differ between the target and ``other`` are affected.

    This includes switches that the fabric file already shows as drained or in use.
    """
    from railweave.operations.deploy import drain as draining
    from railweave.operations.deploy.left import capacity, gone, still_used
    from railweave.operations.deploy.making import make_plan
    from railweave.operations.deploy.waves import forced

    before, after = networks
    links = frozenset(link for target in targets for link in target.links)
    with in_force(after.catalog):
        site = site_of(fabric, after, lab=lab, access=access)
        former = site_of(fabric, other, lab=lab, access=access).configs
        affected = [name for name, config in site.configs.items() if former.get(name) != config]
        running, silent_ones = (
            site.running(affected, lambda answer: progress(f"{answer.device}: {answer.status}"))
            if affected
            else ({}, {})
        )
        plan = make_plan(
            fabric,
            site.network,
            running,
            silent=silent_ones,
            live=True,
            only=affected,
            configs=site.configs,
            progress=progress,
        )
        lines, refused = list[str](), [f"{name} did not answer: {why}" for name, why in silent_ones.items()]
        lost = list[str]()
        if not back:
            progress("working out what is left")
            lines += capacity(before, after)
            lost = list(gone(before, after, site.configs))
            lines += [f"forced: {loss}" for loss in lost] if force else []
            refused += [] if force else [f"{loss} (--force takes it out all the same)" for loss in lost]
            refused += still_used(after, site.configs, links)
        stood = former if other is before else site_of(fabric, before, lab=lab, access=access).configs
        refused += [line for name in affected for line in draining.by_hand(stood[name], site.configs[name])]
        if force and lost:
            plan = replace(plan, waves=tuple(forced(wave) for wave in plan.waves))
        watched = {} if back else draining.ports(after, site.configs, links)
    names = tuple(pattern for target in targets for pattern in target.patterns)
    drain = draining.Drain(names, back, text, changed, watched, tuple(lines), tuple(refused))
    return replace(plan, drain=drain)
