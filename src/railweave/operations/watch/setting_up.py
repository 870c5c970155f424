"""The sources of a watched device's numbers: a subscription, queries by its management protocol, or SNMP."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from railweave.errors import RailweaveError
from railweave.live.collect.plan import CollectTarget
from railweave.live.collect.queries import query_device
from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened
from railweave.model.config.gate import Gate
from railweave.model.state.host_metrics import host_numbers
from railweave.model.state.host_state import read_host
from railweave.model.state.question import CONFIGURATION, Question
from railweave.model.state.telemetry import PORT_NAMES, PORTS_BY_SNMP, Column, Series, Subscription
from railweave.operations.watch.collector import WatchedDevice
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.measured import measurements
from railweave.operations.watch.stream import Stream
from railweave.systems import system
from railweave.systems.reading import read_state

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.live.collect.queries import Open
    from railweave.live.reach.target import Target
    from railweave.systems.protocol import Telemetry


LONGEST_WAIT_S = 8.0
"""The longest pause in seconds between two attempts to reach a device. A recovered device is up after at most this time."""


@dataclass
class SubscriptionState:
    """The state of the subscription to one device.

    - ``since``: the time when the subscription last came up or went down.
    - ``known``: True if the subscription was ever up.
    - ``heard``: the time at which the last number arrived (monotonic clock).
    - ``why``: the reason why the subscription is down.
    - ``tries``: the number of attempts that have ended.
    """

    up: bool = False
    known: bool = False
    since: float = field(default_factory=time)
    heard: float = 0.0
    why: str = "not reached yet"
    tries: int = 0
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """The paths that the device refused, each with the device's message."""

    def turn(self, *, up: bool, why: str = "") -> None:
        """Set the state to up or down (``up``), with the reason ``why``. The time ``since`` changes only if the state changes."""
        if up != self.up:
            self.up, self.since = up, time()
            self.known = self.known or up
        self.why = why

    @property
    def age_s(self) -> float | None:
        """Seconds since the last number arrived, or None if none ever arrived."""
        return None if not self.heard else monotonic() - self.heard


def silent_after(every_s: float, least_s: float) -> float:
    """Return the seconds without a number after which a device counts as down, for a sampling interval of ``every_s`` seconds.

    For example, the result is 13 for an interval of 10. ``least_s`` is the shortest interval in seconds that the device
    supports.
    """
    interval = max(every_s, least_s)
    return interval + max(1.0, 0.3 * interval)


