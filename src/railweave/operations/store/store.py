"""The store of runs, to which complete runs are added and from which they are read."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import Argument, FileLine, InputError, Problem, SpecError
from railweave.operations.store.database import SCHEMA, Database, Statement
from railweave.operations.store.records import Environment, Pairs, Prediction, Run, Sample
from railweave.reading import parse_json
from railweave.secret_url import resolved

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence


_SCHEMES = ("postgresql://", "postgres://")
_AT_ONCE = 500
_RUN = "INSERT INTO runs SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS BIGINT), ?, ?, ?, ? FROM runs"
_ENVIRONMENT = "INSERT INTO environments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SAMPLE = "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PREDICTION = "INSERT INTO predictions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@contextlib.contextmanager
def opened(where: Path | str, *, make: bool = False) -> Generator[Store]:
    """Open the store at a path or a ``postgresql://`` address, which may be given as ``env:NAME`` or ``file:PATH``. If ``make`` is True, open it for writing, and create it if missing.

    Raises ``SpecError`` if there is no store to read, and ``OutputError`` if the database cannot be used.
    """
    database = _database(str(where), make=make)
    try:
        version = database.version()
        if version is None and make:
            database.create()
        elif version is None:
            raise SpecError([Problem(FileLine(database.where), "there is no store here", _FIX)])
        elif version != SCHEMA:
            message = f"the store has format version {version}; this railweave reads and writes version {SCHEMA}"
            raise SpecError(
                [Problem(FileLine(database.where), message, "use the version that wrote it, and its export")]
            )
        yield Store(database)
    finally:
        database.close()


_FIX = "`railweave bench import FILE --store STORE` makes one"


def runs_of(word: str, beside: str = "") -> list[Run]:
    """Return the runs that a command-line argument names: all runs of a store, or one run (``STORE#ID``, or only an id).

    ``beside`` is another argument of the command. If ``word`` is only a run id, the run is searched in the store that ``beside``
    names. Raises ``InputError`` if the store has no run with that id, and the errors of ``opened``.
    """
    store, hashed, run = word.rpartition("#")
    if not hashed or Path(word).exists():
        store, run = word, ""
    if not run and beside and not Path(word).exists() and re.fullmatch("[0-9a-f]{1,16}", word):
        store, run = _store_of(beside), word
    with opened(store) as run_store:
        runs = run_store.runs(ids=[run] if run else [])
    if run and not runs:
        fix = f"`railweave bench show {store}` lists them"
        raise InputError([Problem(Argument(word), f"no run of {store} has an id that begins with {run!r}", fix)])
    return runs


def _store_of(word: str) -> str:
    """Return the store in ``word``, which names a store, or a store and a run separated by ``#``."""
    store, hashed, _ = word.rpartition("#")
    return store if hashed and not Path(word).exists() else word


def is_database(where: Path | str) -> bool:
    """Return True if a store is a database: a ``postgresql://`` address, or ``env:NAME`` or ``file:PATH``, which name such an address."""
    return str(where).startswith((*_SCHEMES, "env:", "file:"))


def _database(where: str, *, make: bool) -> Database:
    if is_database(where):
        from railweave.operations.store.database import Postgres

        address = resolved(FileLine("the store"), where, user_is_secret=False)
        if not address.startswith(_SCHEMES):
            fix = "write postgresql://USER@HOST/NAME there"
            raise SpecError([Problem(FileLine(where), "it does not name a database", fix)])
        return Postgres(address, where)
    from railweave.operations.store.database import Sqlite

    path = Path(where)
    if not make and not path.exists():
        raise SpecError([Problem(FileLine(where), "there is no such file", _FIX)])
    if path.is_dir():
        raise SpecError([Problem(FileLine(where), "it is a folder", "name a file in it")])
    if path.exists() and not path.is_file():
        raise SpecError([Problem(FileLine(where), "it is no regular file", "name a file")])
    return Sqlite(path, make=make)


class Store:
    """An open store. Runs are only added, never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def where(self) -> str:
        """The name of the store for messages."""
        return self._database.where

    def add(self, runs: Iterable[Run]) -> list[Run]:
        """Add the runs that the store does not have yet, in one transaction, and return them. Raises ``OutputError`` if they cannot be written."""
        given = {run.id: run for run in runs}
        there = self._known(list(given))
        new = [run for id_, run in given.items() if id_ not in there]
        if new:
            self._database.write([statement for run in new for statement in _statements(run)])
        return new

    def _known(self, ids: Sequence[str]) -> set[str]:
        """Return the ids that are already in the store.

        Several queries are used, because the number of values in a query is limited (SQLite:
        SQLITE_MAX_VARIABLE_NUMBER).
        """
        known: set[str] = set()
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            known |= {id_ for (id_,) in self._database.read(f"SELECT id FROM runs WHERE id IN ({marks})", some)}  # noqa: S608 - marks
        return known

    def settings(self) -> list[tuple[Pairs, bool]]:
        """Return (settings, True if the run failed) for each run, in the order of storing. Samples are not read."""
        rows = self._database.read("SELECT settings, failures FROM runs ORDER BY number")
        return [(_pairs(settings), bool(parse_json(failures))) for settings, failures in rows]

    def runs(self, *, ids: Sequence[str] = ()) -> list[Run]:
        """Return complete runs in the order of storing. ``ids`` has the beginnings of the ids of the runs to return; empty means all runs."""
        rows = self._database.read(
            "SELECT id, tool, title, file, file_digest, line, began, kept, hosts, ranks, settings, facts, failures, notes "
            "FROM runs ORDER BY number"
        )
        wanted = [row for row in rows if not ids or any(row[0].startswith(prefix) for prefix in ids)]
        return [self._run(row) for row in wanted]

    def _run(self, row: Sequence[Any]) -> Run:
        id_, *rest = row
        tool, title, file, digest, line, began, kept, hosts, ranks, settings, facts, failures, notes = rest
        (environment,) = self._database.read(
            "SELECT versions, firmware, variables, plugin, fabric, design_digest, switch_revision, host_check "
            "FROM environments WHERE run = ?",
            (id_,),
        )
        versions, firmware, variables, *others = environment
        samples = self._database.read(
            "SELECT operation, size_bytes, place, quantity, value, line, labels FROM samples WHERE run = ? ORDER BY number",
            (id_,),
        )
        predictions = self._database.read(
            "SELECT operation, size_bytes, place, quantity, value, low, high, method FROM predictions WHERE run = ? "
            "ORDER BY number",
            (id_,),
        )
        return Run(
            tool,
            title,
            file,
            digest,
            line,
            began,
            kept,
            tuple(parse_json(hosts)),
            ranks,
            _pairs(settings),
            _pairs(facts),
            tuple(parse_json(failures)),
            tuple(parse_json(notes)),
            Environment(_pairs(versions), _pairs(firmware), _pairs(variables), *others),
            tuple(Sample(*sample[:6], labels=_pairs(sample[6])) for sample in samples),
            tuple(Prediction(*prediction) for prediction in predictions),
        )


def _statements(run: Run) -> list[Statement]:
    id_, environment = run.id, run.environment
    head = (run.tool, run.title, run.file, run.file_digest, run.line, run.began, run.kept)
    lists = tuple(map(_json, (run.settings, run.facts, run.failures, run.notes)))
    pairs = tuple(map(_json, (environment.versions, environment.firmware, environment.variables)))
    words = (
        environment.plugin,
        environment.fabric,
        environment.design_digest,
        environment.switch_revision,
        environment.host_check,
    )
    samples = [(id_, number, *astuple(sample)[:-1], _json(sample.labels)) for number, sample in enumerate(run.samples)]
    predictions = [(id_, number, *astuple(prediction)) for number, prediction in enumerate(run.predictions)]
    written: list[tuple[str, list[tuple[Any, ...]]]] = [
        (_RUN, [(id_, *head, _json(run.hosts), run.ranks, *lists)]),
        (_ENVIRONMENT, [(id_, *pairs, *words)]),
        (_SAMPLE, samples),
        (_PREDICTION, predictions),
    ]
    return [(statement, [tuple(map(_plain, row)) for row in rows]) for statement, rows in written if rows]


def _plain(given: object) -> object:
    """Return the text ``given`` with replacements for characters that PostgreSQL or a file cannot store: NUL, and unpaired surrogates.

    Other values are returned unchanged.
    """
    if not isinstance(given, str):
        return given
    return given.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _json(given: object) -> str:
    return json.dumps(given)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in cast("list[list[str]]", parse_json(text)))
