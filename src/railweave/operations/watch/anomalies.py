"""Anomalies: findings tracked over time.

An anomaly opens when its finding is first seen, and closes after ``quiet_s`` seconds without it. If the finding returns
within ``again_s`` seconds after the anomaly closed, the same anomaly opens again and its count increases. So an
intermittent finding is one anomaly, not many.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.json_values import JsonObject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.findings import Finding

Change = Literal["opened", "changed", "closed"]
_COUNT = re.compile(r"(?<![\w:./%-])\d{1,3}(?:,?\d{3})*(?:\.\d+)?(?!\.?\d|[\w:/-])")
"""The pattern of a number that is not part of a name or an address."""
_QUEUE = re.compile(r"\b(?:queue|priority) \d+")
MOST_CLOSED = 2000
"""The largest number of closed anomalies that are kept."""


@dataclass(frozen=True, slots=True)
class Anomaly(JsonObject):
    """A finding over time. Times are in seconds since 1970.

    - ``finding``: the finding as last seen.
    - ``evidence``: the description of the finding when the anomaly opened.
    - ``follows``: the text of the finding that explains this finding; empty if this finding is itself a cause.
    - ``deploy``: True while a deploy changes the device of the finding.
    - ``times``: the number of times that the anomaly opened.
    - ``closed``: the time of closing, or None while it is open.
    """

    JSON = ("number", "*finding", "device", "port", "first", "last", "evidence", "follows", "deploy", "times", "closed")

    number: int
    finding: Finding
    device: str
    port: str
    first: float
    last: float
    evidence: str
    follows: str = ""
    deploy: bool = False
    times: int = 1
    closed: float | None = None


_Key = tuple[str, str, str]


@dataclass
class Anomalies:
    """All anomalies of a network, by key (rule, place and text of the finding): open ones in ``now``, closed ones in ``over``.

    - ``devices``: the names of the network's devices, by which the device of a finding is recognized.
    - ``quiet_s``: the seconds without its finding after which an anomaly closes.
    - ``again_s``: the seconds after closing in which a returning finding opens the same anomaly again.
    """

    devices: frozenset[str]
    quiet_s: float
    again_s: float = 600
    now: dict[_Key, Anomaly] = field(default_factory=dict[_Key, Anomaly])
    over: dict[_Key, Anomaly] = field(default_factory=dict[_Key, Anomaly])
    _made: int = 0

    def see(
        self, findings: Iterable[Finding], at: float, *, deployed: Collection[str] = ()
    ) -> list[tuple[Change, Anomaly]]:
        """Update the anomalies with the findings at one time. Return (change, anomaly) for each that opened, changed or closed.

        An anomaly has changed if its severity, its cause (``follows``) or its ``deploy`` flag is different.

        - ``at``: the time of the findings, in seconds since 1970.
        - ``deployed``: the devices that a deploy is changing.
        """
        changes: list[tuple[Change, Anomaly]] = []
        for key, finding in _keyed(findings):
            device, _, port = finding.where.partition(" ")
            follows = _cause(finding)
            known = self.now.get(key)
            if known is None:
                known = self._opened(key, finding, device, port, at)
                known = replace(known, follows=follows, deploy=device in deployed)
                changes.append(("opened", known))
            else:
                old = known
                known = replace(known, finding=finding, last=at, follows=follows, deploy=device in deployed)
                if (old.finding.severity, old.follows, old.deploy) != (finding.severity, follows, known.deploy):
                    changes.append(("changed", known))
            self.now[key] = known
        for key, anomaly in list(self.now.items()):
            if at - anomaly.last >= self.quiet_s:
                del self.now[key]
                self.over[key] = closed = replace(anomaly, closed=at)
                changes.append(("closed", closed))
        while len(self.over) > MOST_CLOSED:
            del self.over[next(iter(self.over))]
        return changes

    def _opened(self, key: _Key, finding: Finding, device: str, port: str, at: float) -> Anomaly:
        earlier = self.over.pop(key, None)
        if earlier is not None and earlier.closed is not None and at - earlier.closed <= self.again_s:
            return replace(earlier, finding=finding, last=at, times=earlier.times + 1, closed=None)
        self._made += 1
        return Anomaly(self._made, finding, device, port, at, at, finding.what)

    def counts(self) -> dict[tuple[str, str], int]:
        """Return the number of open anomalies, by rule and severity."""
        return dict(
            Counter((anomaly.finding.id, anomaly.finding.severity) for anomaly in tuple(self.now.values()))
        )  # another thread adds

    def listed(self, *, closed: bool = False) -> list[Anomaly]:
        """Return the open anomalies: first the causes, then the anomalies that follow from others. In both parts, the most severe are first.

        With ``closed``, return the closed anomalies, latest first.
        """
        if closed:
            return sorted(self.over.values(), key=lambda anomaly: -(anomaly.closed or 0))
        order = {"error": 0, "warning": 1, "info": 2}
        return sorted(
            self.now.values(),
            key=lambda anomaly: (bool(anomaly.follows), order[anomaly.finding.severity], anomaly.first),
        )


def _keyed(findings: Iterable[Finding]) -> Iterator[tuple[_Key, Finding]]:
    """Yield (key, finding), once for each key. The key identifies a finding over time: its rule, its place, and its text without counts."""
    seen: set[_Key] = set()
    for finding in findings:
        key = finding.id, finding.where, _words(finding.what)
        if key not in seen:
            seen.add(key)
            yield key, finding


def _words(text: str) -> str:
    """Return the part of a finding's text that is the same in all readings.

    If the text names queues or priorities, the result is only their names. Otherwise numbers become ``#``, and the list of the findings
    that this finding explains is left out.
    """
    head = text.partition(". This explains ")[0].partition("; at the other end,")[0]
    return " ".join(_QUEUE.findall(head)) or _COUNT.sub("#", head)


def _cause(finding: Finding) -> str:
    """Return the finding that explains this one according to ``diagnose``; empty if there is none."""
    return finding.why.removeprefix("it follows from ") if finding.why.startswith("it follows from ") else ""
