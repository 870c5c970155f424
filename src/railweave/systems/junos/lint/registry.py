"""The registry of Junos rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.findings import Severity
    from railweave.systems.junos.lint.words import Words

    Check = Callable[[Words], Iterator[str]]


@dataclass(frozen=True)
class Rule:
    """A rule: ``check`` yields one sentence for every place where the configuration breaks it."""

    id: str
    severity: Severity
    why: str
    fix: str
    check: Check


RULES: dict[str, Rule] = {}
"""Every rule by its id, in the order they run."""


def rule(id_: str, *, why: str, fix: str, severity: Severity = "error") -> Callable[[Check], Check]:
    """Register a check under the id that its findings carry, with why it matters and what to do."""

    def register(check: Check) -> Check:
        if id_ in RULES:
            raise ValueError(f"two rules are called {id_}")
        RULES[id_] = Rule(id_, severity, why, fix, check)
        return check

    return register
