"""The command line of Enterprise SONiC, read by a grammar of the commands used here.

Dell publishes no model of it. Each command of the grammar is from a public document that is named with it; what is in none
of them is unknown here, whether a switch would take it or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section


def lint(device: str, sections: Iterable[Section]) -> list[Finding]:
    """Return mistakes in a device's commands: unknown ones, and names that nothing defines."""
    return registry.lint(__name__, list(sections), device, "sonic.cli")
