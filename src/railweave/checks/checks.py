"""The checks of a network, and how they are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings.registry import rules_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.checks.subject import Subject
    from railweave.findings import Finding
    from railweave.findings.registry import Rule


def checks() -> dict[str, Rule]:
    """Every check of a network by its id, in the order they run: those of the modules of ``railweave.checks``."""
    return {name: rule for name, rule in rules_of("railweave.checks").items() if rule.check is not None}


def run_checks(
    subject: Subject, *, slow: bool = True, progress: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Findings of every check, in their order; without the ``slow`` ones where asked."""
    found: list[Finding] = []
    for name, rule in checks().items():
        if slow or not rule.slow:
            progress(f"checking {name}")
            found += rule.run(subject)
    return found
