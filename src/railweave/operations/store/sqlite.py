"""The store in one SQLite file."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING, Any

from railweave.errors import FileLine, OutputError, Problem, RailweaveError, SpecError
from railweave.operations.store.database import KEYS, SCHEMA, TABLES, Statement

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path


APPLICATION = 0x72775354
"""The ``application_id`` in the file's header that marks the file as a store: the letters rwST."""


class Sqlite:
    """A store in an SQLite file. With ``make``, the file is opened for writing, and created if missing; else it is only read."""

    def __init__(self, path: Path, *, make: bool) -> None:
        self.where = str(path)
        try:
            if make:
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666))
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
            return self._none("it is no store of benchmarks")
        reason = error.strerror if isinstance(error, OSError) else None
        return OutputError(f"{self.where} cannot be used as a store: {reason or error}")

    def _none(self, message: str) -> SpecError:
        return SpecError([Problem(FileLine(self.where), message, "name a file that `railweave bench import` made")])

    def version(self) -> int | None:
        """Return the version of the tables, or None if the file is empty."""
        with self._refusing():
            (mark,) = self._opened.execute("PRAGMA application_id").fetchone()
            tables = self._opened.execute("SELECT name FROM sqlite_master").fetchall()
            if not tables:
                return None
            if mark != APPLICATION:
                raise self._none("it is a database of something else; nothing was changed")
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
        """Return the rows of a query."""
        with self._refusing():
            return self._opened.execute(statement, tuple(values)).fetchall()

    def write(self, statements: Iterable[Statement]) -> None:
        """Execute statements in one transaction. If the process is killed, SQLite's journal rolls them back."""
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
