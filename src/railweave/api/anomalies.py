"""Anomalies of a running watch: ``anomalies``, ``acknowledge``, ``silence``, ``silences`` and ``unsilence``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.api.anomaly_verbs import (
    AnomaliesAck,
    AnomaliesList,
    AnomaliesSilence,
    AnomaliesSilences,
    AnomaliesUnsilence,
)
from railweave.api.options import verb

if TYPE_CHECKING:
    from railweave.operations.watch.client import WatchClient


def _client(at: str, password: str | None, token: str | None = None) -> WatchClient:
    from railweave.operations.watch.client import WatchClient

    return WatchClient(at, password, token)


@verb(AnomaliesList)
def anomalies(options: AnomaliesList) -> list[dict[str, Any]]:
    """Return the open anomalies of a running watch, causes first, or with ``closed`` the closed ones.

    Raises ``InputError`` for a wrong URL, and ``OutputError`` if the watch does not answer.
    """
    return _client(options.at, options.password).read(f"/api/anomalies{'?closed=1' if options.closed else ''}")


@verb(AnomaliesAck)
def acknowledge(options: AnomaliesAck) -> dict[str, Any]:
    """Acknowledge an open anomaly of a running watch, and return the anomaly.

    Raises ``InputError`` for a wrong URL or source, and ``OutputError`` if the watch does not answer, or refuses.
    """
    client = _client(options.at, options.password, options.token)
    return client.change(f"/api/anomalies/{options.anomaly}/acknowledge", {"why": options.why}, options.by)


@verb(AnomaliesSilence)
def silence(options: AnomaliesSilence) -> dict[str, Any]:
    """Silence anomalies of a running watch for a time, and return the silence.

    Raises ``InputError`` for a wrong URL or source, and ``OutputError`` if the watch does not answer, or refuses.
    """
    client = _client(options.at, options.password, options.token)
    scopes = {kind: getattr(options, kind) for kind in ("rule", "device", "rack", "tenant")}
    number = "" if options.anomaly is None else str(options.anomaly)
    fields = {"anomaly": number, "for": options.duration, "why": options.why, **scopes}
    return client.change("/api/silences", fields, options.by)


@verb(AnomaliesSilences)
def silences(options: AnomaliesSilences) -> list[dict[str, Any]]:
    """Return all silences of a running watch, also those that have ended.

    Raises ``InputError`` for a wrong URL, and ``OutputError`` if the watch does not answer.
    """
    return _client(options.at, options.password).read("/api/silences")


@verb(AnomaliesUnsilence)
def unsilence(options: AnomaliesUnsilence) -> dict[str, Any]:
    """End a silence of a running watch now, and return the silence.

    Raises ``InputError`` for a wrong URL or source, and ``OutputError`` if the watch does not answer, or refuses.
    """
    client = _client(options.at, options.password, options.token)
    return client.change(f"/api/silences/{options.silence}/end", {"why": options.why}, options.by)
