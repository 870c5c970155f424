"""The recovery of an interrupted apply: ask the devices for their state, and end it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.live.reach.failure import ReachError
from railweave.operations.deploy.rollout import Rollout, StoppedError
from railweave.systems.transaction import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.operations.deploy.device import Device
    from railweave.operations.deploy.journal import Step

Is = Literal["before", "waiting", "after", "otherwise", "unknown"]
"""The state of a device.

In order: it runs what it ran before; it runs the change, with its timer running; it runs the change for good; it runs something else;
it does not answer.
"""


@dataclass(frozen=True)
class DeviceCondition:
    """The state of one device.

    ``seconds`` are left of its timer, if it waits and reports the time; ``why`` is why its state is unknown.
    """

    device: str
    state: Is
    seconds: int | None = None
    why: str = ""

    def line(self) -> str:
        """Return the device with its state as a sentence."""
        return f"{self.device}: {self.sentence()}"

    def sentence(self) -> str:
        """Return the state as a sentence about the device."""
        sentences = {
            "before": "runs what it ran before",
            "waiting": "runs the change, and goes back unless it is confirmed"
            + (f" within {self.seconds} s" if self.seconds is not None else ""),
            "after": "runs the change, and keeps it",
            "otherwise": "runs neither what it ran before nor the change: it is half done, or somebody else was there",
            "unknown": f"does not answer: {self.why}",
        }
        return sentences[self.state]


async def truths(devices: Mapping[str, Device], *, at_once: int = 64) -> list[DeviceCondition]:
    """Return what the devices of a plan run. Nothing is changed."""
    free = asyncio.Semaphore(at_once)

    async def truth_of(name: str, device: Device) -> DeviceCondition:
        async with free:
            try:
                waiting, texts = await device.pending(), await device.running()
            except (ReachError, RefusedError) as error:
                return DeviceCondition(name, "unknown", why=str(error))
        ours = waiting is not None and waiting.label == device.given.label
        if device.same(texts, device.given.target):
            return DeviceCondition(name, "waiting" if ours else "after", waiting.seconds if waiting and ours else None)
        if device.as_before(texts) and not ours:
            return DeviceCondition(name, "before")
        return DeviceCondition(name, "otherwise")

    return list(await asyncio.gather(*(truth_of(name, device) for name, device in devices.items())))


async def taken_back(rollout: Rollout, steps: Sequence[Step], why: str) -> None:
    """Bring back every wave that was begun, the last first. Raises ``StoppedError`` after all were tried, if one failed."""
    failed: list[StoppedError] = []
    for number in sorted({step.wave for step in steps if step.verb == "commit"}, reverse=True):
        try:
            await rollout.back(number, rollout.plan.waves[number - 1], why)
        except StoppedError as error:
            failed.append(error)
    if failed:
        raise failed[0]


async def unfinished(rollout: Rollout, steps: Sequence[Step], *, again: bool) -> None:
    """End the unfinished wave of an interrupted rollout; then, with ``again``, carry out the waves that are left.

    If devices of the wave had begun to confirm, it had passed its check and is finished. Otherwise it is brought back. A trial is never
    kept: all its waves are brought back, and nothing is left to do. Raises ``StoppedError``.
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
