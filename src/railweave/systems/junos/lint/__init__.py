"""Lint rules for Junos that its published models do not check: rules about free text, references, and settings that belong together.

The rules have three sources:

- the ``junos:must`` rules of Juniper's 23.4R2 models: a switch checks them at commit, the validator libyang does not;
- the command reference;
- the meaning of statements, for example that a code point cannot be in two classes.

A rule's docstring names its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry
from railweave.systems.junos.lint.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.systems.junos.tree import Statement


def lint(device: str, statements: Iterable[Statement]) -> list[Finding]:
    """Return a finding for each mistake in a device's Junos statements, which railweave has rendered or read."""
    return registry.lint(__name__, words_of(statements), device, "junos.conf")
