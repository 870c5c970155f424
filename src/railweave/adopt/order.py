"""The order in which people number things: et-0/0/9 before et-0/0/10."""

from __future__ import annotations

import re

_PART = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which names sort as their numbers do."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in _PART.split(text) if part
    )
