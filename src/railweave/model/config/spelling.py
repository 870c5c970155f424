"""Statements that a system accepts in several spellings with the same effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def plainly(text: str, spelled: Collection[str]) -> str:
    """Return a statement without the words that have no effect.

    ``spelled`` holds regular expressions (``reads.spelled`` in system.yaml). The text that the groups of the first matching
    expression capture is removed.
    """
    match = next(filter(None, (re.fullmatch(pattern, text) for pattern in spelled)), None)
    if match is None:
        return text
    for group in range(match.re.groups, 0, -1):
        start, end = match.span(group)
        text = text if start < 0 else text[:start] + text[end:]
    return text
