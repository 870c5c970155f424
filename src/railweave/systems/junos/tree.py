"""Junos configuration as a tree, and its two printed forms: curly braces and ``set`` lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

INDENT = "    "
_PLAIN = re.compile(r"[^\s{}\[\];\"#|?]+")


@dataclass
class Statement:
    """One statement. ``words`` name it, ``values`` follow; ``children`` is None for a statement that ends in ``;``.

    Two statements with the same words under one parent are the same statement: ``mtu`` has words ``(mtu,)`` and a
    value, an address has words ``(address, fc00::1/64)``. ``several`` marks a leaf that holds a list of values. ``key``
    is how many of the words name an entry whose content stands on the same line: 2 in ``class NO-LOSS queue-num 4``;
    0: all of them.
    """

    words: tuple[str, ...]
    values: tuple[str, ...] = ()
    children: list[Statement] | None = None
    several: bool = False
    key: int = 0

    @property
    def name(self) -> tuple[str, ...]:
        """The words that name the statement among its siblings."""
        return self.words[: self.key] if self.key else self.words

    def child(self, words: tuple[str, ...]) -> Statement | None:
        """The child of that name."""
        return next((one for one in self.children or () if one.words == words), None)


def leaf(name: str, *values: object) -> Statement:
    """``name value;``; without values a flag, ``name;``."""
    return Statement(tuple(name.split()), tuple(str(value) for value in values))


def choices(name: str, values: Iterable[object]) -> Statement:
    """``name [ a b ];``: a leaf that holds a list."""
    return Statement(tuple(name.split()), tuple(str(value) for value in values), several=True)


def entry(*words: object, key: int = 0) -> Statement:
    """A list entry without a body: ``address fc00::1/64;``, or with it on one line, named by its first ``key`` words."""
    return Statement(tuple(str(word) for word in words), key=key)


def block(
    words: str | tuple[object, ...], *parts: Statement | Iterable[Statement | None] | None, keep: bool = False
) -> Statement | None:
    """``words { … }``; None where nothing is inside, unless ``keep``."""
    names = tuple(words.split()) if isinstance(words, str) else tuple(str(word) for word in words)
    children: list[Statement] = []
    for part in parts:
        if isinstance(part, Statement):
            children.append(part)
        elif part is not None:
            children += [one for one in part if one is not None]
    if not children:
        return Statement(names) if keep else None
    return Statement(names, children=children)


@lru_cache(maxsize=1 << 16)
def quoted(word: str) -> str:
    """A word as Junos prints it: in quotes where it holds anything that would end it."""
    if _PLAIN.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@lru_cache(maxsize=1 << 16)
def _line(words: tuple[str, ...]) -> str:
    """Words of a line; most are the same on every port and switch."""
    return " ".join(map(quoted, words))


def to_curly(statements: Iterable[Statement]) -> str:
    """The curly-brace form, as ``show configuration`` prints it."""
    lines: list[str] = []

    def add(statement: Statement, indent: str) -> None:
        words = _line(statement.words)
        if statement.children is not None:
            lines.append(f"{indent}{words} {{")
            for child in statement.children:
                add(child, indent + INDENT)
            lines.append(f"{indent}}}")
        elif len(statement.values) > 1:
            lines.append(f"{indent}{words} [ {_line(statement.values)} ];")
        else:
            lines.append(f"{indent}{words} {_line(statement.values)};" if statement.values else f"{indent}{words};")

    for statement in statements:
        add(statement, "")
    return "\n".join(lines) + "\n"


def set_paths(statement: Statement, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every complete path below a statement, words quoted: what follows ``set`` on each line."""
    here = (*above, *(quoted(word) for word in statement.words))
    if statement.children is not None:
        return [path for child in statement.children for path in set_paths(child, here)]
    return [(*here, quoted(value)) for value in statement.values] or [here]


def to_set(statements: Iterable[Statement]) -> str:
    """The ``set`` form, as ``show configuration | display set`` prints it."""
    lines: list[str] = []

    def add(statement: Statement, above: str) -> None:
        here = f"{above} {_line(statement.words)}"
        if statement.children is not None:
            for child in statement.children:
                add(child, here)
        elif statement.values:
            lines.extend(f"{here} {quoted(value)}" for value in statement.values)
        else:
            lines.append(here)

    for statement in statements:
        add(statement, "set")
    return "".join(f"{line}\n" for line in lines)


@dataclass
class Change:
    """Commands that turn one tree into another."""

    delete: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    set: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    insert: list[str] = field(default_factory=list[str])

    def lines(self) -> list[str]:
        """As Junos CLI lines, in the order they must be given."""
        deletes = [f"delete {' '.join(path)}" for path in self.delete]
        return deletes + [f"set {' '.join(path)}" for path in self.set] + self.insert


ORDERED = {"term"}
"""Statements whose order decides what they do; others may stand in any order."""

ORDERED_VALUES = {"fill-level", "drop-probability"}
"""Lists of values whose order decides what they mean: ``set`` appends, so a change gives the whole list anew."""


def compare(old: Iterable[Statement], new: Iterable[Statement], above: tuple[str, ...] = ()) -> Change:
    """The smallest set of delete, set and insert commands that turn ``old`` into ``new``."""
    change = Change()
    before, after = {one.name: one for one in old}, {one.name: one for one in new}
    for name, statement in before.items():
        if name not in after or after[name].words != statement.words:
            change.delete.append((*above, *(quoted(word) for word in name)))
        else:
            _compare_one(change, statement, after[name], above)
    for name, statement in after.items():
        if name not in before or before[name].words != statement.words:
            change.set += set_paths(statement, above)
    _restore_order(change, list(before), list(after), above)
    return change


def _compare_one(change: Change, old: Statement, new: Statement, above: tuple[str, ...]) -> None:
    here = (*above, *(quoted(word) for word in new.words))
    if old.children is not None and new.children is not None:
        inner = compare(old.children, new.children, here)
        change.delete += inner.delete
        change.set += inner.set
        change.insert += inner.insert
        return
    if old.children is not None or new.children is not None:
        change.delete.append(here)
        change.set += set_paths(new, above)
        return
    if new.words[0] in ORDERED_VALUES and new.values != old.values:
        change.delete.append(here)
        change.set += set_paths(new, above)
        return
    gone = [value for value in old.values if value not in new.values]
    if new.several or old.several:
        change.delete += [(*here, quoted(value)) for value in gone]
    elif gone and not new.values:
        change.delete.append(here)
    change.set += [(*here, quoted(value)) for value in new.values if value not in old.values]
    if old.values and not new.values:
        change.set.append(here)


def _restore_order(
    change: Change, before: list[tuple[str, ...]], after: list[tuple[str, ...]], above: tuple[str, ...]
) -> None:
    """New terms go to the end when set: insert them where they belong."""
    ordered = [words for words in after if words[0] in ORDERED]
    kept = [words for words in before if words in after and words[0] in ORDERED]
    result = kept + [words for words in ordered if words not in before]
    path = " ".join(above)
    for place, words in enumerate(ordered):
        if result[place] != words:
            change.insert.append(f"insert {path} {' '.join(words)} before {' '.join(result[place])}")
            result.remove(words)
            result.insert(place, words)
