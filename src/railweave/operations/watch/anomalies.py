"""Anomalies: findings tracked over time.

An anomaly opens when its finding has been seen in enough rounds, and closes after a quiet time without it. If the
finding returns soon after, the same anomaly opens again and its count increases. ``KINDS`` has the numbers by kind of
finding.

One fault makes one anomaly. While a network converges, findings come and go, and a consequence may be seen before its
cause. So an anomaly that has followed from a cause stays with this cause until the network has settled.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.json_values import JsonObject
from railweave.live.check import (
    cabling,
    counters,
    counting,
    diagnosis,
    flapping,
    forwarding,
    identity,
    neighbors,
    ports,
    sessions,
    strangers,
    tenants,
)
from railweave.model.findings.registry import Rule
from railweave.operations.watch import storms
from railweave.operations.watch.grey import light, rates
from railweave.operations.watch.silences import Note, Silence, of_anomaly

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from types import ModuleType

    from railweave.model.findings import Finding

Change = Literal["opened", "changed", "closed"]
_COUNT = re.compile(r"(?<![\w:./%-])-?\d{1,3}(?:,?\d{3})*(?:\.\d+)?(?!\.?\d|[\w:/-])")
"""The pattern of a number that is not part of a name or an address."""
_QUEUE = re.compile(r"\b(?:queue|priority) \d+")
_SUBJECT = re.compile(r"((?:session|BFD) with \S+?):? ")
"""The pattern of what a text is about, before the state of it, which changes from round to round."""
MOST_CLOSED = 2000
"""The largest number of closed anomalies that are kept in memory."""
RESTORED_S = 180.0
"""The seconds after a restart for which anomalies of the run before stay open, though they are not seen."""
SETTLE_S = 30.0
"""The seconds after the last change of a link or a session for which the network may still converge."""


def _of(*where: ModuleType | Rule) -> frozenset[str]:
    """Return the ids of rules: single rules, and all rules that a module defines."""
    rules = [each for place in where for each in ([place] if isinstance(place, Rule) else vars(place).values())]
    return frozenset(rule.id for rule in rules if isinstance(rule, Rule))


LINKS = _of(ports.DOWN, ports.SHUT, ports.ABSENT, ports.NO_OPTIC, neighbors.LINKS)
"""The rules of links that carry nothing. Changes, addresses and neighbors of such a link only repeat what they say."""


class AnomalyKind(NamedTuple):
    """The hysteresis of a kind of finding.

    - ``rules``: the ids of the rules.
    - ``rounds``: the number of rounds in which a finding is seen before its anomaly opens.
    - ``converging_s``: the seconds for which a finding is seen before its anomaly opens, while the network converges.
    - ``quiet_s``: the seconds without the finding before the anomaly closes, but at least three rounds.
    - ``merged``: True if all findings of a rule at one place are one anomaly.
    - ``echo``: True if findings follow from an anomaly of the same link (a rule of ``LINKS``, or flapping) that is open, or was lately.
    - ``moves``: True if findings of the kind show that the network converges.
    """

    name: str
    rules: frozenset[str]
    rounds: int
    converging_s: float
    quiet_s: float
    merged: bool = False
    echo: bool = False
    moves: bool = False


FLAPPING = AnomalyKind("flapping", _of(flapping), 1, 0, 10, merged=True)
KINDS = (
    FLAPPING,
    AnomalyKind("changes of links", _of(counters.FLAPS), 1, 0, 60, echo=True),
    AnomalyKind(
        "routes and paths",
        _of(forwarding, tenants, sessions.PATH_MARKS, sessions.PATH_MISSING, sessions.PATH_STRAY, diagnosis.PREFIXES),
        2,
        60,
        20,
        merged=True,
    ),
    AnomalyKind(
        "addresses and neighbors", _of(strangers.MISSING, cabling.MISSING, cabling.UNCLEAR), 2, 60, 20, echo=True
    ),
    AnomalyKind("not seen", _of(counting, identity.UNANSWERED), 2, 60, 20, merged=True),
    AnomalyKind("configurations", _of(identity.CONFIGURATION), 1, 0, 20, merged=True),
    AnomalyKind("counters", _of(counters, storms, rates, light), 1, 0, 60),
    AnomalyKind(
        "sessions",
        _of(sessions.MISSING, sessions.DOWN, sessions.BFD_DOWN, diagnosis.ADJACENCY, neighbors.SESSIONS),
        1,
        3,
        20,
        moves=True,
    ),
    AnomalyKind(
        "links and devices",
        LINKS | _of(identity.SILENT, sessions.DAEMON, cabling.WRONG, cabling.SWAPPED),
        1,
        0,
        10,
        moves=True,
    ),
    AnomalyKind("other", frozenset(), 1, 0, 10),
)
"""The kinds of findings. The first kind that has a finding's rule counts; the last has all other rules."""


