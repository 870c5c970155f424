"""A stand-in for the configuration of a Junos device: candidate, lock, set lines, compare, check, confirmed commits, rollback.

It keeps ``set`` lines; that a leaf has one value is what railweave's own reader makes of them. It proves our client, not Junos.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from railweave.systems.junos.read import parsed, printed

_NS = "{urn:ietf:params:xml:ns:netconf:base:1.0}"


def normal(lines: list[str]) -> list[str]:
    """Set lines with one value for each leaf."""
    return printed("junos.set", parsed("junos.conf", "\n".join(lines)).nodes).splitlines()


def one_value(line: str) -> str:
    """Where a set line gives one value to a leaf: the line without it, by railweave's own reader. Empty for any other line."""
    nodes, words = list(parsed("junos.conf", line).nodes), ["set"]
    while nodes:
        node, nodes = nodes[0], list(nodes[0].children or ())
        words += node.name
        if node.children is None:
            return " ".join(words) if len(node.values) == 1 and not node.listed else ""
    return ""


def error(message: str) -> str:
    return (
        "<rpc-error><error-type>protocol</error-type><error-tag>operation-failed</error-tag><error-severity>error</error-severity>"
        f"<error-message>{escape(message)}</error-message></rpc-error>"
    )


@dataclass
class JunosBox:
    """``running`` are set lines. ``scale`` is how many seconds its minute has. ``log`` has every call that is no question."""

    running: list[str]
    scale: float = 60
    candidate: list[str] = field(default_factory=list)
    history: list[list[str]] = field(default_factory=list)
    commits: list[tuple[float, str, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _: None
    """Called with the name of each call before it is carried out: what a test breaks, it breaks there."""
    candidate_refused: bool = False
    """Its check finds something."""
    normal: Callable[[list[str]], list[str]] = normal
    """Gives each leaf one value; where only what is new is ever set, ``list`` does, which takes no time."""
    _timer: threading.Timer | None = None
    _fallback: list[str] | None = None
    _guard: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.running = self.normal(self.running)
        self.candidate = list(self.running)
        self.history = [list(self.running)]

    @property
    def waits(self) -> bool:
        return self._timer is not None

    def wait(self, label: str, line: str) -> None:
        """Somebody else's confirmed commit of a line."""
        with self._guard:
            self._fallback, self.running = list(self.running), self.normal([*self.running, line])
            self.candidate = list(self.running)
            self.history.insert(0, list(self.running))
            self._timer = threading.Timer(600, self._revert)
            self._timer.daemon = True
            self._timer.start()
            self.commits.insert(0, (time.time(), label, 10))

    def __call__(self, asked: ET.Element) -> str | None:
        for one in asked.iter():  # with and without its namespace
            one.tag = one.tag.removeprefix(_NS)
        name = asked.tag
        if name not in {"get-configuration", "get-commit-information", "get-system-uptime-information", "command"}:
            self.log.append(name)
        self.before(name)
        with self._guard:
            if name == "get-configuration":
                return self._configuration(asked)
            found: dict[str, Callable[[], str]] = {
                "lock": lambda: "<ok/>",
                "lock-configuration": lambda: "<ok/>",
                "unlock": self._discard,
                "unlock-configuration": self._discard,
                "discard-changes": self._discard,
                "load-configuration": lambda: self._load(asked),
                "commit-configuration": lambda: self._commit(asked),
                "get-commit-information": self._information,
                "get-system-uptime-information": self._uptime,
            }
            return found[name]() if name in found else None

    def _configuration(self, asked: ET.Element) -> str:
        if asked.get("compare") == "rollback":
            old, new = self.history[int(asked.get("rollback", "0"))], self.normal(self.candidate)
            lines = [f"- {one}" for one in old if one not in new] + [f"+ {one}" for one in new if one not in old]
            text = escape("\n".join(lines))
            return f"<configuration-information><configuration-output>{text}</configuration-output></configuration-information>"
        return f"<configuration-set>{escape(chr(10).join(self.running))}</configuration-set>"

    def _discard(self) -> str:
        self.candidate = list(self.running)
        return "<ok/>"

    def _load(self, asked: ET.Element) -> str:
        if asked.get("rollback"):
            self.candidate = list(self.history[int(asked.get("rollback", "0"))])
            return "<load-configuration-results><ok/></load-configuration-results>"
        text = "".join(asked.itertext())
        if asked.get("action") == "override":
            self.candidate = printed("junos.set", parsed("junos.conf", text).nodes).splitlines()
            return "<load-configuration-results><ok/></load-configuration-results>"
        for line in filter(None, map(str.strip, text.splitlines())):
            verb, _, rest = line.partition(" ")
            if verb == "delete":
                self.candidate = [one for one in self.candidate if not f"{one} ".startswith(f"set {rest} ")]
            elif verb == "set":
                place = one_value(line)
                other = re.compile(
                    rf'{re.escape(place)} ("[^"]*"|\S+)'
                )  # `multihop ttl 1` is none of `multihop no-nexthop-change`
                kept = [one for one in self.candidate if not (place and other.fullmatch(one))]
                self.candidate = [*kept, line]
            elif verb == "insert":
                moved, _, target = rest.partition(" before ")
                parent = moved.rpartition(" ")[0]
                mine = [one for one in self.candidate if f"{one} ".startswith(f"set {moved} ")]
                left = [one for one in self.candidate if one not in mine]
                at = next(
                    n for n, one in enumerate(left) if f"{one} ".startswith(f"set {parent} {target.split()[-1]} ")
                )
                self.candidate = [*left[:at], *mine, *left[at:]]
            else:
                return f"<load-configuration-results>{error(f'syntax error: {line}')}</load-configuration-results>"
        return "<load-configuration-results><ok/></load-configuration-results>"

    def _commit(self, asked: ET.Element) -> str:
        if self.candidate_refused:
            return f"<commit-results>{error('mtu: Value 99999 is not within range (256..9500)')}</commit-results>"
        if asked.find("check") is not None:
            return "<commit-results><ok/></commit-results>"
        minutes = asked.findtext("confirm-timeout") if asked.find("confirmed") is not None else None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        old, self.running = self.running, self.normal(self.candidate)
        if minutes is not None:
            self.log.append("commit confirmed")
            self._fallback = old
            self._timer = threading.Timer(int(minutes) * self.scale, self._revert)
            self._timer.daemon = True
            self._timer.start()
        if self.running != old:
            self.history.insert(0, list(self.running))
        self.commits.insert(0, (time.time(), asked.findtext("log") or "", int(minutes or 0)))
        return "<commit-results><ok/></commit-results>"

    def _revert(self) -> None:
        with self._guard:
            if self._timer is None or self._fallback is None:
                return
            self.running, self._timer = list(self._fallback), None
            self.candidate = list(self.running)
            self.history.insert(0, list(self.running))
            self.commits.insert(0, (time.time(), "auto-rollback", 0))

    def _information(self) -> str:
        rows = "".join(
            f'<commit-history><sequence-number>{at}</sequence-number><user>admin</user><client>netconf</client><date-time seconds="{int(when)}">x</date-time>'
            f"<log>{escape(label)}</log>{f'<comment>commit confirmed, rollback in {minutes}mins</comment>' if minutes and at == 0 and self.waits else ''}</commit-history>"
            for at, (when, label, minutes) in enumerate(self.commits)
        )
        return f"<commit-information>{rows}</commit-information>"

    def _uptime(self) -> str:
        return f'<system-uptime-information><current-time><date-time seconds="{int(time.time())}">x</date-time></current-time></system-uptime-information>'


def as_set(text: str) -> list[str]:
    """Curly text as set lines."""
    return [re.sub(r"\s+$", "", one) for one in printed("junos.set", parsed("junos.conf", text).nodes).splitlines()]
