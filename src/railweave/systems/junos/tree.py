"""Junos configuration as a tree, and the two ways to print it: curly braces and ``set`` lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

INDENT = "    "
_PLAIN = re.compile(r"(?!/\*)[^\s{}\[\];\"#|?]+")


def wordset(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def pathset(text: str) -> frozenset[tuple[str, ...]]:
    """Return the paths in a text as a set, for example ``{(user, class), (ssl, port)}`` for ``user class, ssl port``."""
    return frozenset(tuple(path.split()) for path in text.split(","))


@dataclass(slots=True)
class Statement:
    """One statement of a configuration. Two statements with the same words and the same parent are the same statement.

    - ``words``: the words that identify the statement: ``(mtu,)`` for ``mtu``, ``(address, fc00::1/64)`` for an address.
    - ``values``: the values that follow the words.
    - ``children``: the statements in the block; None for a statement that ends with ``;``.
    - ``several``: True if the values are a list in brackets.
    - ``key``: the number of words that identify a statement with more content on the same line (2 in
      ``class NO-LOSS queue-num 4``); 0 means all words.
    - ``at``: the line from which the statement was read, counted from 1; 0 means that it was not read.
    """

    words: tuple[str, ...]
    values: tuple[str, ...] = ()
    children: list[Statement] | None = None
    several: bool = False
    key: int = 0
    at: int = field(default=0, compare=False)

    @property
    def name(self) -> tuple[str, ...]:
        """The words that identify the statement among its siblings."""
        return self.words[: self.key] if self.key else self.words

    def child(self, words: tuple[str, ...]) -> Statement | None:
        """Return the child with these words, or None."""
        return next((child for child in self.children or () if child.words == words), None)


@lru_cache(maxsize=4096)
def _split(words: str) -> tuple[str, ...]:
    """Return the words of a text. The result is cached, because few different texts occur."""
    return tuple(words.split())


def leaf(name: str, *values: object) -> Statement:
    """Return the statement ``name value;`` or, without values, ``name;``."""
    return Statement(_split(name), tuple(map(str, values)))


def choices(name: str, values: Iterable[object]) -> Statement:
    """Return the statement ``name [ a b ];``, whose values are a list."""
    return Statement(_split(name), tuple(map(str, values)), several=True)


def entry(*words: object, key: int = 0) -> Statement:
    """Return a statement without block, for example ``address fc00::1/64;``. The first ``key`` words identify it; 0 means all."""
    return Statement(tuple(map(str, words)), key=key)


def block(
    words: str | tuple[object, ...], *parts: Statement | Iterable[Statement | None] | None, keep: bool = False
) -> Statement | None:
    """Return the block ``words { … }`` with the statements ``parts``. If it would be empty, return None, unless ``keep`` is True."""
    names = _split(words) if isinstance(words, str) else tuple(map(str, words))
    children: list[Statement] = []
    for part in parts:
        if isinstance(part, Statement):
            children.append(part)
        elif part is not None:
            children += [child for child in part if child is not None]
    if not children:
        return Statement(names) if keep else None
    return Statement(names, children=children)


@lru_cache(maxsize=1 << 16)
def quoted(word: str) -> str:
    """Return a word as Junos prints it: in quotes if it contains a character that would end the word."""
    if _PLAIN.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@lru_cache(maxsize=1 << 16)
def _line(words: tuple[str, ...]) -> str:
    """Return the text of a line. The result is cached, because most lines are the same on every port and switch."""
    return " ".join(map(quoted, words))


def to_curly(statements: Iterable[Statement]) -> str:
    """Return statements as text with curly braces, as ``show configuration`` prints them."""
    lines: list[str] = []

    def add(beside: Iterable[Statement], indent: str) -> None:
        for statement in beside:
            words, values = _line(statement.words), statement.values
            if statement.children is not None:
                lines.append(f"{indent}{words} {{")
                add(statement.children, indent + INDENT)
                lines.append(f"{indent}}}")
            elif len(values) > 1:
                lines.append(f"{indent}{words} [ {_line(values)} ];")
            else:
                lines.append(f"{indent}{words} {_line(values)};" if values else f"{indent}{words};")

    add(statements, "")
    return "\n".join(lines) + "\n"


def set_paths(statement: Statement, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the words after ``set`` for each ``set`` line of a statement, in quotation marks if they need them.

    ``above`` are the words of the surrounding blocks.
    """
    here = (*above, *(quoted(word) for word in statement.words))
    if statement.children is not None:
        return [path for child in statement.children for path in set_paths(child, here)]
    return [(*here, quoted(value)) for value in statement.values] or [here]


def to_set(statements: Iterable[Statement]) -> str:
    """Return statements as ``set`` lines, as ``show configuration | display set`` prints them."""
    lines: list[str] = []

    def add(beside: Iterable[Statement], above: str) -> None:
        for statement in beside:
            here = f"{above} {_line(statement.words)}"
            if statement.children is not None:
                add(statement.children, here)
            elif statement.values:
                lines.extend([f"{here} {quoted(value)}\n" for value in statement.values])
            else:
                lines.append(f"{here}\n")

    add(statements, "set")
    return "".join(lines)
