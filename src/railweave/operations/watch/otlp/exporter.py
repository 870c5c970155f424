"""The exporter: it sends metrics at each interval, and log records as they come, without delaying the collection of samples.

Numbers are encoded in a thread, in requests of limited size. While the receiver of metrics does not answer, nothing is kept: the next
request has the newest numbers. Log records wait in a queue of limited length. Metrics and logs do not wait for each other.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections import deque
from time import monotonic, time, time_ns
from typing import TYPE_CHECKING

import railweave
from railweave.counting import counted
from railweave.operations.watch.exposition import Family, Point
from railweave.operations.watch.otlp.encoding import (
    History,
    Reading,
    Record,
    anomaly_record,
    log_request,
    metric_requests,
    resource_of,
    syslog_record,
)
from railweave.operations.watch.otlp.sending import Outcome, post
from railweave.operations.watch.otlp.settings import announced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from httpx import AsyncClient

    from railweave.operations.watch.anomalies import Anomaly, Change
    from railweave.operations.watch.otlp.settings import OtlpSettings, Receiver, Signal
    from railweave.operations.watch.syslog import Event

MOST_WAITING = 5000
"""The largest number of log records that wait while the receiver does not answer. The oldest are dropped first."""
MOST_RECORDS = 500
"""The largest number of log records of a request."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""The shortest and the longest time in seconds between two tries, if the receiver asks for no longer one. It doubles with each try."""
FLUSH_S = 1.5
"""The seconds within which the last requests must be sent when the watch ends."""


class Backoff:
    """The waiting time between tries: it doubles with each failure, and a random part of up to a half is taken off."""

    def __init__(self) -> None:
        self._next_s = FIRST_WAIT_S

    def failed(self, after_s: float | None) -> float:
        """Return the seconds to wait after a failure.

        ``after_s`` is the time that the receiver asks for, or None. It only lengthens the wait: after ``Retry-After: 0`` or a date in the
        past, requests would follow each other without a pause.
        """
        wait, self._next_s = self._next_s, min(self._next_s * 2, LONGEST_WAIT_S)
        return max(wait * random.uniform(0.5, 1), after_s or 0.0)  # noqa: S311 - no secret

    def worked(self) -> None:
        """Return to the shortest time."""
        self._next_s = FIRST_WAIT_S