@cache
def kind_of(rule: str) -> AnomalyKind:
    """Return the kind of a rule's findings."""
    return next((kind for kind in KINDS if rule in kind.rules), KINDS[-1])


@dataclass(frozen=True, slots=True)
class Anomaly(JsonObject):
    """A finding over time. Times are in seconds since 1970.

    - ``finding``: the finding as last seen. ``count``: the number of findings that the anomaly stands for.
    - ``evidence``: the description of the finding when it was first seen.
    - ``follows``: the text of the finding that explains this finding; empty if this finding is itself a cause.
    - ``deploy``: True while a deploy changes the device of the finding, or the device at the other end of its port.
    - ``times``: the number of times that the anomaly opened.
    - ``closed``: the time of closing, or None while it is open.
    - ``acknowledged``: who has taken note of the anomaly, or None.
    - ``silenced``: the silence that holds for the anomaly, as text; empty if none does.
    """

    JSON = (
        *("number", "*finding", "device", "port", "first", "last", "evidence", "follows", "deploy", "times", "closed"),
        *("count", "acknowledged", "silenced"),
    )

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
    count: int = 1
    acknowledged: Note | None = None
    silenced: str = ""

    @property
    def name(self) -> str:
        """The text by which other findings name this one as their cause."""
        return f"{self.finding.id} at {self.finding.where}"

    @property
    def quiet(self) -> bool:
        """True if the anomaly is expected, and so is not sent to receivers."""
        return self.deploy or bool(self.silenced)


_Key = tuple[str, str, str]


class _Waiting(NamedTuple):
    """A finding that has not been seen in enough rounds: since when, in how many rounds, and when last."""

    first: float
    rounds: int
    last: float


