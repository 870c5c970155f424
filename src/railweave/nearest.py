"""Suggestions for misspelled names: the known name that is most similar."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LIKE = 0.75
"""The minimum similarity (difflib's ratio, 0 to 1) of names that are suggested.

A lower value would suggest ``interconnect`` for "spine_count".
"""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the name in ``known`` that is most similar to ``word``, or None if none is similar enough.

    Hyphens, underscores, case and leading zeros of numbers are ignored.
    """
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
