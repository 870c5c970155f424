"""The registry of EOS rules, and how they find lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Check = Callable[[Sequence[str]], Iterator[str]]


@dataclass(frozen=True)
class Rule:
    """A rule: ``check`` yields one sentence for every place where the configuration breaks it."""

    id: str
    why: str
    fix: str
    check: Check


RULES: dict[str, Rule] = {}
"""Every rule by its id, in the order they run."""


def rule(id_: str, *, why: str, fix: str) -> Callable[[Check], Check]:
    """Register a check under the id that its findings carry, with why it matters and what to do."""

    def register(check: Check) -> Check:
        if id_ in RULES:
            raise ValueError(f"two rules are called {id_}")
        RULES[id_] = Rule(id_, why, fix, check)
        return check

    return register


def found(lines: Sequence[str], pattern: str) -> Iterator[re.Match[str]]:
    """Every line that a pattern matches as a whole; `` / `` stands between a header and what is below it."""
    compiled = re.compile(pattern)
    for line in lines:
        match = compiled.fullmatch(line)
        if match:
            yield match
