"""The forms that Junos prints its configuration in, each as what would follow ``set``: curly, ``set`` lines, XML, JSON.

The form is told by the text itself. What is deactivated (``inactive:``, ``deactivate``, ``inactive="inactive"``) is kept apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.systems.junos.parse import COMMANDS, DEEPEST, parse_curly, unquoted
from railweave.systems.junos.read import json_form, xml_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.reading import Kind
    from railweave.systems.junos.tree import Statement

Path = tuple[tuple[str, ...], int]
"""The words of a statement, and its line."""


@dataclass
class Lines:
    """The statements of a text in order. ``asleep`` are deactivated; ``other`` are lines that are no statements.

    ``curly`` are the statements as blocks, where the text has them.
    """

    active: list[Path] = field(default_factory=list[Path])
    asleep: list[Path] = field(default_factory=list[Path])
    other: list[tuple[str, int, Kind]] = field(default_factory=list[tuple[str, int, "Kind"]])
    curly: list[Statement] | None = None


_BESIDE = re.compile(
    r"(?m)^(?:\s*\{(?:master|backup|linecard|primary|secondary)\b[^}\n]*\}\s*$|\[edit[^\]\n]*\]|\S+@\S+[>#%].*)"
)
"""What the command line prints around a configuration: the routing engine, where one is, what was typed."""
_PROMPT = re.compile(r"^\S+@\S+[>#%]\s*")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]]|#.*|[^\s\[\]]+')
_MODIFIERS = frozenset({"inactive:", "protect:", "replace:", "active:"})
_READ_ONLY = frozenset(
    {
        "show",
        "commit",
        "annotate",
        "configure",
        "cli",
        "run",
        "protect",
        "unprotect",
        "exit",
        "quit",
        "status",
        "rollback",
        "load",
    }
)
_MOVES = frozenset({"edit", "top", "up", "exit", "quit"})


def lines(text: str) -> Lines:
    """The statements of a text. Raises ``RenderError`` with the line where its form is broken."""
    text = text.lstrip("\ufeff").replace("\r\n", "\n")
    start = text.lstrip()[:1]
    if start == "<":
        return Lines(*xml_form.paths(text))
    if start == "{" and re.match(r"\s*\{\s*[\"}]", text):
        return Lines(*json_form.paths(text))
    return _set_lines(text) if _is_set(text) else _curly(text)


def _is_set(text: str) -> bool:
    for line in text.splitlines():
        words = _PROMPT.sub("", line).split(None, 1)
        if not words or words[0].startswith(("#", "/*", "[edit", "{master", "{primary", "show", "configure")):
            continue
        return words[0] in COMMANDS | _MOVES and not line.rstrip().endswith(("{", ";"))
    return False


def _curly(text: str) -> Lines:
    found = Lines(curly=[])
    statements = parse_curly(_BESIDE.sub("", text))
    found.curly = _awake(statements, (), found)
    for one in found.curly:
        _flatten(one, (), found.active)
    return found


def _awake(statements: Sequence[Statement], above: tuple[str, ...], found: Lines) -> list[Statement]:
    """Statements without those that are deactivated, and without marks."""
    kept: list[Statement] = []
    for one in statements:
        asleep = False
        while one.words and one.words[0] in _MODIFIERS:
            asleep |= one.words[0] == "inactive:"
            one.words = one.words[1:]
        if not one.words:
            continue
        if asleep:
            _flatten(one, above, found.asleep)
            continue
        if one.children:
            one.children = _awake(one.children, (*above, *one.words), found)
        kept.append(one)
    return kept


def _flatten(one: Statement, above: tuple[str, ...], into: list[Path]) -> None:
    here = (*above, *one.words)
    if len(here) > DEEPEST:
        raise RenderError(f"more than {DEEPEST} words below each other", one.at)
    if one.children:
        for child in one.children:
            _flatten(child, here, into)
    elif one.values:
        into += [((*here, value), one.at) for value in one.values]
    else:
        into.append((here, one.at))


def _set_lines(text: str) -> Lines:
    found = Lines()
    asleep: set[tuple[str, ...]] = set()
    here: tuple[str, ...] = ()
    for number, raw in enumerate(text.splitlines(), 1):
        line = _PROMPT.sub("", raw.strip()) if "@" in raw else raw.strip()
        if not line or line.startswith(("#", "/*", "*", "[edit", "{")):
            continue
        words, lists = _words(line, number)
        if not words:
            continue
        command, path = words[0], (*here, *words[1:])
        if command == "set":
            found.active += [(one, number) for one in _each(path, lists)]
        elif command in _MOVES:
            here = _moved(here, words)
        elif command == "deactivate":
            asleep.add(path)
        elif command == "activate":
            asleep.discard(path)
        elif command == "delete":
            found.active = [one for one in found.active if one[0][: len(path)] != path]
        else:
            found.other.append((line, number, "irrelevant" if command in _READ_ONLY else "unknown"))
    if asleep:
        sizes = sorted({len(one) for one in asleep})
        for one in found.active:
            if any(one[0][:size] in asleep for size in sizes):
                found.asleep.append(one)
        found.active = [one for one in found.active if not any(one[0][:size] in asleep for size in sizes)]
    return found


def _moved(here: tuple[str, ...], words: list[str]) -> tuple[str, ...]:
    if words[0] == "edit":
        return (*here, *words[1:])
    return here[:-1] if words[0] == "up" else ()


def _words(line: str, number: int) -> tuple[list[str], list[str] | None]:
    """The words of a line, and the values in brackets at its end, if there are any."""
    if '"' not in line and "[" not in line and "#" not in line:
        words = line.split()
        if len(words) > DEEPEST:
            raise RenderError(f"more than {DEEPEST} words below each other", number)
        return words, None
    words: list[str] = []
    values: list[str] | None = None
    for word in _WORD.findall(line):
        if word.startswith("#"):
            break
        if word.startswith('"') and (len(word) == 1 or not word.endswith('"')):
            raise RenderError("a '\"' is not closed", number)
        if word == "[":
            values = []
        elif word == "]":
            if values is None:
                raise RenderError("a ']' without '['", number)
        else:
            (words if values is None else values).append(unquoted(word))
    if len(words) > DEEPEST:
        raise RenderError(f"more than {DEEPEST} words below each other", number)
    return words, values


def _each(path: tuple[str, ...], values: list[str] | None) -> list[tuple[str, ...]]:
    if not path:
        return []
    return [path] if values is None else [(*path, value) for value in values]
