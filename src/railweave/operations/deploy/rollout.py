"""Execution of a plan: every device first tests its change, then waves of devices are changed, checked and confirmed.

During a wave, a rollback timer is armed on each device. A wave that cannot finish is rolled back, and no later wave begins.
Each step is in the journal before it is taken.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from railweave.counting import counted
from railweave.errors import RailweaveError, RenderError, SpecError
from railweave.live.check.living import some
from railweave.live.reach.failure import ReachError, reason
from railweave.model.config.gate import hidden
from railweave.systems.transaction import RefusedError
from railweave.workers import spread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

    from railweave.operations.deploy.device import Device
    from railweave.operations.deploy.journal import Journal, Verb
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.waves import Wave

    Texts = Mapping[str, Mapping[str, str]]


class Gate(Protocol):
    """A check of the network before and after a wave."""

    async def before(self, devices: Sequence[str], now: Texts, then: Texts) -> None:
        """Record the faults that exist before the devices are changed.

        ``now`` and ``then`` are configuration texts, by device and file: the texts that switches run before the change,
        and after it.
        """
        ...

    async def after(self, devices: Sequence[str], now: Texts, then: Texts) -> list[str]:
        """Wait for the network to settle, then return the faults that did not exist before the change.

        ``now`` and ``then`` have the configuration texts before and after the change, by device and file.
        """
        ...


class StoppedError(RailweaveError):
    """The error of a rollout that stopped.

    - ``wave``: the number of the wave, or 0 if nothing was changed.
    - ``back``: True if the devices of the wave are in their state before the wave.
    """

    def __init__(self, why: str, wave: int, back: bool) -> None:
        super().__init__(why, wave, back)
        self.why = why
        self.wave = wave
        self.back = back

    def __str__(self) -> str:
        return self.why


@dataclass
class Rollout:
    """A plan that is being carried out.

    - ``devices``: the devices that the plan changes.
    - ``revision``: the number of this rollout in the journal.
    - ``seconds``: the duration of the rollback timer. A device that is not confirmed in this time reverts its change.
    - ``gate``: the check of the network before and after each wave.
    - ``say``: a function that receives a progress line.
    - ``drained``: a function that is awaited before a wave that affects servers. It returns the reason why the servers
      are not drained, or an empty string.
    """

    plan: Plan
    devices: dict[str, Device]
    journal: Journal
    revision: int
    seconds: int
    at_once: int
    gate: Gate
    say: Callable[[str], None]
    drained: Callable[[int, Wave], Awaitable[str]] | None = None

    async def run(self, first: int = 1) -> None:
        """Test the changes on the devices, then carry out the waves from number ``first`` on (1-based).

        Raises ``StoppedError`` as soon as a step fails.
        """
        await self.rehearse(first)
        await self.waves(first)

    async def waves(self, first: int = 1) -> None:
        """Carry out the tested waves from number ``first`` on (1-based). Raises ``StoppedError`` as soon as a wave fails."""
        for number, wave in enumerate(self.plan.waves[first - 1 :], first):
            await self.wave(number, wave)
            self.say(
                f"wave {number} of {len(self.plan.waves)}: {counted(len(wave.devices), 'device')} changed, checked and kept"
            )

    async def rehearse(self, first: int = 1) -> None:
        """Test the change on every device of the waves from number ``first`` on (1-based): the device loads its change, checks it and discards it.

        Raises ``StoppedError`` if a device does not answer, has changed since the plan was made, or refuses its change.
        In these cases, nothing was changed.
        """
        later = sorted({name for wave in self.plan.waves[first - 1 :] for name in wave.devices})
        await self._take_stock(later)
        await self._rehearse(later)

    async def _take_stock(self, names: Sequence[str]) -> None:
        """Store the running texts of devices in the journal, to be restored on rollback.

        Raises ``StoppedError`` if a device does not answer, or has changed since the plan was made.
        """
        texts, failed = await self._all(names, None, 0, lambda device: device.running())
        if failed:
            raise StoppedError(_named("not reached", failed), 0, back=True)
        names = list(texts)

        def moved_by_others(name: str) -> bool | str:
            try:
                return self.devices[name].moved(texts[name])
            except Exception as error:  # noqa: BLE001 - it is reported with the device's name
                return reason(error)

        differ = spread(moved_by_others, names)
        if failed := {name: why for name, why in zip(names, differ, strict=True) if isinstance(why, str)}:
            raise StoppedError(_named("not understood", failed), 0, back=True)
        moved = [name for name, other in zip(names, differ, strict=True) if other]
        if moved:
            why = "; ".join(
                f"{name}: the running configuration has changed since the plan was made"
                + (f" ({some(lines)})" if (lines := self.devices[name].changed_by_others(texts[name])) else "")
                for name in moved[:5]
            )
            more = f"; and {len(moved) - 5} more devices" if len(moved) > 5 else ""
            raise StoppedError(f"{why}{more}; make a new plan", 0, back=True)
        for name, text in texts.items():
            self.journal.keep(self.revision, name, "before", text)
            self.devices[name] = self.devices[name].from_now(text)

    async def _rehearse(self, names: Sequence[str]) -> None:
        differences, failed = await self._all(names, "rehearse", 0, lambda device: device.rehearse())
        if failed:
            raise StoppedError(_named("the rehearsal failed, and nothing was changed", failed), 0, back=True)
        for name, text in differences.items():
            self.journal.keep(self.revision, name, "after", {"difference.txt": hidden(text)})
        if not differences:
            return
        self.say(f"{counted(len(differences), 'device')} tried the change, found it good, and discarded it")

    async def wave(self, number: int, wave: Wave) -> None:
        """Carry out one wave. Raises ``StoppedError`` if the wave was rolled back, or if its rollback or confirmation failed."""
        if self.drained is not None and wave.servers:
            self.say(f"wave {number}: waiting until {', '.join(wave.servers)} may be changed")
            if why := await self.drained(number, wave):
                raise StoppedError(f"{why}: nothing of wave {number} was changed", number, back=True)
        await self.gate.before(wave.devices, self.texts(number, done=False), self.texts(number, done=True))
        self.say(f"wave {number}: {', '.join(wave.devices)}")
        try:
            wrong = await self.changed(number, wave)
        except Exception as error:  # noqa: BLE001 - whatever it is, the wave has been changed
            wrong = reason(error)
        if wrong:
            await self.back(number, wave, wrong)
            raise StoppedError(wrong, number, back=True)
        await self.confirm(number, wave)

    async def changed(self, number: int, wave: Wave) -> str:
        """Change the devices of a wave. Return the fault that the change caused; empty if there is none."""
        _, failed = await self._all(
            wave.devices, "commit", number, lambda wave_device: wave_device.commit(self.seconds)
        )
        if failed:
            return _named("the change was not taken", failed)
        texts, failed = await self._all(wave.devices, None, number, lambda wave_device: wave_device.running())
        if failed:
            return _named("lost after the change", failed)
        for name, text in texts.items():
            device = self.devices[name]
            self.journal.keep(self.revision, name, "after", text)
            try:
                missing = device.missing(text, device.given.target)
            except Exception as error:  # noqa: BLE001 - it is reported with the device's name
                return f"{name}: {reason(error)}"
            if missing:
                return f"{name} does not run what it was given: {hidden(missing[0])}"
        now, then = self.texts(number, done=False), self.texts(number, done=True)
        wrong = await self.gate.after(wave.devices, now, then)
        return f"the check after the change failed: {'; '.join(wrong[:5])}" if wrong else ""

    async def confirm(self, number: int, wave: Wave) -> None:
        """Confirm the change on every device of a wave. Raises ``StoppedError`` if a device was not confirmed."""
        _, failed = await self._all(wave.devices, "confirm", number, lambda device: device.confirm())
        if failed:
            why = f"{_named('not confirmed', failed)}; `deploy status` says what became of them"
            raise StoppedError(why, number, back=False)

    async def back(self, number: int, wave: Wave, why: str) -> None:
        """Roll back every device of a wave. Raises ``StoppedError`` if a device must be left to its rollback timer.

        ``why`` is the reason to report.
        """
        self.say(f"wave {number}: {why}: going back")
        _, failed = await self._all(wave.devices, "revert", number, lambda device: device.go_back())
        if failed:
            left = _named("not brought back from here, so that their timers must", failed)
            raise StoppedError(f"{why}; {left}", number, back=False) from None

    def texts(self, number: int, *, done: bool) -> dict[str, Mapping[str, str]]:
        """Return the configuration texts that devices of the plan run at one point of the rollout.

        Devices in waves before ``number`` run their new texts. If ``done`` is True, the devices of wave ``number`` run
        their new texts too. A device whose texts at this point are exactly its design is left out.
        """
        changed = {name for wave in self.plan.waves[: number - 1 + done] for name in wave.devices}
        return {
            name: {**device.given.before, **(device.given.target if name in changed else {})}
            for name, device in self.devices.items()
            if not (name in changed and device.change.as_designed)
        }

    async def _all(
        self, names: Sequence[str], verb: Verb | None, wave: int, work: Callable[[Device], Coroutine[Any, Any, Any]]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Run ``work`` on devices, many at once. Return (results of ``work`` by device, error texts by device).

        Any error on one device is an error of that device only, except errors of this machine, such as a full disk.

        ``verb`` is the step to write to the journal for each device; None means that nothing is written.
        """
        free = asyncio.Semaphore(self.at_once)
        failed: dict[str, str] = {}

        async def work_on(name: str) -> object:
            async with free:
                try:
                    if verb is None:
                        return await work(self.devices[name])
                    with self.journal.step(self.revision, wave, name, verb, anyway=verb == "revert"):
                        return await work(self.devices[name])
                except (ReachError, RefusedError, RenderError, SpecError) as error:
                    failed[name] = str(error)
                except RailweaveError:  # of this machine
                    raise
                except Exception as error:  # noqa: BLE001 - whatever one device does, the others go on
                    failed[name] = reason(error)
                return None

        # Each device is waited for, whatever fails on another one: nothing may work on while the wave is taken back.
        results = await asyncio.gather(*(work_on(name) for name in names), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        succeeded = {name: result for name, result in zip(names, results, strict=True) if name not in failed}
        return succeeded, failed


def _named(problem: str, failed: Mapping[str, str]) -> str:
    shown = "; ".join(f"{name}: {why}" for name, why in sorted(failed.items())[:5])
    return f"{problem}: {shown}" + (f" and {len(failed) - 5} more" if len(failed) > 5 else "")
