"""Sending of anomalies to a JSON webhook and to Alertmanager (API version 2). Failed notifications are sent again later."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from datetime import UTC, datetime
from time import time
from typing import TYPE_CHECKING, Any

from railweave.errors import OutputError
from railweave.operations.watch.silences import by_alertmanager
from railweave.operations.watch.store import Event
from railweave.reading import parse_json
from railweave.secret_url import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.watch.anomalies import Anomaly
    from railweave.operations.watch.store import Store

MOST_WAITING = 5000
"""The largest number of changes that are queued while a receiver does not answer. The oldest are dropped first."""
MOST_AT_ONCE = 200
"""The largest number of changes in one message."""
REFUSED = {400, 405, 406, 409, 410, 411, 413, 414, 415, 422, 431}
"""The HTTP statuses that say that a message is wrong. It is not sent again."""
MOST_ANSWER = 8 << 20
"""The largest answer with silences that is read, in bytes."""
REPEAT_S = 60
"""The seconds after which open anomalies are sent again. Alertmanager resolves alerts that are not repeated for some minutes."""


class Notifier:
    """The sender of anomalies. ``webhook`` and ``alertmanager`` are the addresses of receivers, or None. They may hold secrets.

    - ``say``: a function that is called when a receiver begins or stops accepting messages.
    - ``store``: the store that remembers which change each receiver has, so that a restart neither loses nor repeats any.
    """

    def __init__(
        self, webhook: str | None, alertmanager: str | None, say: Callable[[str], None], store: Store | None = None
    ) -> None:
        self.webhook = webhook
        self.alertmanager = alertmanager
        self._say = say
        self._store = store
        given = {"webhook": webhook, "alertmanager": alertmanager}
        self._addresses = {name: address for name, address in given.items() if address}
        self._waiting = {name: deque[Event](maxlen=MOST_WAITING) for name in self._addresses}
        self._there = asyncio.Event()
        self._failing: dict[str, str] = {}
        self._lasting: Callable[[], Sequence[Anomaly]] = tuple
        self._silences: Any = []
        if store is not None:
            self._go_on(store)

    def _go_on(self, store: Store) -> None:
        """Queue what a receiver does not have yet. A receiver that is new gets the open anomalies, and what happens from now on."""
        for name, waiting in self._waiting.items():
            last = store.sent(name)
            if last is None:  # it is told what is open, as if it had opened now
                newest = store.events(0, float("inf"), most=1)
                number = newest[-1].id if newest else 0
                waiting.extend(Event(number, each.first, "opened", each) for each in store.anomalies(0))
            else:
                waiting.extend(store.events(0, float("inf"), after=last, most=MOST_WAITING))
        if any(self._waiting.values()):
            self._there.set()

    def lasting(self, those: Callable[[], Sequence[Anomaly]]) -> None:
        """Set ``those``, the function that returns the open anomalies. Open anomalies are sent to Alertmanager repeatedly."""
        self._lasting = those

    def tell(self, events: Sequence[Event]) -> None:
        """Queue changes of anomalies for sending."""
        for waiting in self._waiting.values():
            waiting.extend(events)
        if events:
            self._there.set()

    def silenced(self, anomaly: Anomaly) -> str:
        """Return the silence that Alertmanager has for an anomaly; empty if it has none, or was not reached."""
        return by_alertmanager(self._silences, labels_of(anomaly), _time(time())) if self._silences else ""

    async def run(self) -> None:
        """Send queued changes until cancelled."""
        import httpx

        async with httpx.AsyncClient(timeout=10, trust_env=False) as client, asyncio.TaskGroup() as group:
            if self.alertmanager:
                group.create_task(self._repeating(client, self.alertmanager))
            while True:
                await self._there.wait()
                self._there.clear()
                if not await self._all(client):
                    await asyncio.sleep(5)
                    self._there.set()

    async def _repeating(self, client: Any, address: str) -> None:  # noqa: ANN401 - httpx's client
        """Read Alertmanager's silences and send it the open anomalies, again and again."""
        where = re.sub(r"/alerts/?$", "/silences", address)
        while True:
            silences: Any = []
            with contextlib.suppress(Exception):  # what is not answered is not known: nothing is silenced by it
                answer = await client.get(where)
                silences = parse_json(answer.content[:MOST_ANSWER]) if answer.is_success else []
            self._silences = silences
            await asyncio.sleep(REPEAT_S)
            lasting = [("changed", anomaly) for anomaly in self._lasting() if not _withheld(anomaly, "alertmanager")]
            if lasting and not self._waiting["alertmanager"]:
                await self._sent(client, address, alerts(lasting))

    async def _all(self, client: Any) -> bool:  # noqa: ANN401 - httpx's client
        """Send what is queued for each receiver. Return False if a receiver did not take everything."""
        return all([await self._emptied(client, name) for name in self._waiting])

    async def _emptied(self, client: Any, name: str) -> bool:  # noqa: ANN401 - httpx's client
        """Send what is queued for a receiver, in messages of at most ``MOST_AT_ONCE`` changes, until it takes one no more."""
        waiting = self._waiting[name]
        while events := list(waiting)[:MOST_AT_ONCE]:
            new = [event for event in events if event.change == "closed" or not _withheld(event.anomaly, name)]
            if name == "webhook":
                body = [{"change": event.change, "event": event.id, **event.anomaly.to_json()} for event in new]
            else:
                body = alerts([(event.change, event.anomaly) for event in new])
            if not await self._sent(client, self._addresses[name], body):
                return False
            done = {id(event) for event in events}
            while waiting and id(waiting[0]) in done:  # a full queue has dropped the oldest meanwhile
                waiting.popleft()
            if self._store is not None and events[-1].id:
                with contextlib.suppress(OutputError):  # a full disk: the same is sent again after a restart
                    await asyncio.to_thread(self._store.keep_sent, name, events[-1].id)
        return True

    async def _sent(self, client: Any, where: str, body: list[dict[str, Any]]) -> bool:  # noqa: ANN401
        import httpx

        if not body:
            return True
        try:
            answer = await client.post(where, json=body)
            why = "" if answer.is_success else f"HTTP {answer.status_code}"
            if answer.status_code in REFUSED:  # the same is refused again and again, and would hold up what follows
                self._say(f"{shown(where)} refuses {len(body)} changes of anomalies: {why}; they are left out")
                return True
        except httpx.HTTPError as error:
            why = (str(error) or type(error).__name__).replace(where, shown(where))
        except Exception as error:  # noqa: BLE001 - whatever a receiver answers, the watch goes on
            why = type(error).__name__
        if why != self._failing.get(where, ""):
            name = shown(where)
            self._say(f"{name} does not take anomalies: {why}" if why else f"{name} takes anomalies again")
        self._failing[where] = why
        return not why


