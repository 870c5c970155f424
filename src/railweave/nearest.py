"""The known name that a user meant: one that is written nearly alike, or none."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LIKE = 0.75
"""Similarity (difflib's ratio) below which names are unrelated; with less, "spine_count" was taken for ``interconnect``."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that a word is nearest to; hyphens, underscores, case and leading zeros of numbers do not count."""
    names = list(known)
    plain = _plain(word)
    same = next((name for name in names if _plain(name) == plain), None)
    begun = [name for name in names if len(plain) > 2 and _plain(name).startswith(plain)]
    return (
        same
        or (begun[0] if len(begun) == 1 else None)
        or next(iter(difflib.get_close_matches(word, names, 1, cutoff=LIKE)), None)
    )


def _plain(name: str) -> str:
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", re.sub(r"[\s_-]", "", re.sub(r"-(?=[0-9])", ".", name))).casefold()
