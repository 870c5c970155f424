"""Names that a configuration gives and names that it uses, found in its lines by patterns; nothing of ours knows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

Patterns = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""By kind of thing: patterns of lines that define one, and of lines that name one; the group is its name."""


def dangling(lines: Iterable[str], patterns: Patterns, known: Mapping[str, set[str]] | None = None) -> list[str]:
    """What lines name and no line defines. ``known`` are names that the system has by itself."""
    found: list[str] = []
    lines = list(lines)
    for kind, (definitions, named) in patterns.items():
        names = set((known or {}).get(kind, ()))
        names |= {name for line in lines for name in _names(tuple(definitions), line)}
        found += [
            f"{kind} {name}: {line}" for line in lines for name in _names(tuple(named), line) if name not in names
        ]
    return found


@lru_cache(maxsize=1 << 20)
def _names(patterns: tuple[str, ...], line: str) -> tuple[str, ...]:
    return tuple(match[1] for one in patterns if (match := re.search(one, line)))


def uses(lines: Iterable[str], patterns: Patterns) -> set[str]:
    """The kinds of which something is named: a pattern that finds nothing anywhere checks nothing."""
    lines = list(lines)
    return {kind for kind, (_, named) in patterns.items() if any(_names(tuple(named), line) for line in lines)}
