"""Rules of EOS that AVD's schema lets through: free text, references, numbers that must go together.

A rule's ``why`` names where it is from, where that is not the meaning itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section


def lint(device: str, sections: Iterable[Section]) -> list[Finding]:
    """Return mistakes in a device's EOS configuration, rendered or read back, by every rule."""
    return registry.lint(__name__, list(sections), device, "eos.conf")
