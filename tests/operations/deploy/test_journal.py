"""The journal is read wherever it is: in folders that nobody may write, with a log that was never taken over, while it is made."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from railweave.api.deploying import deploy_history, deploy_status
from railweave.cli.deploy_output import revision_table
from railweave.errors import OutputError, RailweaveError
from railweave.operations.deploy import applying, journal, recovery
from railweave.operations.deploy.journal import Revision
from railweave.operations.watch.watching import deploying

NOBODY = 65534
IMPORTED = applying, recovery
"""What ``deploy_status`` imports when it is called: another user may not read the modules then."""


@pytest.fixture
def fabric() -> Iterator[Path]:
    """A fabric file in a folder that every user gets to."""
    with TemporaryDirectory(prefix="railweave-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "net.yaml"
        shutil.rmtree(Path(folder) / "net.state", ignore_errors=True)


def _revisions(fabric: Path, *, in_log: bool = False) -> Path:
    """A journal of one revision; ``in_log``: a second is in the write-ahead log alone, as a killed writer leaves it."""
    with journal.at_work(fabric):
        pass
    path = journal.folder_of(fabric) / "journal.db"
    row = "INSERT INTO revisions (number, label, plan, digest, who, began, state) VALUES (?, '', '{}', '', '', 1.0, 'done')"
    with sqlite3.connect(path) as rows:
        rows.execute(row, (1,))
    if in_log:
        rows.execute(row, (2,))
        rows.commit()
        log = path.with_name("journal.db-wal")
        kept = [(one, one.read_bytes()) for one in (path, log)]
        rows.close()  # takes the log over
        for one, data in kept:
            one.write_bytes(data)
    rows.close()
    return path


@contextmanager
def _read_only(folder: Path, mode: int = 0o555) -> Iterator[None]:
    """The folder as another user finds it, who may not write there."""
    for one in folder.iterdir():
        one.chmod(0o444)
    folder.chmod(mode)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.parametrize("in_log", [False, True])
def test_a_journal_in_a_folder_that_cannot_be_written_is_read_whole(fabric: Path, in_log: bool) -> None:
    folder = _revisions(fabric, in_log=in_log).parent
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    assert ("journal.db-wal" in before) == in_log
    with _read_only(folder):
        assert [one.number for one in deploy_history(fabric)] == [2, 1][not in_log :]
        assert deploying(fabric, 2.0) == frozenset()
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="the owner of a folder can always open it")
def test_a_journal_that_may_not_be_read_is_said_to_be(fabric: Path) -> None:
    with _read_only(_revisions(fabric).parent, 0o700):
        for ask in (deploy_history, deploy_status):
            with pytest.raises(OutputError, match=r"journal\.db cannot be read: Permission denied"):
                ask(fabric)
        assert deploying(fabric, 2.0) == frozenset()


def test_what_is_no_journal_is_said_to_be_none(fabric: Path) -> None:
    _revisions(fabric).write_text("garbage" * 100)
    with pytest.raises(OutputError, match=r"journal\.db cannot be read: file is not a database"):
        deploy_history(fabric)
    with pytest.raises(OutputError, match=r"journal\.db cannot be written"), journal.at_work(fabric):
        pass


def test_a_journal_that_is_only_begun_is_empty(fabric: Path) -> None:
    path = _revisions(fabric)
    path.write_bytes(b"")
    assert deploy_history(fabric) == []


def test_a_journal_without_a_table_is_an_error_of_its_own(fabric: Path) -> None:
    path = _revisions(fabric)
    with sqlite3.connect(path) as rows:
        rows.execute("DROP TABLE lines")
    rows.close()
    with pytest.raises(RailweaveError, match="no such table: lines"), journal.opened(fabric) as read:
        read.log(1)


def test_an_error_of_whoever_reads_stays_what_it_is(fabric: Path) -> None:
    _revisions(fabric)
    with pytest.raises(PermissionError, match="of the device"), journal.opened(fabric):
        raise PermissionError("of the device")


def test_the_table_of_revisions_says_how_each_ended() -> None:
    begun = Revision(2, "", "abcd", "me@here", 1e9, None, "running", "", None)
    taken_back = replace(begun, number=1, state="stopped", why="spine1 did not answer", back_to=7)
    head, *lines = revision_table([begun, taken_back]).to_text()
    assert head.split() == ["revision", "state", "began", "by", "plan", "back", "to", "before", "why"]
    assert [line.split()[:2] for line in lines] == [["2", "interrupted"], ["1", "stopped"]]
    assert lines[1].endswith("me@here  abcd               7  spine1 did not answer")
