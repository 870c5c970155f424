"""``railweave watch``: everything at once, until it is ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Literal

from railweave.counting import counted
from railweave.errors import OutputError
from railweave.json_values import JsonObject
from railweave.operations.deploy import journal
from railweave.operations.watch.validator import Validator, look

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from railweave.operations.watch.anomalies import Anomalies, Anomaly, Change
    from railweave.operations.watch.collector import Collector
    from railweave.operations.watch.notify import Notifier
    from railweave.operations.watch.store import Store
    from railweave.operations.watch.syslog import Syslog


Word = Literal["as designed", "not as designed", "not known"]
SHOWN = 3
"""Devices that a line names before it only counts them."""


@dataclass(frozen=True, slots=True)
class NetworkStanding(JsonObject):
    """The state of the whole network. ``not_known`` are the devices that were not compared with the design at the last look."""

    state: Word
    devices: int
    errors: int
    warnings: int
    not_known: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{self.state}: {self.devices - len(self.not_known)} of {counted(self.devices, 'device')} compared"
        if self.not_known:
            more = len(self.not_known) - SHOWN
            text += f", not {', '.join(self.not_known[:SHOWN])}" + (f" and {more} more" if more > 0 else "")
        return text


def standing(expected: Collection[str], compared: Collection[str], anomalies: Iterable[Anomaly]) -> NetworkStanding:
    """The standing of a network. ``expected`` are all devices that have to be compared, ``compared`` those that were."""
    severities = [anomaly.finding.severity for anomaly in anomalies]
    errors, warnings = severities.count("error"), severities.count("warning")
    not_known = tuple(device for device in expected if device not in compared)
    state: Word = "not as designed" if errors or warnings else "not known" if not_known else "as designed"
    return NetworkStanding(state, len(expected), errors, warnings, not_known)


DEPLOYED_S = 60
"""A device counts as being worked on for so long after a step of a deploy ended."""


@dataclass
class WatchedNetwork:
    """A network that is watched. ``fabric`` is its file, beside which deploys keep their journal (None: none)."""

    collector: Collector
    validator: Validator
    anomalies: Anomalies
    store: Store | None
    every_s: float
    fabric: Path | None = None
    notifier: Notifier | None = None
    syslog: Syslog | None = None
    heard: list[Callable[[Sequence[tuple[Change, Anomaly]]], None]] = field(
        default_factory=list["Callable[[Sequence[tuple[Change, Anomaly]]], None]"]
    )
    """Called with what changed after each look."""
    ending: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    """Called when the watch is about to end, while pages are still served."""
    compared: frozenset[str] = frozenset()
    """The devices of which all that they say was compared with the design at the last look."""

    async def run(self) -> None:
        """Go on until cancelled. Raises ``OutputError`` where the store cannot be written, or syslog not be received."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.collector.run())
            group.create_task(self._judging())
            if self.syslog is not None:
                group.create_task(self.syslog.run())
            if self.notifier is not None:
                self.notifier.lasting(self.anomalies.listed)
                group.create_task(self.notifier.run())

    async def _judging(self) -> None:
        due = time() + self.every_s
        while True:
            await asyncio.sleep(max(due - time(), 0))
            due = max(due + self.every_s, time())
            await self.look()

    def standing(self) -> NetworkStanding:
        """Return the state of the network at the last look."""
        expected = [*self.validator.expected, *self.validator.servers]
        return standing(expected, self.compared, self.anomalies.listed())

    async def look(self) -> list[tuple[Change, Anomaly]]:
        """Compare what is known now with the design, beside the loop that takes what comes."""
        at = time()
        deployed = deploying(self.fabric, at)

        def compared() -> list[tuple[Change, Anomaly]]:
            devices = list(self.collector.devices.values())
            answering = frozenset(device.name for device in devices if device.answers)
            seen = look(devices, dict(self.collector.rates), at)
            self.compared = answering & {*seen.states, *seen.hosts}
            return self.anomalies.see(self.validator.findings(seen, deployed=deployed), at, deployed=deployed)

        changes = await asyncio.to_thread(compared)
        if self.notifier is not None:
            self.notifier.tell(changes)
        for call in self.heard:
            call(changes)
        return changes


def deploying(fabric: Path | None, now: float) -> frozenset[str]:
    """The devices that a deploy of this fabric file works on, or did until a moment ago."""
    if fabric is None:
        return frozenset()
    try:
        with journal.opened(fabric) as read:
            last = next(iter(read.revisions()), None)
            steps = [] if last is None or (last.ended or now) < now - DEPLOYED_S else read.steps(last.number)
    except OutputError:  # it cannot be read
        return frozenset()
    return frozenset(step.device for step in steps if (step.ended or now) >= now - DEPLOYED_S)
