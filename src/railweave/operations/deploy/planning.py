"""Plans that bring a running network to its design, to its state before a revision, or to its inventory after a replacement."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.drift.running import captured_texts
from railweave.errors import Argument, InputError, Problem
from railweave.live.check.learnt import filled
from railweave.live.fleet import transaction
from railweave.live.fleet.host_tree import FILE
from railweave.live.reach.failure import reason
from railweave.model.catalog import in_force
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.intent.reading.source import companion
from railweave.model.network.status import reachable
from railweave.model.state.capture import read_capture
from railweave.operations.deploy import conflicts, journal
from railweave.operations.deploy.acknowledging import acknowledged
from railweave.operations.deploy.making import Answers, make_plan, plan_back
from railweave.operations.deploy.plan import Replacement, cells, follows, part, text_of
from railweave.outputs.folder.sources import INVENTORY, designed_as, designed_with, load
from railweave.progress import silent
from railweave.reading import file_text
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.network.model import Network
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.waves import PlanLimits

Texts = dict[str, dict[str, str]]
"""The texts of devices, by device and file."""


@dataclass(frozen=True)
class RunningFabric:
    """A fabric file whose network is running.

    - ``site_of``: a function that returns the running network (with the logins of its devices) for a network designed from
      this file or from a changed text of it.
    - ``hardware``: a folder of hardware files, or None.
    - ``say``: a function that receives progress lines.
    """

    path: Path
    site_of: Callable[[Network], Site]
    hardware: Path | str | None = None
    say: Callable[[str], None] = silent

    def network(self, device: Sequence[str] = ()) -> Network:
        """Return the network of the fabric file. Raises ``SpecError`` or ``DesignError`` if it cannot be designed.

        ``device`` has switch models and systems that replace those of the file, as for ``--device``.
        """
        return load(self.path, device=device, hardware=self.hardware)

    def text(self) -> str:
        """Return the text of the fabric file."""
        return file_text(self.path)

    def designed_as(self, text: str) -> Network:
        """Return the network as designed from the given text of the fabric file."""
        return designed_as(self.path, text, self.hardware)

    def running(self, site: Site, names: Collection[str]) -> tuple[Texts, dict[str, str]]:
        """Return (running texts of switches, reason by switch that did not answer). Progress is reported through ``say``."""
        if not names:
            return {}, {}
        return site.running(names, lambda answer: self.say(f"{answer.device}: {answer.status}"))

    def host_files(self, site: Site, names: Collection[str]) -> tuple[Texts, dict[str, str]]:
        """Return (texts of servers' files, reason by server that did not answer). Progress is reported through ``say``."""
        return host_files(site, names, lambda name, status: self.say(f"{name}: {status}")) if names else ({}, {})


def host_files(
    site: Site, names: Collection[str], done: Callable[[str, str], None]
) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return (texts by server and file name, error by server that did not answer). Nothing is changed on the servers.

    ``done`` is called with each server and its result, such as an error text.
    """
    silent: dict[str, str] = {}

    async def ask(name: str, free: asyncio.Semaphore) -> tuple[str, dict[str, str]]:
        async with free:
            try:
                session = await site.open_to_change(name, transaction.PROTOCOL)
                try:
                    texts = await transaction.running(session)
                finally:
                    await session.close()
            except Exception as error:  # noqa: BLE001 - whatever one server answers, the others are asked
                silent[name] = reason(error)
                texts = {}
            done(name, "no answer" if name in silent else "answered")
            return name, texts

    async def ask_all() -> list[tuple[str, dict[str, str]]]:
        free = asyncio.Semaphore(site.at_once)
        return await asyncio.gather(*(ask(name, free) for name in names))

    answers = dict(asyncio.run(ask_all()))
    return {name: texts for name, texts in answers.items() if name not in silent}, silent


def plan_to_design(
    fabric: RunningFabric,
    *,
    only: Sequence[str],
    servers: bool,
    limits: PlanLimits,
    device: Sequence[str],
) -> Plan:
    """Plan the changes that bring the devices of a running network to its design. If ``servers`` is True, servers are included.

    ``only`` has the devices to change (empty means all), and ``limits`` the limits of waves. ``device`` has switch models that
    replace the models of the fabric file.
    """
    network = fabric.network(device)
    with in_force(network.catalog):
        site = fabric.site_of(network)
        hosts, silent_ones = (
            fabric.host_files(site, [name for name in site.servers if not only or name in only])
            if servers
            else ({}, {})
        )
        running, silent_switches = fabric.running(site, [name for name in site.asked if not only or name in only])
        limits = replace(limits, acknowledged=acknowledged(fabric.path, network))
        plan = make_plan(
            fabric.path,
            site.network,
            Answers(running, with_wanted(site, hosts), {**silent_switches, **silent_ones, **site.lacking}),
            only=only,
            limits=limits,
            configs=site.configs,
            progress=fabric.say,
        )
        with journal.opened(fabric.path) as rows:
            return replace(plan, conflicts=tuple(conflicts.with_maintenance(rows, network, plan.changed)))


def with_wanted(site: Site, hosts: Texts) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Return, by server, (present files, wanted files), each as texts by file name. ``hosts`` has the present files."""
    return {name: (files, {FILE: site.host_file(name)}) for name, files in hosts.items()}


def plan_from_capture(
    fabric: Path,
    network: Network,
    capture: Path,
    *,
    only: Sequence[str],
    limits: PlanLimits,
    say: Callable[[str], None],
) -> Plan:
    """Plan the changes that bring switches from the configurations in a capture to the design.

    - ``only``: the switches to change; empty means all. ``limits``: the limits of waves.
    - ``say``: a function that receives progress lines.
    """
    with in_force(network.catalog):
        there = reachable(network)
        systems = {switch.name: switch.nos for switch in there.switches}
        capture_files = read_capture(capture)
        running = {
            name: {**_beside(systems[name], capture_files.texts(name)), **_by_file(systems[name], texts)}
            for name, texts in captured_texts(there, capture).items()
            if texts and name in systems
        }
        silent_ones = {name: "the capture has no configuration of it" for name in systems if name not in running}
        return make_plan(
            fabric,
            there,
            Answers(running, silent=silent_ones, live=capture_files.meta.redacted is False),
            only=only,
            limits=limits,
            progress=say,
        )


def _beside(nos: str, answers: Mapping[str, str]) -> dict[str, str]:
    """Return, by file name, those answers of a device that show settings of the Linux host below its operating system.

    A plan compares and changes these settings as if they were files.
    """
    changed_by = system(nos).transaction
    return {file: answers[name] for name, file in changed_by.FILES.items() if name in answers} if changed_by else {}


def _by_file(nos: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration texts of a capture, by the file name that ``build`` gives to the same text."""
    changed_by = system(nos).transaction
    files: Mapping[str, str] = changed_by.FILES if changed_by else {}
    names = {path: Path(path).name for path in texts}
    return {
        name if name in files.values() else files.get(Path(path).stem, next(iter(files.values()), name)): texts[path]
        for path, name in names.items()
    }


def plan_before(fabric: RunningFabric, number: int, *, only: Sequence[str], most: float) -> Plan:
    """Plan the changes that restore devices to their state before revision ``number``. Raises ``InputError`` if the revision is an upgrade.

    ``only`` has the devices to restore; empty means all. ``most`` is the largest share of the network (0 to 1) that a wave may
    put at risk.
    """
    network = fabric.network()
    with journal.opened(fabric.path) as rows, in_force(network.catalog):
        revision = rows.revision(number)
        carried_out = rows.plan(revision.number)
        if (upgrade := carried_out.upgrade) is not None:
            fix = f"install {', '.join(sorted(set(upgrade.versions.values()))) or 'the former release'} by another upgrade"
            raise InputError([Problem(Argument("revision"), f"revision {number} installed a release", fix)])
        names = [change.device for change in carried_out.changed.values() if not only or change.device in only]
        before = {name: texts for name in names if (texts := rows.kept(revision.number, name, "before"))}
        site = fabric.site_of(network)
        running, silent_ones = fabric.running(site, [name for name in before if name not in site.servers])
        of_servers, silent_hosts = fabric.host_files(site, [name for name in before if name in site.servers])
        plan = plan_back(
            fabric.path,
            site.network,
            running | of_servers,
            before,
            silent=silent_ones | silent_hosts,
            revision=number,
            most=most,
            configs=site.configs,
        )
        blocked_by, later = conflicts.with_later(rows, revision.number, list(plan.changed), network.drained)
        plan = replace(plan, conflicts=tuple(later), blocked_by=tuple(blocked_by))
        if only:
            return plan
        return replace(
            plan,
            drain=carried_out.drain.other_way() if carried_out.drain else None,
            replacement=carried_out.replacement.other_way() if carried_out.replacement else None,
        )


def plan_replacement(fabric: RunningFabric, subject: str, serial: str, mac: str, *, also_pending: bool = False) -> Plan:
    """Plan all changes that are needed because a switch, server or NIC was replaced. Raises ``InputError`` for an invalid name or value.

    - ``subject``: the name of the switch or server, or ``SERVER:NIC``.
    - ``serial``, ``mac``: the new serial number and MAC address; empty if unchanged.
    - ``also_pending``: True to include all other differences from the design, for the switches that change. A replaced
      switch always gets its whole configuration.
    """
    before = fabric.network()
    file = companion(fabric.path, INVENTORY)
    text = text_of(file)
    wanted = filled(text, cells(before, subject, serial, mac))
    device, _ = part(before, subject)
    after = _with_inventory(fabric, wanted, subject)
    with in_force(after.catalog):
        fabric.say("working out what follows")
        lines = list(follows(before, after, subject))
        site, former = fabric.site_of(after), fabric.site_of(before).configs
        switches = [
            name for name in site.asked if name == device or device_config(before, name) != device_config(after, name)
        ]
        servers = [name for name in site.servers if host_config(before, name) != host_config(after, name)]
        running, silent_ones = fabric.running(site, switches)
        texts, silent_hosts = fabric.host_files(site, servers)
        silent_ones |= silent_hosts
        plan = make_plan(
            fabric.path,
            site.network,
            Answers(running, with_wanted(site, texts), silent_ones),
            only=[name for name in (*switches, *servers) if name in running or name in texts or name in silent_ones],
            configs=site.configs,
            former=None if also_pending else {name: config for name, config in former.items() if name != subject},
            progress=fabric.say,
        )
    refused = [f"{name} did not answer: {why}" for name, why in silent_ones.items() if name != device]
    if device in silent_ones:
        lines.append(
            f"{device} does not answer yet: its configuration is not in this plan; when it does, "
            f"`railweave deploy plan FABRIC --live --only {device}{' --servers' if device in site.servers else ''}` has it"
        )
    if subject == device:
        lines.append(
            f"{device} may show another host key: take the old one from known_hosts, and compare the new one there"
        )
    return replace(
        plan, replacement=Replacement(subject, str(file.resolve()), text, wanted, tuple(lines), tuple(refused))
    )


def _with_inventory(fabric: RunningFabric, inventory: str, subject: str) -> Network:
    """Return the network designed with a different text of the inventory. Raises ``InputError`` if a value is invalid.

    The error names ``subject``, the replaced hardware, and not the temporary file that is used.
    """
    try:
        return designed_with(fabric.path, inventory, fabric.hardware)
    except InputError as error:
        raise InputError(
            [Problem(Argument(subject), problem.what, problem.fix) for problem in error.problems]
        ) from None
