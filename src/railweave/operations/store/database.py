"""The protocol of a database that runs are kept in, and the tables. Statements are written once, with ``?`` for what is filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMA = 1
"""The version of the tables. A store of another version is refused, not changed."""

TABLES = {
    "store": "version BIGINT NOT NULL PRIMARY KEY",
    "runs": "id TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL UNIQUE, tool TEXT NOT NULL, title TEXT NOT NULL, "
    "file TEXT NOT NULL, file_digest TEXT NOT NULL, line BIGINT NOT NULL, began TEXT NOT NULL, kept TEXT NOT NULL, "
    "hosts TEXT NOT NULL, ranks BIGINT, settings TEXT NOT NULL, facts TEXT NOT NULL, failures TEXT NOT NULL, notes TEXT NOT NULL",
    "environments": "run TEXT NOT NULL PRIMARY KEY REFERENCES runs, versions TEXT NOT NULL, firmware TEXT NOT NULL, "
    "variables TEXT NOT NULL, plugin TEXT NOT NULL, fabric TEXT NOT NULL, design_digest TEXT NOT NULL, "
    "switch_revision TEXT NOT NULL, host_check TEXT NOT NULL",
    "samples": "run TEXT NOT NULL REFERENCES runs, number BIGINT NOT NULL, operation TEXT NOT NULL, size_bytes BIGINT, "
    "place TEXT NOT NULL, quantity TEXT NOT NULL, value DOUBLE PRECISION NOT NULL, line BIGINT NOT NULL, "
    "labels TEXT NOT NULL, PRIMARY KEY (run, number)",
    "predictions": "run TEXT NOT NULL REFERENCES runs, number BIGINT NOT NULL, operation TEXT NOT NULL, size_bytes BIGINT, "
    "place TEXT NOT NULL, quantity TEXT NOT NULL, value DOUBLE PRECISION NOT NULL, low DOUBLE PRECISION NOT NULL, "
    "high DOUBLE PRECISION NOT NULL, method TEXT NOT NULL, PRIMARY KEY (run, number)",
}
"""Columns by table. Lists and pairs are JSON. Both databases take these words."""
KEYS = {
    "store": ("version",),
    "runs": ("id",),
    "environments": ("run",),
    "samples": ("run", "number"),
    "predictions": ("run", "number"),
}

Statement = tuple[str, "Sequence[Sequence[Any]]"]
"""A statement, and the rows of values that it is carried out with, one after another."""


class Database(Protocol):
    """A database with the tables above. Its methods raise ``OutputError`` where it cannot be reached or refuses."""

    @property
    def where(self) -> str:
        """Return the name of the database in messages, without a password."""
        ...

    def version(self) -> int | None:
        """The version of its tables; None where there are none."""
        ...

    def create(self) -> None:
        """Make the tables, with what keeps their rows from being changed: all or nothing."""
        ...

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a question."""
        ...

    def write(self, statements: Iterable[Statement]) -> None:
        """Carry out statements, all or none."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...
