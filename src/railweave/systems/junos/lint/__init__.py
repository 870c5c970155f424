"""Rules of Junos that its published models let through: free text, references, and what must go together.

Three sources: the ``junos:must`` rules of Juniper's 23.4R2 models, which libyang does not enforce and which a commit
does; the command reference; and what follows from the meaning, such as a code point in two classes. A rule's docstring
names its source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings import Finding, registry
from railweave.systems.junos.lint.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.systems.junos.tree import Statement


def lint(device: str, statements: Iterable[Statement]) -> list[Finding]:
    """Return mistakes in a device's Junos statements, rendered or read back, by every rule."""
    return registry.lint(__name__, words_of(statements), device, "junos.conf")
