"""Rules of EOS that AVD's schema lets through: free text, references, numbers that must go together.

A rule's ``why`` names where it is from, where that is not the meaning itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings import Finding
from railweave.systems.eos.lint import qos, references
from railweave.systems.eos.lint.registry import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RULES", "lint"]

_ = (qos, references)  # importing them registers their rules


def lint(device: str, lines: Sequence[str]) -> list[Finding]:
    """What is wrong with a device's EOS lines (each with the headers above it), by every rule."""
    return [
        Finding(rule.id, "error", device, what, rule.why, rule.fix, f"devices/{device}/eos.conf")
        for rule in RULES.values()
        for what in dict.fromkeys(rule.check(lines))
    ]
