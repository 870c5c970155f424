"""The journal of a network's changes: the private folder ``NAME.state/`` next to the fabric file, with a record of every step.

A row is on disk before its step begins, so after a kill or a power failure the journal shows how far a change may have come.
``journal.db`` is SQLite (write-ahead log, ``synchronous=FULL``); texts of devices are files below ``revisions/NUMBER/``.
The journal is never exported.
"""

from __future__ import annotations

import errno
import fcntl
import getpass
import json
import os
import shutil
import socket
import sqlite3
import stat
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

from railweave.errors import FileLine, OutputError, Problem, SpecError
from railweave.operations.deploy.plan import Plan, plan_of
from railweave.reading import NotRegularError, file_text, make_file, parse_json
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence


Verb = Literal["rehearse", "commit", "confirm", "revert", "restore", "drain", "install", "restart", "return", "undrain"]
"""A kind of step on a device: ``rehearse`` tests a change without activating it, and ``revert`` rolls it back. ``restore`` is not used.

The last five kinds occur only in upgrades.
"""
State = Literal["running", "done", "stopped", "rolled back"]
"""The state of a revision.

- ``running``: in progress or interrupted.
- ``done``: every wave is confirmed.
- ``stopped``: stopped by a failure, with its last wave reverted.
- ``rolled back``: reverted later.
"""

_TABLES = """
CREATE TABLE IF NOT EXISTS revisions (
    number INTEGER PRIMARY KEY, label TEXT NOT NULL, plan TEXT NOT NULL, digest TEXT NOT NULL, who TEXT NOT NULL,
    began REAL NOT NULL, ended REAL, state TEXT NOT NULL, why TEXT NOT NULL DEFAULT '', back_to INTEGER);
CREATE TABLE IF NOT EXISTS steps (
    number INTEGER PRIMARY KEY, revision INTEGER NOT NULL REFERENCES revisions, wave INTEGER NOT NULL, device TEXT NOT NULL,
    verb TEXT NOT NULL, began REAL NOT NULL, ended REAL, failed TEXT);
CREATE TABLE IF NOT EXISTS lines (
    number INTEGER PRIMARY KEY, revision INTEGER NOT NULL REFERENCES revisions, at REAL NOT NULL, line TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS acknowledged (
    device TEXT PRIMARY KEY, serial TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL, unseen TEXT NOT NULL);
"""


@dataclass(frozen=True)
class Revision:
    """A revision: the record of one application of a plan. Times are seconds since 1970.

    - ``label``: the revision's name on devices. ``digest``: the digest of the plan.
    - ``who``: the user, host and process. ``why``: the reason why the revision stopped.
    - ``back_to``: the revision that this revision rolls back, or None.
    """

    number: int
    label: str
    digest: str
    who: str
    began: float
    ended: float | None
    state: State
    why: str
    back_to: int | None


@dataclass(frozen=True)
class Step:
    """A step of a revision on a device, such as a commit. ``verb`` is the kind of step.

    ``ended`` is None if the step was interrupted. ``failed`` is the error of the step on the device; None if it had no error.
    """

    wave: int
    device: str
    verb: Verb
    began: float
    ended: float | None
    failed: str | None


@dataclass(frozen=True)
class Line:
    """A line of a revision's human-readable log; ``at`` is in seconds since 1970."""

    at: float
    line: str


@dataclass(frozen=True)
class Acknowledgement:
    """A new device that matched the design and the inventory (``deploy acknowledge``).

    ``serial`` is the device's serial number in the inventory, ``who`` the operator, and ``at`` the time in seconds
    since 1970. ``unseen`` has the parts that could not be compared and were accepted.
    """

    device: str
    serial: str
    who: str
    at: float
    unseen: tuple[str, ...]