def _withheld(anomaly: Anomaly, receiver: str) -> bool:
    """Return True if an anomaly is expected. Alertmanager is told what it has silenced itself."""
    by_receiver = receiver == "alertmanager" and anomaly.silenced.startswith("Alertmanager: ") and not anomaly.deploy
    return anomaly.quiet and not by_receiver


def labels_of(anomaly: Anomaly) -> dict[str, str]:
    """Return the labels of an anomaly's alert."""
    labels = {
        "alertname": anomaly.finding.id,
        "severity": anomaly.finding.severity,
        "device": anomaly.device,
        "port": anomaly.port,
        "follows": anomaly.follows,
        "deploy": "yes" if anomaly.deploy else "",
    }
    return {key: value for key, value in labels.items() if value}


def alerts(changes: Sequence[tuple[str, Anomaly]]) -> list[dict[str, Any]]:
    """Return changed anomalies as Alertmanager alerts. An effect has its cause as a label, so that the cause can inhibit it."""
    payload: list[dict[str, Any]] = []
    for _, anomaly in changes:
        finding = anomaly.finding
        notes = {
            "summary": finding.what,
            "why": finding.why,
            "fix": finding.fix,
            "intention": finding.place,
            "evidence": anomaly.evidence,
        }
        alert: dict[str, Any] = {
            "labels": labels_of(anomaly),
            "annotations": {key: value for key, value in notes.items() if value},
            "startsAt": _time(anomaly.first),
        }
        if anomaly.closed is not None:
            alert["endsAt"] = _time(anomaly.closed)
        payload.append(alert)
    return payload


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
