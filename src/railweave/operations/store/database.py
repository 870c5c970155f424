"""The protocol of a store's database, and its tables. Statements use ``?`` as the placeholder for values, on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCHEMA = 1
"""The version of the tables. A store of a different version is refused, not converted."""

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
"""The column definitions by table, valid in SQLite and PostgreSQL. Lists and pairs are stored as JSON."""
KEYS = {
    "store": ("version",),
    "runs": ("id",),
    "environments": ("run",),
    "samples": ("run", "number"),
    "predictions": ("run", "number"),
}

Statement = tuple[str, "Sequence[Sequence[Any]]"]
"""A statement, and the rows of values with which it is executed, once per row."""


class Database(Protocol):
    """A database with the tables above. Its methods raise ``OutputError`` if the database cannot be reached or refuses a statement."""

    @property
    def where(self) -> str:
        """The name of the database for messages, without a password."""
        ...

    def version(self) -> int | None:
        """Return the version of the tables, or None if the database has no tables."""
        ...

    def create(self) -> None:
        """Create the tables and the triggers that refuse changes of rows, in one transaction."""
        ...

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...

    def write(self, statements: Iterable[Statement]) -> None:
        """Execute statements in one transaction."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
