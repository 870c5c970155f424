"""The findings about a network (designed, built or running), and the registry of the rules that report them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.json_values import JsonObject

if TYPE_CHECKING:
    from collections.abc import Sequence

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding(JsonObject):
    """One statement about a network: the fact (``what``), why it matters, and the fix.

    - ``id``: a stable identifier, documented in docs/findings.md.
    - ``where``: a device, a server or a part of the design.
    - ``file`` and ``line``: the place of the cause in the user's input. Line 0 means no particular line.
    - ``field``: the field of the file that sets the requirement, with its value or its default. Empty if unknown.
    """

    JSON = ("id", "severity", "where", "file", "line", "*_field", "what", "why", "fix")

    id: str
    severity: Severity
    where: str
    what: str
    why: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0
    field: str = ""

    @property
    def _field(self) -> dict[str, str]:
        return {"field": self.field} if self.field else {}

    @property
    def place(self) -> str:
        """The place of the cause as a text such as ``fabric.yaml:12 underlay.mtu``; empty if no file is known."""
        return f"{self.file}:{self.line} {self.field}".rstrip() if self.line else f"{self.file} {self.field}".strip()


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with errors first, then warnings, then notes. The order within each severity is unchanged."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def summed(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, merging those that differ only in ``where``. A merged ``where`` is a text such as ``leaf1 and 3 more``."""
    groups: dict[Finding, list[str]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, where=""), []).append(finding.where)
    return [
        replace(finding, where=places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more")
        for finding, places in groups.items()
    ]
