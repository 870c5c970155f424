"""The context of every design decision: the input, the catalog, the lock, and a place to report problems."""

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
    """Shared by the modules of one design run. ``lock`` is a working copy that allocations are added to."""

    source: Source
    lock: Lock
    catalog: Catalog = field(default_factory=catalog)
    problems: list[Problem] = field(default_factory=list[Problem])
    findings: list[Finding] = field(default_factory=list[Finding])

    def problem(self, location: Iterable[Key], message: str, fix: str) -> None:
        """Note that something asked for cannot be built; design stops at the next ``check``."""
        problem = self.source.document.problem(location, message, fix)
        if problem not in self.problems:
            self.problems.append(problem)

    def inventory_problem(self, line: int, message: str, fix: str) -> None:
        """Note that a line of the inventory does not go with the rest; design stops at the next ``check``."""
        problem = Problem(FileLine(self.source.inventory.file, line), message, fix)
        if problem not in self.problems:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise ``DesignError`` with everything noted so far, if anything."""
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
        """Note something that is worth knowing but stops nothing; what is not given is as the rule says."""
        file, line = self.source.path.name, self.source.document.line(location)
        self.findings.append(rule.finding(where, message, file=file, line=line, severity=severity, why=why, fix=fix))
