"""The store: rows that nobody changes, written whole or not at all, in SQLite and in PostgreSQL."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from railweave.errors import OutputError, SpecError
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from railweave.operations.store.database import TABLES
from railweave.operations.store.export import StoredRuns
from railweave.operations.store.records import Environment, Prediction, Run, Sample
from railweave.operations.store.store import opened
from tests.drawn import some
from tests.operations.bench.said import NAMES, text_of

RUN = Run(
    "nccl-tests",
    "all-reduce on 16 GPUs",
    "/a/b.txt",
    "0" * 64,
    1,
    "",
    "2026-01-01T00:00:00+00:00",
    ("h1", "h2"),
    16,
    (("iters", "20"),),
    (("network", "IB"),),
    ("line 3: it failed",),
    ("a:1: odd",),
    Environment(
        (("NCCL", "2.30.7"),),
        (("mlx5_0", "28.43"),),
        (("NCCL_IB_HCA", "mlx5"),),
        "railweave v12",
        "f.yaml",
        "ab",
        "7",
        "{}",
    ),
    (
        Sample("all-reduce", 1 << 40, "in-place", "busbw_gbytes_per_s", 371.25, 9, (("type", "float"),)),
        Sample("all-reduce", None, "", "average_busbw_gbytes_per_s", 1.5),
    ),
    (Prediction("all-reduce", 1 << 40, "in-place", "busbw_gbytes_per_s", 380.0, 370.0, 388.5, "packet, seed 1"),),
)


def every() -> list[Run]:
    """Runs of all fixtures."""
    return [run for name in NAMES for run in runs_of(read(text_of(name), name), "d", "now")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server of its own, on a socket. Root starts it as the user that Debian's package makes."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("no PostgreSQL server: apt install postgresql")
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("no psycopg: pip install 'railweave[postgres]'")
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="railweave-postgres-") as folder:
        if user:
            shutil.chown(folder, "postgres")
        tools, data = programs[-1], f"{folder}/data"
        make = [*user, tools / "initdb", "-A", "trust", "-N", "-U", "railweave", "-D", data]
        subprocess.run(make, check=True, capture_output=True, cwd="/")
        control = [*user, tools / "pg_ctl", "-D", data, "-w", "-t", "120"]
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        start = [*control, "-l", f"{folder}/log", "-o", options, "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd="/")
        try:
            yield f"postgresql://railweave@/postgres?host={folder}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL, cwd="/")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store, by either database."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.db")
        return
    address = request.getfixturevalue("server")
    yield address
    psycopg = importlib.import_module("psycopg")
    with psycopg.connect(address, autocommit=True) as found:
        found.execute("DROP SCHEMA IF EXISTS railweave CASCADE")


def test_what_is_kept_is_read_again(where: str) -> None:
    with opened(where, make=True) as store:
        assert store.add([RUN]) == [RUN]
        assert store.add([RUN]) == []
    with opened(where) as store:
        assert store.runs() == [RUN]
        assert store.runs(ids=[RUN.id[:5]]) == [RUN]
        assert store.runs(ids=["nothing"]) == []


def test_every_fixture_is_kept_and_read_again(where: str) -> None:
    runs = every()
    assert len({run.id for run in runs}) == len(runs) > 40
    with opened(where, make=True) as store:
        store.add(runs)
        assert store.runs() == runs


def test_rows_are_never_changed(where: str) -> None:
    with opened(where, make=True) as store:
        store.add([RUN])
        database = store._database
        before = store.runs()
        for table, columns in TABLES.items():
            column = columns.split()[0]
            update, delete = f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"  # noqa: S608 - our tables
            for statement in (update, delete):
                with pytest.raises(OutputError, match="rows of a store are never changed"):
                    database.write([(statement, [()])])
        if where.startswith("postgres"):
            with pytest.raises(OutputError, match="rows of a store are never changed"):
                database.write([("TRUNCATE samples", [()])])
        else:
            with pytest.raises(OutputError, match="rows of a store are never changed"):
                database.write([("INSERT OR REPLACE INTO store VALUES (1)", [()])])
        assert store.runs() == before


def test_runs_are_added_all_or_none(where: str) -> None:
    broken = replace(RUN, line=2, samples=(RUN.samples[0], replace(RUN.samples[0], value=cast("float", None))))
    with opened(where, make=True) as store:
        with pytest.raises(OutputError):
            store.add([replace(RUN, line=3), broken])
        assert store.runs() == []
        assert store.add([replace(RUN, line=3)])


def test_texts_that_a_database_cannot_hold(where: str) -> None:
    odd = replace(RUN, title="a\0b \ud800 ü", samples=(Sample("x\0", 1, "", "time_us", 1.0, 1, (("a", "\0"),)),))
    with opened(where, make=True) as store:
        store.add([odd])
        [found] = store.runs()
    assert (found.title, found.samples[0].operation) == ("a\ufffdb ? ü", "x\ufffd")


def test_another_version_is_refused(where: str) -> None:
    with opened(where, make=True) as store:
        store._database.write([("INSERT INTO store VALUES (?)", [(99,)])])
        version = "SELECT MAX(version) FROM store"
        assert store._database.read(version) == [(99,)]
    if not where.startswith("postgres"):
        path = Path(where)
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE store (version BIGINT)")
        with pytest.raises(SpecError, match="another kind of database"), opened(where, make=True):
            pass
        with sqlite3.connect(path) as other:
            other.execute("PRAGMA application_id = 0x72775354")
            other.execute("INSERT INTO store VALUES (2)")
        with pytest.raises(SpecError, match="the store has format version 2"), opened(where, make=True):
            pass


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from dataclasses import replace
from tests.operations.bench.test_store import RUN
from railweave.operations.store import database
from railweave.operations.store.store import opened
left = int(sys.argv[2])
class Dying(sqlite3.Connection):
    def _step(self):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def execute(self, *words):
        self._step()
        return super().execute(*words)
    def executemany(self, *words):
        self._step()
        return super().executemany(*words)
real = sqlite3.connect
database.sqlite3.connect = lambda *words, **named: real(*words, **named, factory=Dying)
with opened(sys.argv[1], make=True) as store:
    store.add([replace(RUN, line=line) for line in range(5, 8)])
print("done")
"""


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path: Path) -> None:
    """The process is killed before one statement after another; the store that it leaves has all three runs or none, and takes more."""
    kept: set[int] = set()
    for step in [0, *some([*range(6, 40, 6), *range(40, 59)], 6, "steps of a store"), 59]:
        path = tmp_path / f"{step}.db"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, path, str(step)],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[3],
        )
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
        with opened(path, make=True) as store:
            kept.add(len(store.runs()))
            assert store.add([RUN]) == [RUN]
        if done.returncode == 0:
            break
    assert kept == {0, 3}


