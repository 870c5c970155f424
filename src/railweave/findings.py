"""Findings: what design, rendering and verification have to say about a network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement about a network: what is so, why it matters, and what to do.

    ``id`` is stable (documented in docs/findings.md); ``where`` names a device, server or part of the design;
    ``file`` and ``line`` point into the user's input where the cause stands (line 0: nowhere in particular).
    """

    id: str
    severity: Severity
    where: str
    what: str
    why: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0

    def to_json(self) -> dict[str, str | int]:
        """The finding as the documented JSON object."""
        keys = ("id", "severity", "where", "file", "line", "what", "why", "fix")
        values = asdict(self)
        return {key: values[key] for key in keys}


def by_severity(findings: tuple[Finding, ...] | list[Finding]) -> list[Finding]:
    """Errors first, then warnings, then notes; stable within each."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
