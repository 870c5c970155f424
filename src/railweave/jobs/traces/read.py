"""A trace from whatever file holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.jobs.traces.chakra_read import read_chakra

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.jobs.traces.trace import Trace


def read_trace(path: Path, groups: Path | None = None) -> Trace:
    """Read execution traces of Chakra (``chakra_read``). Raises ``SpecError``, ``OutputError``."""
    return read_chakra(path, groups)
