"""The main object of ``railweave watch``: it runs the collector, the checks, syslog and the notifications until the watch ends."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from time import time
from typing import TYPE_CHECKING, Literal

from railweave.counting import counted
from railweave.errors import OutputError
from railweave.json_values import JsonObject
from railweave.model.findings.registry import Rule
from railweave.operations.deploy import journal
from railweave.operations.watch.exposition import families_of, intended
from railweave.operations.watch.store import Event
from railweave.operations.watch.validator import Validator, look

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.operations.watch.anomalies import Anomalies, Anomaly, Change
    from railweave.operations.watch.collector import Collector, WatchedDevice
    from railweave.operations.watch.inspector.instruments import JobInstruments
    from railweave.operations.watch.notify import Notifier
    from railweave.operations.watch.otlp.exporter import Otlp
    from railweave.operations.watch.silences import Note, Silence
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


NOT_KEPT = Rule(
    "store-not-written",
    "error",
    "living",
    "Samples and anomalies cannot be written to the store.",
    why="the history has a gap, and a restart forgets what happened since",
    fix="free space on the disk of the file of --store; the watch goes on and writes again as soon as it can",
)
TOUCHED_S = 60.0
"""The seconds after which the store gets the times at which open anomalies were last seen."""
LONGEST_STEP_S = 3600
"""The seconds after which a deploy step without an end counts as killed: its device is no longer being changed."""
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
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from the change of anomalies until it is written and told, so that changes are written in their order."""
    _first: float | None = None
    _complete: bool = False
    _touched: float = 0.0
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
            if not self._begun(devices, at):
                return []
            answering = frozenset(device.name for device in devices if device.answers)
            seen = look(devices, dict(self.collector.rates), at, late=True)
            self.compared = answering & {*seen.states, *seen.hosts}
            of_jobs = () if self.inspector is None else self.inspector.findings
            findings = [*self.validator.findings(seen, deployed=deployed), *of_jobs, *self._store_findings()]
            return self.anomalies.see(findings, at, deployed=deployed)

        async with self._changing:
            changes = await asyncio.to_thread(compared)
            await self._announce(changes, at)
        return changes

    async def _announce(self, changes: Sequence[tuple[Change, Anomaly]], at: float) -> None:
        """Write changes of anomalies to the store, and tell them to receivers, pages and the command line."""
        events = await asyncio.to_thread(self._kept, changes, at)
        if self.notifier is not None:
            self.notifier.tell(events)
        if self.otlp is not None:
            self.otlp.tell(changes)
        for call in self.heard:
            call(changes)

    def _begun(self, devices: Sequence[WatchedDevice], at: float) -> bool:
        """Return True once every device was tried, or had time to answer: the state of half a network looks wrong."""
        if self._first is None:
            self._first = at
        waited = at - self._first >= max(3 * self.every_s, 15.0)
        self._complete = self._complete or waited or all(device.tried for device in devices)
        return self._complete

    def _kept(self, changes: Sequence[tuple[Change, Anomaly]], at: float) -> list[Event]:
        """Write changes of anomalies to the store, if there is one, and return them as events."""
        if self.store is not None:
            if at - self._touched >= TOUCHED_S:
                self._touched = at
                with contextlib.suppress(OutputError):  # tried again in a minute
                    self.store.refresh(self.anomalies.listed())
            try:
                return self.store.keep(changes, at) if changes else []
            except OutputError as error:
                self.collector.unwritten = str(error)
        return [Event(0, at, change, anomaly) for change, anomaly in changes]

    def _store_findings(self) -> Iterator[Finding]:
        if self.collector.unwritten:
            yield NOT_KEPT.finding(self.validator.network.name, self.collector.unwritten)

    async def acknowledge(self, number: int, note: Note | None) -> Anomaly | None:
        """Acknowledge an open anomaly, or take the acknowledgement back (None). Return the anomaly, or None if none has the number."""
        async with self._changing:
            anomaly = await asyncio.to_thread(self.anomalies.change, number, note)
            if anomaly is not None:
                await self._announce([("changed", anomaly)], time())
        return anomaly

    async def silence(self, silence: Silence) -> Silence:
        """Add a silence, or replace the silence with its number. A number of 0 stands for the next free one. Return the silence."""
        if not silence.number:
            silence = replace(silence, number=max(self.anomalies.silences, default=0) + 1)
        self.anomalies.silences = {**self.anomalies.silences, silence.number: silence}  # a check may read the old ones
        if self.store is not None:
            await asyncio.to_thread(self.store.keep_silence, silence)
        return silence


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
    return frozenset(
        step.device
        for step in steps
        if (step.ended or now) >= now - DEPLOYED_S and (step.ended or step.began >= now - LONGEST_STEP_S)
    )
