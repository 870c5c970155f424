"""Statements of a text by line, whatever the form of the text: sections of lines, braces, or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

CLOSERS = {"exit", "exit-address-family", "exit-vni"}


@dataclass(frozen=True)
class Statement:
    """A statement: its lines from ``first`` up to ``last`` (0-based), and its words after those that it stands in."""

    first: int
    last: int
    path: str
    above: int
    """The first line of what it stands in; -1: nothing."""


def statements(text: str) -> list[Statement]:
    """The statements of a text, in order."""
    lines = text.splitlines()
    if text.lstrip().startswith("{"):
        return list(_of_json(lines))
    braces = any(re.fullmatch(r"\S.*\{", line) for line in lines)
    return list(_of_braces(lines) if braces else _of_sections(lines))


def _of_sections(lines: list[str]) -> Iterator[Statement]:
    depth = [len(line) - len(line.lstrip(" ")) for line in lines]
    above: list[int] = []
    for place, line in enumerate(lines):
        words = line.strip()
        if not words or words.startswith("!") or words in {*CLOSERS, "end"}:
            continue
        while above and depth[above[-1]] >= depth[place]:
            above.pop()
        end = place + 1
        while end < len(lines) and (depth[end] > depth[place] or not lines[end].strip()):
            end += 1
        if end < len(lines) and lines[end].strip() in CLOSERS and depth[end] == depth[place] and end > place:
            end += 1
        path = " / ".join([*(lines[one].strip() for one in above), words])
        yield Statement(place, end, path, above[-1] if above else -1)
        above.append(place)


def _of_braces(lines: list[str]) -> Iterator[Statement]:
    above: list[int] = []
    ends: dict[int, int] = {}
    made: list[tuple[int, str, int]] = []
    for place, line in enumerate(lines):
        words = line.strip()
        if words == "}":
            ends[above.pop()] = place + 1
            continue
        if not words or words.startswith(("#", "/*", "##")):
            continue
        names = [lines[one].strip().removesuffix("{").strip() for one in above]
        made.append((place, " / ".join([*names, words.rstrip("{;").strip()]), above[-1] if above else -1))
        if words.endswith("{"):
            above.append(place)
        else:
            ends[place] = place + 1
    for place, path, parent in made:
        yield Statement(place, ends[place], path, parent)


def _of_json(lines: list[str]) -> Iterator[Statement]:
    above: list[tuple[str, int]] = []
    for place, line in enumerate(lines):
        words = line.strip().rstrip(",")
        named = re.match(r'"((?:[^"\\]|\\.)*)": ?(.*)', words)
        if named and named[2] not in {"{", "["}:
            names = [name for name, _ in above]
            path = " / ".join([*names, f"{named[1]} {_plain(named[2])}"])
            yield Statement(place, place + 1, path, above[-1][1] if above else -1)
        elif named:
            names = [name for name, _ in above]
            yield Statement(place, _end(lines, place), " / ".join([*names, named[1]]), above[-1][1] if above else -1)
            above.append((named[1], place))
        elif words in {"}", "]"} and above:
            above.pop()


def _end(lines: list[str], place: int) -> int:
    """The line after the one that closes what a line of JSON opens."""
    depth = len(lines[place]) - len(lines[place].lstrip(" "))
    return next(
        (one + 1 for one in range(place + 1, len(lines)) if len(lines[one]) - len(lines[one].lstrip(" ")) == depth),
        len(lines),
    )


def _plain(text: str) -> str:
    return text[1:-1] if text[:1] == text[-1:] == '"' else text


def replaced(text: str, one: Statement, line: str) -> tuple[str, int]:
    """The text with another first line of a statement, and that line's number."""
    lines = text.splitlines()
    lines[one.first] = line
    return _joined(lines, text), one.first + 1


def without(text: str, one: Statement) -> tuple[str, int]:
    """The text without a statement, and the number of the line of what it stood in."""
    lines = text.splitlines()
    if text.lstrip().startswith("{"):
        last = lines[one.last].strip()[:1] in {"}", "]"} if one.last < len(lines) else True
        if last and one.first > 0 and lines[one.first - 1].endswith(","):
            lines[one.first - 1] = lines[one.first - 1][:-1]
    after = one.last
    if after < len(lines) and lines[after].strip() == "!" and one.above < 0:
        after += 1
    del lines[one.first : after]
    return _joined(lines, text), max(one.above + 1, 1)


def added(text: str, one: Statement, line: str) -> tuple[str, int]:
    """The text with a copy of a statement of one line, changed, behind it, and the number of the new line."""
    lines = text.splitlines()
    if text.lstrip().startswith("{"):
        comma = lines[one.first].endswith(",")
        line = f"{line.rstrip(',')}{',' if comma else ''}"
        lines[one.first] = f"{lines[one.first].rstrip(',')},"
    lines.insert(one.last, line)
    return _joined(lines, text), one.last + 1


def swapped(text: str, one: Statement, other: Statement) -> tuple[str, int]:
    """The text with two statements in each other's place, and the number of the line where the first stands now."""
    lines = text.splitlines()
    first, between, second = lines[one.first : one.last], lines[one.last : other.first], lines[other.first : other.last]
    lines[one.first : other.last] = [*second, *between, *first]
    return _joined(lines, text), one.first + len(second) + len(between) + 1


def is_whole(text: str) -> bool:
    """Whether a text in JSON still is that; others always are."""
    if not text.lstrip().startswith("{"):
        return True
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError:
        return False
    return bool(found)


def _joined(lines: list[str], text: str) -> str:
    return "\n".join(lines) + ("\n" if text.endswith("\n") else "")
