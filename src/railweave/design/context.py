"""What every design decision needs: the input, the catalog, the lock, and a place to say what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.errors import DesignError, FileLine, Problem
from railweave.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.catalog.models import Catalog
    from railweave.intent.document import Key
    from railweave.intent.lock import Lock
    from railweave.intent.source import Source


@dataclass
class Context:
    """Shared by the modules of one design run. ``lock`` is a working copy that allocations are added to."""

    source: Source
    lock: Lock
    catalog: Catalog = field(default_factory=catalog)
    problems: list[Problem] = field(default_factory=list[Problem])
    findings: list[Finding] = field(default_factory=list[Finding])

    def problem(self, location: Iterable[Key], what: str, fix: str) -> None:
        """Note that something asked for cannot be built; design stops at the next ``check``."""
        problem = self.source.document.problem(location, what, fix)
        if problem not in self.problems:
            self.problems.append(problem)

    def inventory_problem(self, line: int, what: str, fix: str) -> None:
        """Note that a line of the inventory does not go with the rest; design stops at the next ``check``."""
        problem = Problem(FileLine(self.source.inventory.file, line), what, fix)
        if problem not in self.problems:
            self.problems.append(problem)

    def check(self) -> None:
        """Raise ``DesignError`` with everything noted so far, if anything."""
        if self.problems:
            raise DesignError(self.problems)

    def finding(
        self, id_: str, severity: Severity, where: str, location: Iterable[Key], what: str, why: str, fix: str
    ) -> None:
        """Note something that is worth knowing but stops nothing."""
        line = self.source.document.line(location)
        self.findings.append(Finding(id_, severity, where, what, why, fix, self.source.path.name, line))
