"""Text of many servers: columns that stand below each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def matrix(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their cells below each other; a row may end early."""
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
