"""Names that a configuration gives and names that it uses, found in its lines by patterns; nothing of ours knows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

Patterns = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""By kind of thing: patterns of lines that define one, and of lines that name one; the group is its name."""


def dangling(lines: Iterable[str], patterns: Patterns, known: Mapping[str, set[str]] | None = None) -> list[str]:
    """What lines name and no line defines. ``known`` are names that the system has by itself."""
    found: list[str] = []
    lines = list(lines)
    for kind, (definitions, uses) in patterns.items():
        names = set((known or {}).get(kind, ()))
        for pattern in map(re.compile, definitions):
            names |= {match[1] for line in lines if (match := pattern.search(line))}
        for pattern in map(re.compile, uses):
            found += [
                f"{kind} {match[1]}: {line}"
                for line in lines
                if (match := pattern.search(line)) and match[1] not in names
            ]
    return found


def uses(lines: Iterable[str], patterns: Patterns) -> set[str]:
    """The kinds of which something is named: a pattern that finds nothing anywhere checks nothing."""
    lines = list(lines)
    return {
        kind for kind, (_, named) in patterns.items() if any(re.search(one, line) for one in named for line in lines)
    }
