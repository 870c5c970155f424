"""The protocol of a store's database, and its tables. Statements use ``?`` as the placeholder for values, on every database."""

from __future__ import annotations

import contextlib
import importlib
import re
import sqlite3
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from railweave.errors import FileLine, OutputError, Problem, RailweaveError, SpecError
from railweave.reading import make_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path


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
"""An SQL statement, and the rows of values with which it is executed, once per row."""


class Database(Protocol):
    """A database that stores benchmark runs in the tables ``TABLES``.

    Its methods raise ``OutputError`` if the database cannot be reached or refuses a statement.
    """

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
        """Return the rows of a query. ``values`` replace the ``?`` placeholders of the statement."""
        ...

    def write(self, statements: Iterable[Statement]) -> None:
        """Execute statements, each once per row of its values, in one transaction."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


_REFUSE = """
CREATE FUNCTION railweave.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'rows of a store are never changed'; END $$
"""


class Postgres:
    """A PostgreSQL database at the address ``postgresql://USER@HOST/NAME``. It is best to keep passwords in ~/.pgpass.

    ``where`` is the name of the database for messages: its address if it has no password, or the reference ``env:NAME`` or ``file:PATH``.
    """

    def __init__(self, address: str, where: str) -> None:
        self.where = where
        password = re.search(r"//[^:@/]*:(.+)@|[?&]password=([^&]*)", address)
        self._secrets = [
            address,
            *((text, unquote(text)) if (text := password and (password[1] or password[2])) else ()),
        ]
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
        """Create the tables and the triggers that refuse changes of rows, in one transaction. PostgreSQL rolls back new tables too."""
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
        """Return the rows of a query. ``values`` replace the ``?`` placeholders of the statement."""
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
            if self.where not in self._secrets:  # libpq quotes an address that it does not understand
                for secret in self._secrets:
                    reason = reason.replace(secret, self.where)
            raise OutputError(f"{self.where} cannot be used as a store: {reason[:300]}") from None


APPLICATION = 0x72775354
"""The ``application_id`` in the file's header that marks the file as a store: the letters rwST."""


class Sqlite:
    """A store in an SQLite file. If ``make`` is True, the file is opened for writing, and created if missing; else the file is only read."""

    def __init__(self, path: Path, *, make: bool) -> None:
        self.where = str(path)
        try:
            if make:
                make_file(path, 0o666)
            mode = "rw" if make else "ro"
            self._opened = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=60
            )
            self._opened.execute("PRAGMA foreign_keys=ON")
            if make:
                self._opened.execute("PRAGMA synchronous=FULL")
        except (OSError, sqlite3.Error) as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> RailweaveError:
        if isinstance(error, sqlite3.DatabaseError) and error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return self._none("it is not a store of benchmarks")
        reason = error.strerror if isinstance(error, OSError) else None
        return OutputError(f"{self.where} cannot be used as a store: {reason or error}")

    def _none(self, message: str) -> SpecError:
        return SpecError([Problem(FileLine(self.where), message, "name a file that `railweave bench import` made")])

    def version(self) -> int | None:
        """Return the version of the tables, or None if the file is empty. Raise SpecError if the file is not a store."""
        with self._refusing():
            (mark,) = self._opened.execute("PRAGMA application_id").fetchone()
            tables = self._opened.execute("SELECT name FROM sqlite_master").fetchall()
            if not tables:
                return None
            if mark != APPLICATION:
                raise self._none("it is another kind of database; nothing was changed")
            ((version,),) = self._opened.execute("SELECT version FROM store").fetchall() or [(0,)]
            return int(version)

    def create(self) -> None:
        """Create the tables and the triggers that refuse changes.

        ``REPLACE`` deletes rows without firing delete triggers, so a trigger before each insert refuses a row whose key exists.
        """
        with self._transaction():
            for table, columns in TABLES.items():
                self._opened.execute(f"CREATE TABLE {table} ({columns})")
                for verb in ("UPDATE", "DELETE"):
                    self._opened.execute(
                        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
                        f"BEGIN SELECT RAISE(ABORT, 'rows of a store are never changed'); END"
                    )
                there = " AND ".join(f"{key} = NEW.{key}" for key in KEYS[table])
                before = f"CREATE TRIGGER {table}_replace BEFORE INSERT ON {table} WHEN EXISTS "
                had = f"(SELECT 1 FROM {table} WHERE {there}) "  # noqa: S608 - names of our own
                self._opened.execute(
                    f"{before}{had}BEGIN SELECT RAISE(ABORT, 'rows of a store are never changed'); END"
                )
            self._opened.execute("INSERT INTO store VALUES (?)", (SCHEMA,))
            self._opened.execute(f"PRAGMA application_id = {APPLICATION}")

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. ``values`` replace the ``?`` placeholders of the statement."""
        with self._refusing():
            return self._opened.execute(statement, tuple(values)).fetchall()

    def write(self, statements: Iterable[Statement]) -> None:
        """Execute statements, each once per row of its values, in one transaction.

        If the process is killed, SQLite's journal rolls the transaction back.
        """
        with self._transaction():
            for statement, rows in statements:
                self._opened.executemany(statement, rows)

    def close(self) -> None:
        """Close the connection."""
        self._opened.close()

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        with self._refusing():
            self._opened.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._opened.execute("COMMIT")
            except BaseException:
                if self._opened.in_transaction:
                    self._opened.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _refusing(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._refused(error) from None
