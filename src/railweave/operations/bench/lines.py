"""Lines of a text as readers take them: numbered, without what a launcher or a terminal put around them."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.reading import CONTROL

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 8_000
"""Letters of a line that are read; no benchmark writes more into one, but a broken file may."""
LARGEST = 2.0**53
"""No benchmark measures a larger number. Beyond are numbers that overflowed (2^63, 2^64 and what is worked out from them) and infinity."""
MOST_NOTES = 200
"""Notes that are kept of a file: one that is no benchmark at all would have one for each line."""

_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LAUNCHER = re.compile(
    r"^(?:\[\d+,\d+\]<std(?:out|err)>:?\s?"  # mpirun --tag-output
    r"|\d{1,6}: )"  # srun --label
)
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Note:
    """A line that was not understood: where it stands, what is odd about it, and its beginning."""

    file: str
    line: int
    what: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its number, 1 for the first."""

    number: int
    text: str


@dataclass
class Notes:
    """Notes of one file, as they are made. Beyond ``MOST_NOTES`` they are only counted."""

    file: str
    kept: list[Note] = field(default_factory=list[Note])
    more: int = 0

    def add(self, line: int, remark: str, text: str = "") -> None:
        """Note what is odd about a line."""
        if len(self.kept) < MOST_NOTES:
            self.kept.append(Note(self.file, line, remark, text.strip()[:120]))
        else:
            self.more += 1

    def unread(self, lines: Iterable[Line]) -> None:
        """Note lines that mean nothing here, each but the empty ones."""
        for line in lines:
            if line.text.strip():
                self.add(line.number, "not understood", line.text)

    def all(self) -> tuple[Note, ...]:
        """Every note that was kept, and one that says how many were not."""
        if not self.more:
            return tuple(self.kept)
        return (*self.kept, Note(self.file, 0, f"{self.more} further lines were not understood"))


def lines_of(text: str) -> list[Line]:
    """The lines of a text, without colours and other control characters of a terminal, and the labels of ``mpirun`` and ``srun``."""
    lines: list[Line] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw[:LONGEST].rstrip("\r")
        if CONTROL.search(line):
            line = CONTROL.sub("", _TERMINAL.sub("", line))
        lines.append(Line(number, _LAUNCHER.sub("", line, count=1)))
    return lines


def fields(text: str) -> list[str]:
    """The fields of a line of comma-separated values; none where it is no such line."""
    try:
        return next(iter(csv.reader([text.replace("\0", "")])), list[str]())
    except csv.Error:
        return []


def whole(text: str) -> int | None:
    """A whole number of at most 18 digits; None for anything else."""
    return int(text) if _WHOLE.fullmatch(text) else None


def number(text: str) -> float | None:
    """A number below ``LARGEST``; None for anything else, ``nan`` and ``N/A`` among it."""
    if not _NUMBER.fullmatch(text):
        return None
    parsed = float(text)
    return parsed if abs(parsed) < LARGEST else None


def value(given: object) -> float | None:
    """A number out of JSON, below ``LARGEST``: a number, or a string that is one. None for anything else."""
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
    """A whole number of at most 18 digits out of JSON, as ``value``."""
    if isinstance(given, str):
        return whole(given.strip())
    parsed = value(given)
    return int(parsed) if parsed is not None and parsed == int(parsed) and abs(parsed) < 1e18 else None


def measured(given: object, name: str, line: int, notes: Notes) -> float | None:
    """Return a number that was measured, 0 or more, out of a text or JSON; ``name`` is its column.

    A number that is negative, too large or none is named in a note and left out (None). None is None without a note.
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
    """Return a whole number as ``measured`` does."""
    amount, exact = measured(given, name, line, notes), count(given)
    if amount is not None and exact is None:
        notes.add(line, f"{name} is no whole number: left out", str(given)[:40])
    return None if amount is None else exact


def words(given: object) -> str:
    """A string out of JSON; empty where it is something else."""
    return given if isinstance(given, str) else ""