@dataclass
class Anomalies:
    """All anomalies of a network, by key (rule, place and subject of the finding): open ones in ``now``, closed ones in ``over``.

    - ``devices``: the names of the network's devices, by which the device of a finding is recognized.
    - ``quiet_s``: the least seconds without its finding after which an anomaly closes.
    - ``again_s``: the seconds after closing in which a returning finding opens the same anomaly again.
    - ``ends``: the device at the other end of each port, by (device, port).
    - ``elsewhere``: a function that returns the silence that another program has for an anomaly; empty if none.
    """

    devices: frozenset[str]
    quiet_s: float
    again_s: float = 600
    ends: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    elsewhere: Callable[[Anomaly], str] = lambda _: ""
    now: dict[_Key, Anomaly] = field(default_factory=dict[_Key, Anomaly])
    over: dict[_Key, Anomaly] = field(default_factory=dict[_Key, Anomaly])
    silences: dict[int, Silence] = field(default_factory=dict[int, Silence])
    made: int = 0
    """The highest number of an anomaly."""
    _waiting: dict[_Key, _Waiting] = field(default_factory=dict[_Key, _Waiting])
    _moving: frozenset[_Key] = frozenset()
    _moved: float = float("-inf")
    _explained: dict[_Key, float] = field(default_factory=dict[_Key, float])
    """The time at which each finding last said that it follows from another."""
    _named: dict[str, Anomaly] = field(default_factory=dict[str, Anomaly])
    _at: dict[str, list[Anomaly]] = field(default_factory=dict[str, list[Anomaly]])
    """The anomalies of each device, open and closed, as they were at the beginning of a round."""
    _restored: set[int] = field(default_factory=set[int])
    _restored_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while anomalies change: checks run in a thread, and readers acknowledge meanwhile."""

    def see(
        self, findings: Iterable[Finding], at: float, *, deployed: Collection[str] = ()
    ) -> list[tuple[Change, Anomaly]]:
        """Update the anomalies with the findings at one time. Return (change, anomaly) for each that opened, changed or closed.

        An anomaly has changed if its severity, its cause (``follows``), its silence or its ``deploy`` flag is different, or if it stands for
        twice as many findings.

        - ``at``: the time of the findings, in seconds since 1970.
        - ``deployed``: the devices that a deploy is changing.
        """
        with self._lock:
            return self._see(findings, at, deployed)

    def _see(self, findings: Iterable[Finding], at: float, deployed: Collection[str]) -> list[tuple[Change, Anomaly]]:
        keyed = _keyed(findings)
        self._named = {each.name: each for each in self.now.values()}
        self._at = {}
        for each in (*self.now.values(), *self.over.values()):
            self._at.setdefault(each.device, []).append(each)
        moving = frozenset(key for key in keyed if kind_of(key[0]).moves)
        if moving != self._moving:
            self._moving, self._moved = moving, at
        changes: list[tuple[Change, Anomaly]] = []
        for key, (finding, count) in keyed.items():
            old = self.now.get(key)
            follows = self._cause(key, old, finding, at)
            if old is None and not follows and not self._long_enough(key, finding, at):
                continue
            base = self._opened(key, finding, at) if old is None else old
            shown = finding
            if follows and not _cause(finding):
                shown = replace(finding, severity="info", why=f"{_FOLLOWS}{follows}")
            new = replace(base, finding=shown, last=at, follows=follows, count=count)
            new = self._expected(new, at, deployed)
            if old is None:
                changes.append(("opened", new))
            elif _state(old) != _state(new):
                changes.append(("changed", new))
            self.now[key] = self._named[new.name] = new
            self._restored.discard(new.number)
            if old is None:
                self._at.setdefault(new.device, []).append(new)
        self._waiting = {
            key: each for key, each in self._waiting.items() if key not in self.now and at - each.last < self.quiet_s
        }
        return changes + self._closing(at)

    def _long_enough(self, key: _Key, finding: Finding, at: float) -> bool:
        """Count a finding that has no anomaly. Return True if it has been seen in enough rounds to open one."""
        kind = kind_of(finding.id)
        known = self._waiting.get(key, _Waiting(at, 0, at))
        self._waiting[key] = seen = _Waiting(known.first, known.rounds + 1, at)
        converging = at - self._moved < self._settle_s
        return seen.rounds >= kind.rounds and (not converging or at - seen.first >= kind.converging_s)

    def _opened(self, key: _Key, finding: Finding, at: float) -> Anomaly:
        first = self._waiting.pop(key, _Waiting(at, 0, at)).first
        earlier = self.over.pop(key, None)
        if earlier is not None and earlier.closed is not None and first - earlier.closed <= self.again_s:
            return replace(earlier, finding=finding, last=at, times=earlier.times + 1, closed=None, silenced="")
        self.made += 1
        device, _, port = finding.where.partition(" ")
        return Anomaly(self.made, finding, device, port, first, at, finding.what)

    def _cause(self, key: _Key, anomaly: Anomaly | None, finding: Finding, at: float) -> str:
        """Return the cause of a finding, whose anomaly is None if it is not open: what the finding says, or what it said lately, or the anomaly that it repeats."""
        given = _cause(finding)
        if given:
            self._explained[key] = at
            return given
        if anomaly is not None and anomaly.follows and at - self._explained.get(key, float("-inf")) < self._settle_s:
            return anomaly.follows
        return self._echoed(finding, at)

    @property
    def _settle_s(self) -> float:
        return max(SETTLE_S, 2 * self.quiet_s)

    def _echoed(self, finding: Finding, at: float) -> str:
        """Return the anomaly of a link that a finding at the same link only repeats; empty if there is none."""
        if not kind_of(finding.id).echo:
            return ""
        device, _, port = finding.where.partition(" ")
        name = f"{finding.id} at {finding.where}"
        for each in (*self._at.get(device, ()), *self._at.get(self.ends.get((device, port), ""), ())):
            repeats = each.finding.id in LINKS or kind_of(each.finding.id) is FLAPPING
            same = each.finding.where == finding.where or self._across(each.finding.where, finding.where)
            if repeats and same and at - each.last < self._settle_s and name not in {each.follows, each.name}:
                return each.follows or each.name
        return ""

    def _across(self, near: str, other: str) -> bool:
        """Return True if two places are ports that face each other's devices: the two ends of a link."""
        (device, _, port), (far, _, far_port) = near.partition(" "), other.partition(" ")
        return self.ends.get((device, port)) == far and self.ends.get((far, far_port)) == device

    def _expected(self, anomaly: Anomaly, at: float, deployed: Collection[str]) -> Anomaly:
        """Return the anomaly with its ``deploy`` flag and its silence at the time ``at``."""
        far = self.ends.get((anomaly.device, anomaly.port), "")
        cause = self._named.get(anomaly.follows) if anomaly.follows else None
        deploy = anomaly.device in deployed or far in deployed or (cause is not None and cause.deploy)
        silenced = of_anomaly(self.silences.values(), anomaly, at) or self.elsewhere(anomaly)
        if not silenced and cause is not None and cause.silenced:
            silenced = f"as its cause: {cause.silenced}"
        return replace(anomaly, deploy=deploy, silenced=silenced)

    def _closing(self, at: float) -> list[tuple[Change, Anomaly]]:
        changes: list[tuple[Change, Anomaly]] = []
        flapping = {each.finding.where: each.name for each in self.now.values() if kind_of(each.finding.id) is FLAPPING}
        for key, anomaly in list(self.now.items()):
            if anomaly.number in self._restored and at < self._restored_until:
                continue
            if at - anomaly.last >= max(self.quiet_s, kind_of(anomaly.finding.id).quiet_s):
                del self.now[key]
                self._explained.pop(key, None)
                comes_back = flapping.get(anomaly.finding.where, "")
                follows = anomaly.follows or (comes_back if comes_back != anomaly.name else "")
                self.over[key] = closed = replace(anomaly, closed=at, follows=follows)
                changes.append(("closed", closed))
        while len(self.over) > MOST_CLOSED:
            del self.over[next(iter(self.over))]
        return changes

    def restore(self, those: Iterable[Anomaly], silences: Iterable[Silence], at: float) -> None:
        """Go on with the anomalies and silences of an earlier run, at the time ``at``.

        Findings that compare several readings take a while to come again. So what was open stays open for ``RESTORED_S``.
        """
        self._restored_until = at + RESTORED_S
        for anomaly in those:
            key = _key(anomaly.finding, anomaly.evidence)
            (self.now if anomaly.closed is None else self.over)[key] = anomaly
            if anomaly.closed is None:
                self._restored.add(anomaly.number)
            self.made = max(self.made, anomaly.number)
        self.silences.update((silence.number, silence) for silence in silences)

    def change(self, number: int, acknowledged: Note | None) -> Anomaly | None:
        """Set the acknowledgement of an open anomaly, and return the anomaly; None if no open anomaly has the number."""
        with self._lock:
            for key, anomaly in self.now.items():
                if anomaly.number == number:
                    self.now[key] = changed = replace(anomaly, acknowledged=acknowledged)
                    return changed
        return None

    def with_number(self, number: int) -> Anomaly | None:
        """Return the anomaly with a number, open or closed, or None."""
        return next((each for each in (*self.now.values(), *self.over.values()) if each.number == number), None)

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


