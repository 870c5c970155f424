"""Findings about the operator's own statements, the same for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.findings import Finding


STATEMENT = Rule(
    "extra-statement",
    "info",
    "rendering",
    "a statement of the operator's own was merged in",
    "it comes from `extra:`, not from the design",
)
ROUTING = Rule(
    "extra-routing",
    "warning",
    "rendering",
    "own statements touch routing",
    "routes, paths and the checks on them are computed without these statements",
    "use a field of the fabric file where there is one, or try them in the emulation",
)


def extra_findings(device: str, lines: Sequence[str], routing: tuple[str, ...]) -> list[Finding]:
    """A note for every line that was merged in, and a warning where one begins with a word that decides routing."""
    found = [STATEMENT.finding(device, f"own statement: {line}") for line in lines]
    if any(line.startswith(routing) for line in lines):
        found.append(ROUTING.finding(device))
    return found
