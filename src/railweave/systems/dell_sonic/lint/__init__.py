"""Rules that find mistakes in commands of Enterprise SONiC. A grammar lists the commands that railweave uses.

Dell publishes no model of the command line. Each command of the grammar is from a public document that the grammar
names. A command that is in none of these documents is reported as unknown, even if a switch would accept it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section


def lint(device: str, sections: Iterable[Section]) -> list[Finding]:
    """Return findings about mistakes in a device's commands: unknown commands, and names that are used but not defined."""
    return registry.lint(__name__, list(sections), device, "sonic.cli")
