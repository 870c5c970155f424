"""Names made from patterns such as ``leaf{number:02d}``, whose braces hold a field or a sum; route targets without a vendor's prefix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PART = re.compile(r"\{([^{}:]*)(?::([^{}]*))?\}")
_TERM = r"(?:[a-z_]+(?:\*[0-9]{1,5})?|[0-9]{1,5})"
_SUM = re.compile(rf"-?{_TERM}(?:[+-]{_TERM})*")


def named(pattern: str, **fields: str | int) -> str:
    """Return the name that ``pattern`` gives when the fields in its braces are replaced by their values.

    Braces contain a field name or a sum, for example ``leaf{stripe_number*2+leaf-2:02d}``.

    Raises ``KeyError`` for an unknown field, and ``ValueError`` for an expression that is neither a field nor a sum.
    """

    def part(match: re.Match[str]) -> str:
        text, form = match[1], match[2] or ""
        return format(fields[text] if text in fields else _sum(text, fields), form)

    return _PART.sub(part, pattern)


def _sum(text: str, fields: Mapping[str, str | int]) -> int:
    if _SUM.fullmatch(text) is None:
        raise KeyError(text)
    total = 0
    for term in text.replace("-", "+-").removeprefix("+").split("+"):
        name, _, factor = term.lstrip("-").partition("*")
        value = name if name.isdecimal() else fields[name]
        if isinstance(value, str) and not name.isdecimal():
            raise ValueError(f"{name} is text, but must be a number")
        total += int(value) * int(factor or 1) * (-1 if term.startswith("-") else 1)
    if total < 0:
        raise ValueError(f"{{{text}}} is {total}, below 0")
    return total


def target_value(target: str) -> str:
    """Return a route target ``A:B`` without the word ``target:``, which only Junos writes before it."""
    return target.removeprefix("target:")
