"""The context that all design modules share: the input, the catalog, the lock, and the collected problems and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.errors import DesignError, FileLine, Problem
from railweave.model.catalog import catalog
from railweave.model.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.catalog.models import Catalog
    from railweave.model.findings.registry import Rule
    from railweave.model.intent.lock import Lock
    from railweave.model.intent.reading.document import Key
    from railweave.model.intent.reading.source import Source


@dataclass
class Context:
    """The state that the modules of a design run share.

    ``lock`` is a working copy of the lock (the file of allocated numbers), to which allocations are added.
    """

    source: Source
    lock: Lock
    catalog: Catalog = field(default_factory=catalog)
    problems: list[Problem] = field(default_factory=list[Problem])
    findings: list[Finding] = field(default_factory=list[Finding])

    def problem(self, location: Iterable[Key], message: str, fix: str) -> None:
        """Record a requirement that cannot be met as a problem. ``location`` is its key path in the fabric file.

        ``fix`` tells the user what to change. The next call of ``check`` raises an error with all recorded problems.
        """
        problem = self.source.document.problem(location, message, fix)
        if problem not in self.problems:
            self.problems.append(problem)

    def inventory_problem(self, line: int, message: str, fix: str) -> None:
        """Record a problem with an inventory line that contradicts the design. ``fix`` tells the user what to change.

        The next call of ``check`` raises an error with all recorded problems.
        """
        problem = Problem(FileLine(self.source.inventory.file, line), message, fix)
        if problem not in self.problems:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise ``DesignError`` with all problems recorded so far, if there are any."""
        if self.problems:
            raise DesignError(self.problems)

    def finding(
        self,
        rule: Rule,
        where: str,
        location: Iterable[Key],
        message: str,
        *,
        severity: Severity | None = None,
        why: str | None = None,
        fix: str | None = None,
    ) -> None:
        """Record a finding, which does not stop the design.

        ``where`` names the affected device or fabric. ``location`` is the key path in the fabric file. Without ``severity``, ``why`` (the
        reason) or ``fix`` (the remedy), the rule's default applies.
        """
        file, line = self.source.path.name, self.source.document.line(location)
        self.findings.append(rule.finding(where, message, file=file, line=line, severity=severity, why=why, fix=fix))
