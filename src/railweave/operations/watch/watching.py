"""The main object of ``railweave watch``: it runs the collector, the checks, syslog and the notifications until the watch ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Literal

from railweave.counting import counted
from railweave.errors import OutputError
from railweave.json_values import JsonObject
from railweave.operations.deploy import journal
from railweave.operations.watch.exposition import families_of, intended
from railweave.operations.watch.validator import Validator, look

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from railweave.operations.watch.anomalies import Anomalies, Anomaly, Change
    from railweave.operations.watch.collector import Collector
    from railweave.operations.watch.inspector.instruments import JobInstruments
    from railweave.operations.watch.notify import Notifier
    from railweave.operations.watch.otlp.exporter import Otlp
    from railweave.operations.watch.store import Store
    from railweave.operations.watch.syslog import Syslog


Word = Literal["as designed", "not as designed", "not known"]
SHOWN = 3
"""The largest number of devices that a line names; further devices are only counted."""


@dataclass(frozen=True, slots=True)
class NetworkStanding(JsonObject):
    """The state of the whole network: ``as designed``, ``not as designed`` or ``not known``.

    ``not_known`` has the devices that the last check could not compare with the design.
    """

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
    """Return the state of a network. ``expected`` has all devices to compare, and ``compared`` those that were compared.

    Any open anomaly in ``anomalies`` that is an error or a warning makes the network ``not as designed``.
    """
    severities = [anomaly.finding.severity for anomaly in anomalies]
    errors, warnings = severities.count("error"), severities.count("warning")
    not_known = tuple(device for device in expected if device not in compared)
    state: Word = "not as designed" if errors or warnings else "not known" if not_known else "as designed"
    return NetworkStanding(state, len(expected), errors, warnings, not_known)


DEPLOYED_S = 60
"""The seconds after the end of a deploy step for which its device is still treated as being changed."""


@dataclass
class WatchedNetwork:
    """A watched network.

    ``fabric`` is its fabric file, next to which deploys keep their journal; None if the network was not designed from a
    fabric file.
    """

    collector: Collector
    validator: Validator
    anomalies: Anomalies
    store: Store | None
    every_s: float
    fabric: Path | None = None
    notifier: Notifier | None = None
    syslog: Syslog | None = None
    otlp: Otlp | None = None
    inspector: JobInstruments | None = None
    """The records of NCCL's Inspector, as running jobs write them; None if no folder is followed."""
    heard: list[Callable[[Sequence[tuple[Change, Anomaly]]], None]] = field(
        default_factory=list["Callable[[Sequence[tuple[Change, Anomaly]]], None]"]
    )
    """The functions to call with the changed anomalies after each check."""
    ending: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    """The functions to call when the watch is about to end, while pages are still served."""
    compared: frozenset[str] = frozenset()
    """The devices that were compared with the design in the last check, with their complete state."""

    async def run(self) -> None:
        """Watch until cancelled. Raises ``OutputError`` if the store cannot be written, or syslog cannot be received."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.collector.run())
            group.create_task(self._judging())
            if self.syslog is not None:
                group.create_task(self.syslog.run())
            if self.inspector is not None:
                group.create_task(self.inspector.run())
            if self.notifier is not None:
                self.notifier.lasting(self.anomalies.listed)
                group.create_task(self.notifier.run())
            if self.otlp is not None:
                roles = {name: device.role for name, device in self.collector.devices.items()}
                design = list(intended(self.validator.expected, roles))
                self.otlp.reading(lambda: families_of(self, design))
                if self.syslog is not None:
                    self.syslog.heard.append(self.otlp.receive)
                group.create_task(self.otlp.run())

    async def _judging(self) -> None:
        due = time() + self.every_s
        while True:
            await asyncio.sleep(max(due - time(), 0))
            due = max(due + self.every_s, time())
            await self.look()

    def standing(self) -> NetworkStanding:
        """Return the state of the network at the last check."""
        expected = [*self.validator.expected, *self.validator.servers]
        return standing(expected, self.compared, self.anomalies.listed())

    async def look(self) -> list[tuple[Change, Anomaly]]:
        """Compare the known state of the devices with the design, in a separate thread.

        Return (change, anomaly) for each anomaly that opened, changed or closed.
        """
        at = time()
        deployed = deploying(self.fabric, at)

        def compared() -> list[tuple[Change, Anomaly]]:
            devices = list(self.collector.devices.values())
            answering = frozenset(device.name for device in devices if device.answers)
            seen = look(devices, dict(self.collector.rates), at)
            self.compared = answering & {*seen.states, *seen.hosts}
            of_jobs = () if self.inspector is None else self.inspector.findings
            findings = [*self.validator.findings(seen, deployed=deployed), *of_jobs]
            return self.anomalies.see(findings, at, deployed=deployed)

        changes = await asyncio.to_thread(compared)
        if self.notifier is not None:
            self.notifier.tell(changes)
        if self.otlp is not None:
            self.otlp.tell(changes)
        for call in self.heard:
            call(changes)
        return changes


def deploying(fabric: Path | None, now: float) -> frozenset[str]:
    """Return the devices on which a deploy of this fabric file is working, or was working in the ``DEPLOYED_S`` seconds before ``now``."""
    if fabric is None:
        return frozenset()
    try:
        with journal.opened(fabric) as read:
            last = next(iter(read.revisions()), None)
            steps = [] if last is None or (last.ended or now) < now - DEPLOYED_S else read.steps(last.number)
    except OutputError:  # it cannot be read
        return frozenset()
    return frozenset(step.device for step in steps if (step.ended or now) >= now - DEPLOYED_S)
