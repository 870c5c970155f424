"""What an outside judge reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.findings import Finding

    Files = Mapping[str, Mapping[str, str]]
    """Device to file name to text."""


@dataclass
class JudgeReport:
    """What one judge did: ``judged`` files, with ``findings``.

    ``reason`` says why it did not run, or, where ``ran``, with which version of the tool and what it left out.
    """

    name: str
    ran: bool
    reason: str
    judged: int = 0
    findings: list[Finding] = field(default_factory=list["Finding"])