class Subscriber:
    """The subscriber to one device. It connects with the function ``open_``, and connects again after each failure."""

    def __init__(
        self,
        stream: Stream,
        telemetry: Telemetry,
        open_: Callable[[], Any],
        *,
        every_s: float,
        begin_after_s: float = 0,
    ) -> None:
        self.stream = stream
        self.reached = SubscriptionState()
        self._open = open_
        self._encoding = telemetry.ENCODING
        self._every_s = every_s
        self._begin_after_s = begin_after_s
        self._paths: Sequence[Subscription] = tuple(telemetry.SUBSCRIPTIONS)
        self._one_by_one = False
        sampled = [path.least_s for path in self._paths if path.by == "sample"]
        self._silent_s = silent_after(every_s, min(sampled, default=every_s))

    async def run(self) -> None:
        """Stay subscribed until cancelled, and reconnect after failures."""
        wait = 1.0
        await asyncio.sleep(self._begin_after_s)
        while True:
            heard = self.reached.heard
            try:
                await self._connected()
            except ReachError as error:
                self.reached.turn(up=False, why=str(error))
                self.stream.forget()
            self.reached.tries += 1
            wait = 1.0 if self.reached.heard > heard else min(wait * 2, LONGEST_WAIT_S)
            await asyncio.sleep(wait)

    def _calls(self) -> list[tuple[Subscription, ...]]:
        """Return the paths of each subscription to make: one subscription for all paths with the same origin and target.

        After a device has refused a path, each path gets a separate subscription.
        """
        left = [path for path in self._paths if path.path not in self.reached.refused]
        if self._one_by_one:
            return [(path,) for path in left]
        groups: dict[tuple[str, str], list[Subscription]] = {}
        for path in left:
            groups.setdefault((path.origin, path.target), []).append(path)
        return [tuple(group) for group in groups.values()]

    async def _connected(self) -> None:
        """Connect and receive until the connection ends. Raises ``ReachError``."""
        connection = await self._open()
        lost: list[ReachError] = []
        try:
            async with asyncio.TaskGroup() as group:
                for paths in self._calls():
                    group.create_task(self._receive(connection, paths))
                group.create_task(self._listening())
        except* ReachError as errors:
            lost = _leaves(errors)  # raised below: Python before 3.11.4 wraps whatever is raised here in a group
        finally:
            await connection.close()
        if lost:
            raise lost[0]

    async def _receive(self, connection: Any, paths: tuple[Subscription, ...]) -> None:  # noqa: ANN401 - a Gnmi
        heard = False
        notifications: AsyncGenerator[Any] = connection.subscribed(paths, self._encoding, self._every_s)
        try:
            async with aclosing(notifications):
                async for notification in notifications:
                    if notification is not None:
                        heard = True
                        self.reached.heard = monotonic()
                        self.stream.take(notification, time())
                        if not self.reached.up:
                            self.reached.turn(up=True)
        except ReachError as error:
            if error.kind != "refused" or heard:
                raise
            if len(paths) == 1:
                self.reached.refused[paths[0].path] = str(error)
            else:
                self._one_by_one = True
                raise

    async def _listening(self) -> None:
        """Raise ``ReachError`` when the device has sent no number for too long."""
        begun = monotonic()
        while True:
            quiet = monotonic() - max(begun, self.reached.heard)
            if quiet >= self._silent_s:
                raise ReachError("late", f"nothing came for {quiet:.0f} s")
            await asyncio.sleep(self._silent_s - quiet + 0.01)


def _leaves(errors: BaseExceptionGroup[ReachError]) -> list[ReachError]:
    leaves: list[ReachError] = []
    for exception in errors.exceptions:
        leaves += _leaves(exception) if isinstance(exception, BaseExceptionGroup) else [exception]
    return leaves


CONFIGURATION_S = 30.0
"""The shortest time in seconds between two queries for a running configuration. An answer may be as large as a megabyte."""


class Poller:
    """The source that polls a device with queries.

    - ``quick``: the names of the queries to send at every interval; may be empty. Other queries are sent every
      ``rarely_s`` seconds, and queries for the running configuration at most every ``CONFIGURATION_S`` seconds.
    - ``take``: a function that reads the answers, by query name, and returns their numbers.
    """

    def __init__(
        self,
        asked: CollectTarget,
        stream: Stream,
        take: Callable[[Mapping[str, str]], Iterable[tuple[Series, float]]],
        *,
        quick: frozenset[str],
        every_s: float,
        rarely_s: float,
        begin_after_s: float = 0,
        open_by: Open = opened,
        gate: asyncio.Semaphore | None = None,
        measure: bool = True,
    ) -> None:
        self.reached = SubscriptionState()
        self._asked = asked
        self._stream = stream
        self._take = take
        self._quick = quick
        self._every_s = every_s if quick else rarely_s
        self._rarely_s = rarely_s
        self._begin_after_s = begin_after_s
        self._open = open_by
        self._gate = gate or asyncio.Semaphore(1)
        self._measure = measure
        self._texts: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        """The queries that were not answered when they were last sent, with the reason."""
        self._questions = tuple(question for question in asked.questions if not question.of_configuration)
        self._configuration = tuple(question for question in asked.questions if question.of_configuration)

    async def run(self) -> None:
        """Poll until cancelled."""
        await asyncio.sleep(self._begin_after_s)
        due = monotonic()
        whole = configured = due
        while True:
            every, configuration = due >= whole, due >= configured
            if every:
                whole = due + self._rarely_s
            if configuration:
                configured = due + max(CONFIGURATION_S, self._rarely_s)
            questions = tuple(question for question in self._questions if every or question.name in self._quick)
            await self._once((*questions, *(self._configuration if configuration else ())))
            due = max(due + self._every_s, monotonic())
            await asyncio.sleep(due - monotonic())

    async def _once(self, questions: tuple[Question, ...]) -> None:
        def kept(_: str, question: Question, answer: str) -> None:
            self._texts[question.name] = answer

        for question in questions:  # what is not answered now is not known now
            self._texts.pop(question.name, None)
            self._refused.pop(question.name, None)
        async with self._gate:
            begun = time()
            outcome = await query_device(
                CollectTarget(self._asked.target, self._asked.system, questions), kept, attempts=1, open_by=self._open
            )
        if not outcome.answered:
            self.reached.turn(
                up=False, why=outcome.error or next(iter(outcome.failed.values()), "the device did not answer")
            )
            self.reached.tries += 1
            if self._measure:
                self._stream.forget()
            return
        self._refused |= outcome.failed
        self.reached.refused = dict(self._refused)
        self.reached.heard = monotonic()
        self.reached.turn(up=True, why=outcome.error)
        numbers = self._take(self._texts)
        self._stream.offer(numbers if self._measure else (), int(begun * 1e9), time())


