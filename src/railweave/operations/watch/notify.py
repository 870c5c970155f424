"""Sending of anomalies to a JSON webhook and to Alertmanager (API version 2). Failed notifications are sent again later."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from railweave.secret_url import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.watch.anomalies import Anomaly, Change

MOST_WAITING = 5000
"""The largest number of changes that are queued while a receiver does not answer. The oldest are dropped first."""
REPEAT_S = 60
"""The seconds after which open anomalies are sent again. Alertmanager resolves alerts that are not repeated for some minutes."""


class Notifier:
    """The sender of anomalies. ``webhook`` and ``alertmanager`` are the addresses of receivers, or None. They may hold secrets.

    ``say`` is called when a receiver begins or stops accepting messages.
    """

    def __init__(self, webhook: str | None, alertmanager: str | None, say: Callable[[str], None]) -> None:
        self.webhook = webhook
        self.alertmanager = alertmanager
        self._say = say
        self._waiting: deque[tuple[Change, Anomaly]] = deque(maxlen=MOST_WAITING)
        self._there = asyncio.Event()
        self._failing: dict[str, str] = {}
        self._lasting: Callable[[], Sequence[Anomaly]] = tuple

    def lasting(self, those: Callable[[], Sequence[Anomaly]]) -> None:
        """Set ``those``, the function that returns the open anomalies. Open anomalies are sent to Alertmanager repeatedly."""
        self._lasting = those

    def tell(self, changes: Sequence[tuple[Change, Anomaly]]) -> None:
        """Queue changes of anomalies for sending."""
        self._waiting.extend(changes)
        if changes:
            self._there.set()

    async def run(self) -> None:
        """Send queued changes until cancelled."""
        import httpx

        async with httpx.AsyncClient(timeout=10, trust_env=False) as client:
            while True:
                try:
                    async with asyncio.timeout(REPEAT_S):
                        await self._there.wait()
                except TimeoutError:
                    if self.alertmanager:
                        await self._sent(
                            client, self.alertmanager, alerts([("changed", anomaly) for anomaly in self._lasting()])
                        )
                    continue
                self._there.clear()
                changes = list(self._waiting)
                self._waiting.clear()
                if not await self._all(client, changes):
                    self._waiting.extendleft(reversed(changes))
                    await asyncio.sleep(5)
                    self._there.set()

    async def _all(self, client: Any, changes: Sequence[tuple[Change, Anomaly]]) -> bool:  # noqa: ANN401 - httpx's client
        good = True
        if self.webhook:
            good = await self._sent(
                client, self.webhook, [{"change": change, **anomaly.to_json()} for change, anomaly in changes]
            )
        if self.alertmanager:
            good = await self._sent(client, self.alertmanager, alerts(changes)) and good
        return good

    async def _sent(self, client: Any, where: str, body: list[dict[str, Any]]) -> bool:  # noqa: ANN401
        import httpx

        if not body:
            return True
        try:
            answer = await client.post(where, json=body)
            why = "" if answer.is_success else f"HTTP {answer.status_code}"
        except httpx.HTTPError as error:
            why = (str(error) or type(error).__name__).replace(where, shown(where))
        except Exception as error:  # noqa: BLE001 - whatever a receiver answers, the watch goes on
            why = type(error).__name__
        if why != self._failing.get(where, ""):
            name = shown(where)
            self._say(f"{name} does not take anomalies: {why}" if why else f"{name} takes anomalies again")
        self._failing[where] = why
        return not why


def alerts(changes: Sequence[tuple[Change, Anomaly]]) -> list[dict[str, Any]]:
    """Return changed anomalies as Alertmanager alerts. An effect has its cause as a label, so that the cause can inhibit it."""
    payload: list[dict[str, Any]] = []
    for _, anomaly in changes:
        finding = anomaly.finding
        labels = {
            "alertname": finding.id,
            "severity": finding.severity,
            "device": anomaly.device,
            "port": anomaly.port,
            "follows": anomaly.follows,
            "deploy": "yes" if anomaly.deploy else "",
        }
        notes = {
            "summary": finding.what,
            "why": finding.why,
            "fix": finding.fix,
            "intention": finding.place,
            "evidence": anomaly.evidence,
        }
        alert: dict[str, Any] = {
            "labels": {key: value for key, value in labels.items() if value},
            "annotations": {key: value for key, value in notes.items() if value},
            "startsAt": _time(anomaly.first),
        }
        if anomaly.closed is not None:
            alert["endsAt"] = _time(anomaly.closed)
        payload.append(alert)
    return payload


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
