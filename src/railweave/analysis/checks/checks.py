"""The checks of a network, and how they are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import UnsettledError
from railweave.model.findings.registry import Rule, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.analysis.checks.subject import Subject
    from railweave.model.findings import Finding


UNSETTLED = Rule(
    "routes-unsettled",
    "error",
    "network",
    "Routes never settle: policies of some switches contradict each other.",
    "switches change their routes again and again, and no check that needs routes could look at the network",
    "put the designed policies back",
)


def checks() -> dict[str, Rule]:
    """Every check of a network by its id, in the order they run: those of the modules of ``railweave.analysis.checks``."""
    return {name: rule for name, rule in rules_of("railweave.analysis.checks").items() if rule.check is not None}


def run_checks(
    subject: Subject, *, slow: bool = True, progress: Callable[[str], None] = lambda _: None
) -> list[Finding]:
    """Findings of every check, in their order; without the ``slow`` ones where asked."""
    found: list[Finding] = []
    unsettled: dict[str, None] = {}
    for name, rule in checks().items():
        if slow or not rule.slow:
            progress(f"checking {name}")
            try:
                found += rule.run(subject)
            except UnsettledError as error:
                unsettled[str(error)] = None
    return [*found, *(UNSETTLED.finding(subject.network.name, what) for what in unsettled)]
