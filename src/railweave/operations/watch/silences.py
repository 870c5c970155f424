"""Silences: anomalies that an operator, a deploy or Alertmanager says are expected, until a time.

A silenced anomaly stays in every list, with its silence. It is only not sent to receivers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import Argument, InputError, Problem
from railweave.json_values import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.network.model import Network
    from railweave.operations.watch.anomalies import Anomaly

LONGEST_S = 30 * 86400.0
"""The longest silence in seconds: 30 days. A silence for ever would hide a fault for ever."""
LONGEST_TEXT = 500
TOKEN = "x-railweave-token"  # noqa: S105 - the name of a header
"""The header in which a client sends the token of ``--write-token``."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True, slots=True)
class Note(JsonObject):
    """An acknowledgement: who gave it, when (seconds since 1970), and why."""

    JSON = ("by", "at", "why")

    by: str
    at: float
    why: str


@dataclass(frozen=True, slots=True)
class Silence(JsonObject):
    """A silence. An anomaly is silenced if every given condition fits.

    - ``scope``: the conditions as the operator wrote them, such as ``rack R1``.
    - ``anomaly``: the number of the anomaly; 0 means any. ``rule``: the id of the finding; empty means any.
    - ``devices``: the devices; empty means all.
    - ``begin``, ``until``: the times between which the silence holds, in seconds since 1970.
    """

    JSON = ("number", "scope", "anomaly", "rule", "devices", "begin", "until", "by", "why")

    number: int
    scope: str
    begin: float
    until: float
    by: str
    why: str
    anomaly: int = 0
    rule: str = ""
    devices: tuple[str, ...] = ()
    count: int = 0
    """The number of findings of the anomaly when it was silenced; 0 if no single anomaly was. A fault that grows is told."""

    def fits(self, anomaly: Anomaly, at: float) -> bool:
        """Return True if the silence holds for an anomaly at the time ``at``."""
        return (
            self.begin <= at < self.until
            and self.anomaly in {0, anomaly.number}
            and (not self.count or anomaly.count <= 2 * self.count)
            and self.rule in {"", anomaly.finding.id}
            and (not self.devices or anomaly.device in self.devices)
        )

    @property
    def text(self) -> str:
        """The silence in one line."""
        return f"{self.scope}: {self.why} ({self.by})"


def seconds_of(text: str) -> float:
    """Return the seconds of a duration such as ``90s``, ``30m``, ``2h`` or ``1d``. Raises ``InputError`` if it is none, or longer than 30 days."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smhdw])", text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        fix = "write a number with s, m, h or d, for example 2h; at most 30d"
        raise InputError([Problem(Argument("for"), f"{text!r} is not a duration", fix)])
    return seconds


def devices_of(network: Network, scopes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the devices of a silence. ``scopes`` has the given ones of ``device``, ``rack`` and ``tenant``; a device must fit all.

    Raises ``InputError`` if the network has no such device, rack or tenant. Returns an empty tuple if ``scopes`` is empty.
    """
    nodes = [*network.switches, *network.servers]
    fitting: set[str] | None = None
    for kind, name in scopes.items():
        if kind == "device":
            names = {node.name for node in nodes if node.name == name}
        elif kind == "rack":
            names = {device for device, position in network.positions.items() if position.rack == name}
        else:
            names = {server.name for server in network.servers if name in {nic.tenant for nic in server.nics}}
        if not names:
            fix = f"`railweave anomalies list` shows devices; {kind}s have the names of the fabric file"
            raise InputError([Problem(Argument(kind), f"the network has no {kind} {name!r}", fix)])
        fitting = names if fitting is None else fitting & names
    return tuple(sorted(fitting or ()))


def by_alertmanager(silences: Any, labels: Mapping[str, str], now: str = "") -> str:  # noqa: ANN401 - JSON
    """Return the comment of the first active silence of Alertmanager whose matchers fit the labels of an alert; empty if none fits.

    ``now`` is the time in ISO 8601 (UTC); silences that end before it do not count. Empty means that ends are not compared.

    ``silences`` is the answer to ``GET /api/v2/silences``. What is not of this form fits nothing.
    """
    rows: list[Any] = cast("list[Any]", silences) if isinstance(silences, list) else []
    for silence in rows:
        try:
            ended = bool(now) and str(silence.get("endsAt", ""))[:19] <= now[:19]
            if (
                silence["status"]["state"] == "active"
                and not ended
                and all(_fits(each, labels) for each in silence["matchers"])
            ):
                comment, by = (str(silence.get(key, ""))[:LONGEST_TEXT] for key in ("comment", "createdBy"))
                return f"Alertmanager: {comment} ({by})"
        except Exception:  # noqa: BLE001, S112 - what is not of this form fits nothing
            continue
    return ""


_SIMPLE = re.compile(r"(?:[\w\-:/ |]|\\.|\.[*+]?){1,300}", re.ASCII)
"""A pattern of regular expressions that end soon: words, alternatives, and at most three ``.*``."""


def _fits(matcher: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, wanted = labels.get(matcher["name"], ""), str(matcher["value"])
    if matcher.get("isRegex"):
        if not _SIMPLE.fullmatch(wanted) or len(re.findall("[*+]", wanted)) > 3:
            return False
        same = re.fullmatch(wanted, value) is not None
    else:
        same = value == wanted
    return same == bool(matcher.get("isEqual", True))


def of_anomaly(silences: Iterable[Silence], anomaly: Anomaly, at: float) -> str:
    """Return the text of the first silence that holds for an anomaly; empty if none does."""
    return next((silence.text for silence in silences if silence.fits(anomaly, at)), "")