class Otlp:
    """The exporter of a watched network.

    - ``network``: the name of the network.
    - ``every_s``: the interval between two requests of metrics, in seconds.
    - ``say``: a function that is called when a receiver begins or stops accepting requests.
    """

    def __init__(self, settings: OtlpSettings, network: str, every_s: float, say: Callable[[str], None]) -> None:
        self.every_s = every_s
        self.waiting: deque[Record] = deque()
        """The log records that wait to be sent."""
        self.dropped = 0
        """The number of log records that were not delivered: the queue was full, or the receiver refused them."""
        self.rejected: dict[Signal, int] = {"metrics": 0, "logs": 0}
        """The number of data points and log records that a receiver refused: whole requests, and parts of requests that it accepted."""
        self.failed: dict[Signal, int] = {"metrics": 0, "logs": 0}
        """The number of requests that were not accepted."""
        self._receivers = settings.receivers
        self._say = say
        self._resource = resource_of(_attributes(network) | dict(settings.attributes))
        self._history = History(time_ns())
        self._families: Callable[[], Iterable[Family]] = tuple
        self._there = asyncio.Event()
        self._failing: dict[Signal, str] = {}
        self._backoffs: dict[Signal, Backoff] = {"metrics": Backoff(), "logs": Backoff()}

    def reading(self, families: Callable[[], Iterable[Family]]) -> None:
        """Set the function that returns all metrics. It is called in a thread."""
        self._families = families

    def tell(self, changes: Sequence[tuple[Change, Anomaly]]) -> None:
        """Queue changes of anomalies as log records."""
        now = time()
        for change, anomaly in changes:
            self._queue(anomaly_record(change, anomaly, now))

    def receive(self, event: Event) -> None:
        """Queue a syslog message as a log record."""
        self._queue(syslog_record(event))

    def _queue(self, record: Record) -> None:
        if "logs" not in self._receivers:
            return
        if len(self.waiting) >= MOST_WAITING:
            self.waiting.popleft()
            self.dropped += 1
        self.waiting.append(record)
        self._there.set()

    def families(self) -> Iterator[Family]:
        """Yield the metrics of the exporter itself."""
        described = "Log records that were not delivered by OTLP: the queue was full, or the receiver refused them."
        name = "railweave_otlp_dropped_log_records_total"
        yield Family(name, "counter", described, [Point((), self.dropped)], counted_here=True)
        for name, described, counts in (
            ("rejected_items", "Data points and log records that a receiver of OTLP refused.", self.rejected),
            ("failed_requests", "Requests of OTLP that were not accepted.", self.failed),
        ):
            points = [Point((("signal", signal),), counts[signal]) for signal in self._receivers]
            yield Family(f"railweave_otlp_{name}_total", "counter", described, points, counted_here=True)

    async def run(self) -> None:
        """Send until cancelled. After that, send the waiting log records within ``FLUSH_S``, and mark all series as no longer known."""
        for line in announced(self._receivers.values()):
            self._say(line)
        clients: dict[Signal, AsyncClient] = {signal: _client(receiver) for signal, receiver in self._receivers.items()}
        sending = {"metrics": self._metrics, "logs": self._logs}
        try:
            async with asyncio.TaskGroup() as group:
                for signal, client in clients.items():
                    group.create_task(sending[signal](client))
        finally:
            await self._flush(clients)

    async def _metrics(self, client: AsyncClient) -> None:
        due = monotonic() + self.every_s
        while True:
            await asyncio.sleep(max(due - monotonic(), 0))
            due = max(due + self.every_s, monotonic())
            outcome = await self._measured(client)
            if outcome.again:
                due = monotonic() + self._backoffs["metrics"].failed(outcome.after_s)
            else:
                self._backoffs["metrics"].worked()

    async def _measured(self, client: AsyncClient) -> Outcome:
        """Send the numbers of now, and return the outcome of the whole reading."""
        reading = await asyncio.to_thread(lambda: self._history.reading(self._families(), time_ns()))
        return await self._sent_reading(client, reading)

    async def _sent_reading(self, client: AsyncClient, reading: Reading) -> Outcome:
        """Send the requests of a reading. Those after a refused request are sent, too; those after one that may be sent again are not."""
        parts: list[tuple[int, Outcome]] = []
        receiver = self._receivers["metrics"]
        requests = metric_requests(reading, self._resource)
        try:
            while (request := await asyncio.to_thread(next, requests, None)) is not None:
                body, count = request
                outcome = await self._sent(client, receiver, body, count)
                parts.append((count, outcome))
                if outcome.again:
                    break
        finally:
            taken = [(count, not outcome.why) for count, outcome in parts]
            await asyncio.to_thread(self._history.record, reading, taken)
        whole = whole_of(parts)
        if parts:
            self._report(receiver, whole, sum(count for count, _ in parts))
        return whole

    async def _logs(self, client: AsyncClient) -> None:
        while True:
            await self._there.wait()
            outcome = await self._sent_logs(client)
            if outcome.again:
                await asyncio.sleep(self._backoffs["logs"].failed(outcome.after_s))
            else:
                self._backoffs["logs"].worked()

    async def _sent_logs(self, client: AsyncClient) -> Outcome:
        """Send the oldest waiting records. They wait on if they were not taken but may be sent again."""
        count = min(len(self.waiting), MOST_RECORDS)
        records = [self.waiting.popleft() for _ in range(count)]
        outcome = Outcome("not sent", again=True)
        try:
            body = await asyncio.to_thread(log_request, records, self._resource)
            outcome = await self._sent(client, self._receivers["logs"], body, count)
            self._report(self._receivers["logs"], outcome, count)
        finally:
            if outcome.again:
                space = max(MOST_WAITING - len(self.waiting), 0)
                self.dropped += max(count - space, 0)
                self.waiting.extendleft(reversed(records[max(count - space, 0) :]))
            elif outcome.why:
                self.dropped += count
            if not self.waiting:
                self._there.clear()
        return outcome

    async def _sent(self, client: AsyncClient, receiver: Receiver, body: bytes, count: int) -> Outcome:
        """Send a request with ``count`` data points or log records, and count what is refused."""
        outcome = await post(client, receiver, body)
        self.failed[receiver.signal] += bool(outcome.why)
        self.rejected[receiver.signal] += count if outcome.why and not outcome.again else outcome.rejected
        return outcome

    def _report(self, receiver: Receiver, outcome: Outcome, count: int) -> None:
        """Report a failure once, and its end. Failures with the same status code are the same, because texts may name each series."""
        signal, reason = receiver.signal, outcome.message or "the receiver gives no reason"
        if outcome.why:
            state, text = str(outcome.status or outcome.why), f"does not take {signal}: {outcome.why}"
        elif outcome.rejected:
            noun = counted(count, "data point" if signal == "metrics" else "log record")
            state, text = "in part", f"refuses {outcome.rejected:,} of {noun}: {reason}"
        elif outcome.message:
            state, text = "warning", f"takes {signal} and warns: {reason}"
        else:
            state, text = "", f"takes {signal} again"
        if state != self._failing.get(signal, ""):
            self._say(f"{receiver.shown} {text}")
        self._failing[signal] = state

    async def _flush(self, clients: Mapping[Signal, AsyncClient]) -> None:
        """Send what waits, for at most ``FLUSH_S`` seconds, and close the connections."""
        try:
            async with asyncio.timeout(FLUSH_S), asyncio.TaskGroup() as group:
                if "metrics" in clients:
                    group.create_task(self._last_metrics(clients["metrics"]))
                if "logs" in clients:
                    group.create_task(self._last_logs(clients["logs"]))
        except TimeoutError:
            pass
        finally:
            if self.waiting:
                self._say(f"{counted(len(self.waiting), 'log record')} not delivered: the watch ends")
            for client in clients.values():
                await client.aclose()

    async def _last_metrics(self, client: AsyncClient) -> None:
        await self._sent_reading(client, await asyncio.to_thread(self._history.ending, time_ns()))

    async def _last_logs(self, client: AsyncClient) -> None:
        while self.waiting:
            outcome = await self._sent_logs(client)
            if outcome.again:
                return


