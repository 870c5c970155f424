"""A build that is stopped half-way leaves the old output and the lock byte for byte, and nothing else."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from railweave.errors import OutputError
from railweave.outputs.folder import write
from railweave.outputs.folder.steps import build
from railweave.writing import Folder
from tests.conftest import ROOT
from tests.outputs.folder.fabrics import CHANGED, content, fabric


def stop_at(monkeypatch: pytest.MonkeyPatch, number: int, what: BaseException) -> list[str]:
    """Make the ``number``-th staged file fail half-way; returns the list of files that were written before."""
    written: list[str] = []
    real = write._write

    def failing(staging: Folder, name: str, data: bytes, *, private: bool) -> None:
        if len(written) == number:
            real(staging, name, data[: len(data) // 2], private=private)
            raise what
        real(staging, name, data, private=private)
        written.append(name)

    monkeypatch.setattr(write, "_write", failing)
    return written


def staged_files(folder: Path) -> int:
    """How many files the changed build of ``folder`` stages, the lock included."""
    count = 0
    real = write._write

    def counting(staging: Folder, name: str, data: bytes, *, private: bool) -> None:
        nonlocal count
        count += 1
        real(staging, name, data, private=private)

    file = fabric(folder)
    build(file, folder / "out")
    fabric(folder, CHANGED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "_write", counting)
        build(file, folder / "out")
    return count


@pytest.mark.parametrize("place", ["first", "middle", "lock"])
def test_interrupted_while_staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    total = staged_files(tmp_path / "rehearsal")
    number = {"first": 0, "middle": total // 2, "lock": total - 1}[place]
    file = fabric(tmp_path / "in")
    build(file, tmp_path / "in" / "out")
    fabric(tmp_path / "in", CHANGED)
    before = content(tmp_path / "in")
    written = stop_at(monkeypatch, number, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        build(file, tmp_path / "in" / "out")
    assert len(written) == number
    assert content(tmp_path / "in") == before


def test_interrupted_in_the_first_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = fabric(tmp_path)
    before = content(tmp_path)
    stop_at(monkeypatch, 5, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        build(file, tmp_path / "out")
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("number", "text"), [(errno.ENOSPC, "No space left on device"), (errno.EDQUOT, "Disk quota exceeded")]
)
def test_no_space_while_staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, text: str) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    fabric(tmp_path, CHANGED)
    before = content(tmp_path)
    stop_at(monkeypatch, 7, OSError(number, os.strerror(number)))
    with pytest.raises(OutputError) as caught:
        build(file, tmp_path / "out")
    assert str(caught.value) == f"cannot write {tmp_path}/out: {text}; what was there is unchanged"
    assert content(tmp_path) == before


def test_after_a_failure_the_next_build_is_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = fabric(tmp_path / "one")
    build(file, tmp_path / "one" / "out")
    fabric(tmp_path / "one", CHANGED)
    with monkeypatch.context() as patch:
        stop_at(patch, 7, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            build(file, tmp_path / "one" / "out")
    build(file, tmp_path / "one" / "out")
    other = fabric(tmp_path / "two")
    build(other, tmp_path / "two" / "out")
    fabric(tmp_path / "two", CHANGED)
    build(other, tmp_path / "two" / "out")
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_files_are_renamed_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """The moment between old and new is not to be seen: the new output is complete."""
    real = write._install

    def interrupted(*arguments: object) -> None:
        signal.raise_signal(number)
        real(*arguments)  # type: ignore[arg-type]

    file = fabric(tmp_path / "one")
    monkeypatch.setattr(write, "_install", interrupted)
    build(file, tmp_path / "one" / "out")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    build(fabric(tmp_path / "two"), tmp_path / "two" / "out")
    assert content(tmp_path / "one") == content(tmp_path / "two")


MOUNT = ("mount", "-t", "tmpfs", "tmpfs", "/mnt")


def in_own_mounts(script: str, *arguments: Path) -> str:
    """Run a Python script in a mount namespace of its own; skips where that is not permitted."""
    ways = (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"])
    trials = [subprocess.run([*way, *MOUNT], capture_output=True, text=True, check=False) for way in ways]
    way = next((way for way, trial in zip(ways, trials, strict=True) if trial.returncode == 0), None)
    if way is None:
        pytest.skip(f"own mounts are not permitted here: {trials[0].stderr.strip()}")
    done = subprocess.run(
        [*way, sys.executable, "-c", dedent(script), *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NEEDS_UNSHARE = pytest.mark.skipif(not Path("/usr/bin/unshare").exists(), reason="unshare is not installed")


@NEEDS_UNSHARE
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    said = in_own_mounts(
        """
        import subprocess, sys
        from pathlib import Path
        from railweave.outputs.folder.steps import build
        from railweave.errors import OutputError
        from tests.outputs.folder.fabrics import content

        file, disk = Path(sys.argv[1]), Path(sys.argv[2])
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=True)
        (disk / "kept").write_text("kept")
        before, beside = content(disk), content(file.parent)
        try:
            build(file, disk / "out")
        except OutputError as error:
            print(error)
        assert content(disk) == before
        assert content(file.parent) == beside
        """,
        file,
        tmp_path / "disk",
    )
    assert said == f"cannot write {tmp_path}/disk/out: No space left on device; what was there is unchanged\n"


@NEEDS_UNSHARE
def test_a_disk_that_holds_the_old_output_but_not_the_new_one_too(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "size")
    space = sum(-(-path.stat().st_size // 4096) * 4 for path in (tmp_path / "size").rglob("*") if path.is_file())
    fabric(tmp_path)
    said = in_own_mounts(
        """
        import subprocess, sys
        from pathlib import Path
        from railweave.outputs.folder.steps import build
        from railweave.errors import OutputError
        from tests.outputs.folder.fabrics import CHANGED, content, fabric

        file, disk, space = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={space}k", "tmpfs", disk], check=True)
        build(file, disk / "out")
        before = content(disk)
        fabric(file.parent, CHANGED)
        beside = content(file.parent)
        try:
            build(file, disk / "out")
        except OutputError as error:
            print(error)
        assert content(disk) == before
        assert content(file.parent) == beside
        """,
        file,
        tmp_path / "disk",
        Path(str(space * 5 // 4 + 64)),
    )
    assert said == f"cannot write {tmp_path}/disk/out: No space left on device; what was there is unchanged\n"


@NEEDS_UNSHARE
def test_a_fabric_file_that_may_only_be_read_builds_with_the_lock_it_has(tmp_path: Path) -> None:
    file = fabric(tmp_path / "in")
    build(file, tmp_path / "first")
    said = in_own_mounts(
        """
        import subprocess, sys
        from pathlib import Path
        from railweave.outputs.folder.steps import build

        file, out = Path(sys.argv[1]), Path(sys.argv[2])
        subprocess.run(["mount", "--bind", file.parent, file.parent], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", file.parent], check=True)
        try:
            (file.parent / "x").touch()
        except OSError:
            print(build(file, out).files > 0)
        """,
        file,
        tmp_path / "second",
    )
    assert said == "True\n"
    assert content(tmp_path / "first") == content(tmp_path / "second")
