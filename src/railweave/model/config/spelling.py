"""Statements that a system or a platform spells in several ways, with one effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def plainly(text: str, spelled: Collection[str]) -> str:
    """Return a statement without the parts that have no effect: the groups of the first matching pattern in ``spelled`` (``reads.spelled`` in system.yaml)."""
    match = next(filter(None, (re.fullmatch(pattern, text) for pattern in spelled)), None)
    if match is None:
        return text
    for group in range(match.re.groups, 0, -1):
        start, end = match.span(group)
        text = text if start < 0 else text[:start] + text[end:]
    return text