if TYPE_CHECKING:
    Table = Mapping[tuple[int, ...], int | str]
    Walk = Callable[[Target, str], Awaitable[Table]]

NAMES_S = 600.0
"""The seconds between queries for port names, because port numbers may change when a device restarts."""


class SnmpSource:
    """The source that polls a device by SNMP.

    The source reads ``columns`` every ``every_s`` seconds with the function ``walk`` (``live.reach.snmp.column``).
    """

    def __init__(
        self,
        target: Target,
        stream: Stream,
        columns: Sequence[Column],
        walk: Walk,
        *,
        every_s: float,
        begin_after_s: float = 0,
    ) -> None:
        self.reached = SubscriptionState()
        self._target = target
        self._stream = stream
        self._columns = columns
        self._walk = walk
        self._every_s = every_s
        self._begin_after_s = begin_after_s
        self._names: Mapping[int, str] = {}
        self._named = float("-inf")

    async def run(self) -> None:
        """Poll until cancelled."""
        await asyncio.sleep(self._begin_after_s)
        due = monotonic()
        while True:
            try:
                await self._once()
            except ReachError as error:
                self.reached.turn(up=False, why=str(error))
                self.reached.tries += 1
                self._named = float("-inf")
            due = max(due + self._every_s, monotonic())
            await asyncio.sleep(due - monotonic())

    async def _once(self) -> None:
        if monotonic() >= self._named + NAMES_S:
            table = await self._walk(self._target, PORT_NAMES)
            self._names = {row[0]: str(name) for row, name in table.items() if len(row) == 1}
            self._named = monotonic()
        for column in self._columns:
            begun = time()
            table = await self._walk(self._target, column.oid)
            self._stream.offer(snmp_numbers(column, table, self._names), int(begun * 1e9), time())
        self.reached.heard = monotonic()
        self.reached.turn(up=True)


def snmp_numbers(column: Column, table: Table, names: Mapping[int, str]) -> list[tuple[Series, float]]:
    """Return (series, number) for each number of an SNMP column. ``table`` has the received rows.

    ``names`` has the names of ports by SNMP index. Rows of ports that ``names`` lacks, and values that are not numbers, are left out.
    """
    numbers: list[tuple[Series, float]] = []
    for row, value in table.items():
        name = names.get(row[0]) if row else None
        if name is None or isinstance(value, str):
            continue
        number = column.words.get(value) if column.words is not None else value
        if number is not None:
            numbers.append((Series(column.metric, name, ".".join(map(str, row[1:]))), number))
    return numbers


AT_ONCE = 16
"""The largest number of devices that are queried at the same time."""


