"""A stand-in for the configuration of an EOS device: sessions, their difference, commit with a timer, abort.

It holds a tree of lines, of which a new one takes the place of the old by railweave's own rules. It proves our client, not EOS.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from typing import Any

from railweave.model.config.section_tree import sections
from railweave.model.config.sections import Section
from railweave.model.config.tree import Node
from railweave.systems.eos.read import parsed, printed


@dataclass
class EosBox:
    """``running`` is a configuration's text. ``refuses`` is the beginning of a line that it does not know. ``log`` has what changes anything."""

    running: str
    refuses: str = "nonsense"
    sessions: dict[str, str] = field(default_factory=dict[str, str])
    log: list[str] = field(default_factory=list[str])
    saved: str = ""
    scale: float = 1
    """How many seconds one of its seconds has."""
    _waiting: str = ""
    _before: str = ""
    _timer: threading.Timer | None = None
    _guard: threading.RLock = field(default_factory=threading.RLock)

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def __call__(self, commands: Sequence[str], form: str) -> list[Any] | str:
        """The results of commands, or what is wrong with the first that is refused."""
        found: list[Any] = []
        entered: list[str] = []
        session = ""
        with self._guard:
            for words in commands:
                if words.startswith("configure session") and len(words.split()) == 3:
                    session = words.split()[2]
                    self.sessions.setdefault(session, self.running)
                    self.log.append(words)
                elif session and words == "end":
                    self._entered(session, entered)
                    session = ""
                elif session and words == "show session-config diffs":
                    self._entered(session, entered)
                    found.append(self._one(f"show session-config named {session} diffs", form))
                    continue
                elif session and words.split()[0] in {"commit", "abort"}:
                    self._entered(session, entered)
                    self._session(f"configure session {session} {words}")
                    session = ""
                elif session and words.strip().startswith(self.refuses):
                    return f"invalid command: {words.strip()}"
                elif session:
                    entered.append(words)
                else:
                    found.append(self._one(words, form))
                    continue
                found.append({} if form == "json" else {"output": ""})
            self._entered(session, entered)
        return found

    def _entered(self, session: str, lines: list[str]) -> None:
        if lines:
            self.sessions[session] = entered_into(self.sessions[session], lines)
            lines.clear()

    def _one(self, words: str, form: str) -> object:
        text = ""
        if words == "show running-config":
            text = self.running
        elif words.startswith("show session-config named"):
            new = self.sessions[words.split()[3]]
            text = "\n".join(unified_diff(self.running.splitlines(), new.splitlines(), lineterm=""))
        elif words == "show configuration sessions detail":
            rows = {name: {"state": "pending"} for name in self.sessions}
            waiting = {"commitTimerSessionName": self._waiting} if self._waiting else {}
            return {"sessions": rows, **waiting}
        elif words.startswith("configure session"):
            self._session(words)
        elif words == "write memory":
            self.saved = self.running
        return json.loads(text) if form == "json" and text else {"output": text}

    def _session(self, words: str) -> None:
        _, _, name, verb, *more = words.split()
        self.log.append(words)
        if verb == "abort":
            self.sessions.pop(name, None)
            if name == self._waiting:
                self._revert()
        elif more:
            hours, minutes, seconds = map(int, more[1].split(":"))
            self._before, self.running, self._waiting = self.running, self.sessions[name], name
            self._timer = threading.Timer((hours * 3600 + minutes * 60 + seconds) * self.scale, self._revert)
            self._timer.daemon = True
            self._timer.start()
        elif name == self._waiting and self._timer is not None:
            self._timer.cancel()
            self._waiting = ""
            self.sessions.pop(name, None)

    def _revert(self) -> None:
        with self._guard:
            if self._waiting and self._timer is not None:
                self._timer.cancel()
                self.running, self._waiting = self._before, ""


def entered_into(text: str, lines: Sequence[str]) -> str:
    """A configuration after lines were typed, each at its indentation, one section after another."""
    standing = list(parsed("eos.conf", text).nodes)
    typed: list[list[str]] = []
    for line in lines:
        if line.startswith(" ") and typed:
            typed[-1].append(line)
        elif line not in {"exit", "!"}:
            typed.append([line])
    for section in typed:
        standing = _merged(standing, list(parsed("eos.conf", "\n".join(section)).nodes))
    return printed("eos.conf", standing)


def _merged(standing: list[Node], typed: list[Node]) -> list[Node]:
    for node in typed:
        line = node.values[0]
        word, _, rest = line.partition(" ")
        if word in {"no", "default"}:
            standing = [one for one in standing if f"{one.values[0]} ".find(f"{rest} ") != 0]
            continue
        at = next((n for n, one in enumerate(standing) if one.name == node.name), None)
        if at is None:
            standing = [
                *standing,
                replace(node, children=None if node.children is None else tuple(_merged([], list(node.children)))),
            ]
        else:
            inner = node.children
            children = (
                standing[at].children
                if inner is None
                else tuple(_merged(list(standing[at].children or ()), list(inner)))
            )
            standing[at] = replace(node, children=children)
    return standing


def lines_of(text: str) -> list[str]:
    """The lines of a configuration, each with what it stands in, in alphabetical order."""

    def below(one: Section, above: str) -> list[str]:
        here = f"{above}{one.line}"
        return [here, *(line for inner in one.body or () for line in below(inner, f"{here} / "))]

    return sorted(line for one in sections(parsed("eos.conf", text).nodes) for line in below(one, ""))
