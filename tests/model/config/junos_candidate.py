"""A candidate configuration of Junos, edited by ``set``, ``delete`` and ``insert``, that knows the schema and nothing of ours.

Lists keep what they have when more is set; leaves are replaced; an entry of a list stays when what is in it goes; a
container goes with the last statement in it, unless it was set by itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tests.model.config.junos_schema import Word

IN_ORDER = {"import", "export", "instance-import", "fill-level", "drop-probability"}
"""Lists that mean something else in another order: policies, and values that correspond."""


@dataclass
class Element:
    """A statement: what it is, what stands in it by its words, and the values of a leaf."""

    word: Word
    below: dict[tuple[str, ...], Element] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    is_set: bool = False

    def copy(self) -> Element:
        """The same once more, with all that stands in it."""
        below = {key: one.copy() for key, one in self.below.items()}
        return Element(self.word, below, list(self.values), self.is_set)


class Candidate:
    """See the module."""

    def __init__(self, schema: Word, lines: Iterable[str]) -> None:
        self.top = Element(schema)
        self.load(lines)

    def copy(self) -> Candidate:
        """The same once more, to be changed."""
        made = Candidate(self.top.word, ())
        made.top = self.top.copy()
        return made

    def load(self, lines: Iterable[str]) -> None:
        """Carry out lines of configuration mode. Raises ``AssertionError`` with the line that a switch would refuse."""
        for line in lines:
            verb, *words = _split(line)
            try:
                {"set": self._set, "delete": self._delete, "insert": self._insert}[verb](words)
            except (AssertionError, KeyError) as error:
                raise AssertionError(f"{line}: {error}") from None

    def said(self) -> Any:
        """What is configured: in order where that counts."""
        return _said(self.top)

    def lines(self) -> list[str]:
        """Every complete path, as after ``set``."""
        return list(_lines(self.top, ""))

    def _set(self, words: list[str]) -> None:
        at = self.top
        while words:
            word, key, words = _next(at.word, words)
            found = at.below.setdefault(key, Element(word))
            if word.kind in {"container", "list"}:
                at = found
                continue
            if word.kind == "empty":
                continue
            value = key[0] if word.word == "*" else words.pop(0)
            if word.kind == "leaf":
                found.values = [value]
                others = [one for one, other in at.below.items() if other.word is word and one != key]
                for one in others:  # another value of a leaf whose name is not typed
                    del at.below[one]
            elif value not in found.values:
                found.values.append(value)
        at.is_set = True

    def _delete(self, words: list[str]) -> None:
        way = [self.top]
        keys: list[tuple[str, ...]] = []
        while words:
            word, key, words = _next(way[-1].word, words)
            assert key in way[-1].below, "statement not found"
            keys.append(key)
            way.append(way[-1].below[key])
            if words and word.kind in {"leaf", "leaf-list"}:
                [value] = words
                assert value in way[-1].values, "statement not found"
                way[-1].values.remove(value)
                if way[-1].values:
                    return
                words = []
        for parent, key in zip(reversed(way[:-1]), reversed(keys), strict=True):
            del parent.below[key]
            if parent.below or parent.word.kind == "list" or parent.is_set:
                return

    def _insert(self, words: list[str]) -> None:
        at = max(place for place, word in enumerate(words) if word == "before")
        words, before = words[:at], words[at + 1 :]
        parent, element, key = self.top, self.top, ()
        while words:
            parent = element
            _, key, words = _next(parent.word, words)
            element = parent.below[key]
        _, other, rest = _next(parent.word, before)
        assert not rest
        assert key in parent.below, "statement not found"
        assert other in parent.below, "statement not found"
        order = [one for one in parent.below if one != key]
        order.insert(order.index(other), key)
        parent.below = {one: parent.below[one] for one in order}


@lru_cache(maxsize=1 << 14)
def _split(line: str) -> tuple[str, ...]:
    return tuple(shlex.split(line) if '"' in line else line.split())


def _next(above: Word, words: list[str]) -> tuple[Word, tuple[str, ...], list[str]]:
    """What the next words stand for, the words that name it, and what is left."""
    first, rest = words[0], words[1:]
    found = above.child(first)
    assert found is not None, f"no such word here: {first}"
    if found.word == "*" or found.kind != "list":
        return found, (first,), rest
    if found.keys == ("...",):
        return found, tuple(words), []
    key = [first]
    for one in found.keys:
        if one != "*":
            assert rest[0] == one, f"{one} is missing"
            key.append(rest.pop(0))
        assert rest, f"a name is missing after {first}"
        key.append(rest.pop(0))
    return found, tuple(key), rest


def _lines(element: Element, above: str) -> Iterator[str]:
    for key, one in element.below.items():
        here = f"{above}{' '.join(key)}"
        if one.below:
            yield from _lines(one, f"{here} ")
        elif one.values and one.word.word != "*":
            yield from (f"{here} {value}" for value in one.values)
        else:
            yield here


def _said(element: Element) -> Any:
    """Statements by name, and the order of those where it counts: terms, and actions on communities."""
    if not element.below:
        return element.values if len(element.values) < 2 or element.word.word in IN_ORDER else sorted(element.values)
    ordered = [key for key in element.below if key[0] == "term" or (key[0] == "community" and len(key) > 2)]
    return {key: _said(one) for key, one in element.below.items()}, ordered, element.values
