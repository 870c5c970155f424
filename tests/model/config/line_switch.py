"""A small switch with a command line: what it holds after lines were typed. It knows manuals, and nothing of ours.

A line is a setting, which another line of its kind replaces, or one of several. ``no`` takes away what stands, and is refused
where nothing does; some settings have a ``no`` form that is itself a setting. Sections open with a line and close with a
closer of the same depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from railweave.model.config.sections import Section

CLOSERS = {"exit", "exit-address-family", "exit-vni"}

Lines = dict[str, Any]
"""What stands below a section by its line; None for a plain line."""


@dataclass(frozen=True)
class Manual:
    """What a system's manuals say of its lines, as patterns of whole lines or of their beginnings."""

    settings: tuple[str, ...]
    """Lines of one value: those with the same match of the pattern replace each other."""
    two_sided: tuple[str, ...] = ()
    """Settings whose ``no`` form is a setting too."""
    undone: tuple[str, ...] = ()
    """Of those: what stands without a line, so that typing it leaves nothing."""
    prefixes: tuple[str, ...] = ()
    """Lines that ``no`` takes away by their beginning, the match of the pattern."""
    owners: tuple[tuple[str, str], ...] = ()
    """What goes with a line: the pattern of the line, and of all lines in the section that go too (``\\1`` from the first)."""
    emptied_by: tuple[str, ...] = ()
    """Lines that take addresses away when they come or go in a section that stands."""
    stay: tuple[str, ...] = ()
    """Sections that ``no`` cannot take away, or that are there without a line."""
    refused: tuple[str, ...] = ()
    """Lines that cannot be typed while another of the same match stands."""
    texts: tuple[tuple[str, str], ...] = ()
    """What opens a text of several lines, and what ends it."""


@dataclass
class LineSwitch:
    """See the module."""

    manual: Manual
    lines: Lines = field(default_factory=dict)

    def load(self, sections: Iterable[Section]) -> None:
        """What stands after a whole file was typed."""
        typed = [Section(line, one.body) for one in sections for line in one.line.split("\n")]
        self._load(self.lines, typed)

    def _load(self, into: Lines, sections: list[Section]) -> None:
        while sections:
            one = sections.pop(0)
            end = dict(self.manual.texts).get(one.line)
            if end is not None:
                words: list[str] = []
                while (following := sections.pop(0)).line != end:
                    words.append(following.line)
                into[one.line] = " ".join(words)
            elif one.body is None:
                if not _matched(self.manual.undone, one.line):
                    into[one.line] = None
            else:
                self._load(into.setdefault(one.line, {}), list(one.body))

    def copy(self) -> LineSwitch:
        """The same once more, to be typed into."""
        return LineSwitch(self.manual, _copied(self.lines))

    def type(self, commands: Sequence[str]) -> None:
        """Type lines, as they are indented. Raises ``AssertionError`` with the line that would be refused."""
        way = [self.lines]
        heads: list[tuple[int, str]] = []
        place = 0
        while place < len(commands):
            command = commands[place]
            line, depth = command.strip(), len(command) - len(command.lstrip())
            place += 1
            following = commands[place] if place < len(commands) else ""
            inner = len(following) - len(following.lstrip())
            end = dict(self.manual.texts).get(line)
            if end is not None:
                words: list[str] = []
                while commands[place] != end:
                    words.append(commands[place])
                    place += 1
                place += 1
                way[-1][line] = " ".join(words)
            elif line in CLOSERS and heads and heads[-1][0] == depth:
                heads.pop()
                way.pop()
            elif inner > depth or (inner == depth and following.strip() in CLOSERS):
                below = way[-1].setdefault(line, {})
                assert below is not None, f"{line}: no section"
                way.append(below)
                heads.append((depth, line))
            else:
                self._line(way[-1], line, " / ".join(head for _, head in heads))
        assert not heads

    def said(self) -> Any:
        """What is configured; sections that are there anyway count for nothing when empty."""
        return self._said(self.lines)

    def flat(self) -> list[str]:
        """Every line after those above it."""
        return list(_flat(self.lines, ""))

    def _said(self, lines: Lines) -> Any:
        return {
            line: self._said(below) if isinstance(below, dict) else below
            for line, below in lines.items()
            if below or below is None or not _matched(self.manual.stay, line)
        }

    def _line(self, here: Lines, line: str, where: str) -> None:
        word, _, bare = line.partition(" ")
        two_sided = bool(_matched(self.manual.two_sided, bare))
        if (word == "default" and bare in here) or (f"no {bare}" in here and word == "default"):
            here.pop(bare, None)
            here.pop(f"no {bare}", None)
        elif word in {"no", "default"} and not two_sided:
            self._take_away(here, bare, f"{where} / {line}")
        else:
            self._put(here, line)

    def _put(self, here: Lines, line: str) -> None:
        bare = line.removeprefix("no ")
        if _matched(self.manual.two_sided, bare):
            here.pop(bare, None)
            here.pop(f"no {bare}", None)
            if not _matched(self.manual.undone, line):
                here[line] = None
            return
        kind = _matched(self.manual.refused, line)
        others = [one for one in here if kind and one != line and _matched(self.manual.refused, one) == kind]
        assert not others, f"{line}: {others[0]} stands"
        kind = _matched(self.manual.settings, line)
        for one in [one for one in here if kind and one != line and _matched(self.manual.settings, one) == kind]:
            del here[one]
        if _matched(self.manual.emptied_by, line) and line not in here:
            _lose_addresses(here)
        here[line] = None

    def _take_away(self, here: Lines, bare: str, where: str) -> None:
        if bare in here:
            taken = [bare]
        else:
            taken = [
                one
                for one in here
                if one.startswith(f"{bare} ")
                and (
                    (
                        (kind := _matched(self.manual.prefixes, one) or _matched(self.manual.settings, one))
                        and kind.startswith(bare)
                    )
                    or bare == kind
                )
            ]
        assert taken, f"{where}: nothing to take away"
        assert len(taken) == 1, f"{where}: takes away {taken}"
        [line] = taken
        if isinstance(here[line], dict) and _matched(self.manual.stay, line):
            assert where.strip(" /").startswith("default "), f"{where}: cannot be taken away"
            here[line] = {}
            return
        del here[line]
        if _matched(self.manual.emptied_by, line):
            _lose_addresses(here)
        for pattern, others in self.manual.owners:
            if found := re.match(pattern, line):
                _lose(here, others.replace(r"\1", re.escape(found[1])))


def _copied(lines: Lines) -> Lines:
    return {line: _copied(below) if isinstance(below, dict) else below for line, below in lines.items()}


def _lose(here: Lines, pattern: str) -> None:
    for one in list(here):
        if re.match(pattern, one):
            del here[one]
        elif isinstance(here[one], dict):
            _lose(here[one], pattern)


def _lose_addresses(here: Lines) -> None:
    for one in [one for one in here if re.match(r"(ip|ipv6) (address|anycast-address)", one)]:
        del here[one]


@lru_cache(maxsize=1 << 18)
def _matched(patterns: tuple[str, ...], line: str) -> str:
    """What a pattern matches of a line; its groups with it, where it has any."""
    for pattern in patterns:
        if found := re.match(pattern, line):
            return " ".join(filter(None, found.groups())) or found.group()
    return ""


def _flat(lines: Lines, above: str) -> Iterable[str]:
    for line, below in lines.items():
        yield f"{above}{line}"
        if isinstance(below, dict):
            yield from _flat(below, f"{above}{line} / ")
