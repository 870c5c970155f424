"""Execution of an upgrade, batch by batch: drain, install, restart, compare with the state before, and return to service.

Each stage of each device is recorded in the journal before it begins. After an interruption, the journal therefore
shows the stages that may have been done. Every stage may be repeated. If a device does not return to its earlier state,
it stays drained, and no later stage begins.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from railweave.errors import InputError, NetworkPart, Problem, RailweaveError
from railweave.json_values import JsonObject
from railweave.live.check.identity import same_release
from railweave.live.reach.failure import ReachError, readable_answers, reason
from railweave.operations.deploy.recovery import states
from railweave.operations.deploy.rollout import StoppedError
from railweave.reading import parse_json
from railweave.systems import system
from railweave.systems.transaction import RefusedError, Session, Spoken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence

    from railweave.live.reach.target import Target
    from railweave.live.site.protocol import Machine
    from railweave.live.site.site import Site
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.deploy.drain import DrainWait
    from railweave.operations.deploy.journal import Journal, Verb
    from railweave.operations.deploy.plan import Plan, Upgrade
    from railweave.operations.deploy.waves import Wave
    from railweave.systems.installation import Image, Installation


T = TypeVar("T")


@dataclass(frozen=True)
class Switch:
    """A switch that railweave upgrades through the management protocol of its system.

    - ``installation``: the module that upgrades switches of this system.
    - ``open_by``: a function that opens a session to the switch.
    - ``seconds``: the time limit for an answer.
    """

    target: Target
    installation: Installation
    open_by: Callable[[Target, Spoken], Awaitable[Session]]
    seconds: float

    async def _with(self, work: Callable[[Session], Awaitable[T]], seconds: float = 0) -> T:
        target = replace(self.target, answer_s=max(seconds, self.target.answer_s))
        with readable_answers():
            session = await self.open_by(target, self.installation.PROTOCOL)
            try:
                return await work(session)
            finally:
                await session.close()

    async def boot(self) -> str:
        """Return an identifier of the current boot, as the switch reports it."""
        return await self._with(self.installation.boot)

    async def install(self, image: Image) -> None:
        """Install the image, after copying it to the switch if it is a local file.

        Raises ``RefusedError`` if the file has changed since the plan was made, or if the switch refuses the image.
        """
        if image.file:
            from railweave.live.reach.change_session import copied
            from railweave.operations.deploy.upgrade import digests

            if digests(Path(image.file)) != (image.sha256, image.sha512):
                raise RefusedError(f"{image.file} has changed since the plan was made")
            await copied(replace(self.target, answer_s=self.seconds), Path(image.file), image.source)
        await self._with(lambda session: self.installation.install(session, image), self.seconds)

    async def restart(self) -> None:
        """Restart the switch. A lost session is not an error, because the restart may end it before the answer arrives."""
        try:
            await self._with(self.installation.restart)
        except ReachError as error:
            if error.kind not in {"lost", "late"}:
                raise


def machine(site: Site, device: str, seconds: float) -> Machine:
    """Return the machine that upgrades a switch. ``seconds`` is the time limit for its answers.

    Raises ``InputError`` if railweave cannot install releases of the switch's system.
    """
    if site.machine is not None:
        return site.machine(device)
    asked = site.asked[device]
    upgrade = system(asked.system).upgrade
    if upgrade is None or upgrade.BY_HAND:
        without = system(asked.system).without
        message = (
            upgrade.BY_HAND if upgrade else f"nothing here installs releases of {asked.system}: {without['upgrade']}"
        )
        raise InputError([Problem(NetworkPart(device), message, "")])
    return Switch(asked.target, upgrade, site.change_by, seconds)


@dataclass(frozen=True)
class SwitchCondition(JsonObject):
    """The state of a switch, to be compared before and after its restart.

    - ``version``: the release that the switch runs. ``boot``: the identifier of the current boot, which changes with each boot.
    - ``sessions``: for each established BGP session, by VRF and neighbor, the number of received prefixes by address family.
    - ``bfd``: the BFD sessions that are up.
    - ``heard``: the LLDP neighbor of each port, by port.
    - ``routes``: for each requested route, by VRF and prefix, the number of next hops.
    """

    version: str
    boot: str
    sessions: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, "Mapping[str, int]"])
    bfd: tuple[str, ...] = ()
    heard: Mapping[str, str] = field(default_factory=dict[str, str])
    routes: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> SwitchCondition:
        """Return the state from ``fields``, the JSON object that the journal has stored."""
        return cls(
            fields["version"],
            fields["boot"],
            fields["sessions"],
            tuple(fields["bfd"]),
            fields["heard"],
            fields["routes"],
        )


def switch_condition(state: DeviceState, boot: str) -> SwitchCondition:
    """Return the current state of a switch, for comparison before and after its restart. ``boot`` is the identifier of the current boot."""
    sessions = {
        f"{session.vrf or 'default'} {session.interface or session.peer}": {
            family: count
            for family, prefixes in session.families.items()
            if (count := prefixes.accepted if prefixes.accepted is not None else prefixes.received) is not None
        }
        for session in state.bgp or ()
        if session.established
    }
    return SwitchCondition(
        (state.identity.version if state.identity else None) or "",
        boot,
        sessions,
        tuple(
            sorted(
                {f"{session.interface or ''} {session.peer}" for session in state.bfd or () if session.state == "up"}
            )
        ),
        {
            port: neighbors[0].system
            for port, neighbors in (state.neighbors or {}).items()
            if neighbors and neighbors[0].system
        },
        {f"{route.vrf} {route.prefix}": len(route.next_hops) for route in state.routes or ()},
    )


def less(before: SwitchCondition, now: SwitchCondition) -> Iterator[str]:
    """Yield a line for each session, prefix, neighbor or route that the switch has in ``before`` and lacks in ``now``."""
    for name, families in before.sessions.items():
        present_counts = now.sessions.get(name)
        if present_counts is None:
            yield f"the BGP session with {_in_vrf(name)} was established, and is not"
            continue
        for family, count in families.items():
            if present_counts.get(family, 0) < count:
                yield f"{_in_vrf(name)} brings {present_counts.get(family, 0)} of {count} {family} prefixes"
    for name in before.bfd:
        if name not in now.bfd:
            yield f"the BFD session with {name.strip()} was up, and is not"
    for port, neighbor in before.heard.items():
        if now.heard.get(port) != neighbor:
            yield f"{port} heard {neighbor} by LLDP, and hears {now.heard.get(port) or 'nothing'}"
    for name, count in before.routes.items():
        if now.routes.get(name, 0) < count:
            yield f"the route {_in_vrf(name)} has {now.routes.get(name, 0)} of {count} next hops"


def _in_vrf(name: str) -> str:
    vrf, _, rest = name.partition(" ")
    return rest if vrf == "default" else f"{rest} in {vrf}"


def restarted(before: str, now: str) -> bool:
    """Return True if the boot identifiers ``before`` and ``now`` belong to different boots.

    Identifiers that are times count as equal within ``CLOCK_S`` seconds, because reported boot times vary slightly.
    """
    try:
        return abs(float(now) - float(before)) > CLOCK_S
    except ValueError:
        return now != before


CLOCK_S = 30
"""The seconds by which two reports of the same boot time may differ, for example EOS's ``bootupTimestamp``."""


