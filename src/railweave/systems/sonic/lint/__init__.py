"""Lint rules for SONiC that its published models do not check.

They concern names, numbers and lanes that daemons look up, and settings that belong together. The rules need neither
libyang nor the models, so they run in every build. A rule's docstring names its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry
from railweave.systems.sonic.lint.files import Files

if TYPE_CHECKING:
    from railweave.model.config.sections import Section
    from railweave.systems.sonic.tables import Tables


def lint(device: str, tables: Tables, routing: list[Section]) -> list[Finding]:
    """Return a finding for each mistake in a device's tables and routing lines, which railweave has rendered or read."""
    return registry.lint(__name__, Files(tables, routing), device, "config_db.json")
