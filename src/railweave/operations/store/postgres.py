"""The store in a PostgreSQL database, in the schema ``railweave``. Only this module imports psycopg (extra ``[postgres]``)."""

from __future__ import annotations

import contextlib
import importlib
import re
from typing import TYPE_CHECKING, Any

from railweave.errors import OutputError
from railweave.operations.store.database import SCHEMA, TABLES, Statement

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence


_PASSWORD = re.compile(r"(?<=//)([^:/@]*):[^@/]*@|\bpassword=[^\s&]*&?")
_REFUSE = """
CREATE FUNCTION railweave.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'rows of a store are never changed'; END $$
"""


class Postgres:
    """A PostgreSQL database, named by its address ``postgresql://USER@HOST/NAME``. Passwords are best kept in ~/.pgpass."""

    def __init__(self, address: str) -> None:
        self.where = _PASSWORD.sub(lambda match: f"{match[1]}@" if match[1] else "", address)
        try:
            self._psycopg: Any = importlib.import_module("psycopg")
        except ImportError:
            raise OutputError(
                f"{self.where}: psycopg is not installed: pip install 'railweave[postgres]'; or keep runs in a file"
            ) from None
        with self._refusing():
            self._opened: Any = self._psycopg.connect(address, autocommit=True)

    def version(self) -> int | None:
        """Return the version of the tables, or None if the database has no tables."""
        there = self.read(
            "SELECT 1 FROM information_schema.tables WHERE table_schema = 'railweave' AND table_name = 'store'"
        )
        return int(self.read("SELECT version FROM railweave.store")[0][0]) if there else None

    def create(self) -> None:
        """Create the tables and the triggers that refuse changes, in one transaction: PostgreSQL can roll back created tables."""
        with self._refusing(), self._opened.transaction():
            self._opened.execute("CREATE SCHEMA IF NOT EXISTS railweave")
            self._opened.execute("SET LOCAL search_path TO railweave")
            self._opened.execute(_REFUSE)
            for table, columns in TABLES.items():
                self._opened.execute(f"CREATE TABLE {table} ({columns})")
                self._opened.execute(
                    f"CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                    f"FOR EACH STATEMENT EXECUTE FUNCTION railweave.refuse()"
                )
            self._opened.execute("INSERT INTO store VALUES (%s)", (SCHEMA,))

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._refusing():
            self._opened.execute("SET search_path TO railweave")
            return self._opened.execute(statement.replace("?", "%s"), tuple(values)).fetchall()

    def write(self, statements: Iterable[Statement]) -> None:
        """Execute statements in one transaction. Writers wait for one another, as they do with an SQLite file."""
        with self._refusing(), self._opened.transaction(), self._opened.cursor() as cursor:
            cursor.execute("SET LOCAL search_path TO railweave")
            cursor.execute("LOCK TABLE runs IN EXCLUSIVE MODE")
            for statement, rows in statements:
                cursor.executemany(statement.replace("?", "%s"), rows)

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()

    @contextlib.contextmanager
    def _refusing(self) -> Generator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            reason = " ".join(str(error).split())
            raise OutputError(f"{self.where} cannot be used as a store: {reason[:300]}") from None
