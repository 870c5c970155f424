"""Findings: what design, rendering and verification have to say about a network."""

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
    """One statement about a network: what is so, why it matters, and what to do.

    ``id`` is stable (documented in docs/findings.md); ``where`` names a device, server or part of the design;
    ``file`` and ``line`` point into the user's input where the cause stands (line 0: nowhere in particular).
    """

    JSON = ("id", "severity", "where", "file", "line", "what", "why", "fix")

    id: str
    severity: Severity
    where: str
    what: str
    why: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0


def by_severity(findings: Sequence[Finding]) -> list[Finding]:
    """Errors first, then warnings, then notes; stable within each."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def summed(findings: Sequence[Finding]) -> list[Finding]:
    """The same statement about several places, said once with their number."""
    groups: dict[Finding, list[str]] = {}
    for finding in findings:
        groups.setdefault(replace(finding, where=""), []).append(finding.where)
    return [
        replace(finding, where=places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more")
        for finding, places in groups.items()
    ]
