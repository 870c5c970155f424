"""Rules over one kind of configuration: each yields a sentence for every place that breaks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from railweave.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.findings import Severity

Read = TypeVar("Read")
"""A configuration as the rules read it."""


@dataclass(frozen=True)
class Rule(Generic[Read]):
    """A rule under the id that its findings carry, with why it matters and what to do."""

    id: str
    severity: Severity
    why: str
    fix: str
    check: Callable[[Read], Iterator[str]]


@dataclass(frozen=True)
class Rulebook(Generic[Read]):
    """Rules by id, in the order they run."""

    rules: dict[str, Rule[Read]] = field(default_factory=dict[str, "Rule[Read]"])

    def rule(
        self, id_: str, *, why: str, fix: str, severity: Severity = "error"
    ) -> Callable[[Callable[[Read], Iterator[str]]], Callable[[Read], Iterator[str]]]:
        """Register a check."""

        def register(check: Callable[[Read], Iterator[str]]) -> Callable[[Read], Iterator[str]]:
            if id_ in self.rules:
                raise ValueError(f"two rules are called {id_}")
            self.rules[id_] = Rule(id_, severity, why, fix, check)
            return check

        return register

    def run(self, device: str, read: Read, file: str) -> list[Finding]:
        """What is wrong with a device's configuration, by every rule; each sentence once."""
        return [
            Finding(rule.id, rule.severity, device, what, rule.why, rule.fix, f"devices/{device}/{file}")
            for rule in self.rules.values()
            for what in dict.fromkeys(rule.check(read))
        ]
