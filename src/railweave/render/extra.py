"""Findings about the operator's own statements, the same for every target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence


def extra_findings(device: str, lines: Sequence[str], routing: tuple[str, ...]) -> list[Finding]:
    """A note for every line that was merged in, and a warning where one begins with a word that decides routing."""
    found = [
        Finding(
            "extra-statement", "info", device, f"own statement: {line}", "it comes from `extra:`, not from the design"
        )
        for line in lines
    ]
    if any(line.startswith(routing) for line in lines):
        found.append(
            Finding(
                "extra-routing",
                "warning",
                device,
                "own statements touch routing",
                "routes, paths and the checks on them are computed without these statements",
                "use a field of the fabric file where there is one, or try them in the emulation",
            )
        )
    return found
