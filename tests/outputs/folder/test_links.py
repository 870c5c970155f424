"""Whoever can put links where a build writes does not make it write elsewhere; and two builds do not meet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.errors import OutputError
from railweave.manifest import HELD
from railweave.outputs.folder.steps import build
from railweave.outputs.folder.write import locked
from railweave.writing import write_file
from tests.outputs.folder.fabrics import CHANGED, content, fabric


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "file").write_text("precious\n")
    return folder


def test_a_lock_is_not_written_through_a_link_of_a_known_name(tmp_path: Path, victim: Path) -> None:
    file = fabric(tmp_path / "in")
    (file.parent / f".{file.stem}.lock.railweave").symlink_to(victim / "file")
    build(file, tmp_path / "out")
    assert (victim / "file").read_text() == "precious\n"


def test_a_lock_that_is_a_link_is_replaced_by_a_file(tmp_path: Path, victim: Path) -> None:
    file = fabric(tmp_path / "in")
    lock = file.with_suffix(".lock")
    build(file, tmp_path / "out")
    (victim / "file").write_bytes(lock.read_bytes())
    lock.unlink()
    lock.symlink_to(victim / "file")
    before = (victim / "file").read_bytes()
    fabric(file.parent, CHANGED)
    build(file, tmp_path / "out")
    assert (victim / "file").read_bytes() == before
    assert not lock.is_symlink()


@pytest.mark.parametrize("linked", ["devices", "hosts"])
def test_a_linked_folder_is_refused_and_nothing_changes(tmp_path: Path, victim: Path, linked: str) -> None:
    file = fabric(tmp_path / "in")
    out = tmp_path / "out"
    build(file, out)
    (out / linked).rename(victim / linked)
    (out / linked).symlink_to(victim / linked)
    fabric(file.parent, CHANGED)
    before = content(tmp_path)
    with pytest.raises(OutputError, match=rf"out/{linked} is a symbolic link.*nothing was changed"):
        build(file, out)
    assert content(tmp_path) == before


def test_a_manifest_entry_behind_a_link_deletes_nothing(tmp_path: Path, victim: Path) -> None:
    file = fabric(tmp_path / "in")
    out = tmp_path / "out"
    build(file, out)
    (out / "extra").symlink_to(victim)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["files"]["extra/file"] = "0"
    (out / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(OutputError, match="symbolic link"):
        build(file, out)
    assert (victim / "file").read_text() == "precious\n"


def test_a_file_that_became_a_link_is_a_file_again(tmp_path: Path, victim: Path) -> None:
    file = fabric(tmp_path / "in")
    out = tmp_path / "out"
    build(file, out)
    (victim / "file").write_bytes((out / "cabling.csv").read_bytes())
    (out / "cabling.csv").unlink()
    (out / "cabling.csv").symlink_to(victim / "file")
    assert "cabling.csv" in build(file, out).changed
    assert not (out / "cabling.csv").is_symlink()


def test_the_folder_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    file = fabric(tmp_path / "in")
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    build(file, tmp_path / "out")
    assert (tmp_path / "disk" / "design.json").exists()


def test_one_file_is_written_whole_and_not_through_a_link(tmp_path: Path, victim: Path) -> None:
    page = tmp_path / "page.html"
    page.symlink_to(victim / "file")
    write_file(page, "new", private=True)
    assert (victim / "file").read_text() == "precious\n"
    assert page.read_text() == "new"
    assert page.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_the_second_build_is_told_who_writes(tmp_path: Path) -> None:
    file = fabric(tmp_path / "in")
    out = tmp_path / "out"
    build(file, out)
    before = content(tmp_path)
    with (
        locked(out),
        pytest.raises(
            OutputError, match=rf"another build is writing .*: process {os.getpid()} of \S+ on \S+, for \d+ s"
        ),
    ):
        build(file, out)
    assert content(tmp_path) == before


def test_what_a_killed_build_holds_is_free_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    script = f"from railweave.outputs.folder.write import locked; from pathlib import Path; import time\nwith locked(Path({str(out)!r})): print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
    assert (out / HELD).exists()
    build(fabric(tmp_path / "in"), out)
    assert not (out / HELD).exists()


def test_builds_at_once_leave_one_whole_output(tmp_path: Path) -> None:
    """Six at once, of which every one is good or is told of another; what is there in the end is a whole build."""
    one, other = fabric(tmp_path / "one"), fabric(tmp_path / "two", CHANGED)
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from railweave.cli import main; main()", "build"]
    running = [
        subprocess.Popen([*command, str(file), "-o", str(out), "-q"], stderr=subprocess.PIPE, text=True)
        for file in (one, other) * 3
    ]
    said = [process.communicate()[1] for process in running]
    good = [process.returncode == 0 for process in running]
    assert any(good)
    assert all(fine or "another build is writing" in words for fine, words in zip(good, said, strict=True))
    for number, file in enumerate((one, other)):
        build(file, tmp_path / f"alone{number}")
    assert content(out) in [content(tmp_path / f"alone{number}") for number in (0, 1)]
