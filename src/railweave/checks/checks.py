"""Run the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.checks import consistency, lints, routing, tenancy
from railweave.checks.registry import CHECKS, SLOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.checks.registry import Subject
    from railweave.findings import Finding

_ = (consistency, lints, routing, tenancy)  # importing them registers their checks


def run_checks(
    subject: Subject, *, slow: bool = True, progress: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Findings of every check, in the order they are registered; without the ``slow`` ones where asked."""
    found: list[Finding] = []
    for name, function in CHECKS.items():
        if slow or name not in SLOW:
            progress(f"checking {name}")
            found += function(subject)
    return found