class Journal:
    """The journal of a fabric file, as ``opened`` and ``at_work`` return it. Every method writes to the disk before it returns."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self.folder = folder
        self._database = database

    def begin(self, plan: Plan, label: str) -> Revision:
        """Add a new revision for a plan to the journal, and return it. In the label, the revision's number replaces ``{number}``."""
        with self._database as rows:
            number = int(rows.execute("SELECT coalesce(max(number), 0) + 1 FROM revisions").fetchone()[0])
            full = label.format(number=number)
            rows.execute(
                "INSERT INTO revisions (number, label, plan, digest, who, began, state, back_to) VALUES (?,?,?,?,?,?,?,?)",
                (
                    number,
                    full,
                    json.dumps(plan.to_json()),
                    plan.digest,
                    _myself(),
                    time.time(),
                    "running",
                    plan.back_to,
                ),
            )
        return self.revision(number)

    def end(self, number: int, state: State, why: str = "") -> None:
        """Record the end of revision ``number`` and the reason ``why``. With the state ``running``, record only that the revision was interrupted."""
        ended = None if state == "running" else time.time()
        with self._database as rows:
            rows.execute(
                "UPDATE revisions SET state = ?, why = ?, ended = ? WHERE number = ?", (state, why, ended, number)
            )

    @contextmanager
    def step(self, revision: int, wave: int, device: str, verb: Verb, *, anyway: bool = False) -> Generator[None]:
        """Record a step of kind ``verb`` of a revision: its beginning when the context is entered, and its end afterwards.

        An error in the context is recorded and raised again. If the journal cannot be written, for example because the
        disk is full, raise ``OutputError`` before the step begins. If ``anyway`` is True, the step is taken without a
        record in that case, because a rollback must not fail for lack of disk space.
        """
        number = None
        try:
            with self._written() as rows:
                number = rows.execute(
                    "INSERT INTO steps (revision, wave, device, verb, began) VALUES (?,?,?,?,?)",
                    (revision, wave, device, verb, time.time()),
                ).lastrowid
        except OutputError:
            if not anyway:
                raise
        try:
            yield
        except Exception as error:
            with suppress(OutputError):  # the device's error is the one to raise
                self._ended(number, str(error))
            raise
        with suppress(*((OutputError,) if anyway else ())):
            self._ended(number, None)

    def _ended(self, number: int | None, failed: str | None) -> None:
        with self._written() as rows:
            rows.execute("UPDATE steps SET ended = ?, failed = ? WHERE number = ?", (time.time(), failed, number))

    @contextmanager
    def _written(self) -> Generator[sqlite3.Connection]:
        """Commit what is written to the database in this context as one transaction. Raises ``OutputError`` if that fails."""
        try:
            with self._database as rows:
                yield rows
        except sqlite3.Error as error:
            raise OutputError(f"{self.folder / 'journal.db'} cannot be written: {error}") from None

    def revisions(self) -> list[Revision]:
        """Return all revisions, the newest first."""
        rows = self._database.execute(
            "SELECT number, label, digest, who, began, ended, state, why, back_to FROM revisions ORDER BY number DESC"
        )
        return [Revision(*row) for row in rows]

    def revision(self, number: int) -> Revision:
        """Return one revision. Raises ``SpecError`` if the number does not exist."""
        for revision in self.revisions():
            if revision.number == number:
                return revision
        description = f"there is no revision {number}"
        raise SpecError(
            [Problem(FileLine(str(self.folder)), description, "railweave deploy history FABRIC lists them")]
        )

    def under_way(self) -> list[Revision]:
        """Return the revisions that are in progress or interrupted, the newest first.

        There are two such revisions if a revision that belongs to an upgrade is in progress.
        """
        return [revision for revision in self.revisions() if revision.state == "running"]

    def plan(self, number: int) -> Plan:
        """Return the plan that revision ``number`` applies."""
        row = self._database.execute("SELECT plan FROM revisions WHERE number = ?", (number,)).fetchone()
        return plan_of(parse_json(row[0]))

    def steps(self, number: int) -> list[Step]:
        """Return the steps of a revision, in order."""
        rows = self._database.execute(
            "SELECT wave, device, verb, began, ended, failed FROM steps WHERE revision = ? ORDER BY number", (number,)
        )
        return [Step(*row) for row in rows]

    def note(self, number: int, line: str) -> None:
        """Write a line to the log of a revision.

        If the disk is full, the line is lost, so that a rollback does not fail.
        """
        with suppress(OutputError), self._written() as rows:
            rows.execute("INSERT INTO lines (revision, at, line) VALUES (?,?,?)", (number, time.time(), line))

    def log(self, number: int) -> list[Line]:
        """Return the log of a revision, in order."""
        rows = self._database.execute("SELECT at, line FROM lines WHERE revision = ? ORDER BY number", (number,))
        return [Line(*row) for row in rows]

    def acknowledge(self, device: str, serial: str, unseen: Sequence[str]) -> None:
        """Record that a device matches the design and the inventory. The new record replaces an earlier one of the same device.

        ``serial`` is its serial number. ``unseen`` has the parts that could not be compared and were accepted.
        """
        with self._database as rows:
            rows.execute(
                "INSERT OR REPLACE INTO acknowledged (device, serial, who, at, unseen) VALUES (?,?,?,?,?)",
                (device, serial, _myself(), time.time(), json.dumps(list(unseen))),
            )

    def acknowledgements(self) -> list[Acknowledgement]:
        """Return the acknowledged devices in the order of their acknowledgement."""
        if "acknowledged" not in _tables(self._database):  # a journal of an earlier release, open for reading
            return []
        rows = self._database.execute("SELECT device, serial, who, at, unseen FROM acknowledged ORDER BY at, device")
        return [
            Acknowledgement(device, serial, who, at, tuple(parse_json(unseen)))
            for device, serial, who, at, unseen in rows
        ]

    def keep(self, number: int, device: str, when: Literal["before", "after"], texts: Mapping[str, str]) -> None:
        """Store the configuration texts of a device before or after revision ``number``. Raises ``OutputError`` if they cannot be written."""
        folder = self.folder / "revisions" / f"{number:04}" / device / when
        try:
            for directory in (*reversed(folder.parents[:3]), folder):
                directory.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
        for file, text in texts.items():
            write_file(folder / file, text, private=True)

    def kept(self, number: int, device: str, when: Literal["before", "after"]) -> dict[str, str]:
        """Return the texts of a device that ``keep`` stored for revision ``number`` and ``when``, by file; empty if there are none.

        Raises ``OutputError`` if they cannot be read.
        """
        folder = self.folder / "revisions" / f"{number:04}" / device / when
        try:
            return {file.name: file_text(file) for file in sorted(folder.iterdir())}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise OutputError(f"{folder} cannot be read: {error.strerror}") from None


