"""What a configuration inherits: ``groups`` where they are applied, and ranges of interfaces.

A group has a configuration from the top, with ``<*>`` for names that stand there already. What stands by itself goes before
what is inherited; of several groups the first.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from railweave.systems.junos.read.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_APPLY, _EXCEPT = "apply-groups", "apply-groups-except"
_ABOUT = frozenset({_APPLY, _EXCEPT, "groups"})
MOST = 200_000
"""Words that are inherited at most; a configuration that is larger than that by its groups is not looked at further."""

_RANGE = re.compile(r"(.*\D)(\d+)")


def inherit(top: Word) -> None:
    """Put what is inherited where it holds."""
    groups = top.below.get("groups")
    if groups is not None:
        for one in groups.below.values():
            one.take_all("irrelevant")  # until it is applied somewhere
        groups.take()
        _Walk(groups).walk(top, [], ())
    _ranges(top)


class _Walk:
    def __init__(self, groups: Word) -> None:
        self.groups = groups
        self.left = MOST

    def walk(self, here: Word, sources: list[tuple[str, Word]], path: tuple[str, ...]) -> None:
        """Let a word inherit from the groups that are applied here or above; each stands with its name."""
        sources = [*sources, *self._applied(here, path)]
        if not sources and not _applies(here):
            return
        excepted = {one.take().text for one in here.below.get(_EXCEPT, Word("")).below.values()}
        sources = [one for one in sources if one[0] not in excepted]
        given: dict[str, list[tuple[str, Word]]] = {}
        for name, source in sources:
            for text, one in source.below.items():
                if not text.startswith("<"):
                    self._give(here, one)
                    given.setdefault(text, []).append((name, one))
        for name, source in sources:
            for text, one in source.below.items():
                if text.startswith("<"):
                    for match in _matching(here, text):
                        _lend(one)
                        given.setdefault(match, []).append((name, one))
        for text, one in list(here.below.items()):
            if text not in _ABOUT and self.left > 0:
                self.walk(one, given.get(text, []), (*path, text))

    def _applied(self, here: Word, path: tuple[str, ...]) -> Iterator[tuple[str, Word]]:
        names = here.below.get(_APPLY)
        for name in list(names.below.values()) if names is not None else ():
            group = self.groups.below.get(name.text)
            if group is not None:
                name.take()
                yield from ((name.text, one) for one in _places([group], path))

    def _give(self, here: Word, one: Word) -> None:
        _lend(one)
        if one.text not in here.below and self.left > 0:
            self.left -= 1
            made = here.below[one.text] = Word(one.text, one.file, one.at)
            made.inherited, made.origin = True, one


def _lend(one: Word) -> None:
    """A word of a group that is in force somewhere is known by what takes it there."""
    if one.kind == "irrelevant":
        one.kind = "unknown"


def _applies(here: Word) -> bool:
    """Whether groups are applied below a word. Those of the whole configuration are at the top: looked for once for each word."""
    return _APPLY in here.below or any(_applies(one) for text, one in here.below.items() if text not in _ABOUT)


def _places(found: Sequence[Word], path: Sequence[str]) -> Sequence[Word]:
    """What a group has for a place."""
    for text in path:
        found = [
            one
            for here in found
            for name, one in here.below.items()
            if name == text or (name.startswith("<") and _matches(name, text))
        ]
        for one in found:
            _lend(one)
    return found


def _matching(here: Word, pattern: str) -> list[str]:
    return [text for text in here.below if text not in _ABOUT and _matches(pattern, text)]


def _matches(pattern: str, text: str) -> bool:
    return fnmatchcase(text, pattern.strip("<>"))


def _ranges(top: Word) -> None:
    """``interface-range`` of ``interfaces``: its statements are those of every member."""
    interfaces = top.below.get("interfaces")
    ranges = interfaces.below.get("interface-range") if interfaces is not None else None
    if interfaces is None or ranges is None:
        return
    left = MOST
    for one in ranges.below.values():
        one.take()
        for name in _members(one, interfaces):
            member = interfaces.below.get(name) or interfaces.add([name], one.file, one.at)
            for text, inner in one.below.items():
                if text not in {"member", "member-range"} and left > 0:
                    left -= _copied(member, inner)


def _members(one: Word, interfaces: Word) -> list[str]:
    found: list[str] = []
    for name in one.names("member"):
        pattern = name.replace("[", "[").strip()
        names = [text for text in interfaces.below if fnmatchcase(text, pattern)] if set("*[?") & set(name) else [name]
        found += names
    for first in one.entries("member-range"):
        for last in first.entries("to"):
            low, high = _RANGE.fullmatch(first.text), _RANGE.fullmatch(last.text)
            if low and high and low[1] == high[1] and len(high[2]) < 6:
                found += [
                    f"{low[1]}{number}" for number in range(int(low[2]), min(int(high[2]), int(low[2]) + 999) + 1)
                ]
    return found


def _copied(there: Word, one: Word) -> int:
    made = there.below.get(one.text)
    if made is None:
        made = there.below[one.text] = Word(one.text, one.file, one.at)
        made.inherited, made.origin = True, one
    return 1 + sum(_copied(made, inner) for inner in one.below.values())
