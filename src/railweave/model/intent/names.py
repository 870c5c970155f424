"""Names of things in the fabric file, and lists of them in the notation of cluster schedulers: ``H100-[01-04,07]``.

A name goes into host names, file names and configuration, so its letters are limited; a naming pattern makes one of
fields in braces.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING, Annotated, cast

from pydantic import AfterValidator, WithJsonSchema

from railweave.model.config.naming import named
from railweave.model.intent.base import WrongValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"

LONGEST = 63
"""Of a name, and of each part of it between dots: a label of a host name has no more (RFC 1123, section 2.1)."""
MOST_NAMES = 65_536
"""That lists of servers may stand for: sixteen times the servers of the largest fabric that is tested."""

_RANGE = re.compile(r"^(?P<head>[^\[\]]*)\[(?P<body>[0-9,\-]+)\](?P<tail>[^\[\]]*)$")
_BOUNDS = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def check_name(name: str) -> str:
    """The name itself. Raises ``ValueError`` where a host or a file could not be called so."""
    if re.fullmatch(NAME, name) is None:
        shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
        raise WrongValueError(
            f"{shown!r} is not a name",
            f"use letters, digits, dots, dashes and underscores, at most {LONGEST}, the first a letter or digit",
        )
    return name


Name = Annotated[str, AfterValidator(check_name), WithJsonSchema({"type": "string", "pattern": NAME})]
"""A name of the user's choosing."""


def expand(pattern: str) -> list[str]:
    """The names a pattern stands for, in order; a plain name stands for itself.

    ``H100-[01-03]`` gives ``H100-01, H100-02, H100-03``: the width of the first number is kept. Raises ``ValueError``
    for a malformed or backward range, for names too long, and for more than ``MOST_NAMES``.
    """
    head, ranges, tail = _parts(pattern)
    _check_count(pattern, ranges)
    return [
        f"{head}{number:0{len(first)}d}{tail}" if first else head
        for first, last in ranges
        for number in range(int(first or 0), int(last or 0) + 1)
    ]


def count_of(pattern: str) -> int:
    """How many names a pattern stands for, without making them. Raises ``ValueError`` as ``expand`` does."""
    _, ranges, _ = _parts(pattern)
    return _check_count(pattern, ranges)


def _parts(pattern: str) -> tuple[str, list[tuple[str, str]], str]:
    """What stands before and after the numbers of a pattern, and the first and last of each range; empty without one."""
    if "[" not in pattern and "]" not in pattern:
        return pattern, [("", "")], ""
    match = _RANGE.match(pattern)
    if match is None:
        raise ValueError(f"{_short(pattern)} is not a host list: write it as H100-[01-04,07]")
    ranges: list[tuple[str, str]] = []
    for part in match["body"].split(","):
        bounds = _BOUNDS.fullmatch(part)
        first, last = (bounds[1], bounds[2] or bounds[1]) if bounds else ("1", "0")
        if len(match["head"]) + len(match["tail"]) + max(len(first), len(last)) > LONGEST:
            raise WrongValueError(f"{_short(pattern)} stands for names that are too long", f"at most {LONGEST} letters")
        if int(first) > int(last):
            raise ValueError(f"{_short(part)} in {_short(pattern)} is not a range: write low-high, for example 01-04")
        ranges.append((first, last))
    return match["head"], ranges, match["tail"]


def _short(text: str) -> str:
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")


def _check_count(pattern: str, ranges: list[tuple[str, str]]) -> int:
    count = sum(int(last or 0) - int(first or 0) + 1 for first, last in ranges)
    check_most(_short(pattern), count)
    return count


def check_most(what: str, count: int) -> None:
    """Raise ``ValueError`` where something stands for more names than any fabric has."""
    if count > MOST_NAMES:
        raise WrongValueError(f"{what} stands for {count:,} names", f"at most {MOST_NAMES:,} are taken")


def expand_all(value: object, repeated: str, fix: str) -> list[str]:
    """The names that a host list, or a list of them, stands for.

    Raises ``ValueError`` for what is not a name, and where a name comes twice: ``repeated`` says it, where ``{}`` is the
    name, and ``fix`` what would be right.
    """
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    names: list[str] = []
    for item in items:
        if not isinstance(item, str):
            raise WrongValueError(f"{item!r:.60} is not text", "write names as text, numbers in quotes")
        check_most("the list", len(names) + count_of(item))
        names += map(check_name, expand(item))
    twice = repeated_name(names)
    if twice is not None:
        raise WrongValueError(repeated.format(repr(twice)), fix)
    return names


def repeated_name(names: Sequence[str]) -> str | None:
    """The first name that comes twice, or comes again with other capitals."""
    counts = Counter(name.casefold() for name in names)
    return next((name for name in names if counts[name.casefold()] > 1), None)


def naming_pattern(**fields: str | int) -> AfterValidator:
    """A validator of a pattern such as ``{stripe}-leaf{leaf}``; ``fields`` are those it may use, each with an example."""
    known = ", ".join(f"{{{field}}}" for field in fields)

    def check(pattern: str) -> str:
        used: list[str] = []
        try:
            used = [field for _, field, _, _ in string.Formatter().parse(pattern) if field is not None]
            example = named(pattern, **fields)
        except KeyError as error:
            unknown = next((field for field in used if error.args[0] in field), error.args[0])
            raise WrongValueError(f"'{{{unknown}}}' is not a field of this name", f"fields are {known}") from None
        except ValueError as error:
            raise WrongValueError(f"{pattern!r} is not a naming pattern ({error})", f"fields are {known}") from None
        check_name(example)
        return pattern

    return AfterValidator(check)
