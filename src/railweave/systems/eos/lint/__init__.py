"""Rules that find mistakes in free text, in references, and in numbers that belong together, because AVD's schema does not detect them.

The ``why`` of a rule names its source, unless the rule follows from the meaning of the statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section


def lint(device: str, sections: Iterable[Section]) -> list[Finding]:
    """Return a finding for each mistake in a device's EOS configuration, rendered or read back."""
    return registry.lint(__name__, list(sections), device, "eos.conf")
