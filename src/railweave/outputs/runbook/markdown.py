"""Markdown as the runbook needs it: tables, and blocks of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table; a bar inside a cell is escaped."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return lines


def _cell(value: object) -> str:
    text = str(value)
    return text.replace("|", "\\|") if "|" in text else text


def block(lines: Iterable[str]) -> list[str]:
    """Lines to type or to print, as they are."""
    return ["```", *lines, "```"]