def _state(anomaly: Anomaly) -> tuple[object, ...]:
    return anomaly.finding.severity, anomaly.follows, anomaly.deploy, anomaly.silenced, anomaly.count.bit_length()


def _keyed(findings: Iterable[Finding]) -> dict[_Key, tuple[Finding, int]]:
    """Return (finding, number of findings) by key. A cause stands for findings of the same key that follow from others."""
    keyed: dict[_Key, tuple[Finding, int]] = {}
    for finding in findings:
        key = _key(finding, finding.what)
        known = keyed.get(key)
        if known is None:
            keyed[key] = finding, 1
        else:
            keyed[key] = (finding if _cause(known[0]) and not _cause(finding) else known[0]), known[1] + 1
    return keyed


def _key(finding: Finding, text: str) -> _Key:
    """Return the key that identifies a finding over time: its rule, its place, and the subject of its text.

    Findings of a merged kind have no subject: the routes that differ at a device change from round to round.
    """
    if kind_of(finding.id).merged:
        return finding.id, finding.where, ""
    return finding.id, finding.where, _words(text)


def _words(text: str) -> str:
    """Return the part of a finding's text that is the same in all readings.

    If the text names a session, queues or priorities, the result is only their names. Otherwise numbers become ``#``, and the list of
    the findings that this finding explains is left out.
    """
    head = text.partition(". This explains ")[0].partition("; at the other end,")[0]
    subject = _SUBJECT.match(f"{head} ")
    if subject:
        return subject[1]
    return " ".join(_QUEUE.findall(head)) or _COUNT.sub("#", head)


_FOLLOWS = "it follows from "


def _cause(finding: Finding) -> str:
    """Return the finding that explains this one according to ``diagnose``; empty if there is none."""
    return finding.why.removeprefix(_FOLLOWS) if finding.why.startswith(_FOLLOWS) else ""
