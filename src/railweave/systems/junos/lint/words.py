"""A configuration as a tree of the words of its ``set`` lines. Lines that begin with the same words share these words.

railweave's trees, curly-brace text and ``set`` lines separate names and values differently. In a tree of words, all
three look the same, so a lint rule is written only once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.systems.junos.tree import Statement

_TRANSPARENT = frozenset({"replace:", "protect:", "unprotect:"})
_INACTIVE = "inactive:"


@dataclass(eq=False)
class Words:
    """A node of the tree: the words that may come next, each with its own node."""

    below: dict[str, Words] = field(default_factory=dict[str, "Words"])

    def add(self, words: Iterable[str]) -> Words:
        """Add a path of words below this node, and return the node of the path's last word."""
        at = self
        for word in words:
            at = at.below.setdefault(word, Words())
        return at

    def at(self, *path: str) -> Words:
        """Return the node at the end of a path. If the configuration does not have the path, return an empty node."""
        words = self
        for word in path:
            if word not in words.below:
                return Words()
            words = words.below[word]
        return words

    def has(self, *path: str) -> bool:
        """Return True if the configuration has the path."""
        return path[-1] in self.at(*path[:-1]).below

    def names(self, *path: str) -> list[str]:
        """Return the words directly after a path: the values of a list, or the names in it."""
        return list(self.at(*path).below)

    def value(self, *path: str) -> str | None:
        """Return the first word after a path, or None if the path is not in the configuration or is the end of a line."""
        return next(iter(self.at(*path).below), None)

    def number(self, *path: str) -> int | None:
        """Return the number after a path, or None if the configuration has no number there."""
        return as_number(self.value(*path))

    def every(self, *pattern: str) -> Iterator[tuple[tuple[str, ...], Words]]:
        """Yield (path, node at its end) for every path that matches a pattern. ``*`` matches one word, ``**`` any number of words."""
        if not pattern:
            yield (), self
            return
        head, rest = pattern[0], pattern[1:]
        if head not in {"*", "**"}:
            words = self.below.get(head)
            if words is not None:
                for path, end in words.every(*rest):
                    yield (head, *path), end
            return
        if head == "**":
            yield from self.every(*rest)
        for word, words in self.below.items():
            for path, end in words.every(*(pattern if head == "**" else rest)):
                yield (word, *path), end

    def inside(self, word: str) -> str | None:
        """Return the value after ``word`` anywhere on a line (``class A queue-num 4 no-loss``), or None if the line lacks the word.

        The result is empty for a word without a value, such as ``no-loss``.
        """
        return next((end.value() or "" for _, end in self.every("**", word)), None)


def vlans(root: Words) -> list[tuple[str, Words]]:
    """Return (name, node with the VLAN's statements) of every VLAN, at the top level and in routing instances."""
    tables = [root.at("vlans"), *(instance.at("vlans") for instance in root.at("routing-instances").below.values())]
    return [(name, vlan) for table in tables for name, vlan in table.below.items()]


def as_number(word: str | None) -> int | None:
    """Return the decimal number in a word, or None if the word is None or no number."""
    return int(word) if word is not None and word.isdecimal() else None


def words_of(statements: Iterable[Statement]) -> Words:
    """Return the tree of words of a configuration, without deactivated statements.

    If a configuration group is applied, its statements are added at the top level.
    """
    root = Words()
    for statement in statements:
        _add(root, statement)
    for name in root.names("apply-groups"):
        _merge(root, root.at("groups", name))
    return root


def _add(at: Words, statement: Statement) -> None:
    if statement.words[:1] == (_INACTIVE,):
        return
    end = at.add(word for word in statement.words if word not in _TRANSPARENT)
    for value in statement.values:
        end.add((value,))
    for child in statement.children or ():
        _add(end, child)


def _merge(into: Words, other: Words) -> None:
    for word, below in list(other.below.items()):
        _merge(into.below.setdefault(word, Words()), below)