def test_a_second_writer_waits(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with opened(path, make=True) as first, opened(path, make=True) as second:
        first.add([RUN])
        assert second.add([RUN, replace(RUN, line=2)]) == [replace(RUN, line=2)]
        assert [run.line for run in first.runs()] == [1, 2]


def test_what_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello, this is no database at all, not even a small one\n" * 20)
    for path, error in ((tmp_path / "absent", SpecError), (tmp_path / "text", SpecError), (tmp_path, SpecError)):
        with pytest.raises(error), opened(path):
            pass
    with pytest.raises(OutputError), opened(tmp_path / "nowhere" / "x.db", make=True):
        pass
    assert (tmp_path / "text").read_text().startswith("hello")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(OutputError), opened(tmp_path / "link.db", make=True):
        pass
    assert not (tmp_path / "elsewhere.db").exists()


def test_export_as_csv_has_the_prediction_beside_each_sample() -> None:
    first, second = csv.DictReader(StoredRuns((RUN,)).written(Path("runs.csv")).splitlines())
    assert (first["run"], first["size_bytes"], first["value"]) == (RUN.id, str(1 << 40), "371.25")
    assert (first["predicted"], first["predicted_low"], first["predicted_high"]) == ("380.0", "370.0", "388.5")
    assert (first["labels"], first["hosts"], first["design_digest"]) == ("type=float", "h1 h2", "ab")
    assert (second["size_bytes"], second["predicted"]) == ("", "")


def test_export_as_json_has_everything() -> None:
    found = json.loads(StoredRuns((RUN,)).written(Path("runs.json")))
    assert found["schema"] == 1
    [run] = found["runs"]
    assert run["environment"]["versions"] == {"NCCL": "2.30.7"}
    assert (run["facts"], run["settings"], run["hosts"]) == ({"network": "IB"}, {"iters": "20"}, ["h1", "h2"])
    assert run["samples"][0]["labels"] == {"type": "float"}
    assert run["predictions"][0]["method"] == "packet, seed 1"


def test_without_psycopg_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with (
        pytest.raises(OutputError, match=r"postgresql://me@host/runs: psycopg is not installed: pip install"),
        opened("postgresql://me@host/runs"),
    ):
        pass


def test_time_is_not_part_of_what_a_run_is_known_by() -> None:
    assert replace(RUN, kept=time.ctime()).id == RUN.id
    assert replace(RUN, file_digest="1" * 64).id != RUN.id
    assert replace(RUN, file="/c/b.txt").id != RUN.id