STATE = "state.json"
"""The name of the file in the journal that has a device's state before its restart."""


@dataclass(frozen=True)
class UpgradeTimeouts:
    """The time limits of an upgrade, in seconds.

    - ``install_s``: the limit for an installation.
    - ``restart_s``: the limit for a restart.
    - ``settle_s``: the limit for sessions and routes to return after the restart.
    - ``every_s``: the interval between two readings.
    """

    install_s: float = 3600.0
    restart_s: float = 1800.0
    settle_s: float = 180.0
    every_s: float = 5.0


@dataclass
class Upgrading:
    """An upgrade plan that is being carried out.

    - ``shift``: a function that drains devices or, if its second argument is True, returns them to service. Each call is a separate
      revision.
    - ``say``: a function that receives a progress line.
    - ``wait_for``: the command to run before each wave that affects servers (``Wave.servers``); None for no command.
    """

    plan: Plan
    journal: Journal
    revision: int
    site: Site
    timeouts: UpgradeTimeouts
    shift: Callable[[Sequence[str], bool], None]
    say: Callable[[str], None]
    wait_for: DrainWait | None = None

    @property
    def upgrade(self) -> Upgrade:
        """The upgrade that the plan installs."""
        assert self.plan.upgrade is not None  # noqa: S101 - only such a plan comes here
        return self.plan.upgrade

    def run(self, *, finish: bool = False) -> None:
        """Carry out every batch (switches that are upgraded together) that is not done.

        With ``finish``, carry out only a batch that has begun. If nothing was installed on its switches yet, they are
        only undrained. Raises ``StoppedError`` if a stage fails or a switch does not return to its earlier state.
        """
        for number, wave in enumerate(self.plan.waves, 1):
            if self._done(number, "undrain") >= set(wave.devices):
                continue
            begun = {step.verb for step in self.journal.steps(self.revision) if step.wave == number}
            if finish and not begun:
                return
            self._batch(number, wave, only_back=finish and not begun & {"install", "restart", "return"})
            if not finish:
                self.say(
                    f"wave {number} of {len(self.plan.waves)}: {', '.join(wave.devices)}: release {self.upgrade.image.release}, as before"
                )

    def _batch(self, number: int, wave: Wave, *, only_back: bool) -> None:
        names = list(wave.devices)
        if not only_back:
            self._drain(number, wave)
            self._remember([name for name in names if not self._began(number, name, "install")], number)
            self._all(number, names, "install", self._install)
            self._all(number, names, "restart", self._restart)
            self._all(number, names, "return", self._returned)
        if back := [name for name in names if name not in self.upgrade.drained]:
            self._shifted(number, back, back=True)
        else:
            with self._steps(number, names, "undrain"):
                pass

    def _drain(self, number: int, wave: Wave) -> None:
        names = [name for name in wave.devices if name not in self.upgrade.drained]
        if not names or self._done(number, "drain") >= set(names):
            return
        if self.wait_for is not None and wave.servers:
            self.say(f"wave {number}: waiting until {', '.join(wave.servers)} may lose NICs")
            if why := asyncio.run(self.wait_for(number, wave)):
                raise StoppedError(f"{why}: wave {number} was not drained", number, back=False)
        self._shifted(number, names, back=False)

    def _shifted(self, number: int, names: Sequence[str], *, back: bool) -> None:
        action = "undrain" if back else "drain"
        self.say(f"wave {number}: {action} {', '.join(names)}")
        try:
            with self._steps(number, names, action):
                self.shift(names, back)
        except RailweaveError as error:
            raise StoppedError(f"wave {number}: {action} {', '.join(names)}: {error}", number, back=False) from None

    def _steps(self, number: int, names: Sequence[str], verb: Verb) -> ExitStack:
        """Record in the journal that step ``verb`` begins on each device. The steps end when the returned context ends."""
        rows = ExitStack()
        for name in names:
            rows.enter_context(self.journal.step(self.revision, number, name, verb))
        return rows

    def _remember(self, names: Sequence[str], number: int) -> None:
        """Save the present state of devices in the journal, for comparison after their restart.

        Raises ``StoppedError`` if a device does not report its state. ``number`` is the number of the wave.
        """

        async def every() -> dict[str, SwitchCondition]:
            device_states, silent = await states(self.site, names)
            if silent:
                raise StoppedError(_named("not reached, and nothing was installed", silent), number, back=False)
            conditions = await asyncio.gather(*(condition(name, device_states[name]) for name in names))
            return dict(zip(names, conditions, strict=True))

        async def condition(name: str, state: DeviceState) -> SwitchCondition:
            try:
                return switch_condition(state, await self._machine(name).boot())
            except Exception as error:
                if isinstance(error, RailweaveError) and not isinstance(error, (ReachError, RefusedError)):
                    raise
                raise StoppedError(f"{name}: {reason(error)}; nothing was installed", number, back=False) from None

        if not names:
            return
        before = asyncio.run(every())
        for name, state in before.items():
            self.journal.keep(self.revision, name, "before", {STATE: json.dumps(state.to_json())})

    def _before(self, name: str) -> SwitchCondition:
        return SwitchCondition.of_json(parse_json(self.journal.kept(self.revision, name, "before")[STATE]))

    def _machine(self, name: str) -> Machine:
        return machine(self.site, name, self.timeouts.install_s)

    def _all(
        self, number: int, names: Sequence[str], verb: Verb, work: Callable[[str], Coroutine[Any, Any, None]]
    ) -> None:
        """Carry out the stage ``verb``, such as ``install``, on the devices ``names`` of one batch, on all devices at the same time.

        Devices that have already completed the stage are left out. ``number`` is the number of the batch, and ``work`` a function that
        carries out the stage on one device. Raises ``StoppedError`` if the stage fails on a device.
        """
        over = self._done(number, "return" if verb == "restart" else verb)  # whether one has restarted, it says itself
        left = [name for name in names if name not in over]
        failed: dict[str, str] = {}

        async def on_device(name: str) -> None:
            try:
                with self.journal.step(self.revision, number, name, verb):
                    await work(name)
            except (ReachError, RefusedError) as error:
                failed[name] = str(error)
            except RailweaveError:  # of this machine
                raise
            except Exception as error:  # noqa: BLE001 - whatever one switch answers, the others go on
                failed[name] = reason(error)

        async def every() -> None:
            await asyncio.gather(*(on_device(name) for name in left))

        asyncio.run(every())
        if failed:
            raise StoppedError(_named(_FAILED[verb], failed), number, back=False)

    async def _install(self, name: str) -> None:
        machine, before = self._machine(name), self._before(name)
        if restarted(before.boot, await machine.boot()):
            now = await self._now(name)
            if now is not None and same_release(now.version, self.upgrade.image.release):
                return  # somebody has done it by hand
            raise RefusedError("it has restarted since the upgrade began, and this upgrade did not restart it")
        self.say(f"{name}: installing {self.upgrade.image.name or self.upgrade.image.release}")
        await machine.install(self.upgrade.image)

    async def _restart(self, name: str) -> None:
        machine = self._machine(name)
        try:
            if restarted(self._before(name).boot, await machine.boot()):
                return
        except ReachError:  # it was told already, and is on its way
            return
        self.say(f"{name}: restarting")
        await machine.restart()

    async def _returned(self, name: str) -> None:
        """Wait until a device has restarted and has recovered its earlier state.

        Raises ``RefusedError`` with the differences from the earlier state if the device does not recover in time.
        """
        before, release = self._before(name), self.upgrade.image.release
        now = await self._back(name, before)
        if not same_release(now.version, release):
            raise RefusedError(f"it came back with release {now.version or 'unknown'}, and should run {release}")
        end = monotonic() + self.timeouts.settle_s
        while True:
            wrong = list(less(before, now))
            if not wrong:
                self.say(f"{name}: back with {now.version}: {len(now.sessions)} sessions as before")
                return
            if monotonic() >= end:
                more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
                raise RefusedError(f"it runs {now.version}, and is not as before: {'; '.join(wrong[:3])}{more}")
            await asyncio.sleep(self.timeouts.every_s)
            now = await self._now(name) or now

    async def _back(self, name: str, before: SwitchCondition) -> SwitchCondition:
        end, why = monotonic() + self.timeouts.restart_s, "it has not restarted"
        while True:
            try:
                state = await self._now(name)
                if state is not None and restarted(before.boot, state.boot):
                    return state
            except (ReachError, RefusedError) as error:
                why = str(error)
            if monotonic() >= end:
                raise RefusedError(f"it is not back after {self.timeouts.restart_s:g} s: {why}")
            await asyncio.sleep(self.timeouts.every_s)

    async def _now(self, name: str) -> SwitchCondition | None:
        """Return the current state of a device, or None if the device does not report it."""
        boot = await cast("Awaitable[str]", self._machine(name).boot())
        device_states, _ = await states(self.site, [name])
        return switch_condition(device_states[name], boot) if name in device_states else None

    def _done(self, number: int, verb: Verb) -> set[str]:
        """Return the devices that have completed stage ``verb`` of wave ``number`` without failure."""
        steps = self.journal.steps(self.revision)
        return {
            step.device
            for step in steps
            if step.wave == number and step.verb == verb and step.ended and step.failed is None
        }

    def _began(self, number: int, name: str, verb: Verb) -> bool:
        steps = self.journal.steps(self.revision)
        return any(step.wave == number and step.verb == verb and step.device == name for step in steps)


_FAILED: dict[Verb, str] = {
    "install": "the release was not installed, and the switch stays drained",
    "restart": "not restarted, and the switch stays drained",
    "return": "not as before, and the switch stays drained",
}


def _named(heading: str, failed: dict[str, str]) -> str:
    return f"{heading}: {'; '.join(f'{name}: {why}' for name, why in sorted(failed.items()))}"
