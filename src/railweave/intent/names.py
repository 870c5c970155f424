"""Names of things in the fabric file, and lists of them in the notation of cluster schedulers: ``H100-[01-04,07]``.

A name goes into host names, file names and configuration, so its letters are limited; a naming pattern makes one of
fields in braces.
"""

from __future__ import annotations

import re
import string
from typing import Annotated, cast

from pydantic import AfterValidator, WithJsonSchema

from railweave.intent.base import WrongValueError

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"

_RANGE = re.compile(r"^(?P<head>[^\[\]]*)\[(?P<body>[0-9,\-]+)\](?P<tail>[^\[\]]*)$")
_BOUNDS = re.compile(r"(\d+)(?:-(\d+))?")


def check_name(name: str) -> str:
    """The name itself. Raises ``ValueError`` where a host or a file could not be called so."""
    if re.fullmatch(NAME, name) is None:
        raise WrongValueError(
            f"{name!r} is not a name",
            "use letters, digits, dots, dashes and underscores, at most 63, the first a letter or digit",
        )
    return name


Name = Annotated[str, AfterValidator(check_name), WithJsonSchema({"type": "string", "pattern": NAME})]
"""A name of the user's choosing."""


def expand(pattern: str) -> list[str]:
    """The names a pattern stands for, in order; a plain name stands for itself.

    ``H100-[01-03]`` gives ``H100-01, H100-02, H100-03``: the width of the first number is kept. Raises ``ValueError``
    for a malformed or backward range.
    """
    if "[" not in pattern and "]" not in pattern:
        return [pattern]
    match = _RANGE.match(pattern)
    if match is None:
        raise ValueError(f"{pattern!r} is not a host list: write it as H100-[01-04,07]")
    names: list[str] = []
    for part in match["body"].split(","):
        bounds = _BOUNDS.fullmatch(part)
        first, last = (bounds[1], bounds[2] or bounds[1]) if bounds else ("1", "0")
        if int(first) > int(last):
            raise ValueError(f"{part!r} in {pattern!r} is not a range: write low-high, for example 01-04")
        names += [
            f"{match['head']}{number:0{len(first)}d}{match['tail']}" for number in range(int(first), int(last) + 1)
        ]
    return names


def expand_all(value: object, repeated: str, fix: str) -> list[str]:
    """The names that a host list, or a list of them, stands for.

    Raises ``ValueError`` for what is not a name, and where a name comes twice: ``repeated`` says it, where ``{}`` is the
    name, and ``fix`` what would be right.
    """
    items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    names: list[str] = []
    for item in items:
        if not isinstance(item, str):
            raise WrongValueError(f"{item!r} is not text", "write names as text, numbers in quotes")
        names += map(check_name, expand(item))
    if len(set(names)) < len(names):
        raise WrongValueError(repeated.format(next(repr(name) for name in names if names.count(name) > 1)), fix)
    return names


def naming_pattern(**fields: str | int) -> AfterValidator:
    """A validator of a pattern such as ``{stripe}-leaf{leaf}``; ``fields`` are those it may use, each with an example."""
    known = ", ".join(f"{{{field}}}" for field in fields)

    def check(pattern: str) -> str:
        try:
            used = [field for _, field, _, _ in string.Formatter().parse(pattern) if field is not None]
            unknown = next((field for field in used if field not in fields), None)
            example = pattern.format(**fields) if unknown is None else ""
        except ValueError as error:
            raise WrongValueError(f"{pattern!r} is not a naming pattern ({error})", f"fields are {known}") from None
        if unknown is not None:
            raise WrongValueError(f"'{{{unknown}}}' is not a field of this name", f"fields are {known}")
        check_name(example)
        return pattern

    return AfterValidator(check)
