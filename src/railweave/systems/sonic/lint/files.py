"""A device's two files as the rules read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section
    from railweave.systems.sonic.tables import Row, Tables


@dataclass(frozen=True)
class Files:
    """``config_db.json`` as tables, ``frr.conf`` as sections."""

    tables: Tables
    routing: list[Section]

    def rows(self, table: str) -> Iterator[tuple[list[str], Row]]:
        """The rows of a table: the parts of the key, and the fields."""
        for key, row in self.tables.get(table, {}).items():
            yield key.split("|"), row

    def names(self, table: str) -> set[str]:
        """What the rows of a table are called: the first part of their keys."""
        return {parts[0] for parts, _ in self.rows(table)}


def text(row: Row, field: str) -> str:
    """A field as text; empty where it is not there or a list."""
    value = row.get(field, "")
    return value if isinstance(value, str) else ""


def number(value: str) -> int | None:
    """A value as a number; None where it is none."""
    return int(value) if value.isascii() and value.lstrip("-").isdecimal() else None