def whole_of(parts: Sequence[tuple[int, Outcome]]) -> Outcome:
    """Return the outcome of a reading from those of its requests, each with its number of data points.

    It is that of the request that may be sent again, if there is one. If some requests were refused and others taken, the reading was taken
    in part. So a reading is reported once, and not as refused and taken in turn.
    """
    if not parts:
        return Outcome()
    failed = [outcome for _, outcome in parts if outcome.why]
    if len(failed) == len(parts) or parts[-1][1].again:
        return failed[-1]
    rejected = sum(count if outcome.why else outcome.rejected for count, outcome in parts)
    message = next((outcome.why or outcome.message for _, outcome in parts if outcome.why or outcome.message), "")
    return Outcome(rejected=rejected, message=message)


def _attributes(network: str) -> dict[str, str]:
    """Return the attributes of the resource, by the semantic conventions for services."""
    host = socket.gethostname()
    return {
        "service.name": "railweave",
        "service.version": railweave.__version__,
        "service.instance.id": f"{host}/{network}",
        "host.name": host,
        "railweave.network": network,
    }


def _client(receiver: Receiver) -> AsyncClient:
    import httpx

    verify = True if receiver.tls is None else receiver.tls
    return httpx.AsyncClient(timeout=receiver.timeout_s, trust_env=False, verify=verify, follow_redirects=False)
