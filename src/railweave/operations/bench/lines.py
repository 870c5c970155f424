"""Numbered lines of a text, without launcher prefixes and terminal control codes."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.reading import CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 8_000
"""Maximum number of characters read per line. No benchmark writes longer lines, but a broken file may."""
LARGEST = 2.0**53
"""The upper limit of measured numbers. Larger values are infinity, or overflows such as 2^63 and 2^64 and results from them."""
MOST_NOTES = 200
"""Maximum number of notes kept per file. A file that is not a benchmark would otherwise have a note for each line."""

_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LAUNCHER = re.compile(
    r"^(?:\[\d+,\d+\]<std(?:out|err)>:?\s?"  # mpirun --tag-output
    r"|\d{1,6}: )"  # srun --label
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Note:
    """A note about an unknown line: its file and number, the problem (``what``), and the beginning of its text."""

    file: str
    line: int
    what: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its number, counted from 1."""

    number: int
    text: str


@dataclass
class Notes:
    """A collector of the notes on one file. Notes beyond ``MOST_NOTES`` are only counted."""

    file: str
    kept: list[Note] = field(default_factory=list[Note])
    more: int = 0

    def add(self, line: int, remark: str, text: str = "") -> None:
        """Add a note. ``remark``: the problem. ``text``: the text of the line."""
        if len(self.kept) < MOST_NOTES:
            self.kept.append(Note(self.file, line, remark, text.strip()[:120]))
        else:
            self.more += 1

    def unread(self, lines: Iterable[Line]) -> None:
        """Add a note for each nonempty line, as one that no reader understands."""
        for line in lines:
            if line.text.strip():
                self.add(line.number, "not understood", line.text)

    def all(self) -> tuple[Note, ...]:
        """Return all kept notes, followed by a note with the number of further ones if there were more."""
        if not self.more:
            return tuple(self.kept)
        return (*self.kept, Note(self.file, 0, f"{self.more} further lines were not understood"))


def lines_of(text: str) -> list[Line]:
    """Return the lines of a text without terminal colors, control characters, and the prefixes of ``mpirun`` and ``srun``."""
    lines: list[Line] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw[:LONGEST].rstrip("\r")
        if CONTROL.search(line):
            line = CONTROL.sub("", _TERMINAL.sub("", line))
        lines.append(Line(number, _LAUNCHER.sub("", line, count=1)))
    return lines


def fields(text: str) -> list[str]:
    """Return the fields of a line of comma-separated values, or an empty list if the line cannot be parsed."""
    try:
        return next(iter(csv.reader([text.replace("\0", "")])), list[str]())
    except csv.Error:
        return []


def whole(text: str) -> int | None:
    """Return a whole number of at most 18 digits, or None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def number(text: str) -> float | None:
    """Return a number below ``LARGEST``, or None for any other text, such as ``nan`` or ``N/A``."""
    if not _NUMBER.fullmatch(text):
        return None
    parsed = float(text)
    return parsed if abs(parsed) < LARGEST else None


def value(given: object) -> float | None:
    """Return a JSON number, or a string that holds a number, if it is below ``LARGEST``; otherwise None."""
    if isinstance(given, str):
        return number(given.strip())
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        parsed = float(given)
    except OverflowError:
        return None
    return parsed if abs(parsed) < LARGEST else None


def count(given: object) -> int | None:
    """Return a whole number of at most 18 digits from a JSON number or string; otherwise None."""
    if isinstance(given, str):
        return whole(given.strip())
    parsed = value(given)
    return int(parsed) if parsed is not None and parsed == int(parsed) and abs(parsed) < 1e18 else None


def measured(given: object, name: str, line: int, notes: Notes) -> float | None:
    """Return a measured number, 0 or more, from text or JSON. ``name`` is its column.

    If the value is negative, too large or not a number, add a note and return None. If the input is None, return None without a note.
    """
    if given is None:
        return None
    parsed = value(given)
    if parsed is not None and parsed >= 0:
        return parsed
    notes.add(line, f"{name} is {_odd(given, parsed)}", str(given)[:40])
    return None


def _odd(given: object, parsed: float | None) -> str:
    if parsed is not None:
        return "negative: left out"
    text = str(given).strip()
    large = _NUMBER.fullmatch(text) or text.lstrip("+-").lower() in {"inf", "infinity"}
    return "too large: left out" if large else "no number"


def counted(given: object, name: str, line: int, notes: Notes) -> int | None:
    """Return a measured whole number, or None with a note if there is none. Arguments are as in ``measured``."""
    amount, exact = measured(given, name, line, notes), count(given)
    if amount is not None and exact is None:
        notes.add(line, f"{name} is no whole number: left out", str(given)[:40])
    return None if amount is None else exact


def words(given: object) -> str:
    """Return a string from JSON, or an empty string for any other type."""
    return given if isinstance(given, str) else ""
