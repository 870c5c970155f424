"""Recovery of an interrupted ``deploy apply``.

First the configuration or the release of each device is read. Then the unfinished wave is finished or rolled back.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar, Literal

from railweave.live.check.identity import same_release
from railweave.live.check.living import some
from railweave.live.collect.collect import captured
from railweave.live.reach.failure import reason
from railweave.model.state.capture import read_capture
from railweave.operations.deploy.rollout import Rollout, StoppedError
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.deploy.device import Device
    from railweave.operations.deploy.journal import Step
    from railweave.operations.deploy.plan import Upgrade
    from railweave.systems.transaction import Pending

Is = Literal["before", "waiting", "after", "otherwise", "unknown"]
"""The state of a device in a rollout.

- ``before``: the device runs its earlier configuration.
- ``waiting``: the device runs the change, and its rollback timer is running.
- ``after``: the device runs the change, and the change is confirmed.
- ``otherwise``: the device runs a different configuration.
- ``unknown``: the device does not answer.
"""


@dataclass(frozen=True)
class DeviceCondition:
    """The state of one device.

    - ``seconds``: the time left on its rollback timer, if the timer is running and the device reports it.
    - ``why``: the reason if the state is unknown, or the statements that someone else changed if the state is
      ``otherwise``.
    - ``of_upgrade``: True if ``state`` compares the device's release, and not its configuration.
    """

    device: str
    state: Is
    seconds: int | None = None
    why: str = ""
    of_upgrade: ClassVar[bool] = False

    def line(self) -> str:
        """Return the device name, followed by its state as a sentence."""
        return f"{self.device}: {self.sentence()}"

    def sentence(self) -> str:
        """Return the state as a sentence about the device, with the time left on its timer or the reason if there is one."""
        sentences = {
            "before": "runs what it ran before",
            "waiting": "runs the change, and goes back unless it is confirmed"
            + (f" within {self.seconds} s" if self.seconds is not None else ""),
            "after": "runs the change, and keeps it",
            "otherwise": f"runs neither what it ran before nor the change: {self.why or 'a part of the change is there'}",
            "unknown": f"does not answer: {self.why}",
        }
        return sentences[self.state]


async def truths(devices: Mapping[str, Device], *, at_once: int = 64) -> list[DeviceCondition]:
    """Return the state of each device of a plan, without changing anything.

    ``at_once`` is the largest number of devices to query at the same time.
    """
    free = asyncio.Semaphore(at_once)

    async def truth_of(name: str, device: Device) -> DeviceCondition:
        async with free:
            try:
                waiting, texts = await device.pending(), await device.running()
                return _compared(name, device, waiting, texts)
            except Exception as error:  # noqa: BLE001 - whatever one device answers, the others are compared
                return DeviceCondition(name, "unknown", why=reason(error))

    return list(await asyncio.gather(*(truth_of(name, device) for name, device in devices.items())))


def _compared(name: str, device: Device, waiting: Pending | None, texts: Mapping[str, str]) -> DeviceCondition:
    """Return the condition of a device that answered. ``waiting`` is its pending change, ``texts`` its running configuration."""
    ours = waiting is not None and waiting.label == device.given.label
    if device.same(texts, device.given.target):
        return DeviceCondition(name, "waiting" if ours else "after", waiting.seconds if waiting and ours else None)
    if device.as_before(texts) and not ours:
        return DeviceCondition(name, "before")
    lines = device.changed_by_others(texts)
    return DeviceCondition(name, "otherwise", why=f"someone else changed {some(lines)}" if lines else "")


async def taken_back(rollout: Rollout, steps: Sequence[Step], why: str) -> None:
    """Roll back every wave that has begun, last wave first.

    ``steps`` are the steps of the rollout in the journal, and ``why`` is the reason to record. All waves are tried.
    Then ``StoppedError`` is raised if a wave could not be rolled back.
    """
    failed: list[StoppedError] = []
    for number in sorted({step.wave for step in steps if step.verb == "commit"}, reverse=True):
        try:
            await rollout.back(number, rollout.plan.waves[number - 1], why)
        except StoppedError as error:
            failed.append(error)
    if failed:
        raise failed[0]


async def unfinished(rollout: Rollout, steps: Sequence[Step], *, again: bool) -> None:
    """End the unfinished wave of an interrupted rollout. With ``again``, carry out the remaining waves too.

    The wave has passed its check if any of its devices had begun to confirm. If it has passed and all its devices still run the change,
    the wave is confirmed. Otherwise it is rolled back. A trial is never kept: all its waves are rolled back.

    ``steps`` are the steps of the rollout in the journal. Raises ``StoppedError`` if a wave fails or cannot be rolled back, or if the
    state of a device is unknown.
    """
    if rollout.plan.trial:
        await taken_back(rollout, steps, "a trial was interrupted")
        return
    number = max((step.wave for step in steps), default=0)
    if number:
        wave = rollout.plan.waves[number - 1]
        wave_devices = {name: rollout.devices[name] for name in wave.devices}
        by_device = {truth.device: truth for truth in await truths(wave_devices)}
        if unknown := [truth.line() for truth in by_device.values() if truth.state == "unknown"]:
            raise StoppedError(f"it cannot go on: {'; '.join(unknown)}", number, back=False)
        checked = any(step.wave == number and step.verb == "confirm" for step in steps)
        if checked and all(truth.state in {"waiting", "after"} for truth in by_device.values()):
            await rollout.confirm(number, wave)
            number += 1
        elif any(truth.state != "before" for truth in by_device.values()):
            await rollout.back(number, wave, "it was interrupted")
    if again:
        await rollout.run(max(number, 1))


async def states(
    site: Site, names: Collection[str], *, attempts: int = 1
) -> tuple[dict[str, DeviceState], dict[str, str]]:
    """Return (state of each switch by name, reason for each switch that did not answer). Running configurations are not read.

    ``attempts`` is the largest number of attempts to reach a switch.
    """
    asked = {name: site.asked[name] for name in names}
    questions = [device.of_state() for device in asked.values()]
    with TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        outcomes = await captured(questions, folder, {}, at_once=site.at_once, attempts=attempts, open_by=site.ask_by)
        silent = {outcome.device: outcome.error or "no answer" for outcome in outcomes if not outcome.answered}
        systems = {name: device.system for name, device in asked.items() if name not in silent}
        return read_states(read_capture(folder), systems) if systems else {}, silent


@dataclass(frozen=True)
class Runs(DeviceCondition):
    """The condition of a switch during an upgrade, with the release that it runs.

    The state is ``before`` for the earlier release, ``after`` for the new release, and ``otherwise`` for any other
    release.
    """

    of_upgrade: ClassVar[bool] = True
    release: str = ""

    def sentence(self) -> str:
        """Return a sentence about the switch that names the release that it runs."""
        descriptions = {
            "before": f"runs {self.release}, as before",
            "after": f"runs {self.release}, the new release",
            "unknown": f"does not answer: {self.why}",
        }
        otherwise = f"runs {self.release}, neither the release of before nor the new one"
        return descriptions.get(self.state, otherwise)


async def releases(site: Site, upgrade: Upgrade) -> list[Runs]:
    """Return the release that each switch of an upgrade runs. Nothing is changed."""
    device_states, silent = await states(site, list(upgrade.versions))
    rows: list[Runs] = []
    for name, version in upgrade.versions.items():
        identity = device_states[name].identity if name in device_states else None
        now = (identity.version if identity else None) or ""
        if not now:
            rows.append(Runs(name, "unknown", why=silent.get(name, "it does not say its release")))
        elif same_release(now, upgrade.image.release):
            rows.append(Runs(name, "after", release=now))
        else:
            rows.append(Runs(name, "before" if now == version else "otherwise", release=now))
    return rows
