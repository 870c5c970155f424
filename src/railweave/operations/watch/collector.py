"""The collector: it receives the numbers of all devices at the same time, and writes them to the store at every step."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, Literal, Protocol

from railweave.errors import OutputError, RailweaveError
from railweave.live.reach.failure import cause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.operations.watch.layout import Layout
    from railweave.operations.watch.setting_up import SubscriptionState
    from railweave.operations.watch.store import Store
    from railweave.operations.watch.stream import Round, Stream


class Source(Protocol):
    """A subscriber or poller, which puts the numbers that it receives into a device's stream."""

    reached: SubscriptionState

    async def run(self) -> None:
        """Collect until cancelled."""
        ...


@dataclass
class WatchedDevice:
    """A watched device, with its sources of numbers and its last answer.

    - ``system``: its operating system; empty for a server. ``role``: its role, such as ``leaf`` or ``server``.
    - ``stream``: its latest numbers. ``sources``: the subscribers and pollers that deliver them.
    - ``asked``: the last answer of a switch to queries; None before the first answer.
    """

    name: str
    system: str
    role: str
    stream: Stream
    sources: list[Source] = field(default_factory=list["Source"])
    others: list[Source] = field(default_factory=list["Source"])
    """Further sources of numbers. The state of the device does not depend on them."""
    asked: DeviceState | None = None
    configuration: dict[str, str] = field(default_factory=dict[str, str])
    """The last running configuration of a switch, by query, without secrets; empty before its first answer."""
    host: HostState | None = None
    """The last answer of a server, in place of ``asked``; None before its first answer."""
    streams: bool = True
    """True if the device streams its numbers; False if they come from its answers to queries."""

    @property
    def reached(self) -> SubscriptionState:
        """The state of the device's first source of numbers."""
        return self.sources[0].reached

    @property
    def state(self) -> Literal["up", "down", "not known"]:
        """The state of the device: ``up`` if its numbers arrive, ``down`` if they stopped, ``not known`` if none ever arrived."""
        return "up" if self.reached.up else "down" if self.reached.known else "not known"

    @property
    def tried(self) -> bool:
        """True if each source in ``sources`` has answered or failed at least once."""
        return all(source.reached.up or source.reached.tries for source in self.sources)

    @property
    def answers(self) -> bool:
        """True if all ``sources`` of the device are up, so that the device can be compared with the design. Sources in ``others`` do not count."""
        return all(source.reached.up for source in self.sources)


@dataclass
class Figures:
    """Statistics of the collector's work since its start.

    ``steps`` is the number of steps. ``rounds`` is the number of rounds; a round has the numbers of one device at one time. ``kept`` is the
    number of samples written.
    """

    rounds: int = 0
    kept: int = 0
    steps: int = 0
    late_s: float = 0
    """The longest delay in seconds with which a step has begun."""


def _fail(device: WatchedDevice, reached: SubscriptionState, error: Exception) -> None:
    """Record in ``reached`` that a device's data cannot be read because of ``error``, as if the device did not answer."""
    reached.turn(up=False, why=f"the answer cannot be read: {cause(error)}")
    reached.tries += 1
    device.stream.drop()


class Collector:
    """The collector of all devices. ``every_s`` is the sampling interval in seconds.

    Samples are written twice per interval. If the process is killed, samples of less than one interval are lost.
    """

    def __init__(self, devices: Sequence[WatchedDevice], store: Store | None, *, every_s: float) -> None:
        self.devices = {device.name: device for device in devices}
        self.figures = Figures()
        self.rates: dict[str, Round] = {}
        """The last completed round of each device."""
        self.unwritten = ""
        """The reason why the last step could not be written to the store; empty if it was written."""
        self._store = store
        self._step_s = every_s / 2
        self._after: list[Callable[[float], None]] = []

    def after_each_step(self, call: Callable[[float], None]) -> None:
        """Register a function to be called after each step, with the step's time."""
        self._after.append(call)

    async def run(self) -> None:
        """Collect until cancelled. While the store cannot be written, the collector goes on, and ``unwritten`` has the reason."""
        async with asyncio.TaskGroup() as group:
            for device in self.devices.values():
                for source in (*device.sources, *device.others):
                    group.create_task(self._lasting(device, source))
            group.create_task(self._steps())

    async def _lasting(self, device: WatchedDevice, source: Source) -> None:
        """Run a source of a device until cancelled, and restart it after any error.

        While a device's data cannot be read, the device counts as not answering. Other devices are not affected.
        """
        while True:
            try:
                await source.run()
            except Exception as error:
                if type(error) is RailweaveError:  # a library is missing, which is no matter of a device
                    raise
                _fail(device, source.reached, error)
            await asyncio.sleep(self._step_s)

    async def _steps(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + self._step_s, loop.time())
            await asyncio.sleep(due - loop.time())
            self.figures.late_s = max(self.figures.late_s, loop.time() - due)
            await self.step(time())

    async def step(self, now: float) -> None:
        """End the current round of each device (its numbers at one time), and write the rounds to the store.

        ``now`` is the time of the step in seconds since 1970.
        """
        rounds: list[tuple[Layout, Round]] = []
        for device in self.devices.values():
            try:
                rounds += [(device.stream.layout, each) for each in device.stream.rounds(now)]
            except Exception as error:  # noqa: BLE001 - whatever a device sends, the others are read
                _fail(device, device.reached, error)
        for _, device_round in rounds:
            self.rates[device_round.device] = device_round
        self.figures.rounds += len(rounds)
        self.figures.steps += 1
        if self._store is not None:
            try:
                self.figures.kept += await asyncio.to_thread(self._store.write, rounds, now)
                self.unwritten = ""
            except OutputError as error:
                self.unwritten = str(error)
        for call in self._after:
            call(now)
