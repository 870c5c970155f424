"""Where devices are: real ones, reached as access.yaml says, or those of a lab."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.collect.asking import ask_all
from railweave.collect.plan import plan
from railweave.deploy.gate import Check
from railweave.deploy.machine import installing
from railweave.device.build import device_config
from railweave.device.host import host_config
from railweave.errors import LabError, RailweaveError
from railweave.fleet import transaction as server
from railweave.live.check import check
from railweave.network.status import present, reachable
from railweave.reach.failure import ReachError
from railweave.reach.opening import opened as opened_to_ask
from railweave.reach.telling import opened as opened_to_change
from railweave.render.host.host_json import host_json
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from railweave.collect.access_file import AccessFile
    from railweave.collect.asking import Open, Outcome
    from railweave.collect.plan import Asked
    from railweave.deploy.gate import Compare
    from railweave.deploy.machine import Machine
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.network.model import Network
    from railweave.reach.target import Target
    from railweave.state.capture import Capture
    from railweave.state.question import Protocol, Question
    from railweave.systems.transaction import Session, Spoken


@dataclass(frozen=True)
class Site:
    """The switches of a network and how they are asked and changed. ``configs`` are what they should run.

    ``servers`` are how its servers are reached, and ``host_file`` what one should run.
    """

    network: Network
    configs: dict[str, DeviceConfig]
    asked: Mapping[str, Asked]
    ask_by: Open
    change_by: Callable[[Target, Protocol], Awaitable[Session]]
    compare: Compare
    at_once: int
    attempts: int
    remember: Callable[[], None] | None = None
    """Called when every switch of a lab runs its design: it is a lab of this design then."""
    servers: Mapping[str, Target] = field(default_factory=dict[str, "Target"])
    host_file: Callable[[str], str] = lambda _: ""
    former: Callable[[str, Spoken], Target | None] = lambda _, __: None
    """How a device is reached that the design has no more; None where nothing says so."""
    machine: Callable[[str, float], Machine] | None = None
    """How another release is put on a device, where that is not as its system has it; see ``to_upgrade``."""

    def to_upgrade(self, device: str, seconds: float) -> Machine:
        """How another release is put on a switch; an answer may take so many seconds. Raises ``InputError`` where nothing here does that."""
        return (
            self.machine(device, seconds) if self.machine else installing(self.asked[device], self.change_by, seconds)
        )

    async def open_to_change(self, device: str, protocol: Spoken) -> Session:
        """A session that may change a device. Raises ``ReachError``."""
        if device in self.servers:
            return await self.change_by(self.servers[device], protocol)
        target = self.asked[device].target if device in self.asked else self.former(device, protocol)
        if target is None:
            fix = "say under `devices:` in access.yaml how it is reached"
            raise ReachError("not asked", f"the design has no {device} any more: {fix}")
        return await self.change_by(target, protocol)

    def serving(
        self, names: Collection[str], done: Callable[[str, str], None]
    ) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
        """What servers run, and those that did not answer, with the reason; ``done`` takes each with a word. Nothing is changed."""
        silent: dict[str, str] = {}

        async def one(name: str, free: asyncio.Semaphore) -> tuple[str, dict[str, str]]:
            async with free:
                try:
                    session = await self.open_to_change(name, server.PROTOCOL)
                    try:
                        texts = await server.running(session)
                    finally:
                        await session.close()
                except RailweaveError as error:
                    silent[name] = str(error)
                    texts = {}
                done(name, "no answer" if name in silent else "answered")
                return name, texts

        async def every() -> list[tuple[str, dict[str, str]]]:
            free = asyncio.Semaphore(self.at_once)
            return await asyncio.gather(*(one(name, free) for name in names))

        found = dict(asyncio.run(every()))
        return {name: texts for name, texts in found.items() if name not in silent}, silent

    def running(
        self, names: Collection[str], done: Callable[[Outcome], None]
    ) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
        """The texts of running configurations by device and file name, and the devices that did not answer, with the reason. Nothing is changed."""
        texts: dict[str, dict[str, str]] = {}

        def keep(device: str, question: Question, answer: str) -> None:
            changed_by = system(self.asked[device].system).transaction
            file = changed_by.FILES.get(question.name) if changed_by else None
            texts.setdefault(device, {})[file or question.file] = answer

        chosen = [self.asked[name].of_configuration() for name in names]
        outcomes = asyncio.run(
            ask_all(chosen, keep, at_once=self.at_once, attempts=self.attempts, done=done, open_by=self.ask_by)
        )
        silent = {
            one.device: one.error or "; ".join(one.failed.values()) for one in outcomes if one.status != "answered"
        }
        return {name: one for name, one in texts.items() if name not in silent}, silent

    def check(self, settle_s: float) -> Check:
        """What looks at the network after a wave."""
        return Check(self.network, self.configs, self.asked, self.ask_by, self.compare, settle_s, self.at_once)


def real(network: Network, access: AccessFile) -> Site:
    """The switches of a network as access.yaml says they are reached; those that are drained are there."""
    network = reachable(network)
    asked = {one.target.name: one for one in plan(network, access)}

    def compare(capture: Capture, configs: Mapping[str, DeviceConfig], devices: Collection[str]) -> Sequence[Finding]:
        return check(network, capture, configs=dict(configs), devices=devices, progress=lambda _: None).findings

    limits = access.access
    configs = {name: device_config(network, name) for name in asked}
    here = [one.name for one in network.servers if one.name not in network.absent]
    servers = {name: access.target(name, "server", "", name, ("ssh",)) for name in here}
    return Site(
        network,
        configs,
        asked,
        opened_to_ask,
        opened_to_change,
        compare,
        limits.at_once,
        limits.attempts,
        servers=servers,
        host_file=lambda name: host_json(host_config(network, name)),
        former=_listed(access),
    )


def _listed(access: AccessFile) -> Callable[[str, Spoken], Target | None]:
    """How a device is reached that has an address in access.yaml alone."""

    def former(name: str, protocol: Spoken) -> Target | None:
        known = access.access.devices.get(name)
        return access.target(name, "", "", known.address, (protocol,)) if known and known.address else None

    return former


def lab(fabric: Path, network: Network, access: AccessFile | None = None) -> Site:
    """The switches of a network in the lab of its fabric file, which is up; by SSH where ``access`` says how they are reached.

    Raises ``LabError``, also where the lab has not all of them.
    """
    from railweave.collect.access_file import read_access
    from railweave.lab import asking, life, other_root, slicing, state
    from railweave.lab.check import compared
    from railweave.lab.plan import make_plan

    record, running = life.attach(fabric)
    whole = present(reachable(network))
    part = slicing.sliced(whole, slicing.parse(record.slice)) if record.slice else whole
    wanted = make_plan(part, record.timers())
    if missing := [name for name in wanted.devices() if name not in record.devices]:
        raise LabError(f"the lab was brought up without {', '.join(missing)}: take it down, and bring it up with them")
    nos = next(iter(running.plan.configs.values())).nos
    known = access or read_access(None)
    asked = {one.target.name: one for one in plan(part, read_access(None), nos=nos)}
    servers = {name: known.target(name, "server", "", name, ("ssh",)) for name in wanted.hosts}

    def compare(capture: Capture, configs: Mapping[str, DeviceConfig], devices: Collection[str]) -> Sequence[Finding]:
        return compared(wanted, capture, configs=dict(configs), devices=devices).findings

    def remember() -> None:
        state.write(running.place, record, part)

    at_once, attempts = 16, 1
    ask_by, change_by = asking.opener(running), asking.changer(running)
    if access is not None:  # by SSH; the file may name machines that this design does not have
        asked = {
            name: replace(one, target=access.target(name, part.switch(name).role, nos, name, one.target.protocols))
            for name, one in asked.items()
        }
        at_once, attempts = access.access.at_once, access.access.attempts
        ask_by, change_by = opened_to_ask, opened_to_change
    return Site(
        part,
        wanted.configs,
        asked,
        ask_by,
        change_by,
        compare,
        at_once,
        attempts,
        remember,
        servers,
        lambda name: host_json(wanted.hosts[name]),
        _listed(access)
        if access is not None
        else lambda name, protocol: known.target(name, "", nos, name, (protocol,)),
        machine=lambda name, _: other_root.Router(running, name),
    )