def watched(
    asked: Sequence[CollectTarget],
    roles: Mapping[str, str],
    *,
    every_s: float,
    rarely_s: float,
    open_by: Open,
) -> list[WatchedDevice]:
    """Return the watched devices, each with its sources of numbers. Raises ``RailweaveError`` if a library is missing.

    - ``asked``: the devices, with their logins and queries. ``roles``: the role of each device.
    - ``every_s``: the sampling interval. ``rarely_s``: the interval of queries for state that changes rarely. Both are in seconds.
    - ``open_by``: a function that opens a session to a device.

    The devices start one after another within one interval, so their samples do not arrive all at once.
    """
    layouts: dict[str, Layout] = {}
    gate = asyncio.Semaphore(AT_ONCE)
    devices: list[WatchedDevice] = []
    for number, asked_device in enumerate(asked):
        later = number * every_s / len(asked)
        telemetry = system(asked_device.system).telemetry if asked_device.system else None
        if asked_device.system not in layouts:
            layouts[asked_device.system] = Layout(telemetry.series if telemetry else lambda _: None)
        name = asked_device.target.name
        device = WatchedDevice(
            name, asked_device.system, roles.get(name, ""), Stream(name, layouts[asked_device.system])
        )
        device.streams = bool(telemetry and telemetry.SUBSCRIPTIONS and asked_device.target.way.gnmi)
        if telemetry and device.streams:
            port = asked_device.target.way.gnmi_port or telemetry.PORT
            device.sources.append(
                Subscriber(
                    device.stream,
                    telemetry,
                    partial(_opened, asked_device.target, port),
                    every_s=every_s,
                    begin_after_s=later,
                )
            )
        # What a subscription gives is not asked for at every interval; a system that streams but may not is asked rarely.
        quick = telemetry.QUICK if telemetry and (device.streams or not telemetry.SUBSCRIPTIONS) else frozenset[str]()
        take = _read if asked_device.system else _read_server
        device.sources.append(
            Poller(
                asked_device,
                device.stream,
                partial(take, device),
                quick=quick,
                every_s=every_s,
                rarely_s=rarely_s,
                begin_after_s=later,
                open_by=open_by,
                gate=gate,
                measure=not device.streams,
            )
        )
        if asked_device.system and asked_device.target.way.snmp is not None:
            columns = (*(telemetry.SNMP if telemetry else ()), *(() if device.streams else PORTS_BY_SNMP))
            if columns:
                device.others.append(
                    SnmpSource(asked_device.target, device.stream, columns, _walk, every_s=every_s, begin_after_s=later)
                )
        devices.append(device)
    return devices


def _read(device: WatchedDevice, texts: Mapping[str, str]) -> Iterator[tuple[Series, float]]:
    gate = Gate()
    device.configuration = {
        name: gate.text(device.name, text) for name, text in texts.items() if name.partition("-")[0] == CONFIGURATION
    }
    device.asked = read_state(device.name, device.system, texts)
    return measurements(device.asked)


def _read_server(device: WatchedDevice, texts: Mapping[str, str]) -> Iterator[tuple[Series, float]]:
    device.host = read_host(device.name, texts)
    return host_numbers(device.name, texts)


async def _walk(target: Target, oid: str) -> Mapping[tuple[int, ...], int | str]:
    try:
        from railweave.live.reach.snmp import column
    except ModuleNotFoundError as error:
        raise RailweaveError(
            f"asking devices by SNMP needs {error.name}, which is not installed: pip install 'railweave[watch]'"
        ) from None
    return await column(target, oid)


async def _opened(target: Target, port: int) -> Any:  # noqa: ANN401 - a Gnmi
    try:
        from railweave.live.reach.gnmi import Gnmi
    except ModuleNotFoundError as error:
        raise RailweaveError(
            f"subscribing to devices needs {error.name}, which is not installed: pip install 'railweave[watch]'"
        ) from None
    return await Gnmi.opened(target, port)