def _myself() -> str:
    """Return the user, host and process of this program."""
    return f"{getpass.getuser()}@{socket.gethostname()} (process {os.getpid()})"


def folder_of(fabric: Path) -> Path:
    """Return the state folder of a fabric file."""
    return fabric.with_name(f"{fabric.stem}.state")


@contextmanager
def opened(fabric: Path) -> Generator[Journal]:
    """Open the journal of a fabric file for reading, while the context lasts. The journal is empty if nothing was ever applied.

    ``at_work`` opens it for writing. Raises ``OutputError`` if the journal cannot be read.
    """
    folder = folder_of(fabric)
    path = folder / "journal.db"
    with ExitStack() as held:
        try:
            database = held.enter_context(_reading(path))
        except OSError as error:
            raise OutputError(f"{path} cannot be read: {error.strerror}") from None
        except sqlite3.Error as error:
            raise OutputError(f"{path} cannot be read: {error}") from None
        try:
            yield Journal(folder, database)
        except sqlite3.Error as error:
            raise OutputError(f"{path} cannot be read: {error}") from None


_NO_ROOM = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL}
"""The error codes of SQLite if it cannot create files in a folder, or if the disk is full."""


@contextmanager
def _reading(path: Path) -> Generator[sqlite3.Connection]:
    """Open a read-only connection to the journal's database.

    SQLite has to create files next to a write-ahead log even to read it (sqlite.org/wal.html, "Read-Only Databases"). In a folder where
    SQLite cannot create files, or on a full disk, a copy of the database and its log is read.
    """
    with ExitStack() as held:
        if _there(path):
            database = held.enter_context(closing(_read_only(path)))
            try:
                tables = _tables(database)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _NO_ROOM:
                    raise
                copy = _copied(path, Path(held.enter_context(TemporaryDirectory(prefix="railweave-"))))
                database = held.enter_context(closing(sqlite3.connect(copy)))
                tables = _tables(database)
            if tables:  # a database without any is being made
                yield database
                return
        empty = held.enter_context(closing(sqlite3.connect(":memory:")))
        empty.executescript(_TABLES)
        yield empty


def _there(path: Path) -> bool:
    """Return True if a file exists. Raises ``OSError`` if that cannot be determined; ``Path.exists`` could return False instead."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not regular:
        raise NotRegularError(errno.EINVAL, "no regular file", str(path))
    return True


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _tables(database: sqlite3.Connection) -> list[str]:
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _copied(path: Path, folder: Path) -> Path:
    """Copy a database and its log into ``folder``, and return the path of the copied database.

    If a process writes during the copy, the copy is repeated, so that both files have the same state.
    """
    files = [path, path.with_name(f"{path.name}-wal")]
    while True:
        before = _stamps(files)
        for file in files:
            if _there(file):
                shutil.copyfile(file, folder / file.name)
            else:
                (folder / file.name).unlink(missing_ok=True)
        if _stamps(files) == before:
            return folder / path.name


def _stamps(files: Iterable[Path]) -> list[tuple[int, int] | None]:
    stats = [file.stat() if _there(file) else None for file in files]
    return [None if stat is None else (stat.st_size, stat.st_mtime_ns) for stat in stats]


def who_is_at_work(fabric: Path) -> str:
    """Return the user, host and process that has the journal of a fabric file open for writing; empty if no process has."""
    try:
        with (folder_of(fabric) / "lock").open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read(300).decode(errors="replace").strip() or "another process"
    except OSError:
        return ""
    return ""


@contextmanager
def at_work(fabric: Path) -> Generator[Journal]:
    """Open the journal of a fabric file for exclusive writing, while the context lasts.

    Raises ``OutputError`` if the journal cannot be written. Raises it also if another process has the journal open; the
    error then names the user.
    """
    folder = folder_of(fabric)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(lock, 300, 0).decode(errors="replace").strip() or "another process"
            raise OutputError(
                f"{who} is at work on {fabric}: wait, or ask `railweave deploy status {fabric}`"
            ) from None
        path = folder / "journal.db"
        try:
            os.ftruncate(lock, 0)
            os.pwrite(lock, _myself().encode(), 0)
            make_file(path, 0o600)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}") from None
        database = sqlite3.connect(path)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.executescript(_TABLES)
            yield Journal(folder, database)
            os.ftruncate(lock, 0)
        finally:
            database.close()
    except sqlite3.Error as error:
        raise OutputError(f"{folder / 'journal.db'} cannot be written: {error}") from None
    finally:
        os.close(lock)
