"""A build swaps the whole folder: ``kill -9`` leaves old or new, never a mix, and no staging with secrets; foreign files stay."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from railweave.errors import OutputError
from railweave.live.collect.collect import CaptureFolder
from railweave.manifest import HELD, MANIFEST, STAGING
from railweave.outputs.folder import swap, write
from railweave.outputs.folder.write import locked, write_folder
from railweave.writing import beside

COUNT = 60


def files(version: int) -> dict[str, bytes]:
    """The files of a version: the same names but for one, and every content of this version alone."""
    names = [f"devices/d{number % 7}/{number}.conf" for number in range(COUNT)]
    return {name: f"{version} {name}\n".encode() for name in [*names, f"of-{version}", "top"]}


def versions(folder: Path) -> set[str]:
    """The versions of which a folder has files."""
    own = [path for path in folder.rglob("*") if path.is_file() and path.name not in {MANIFEST, HELD, "mine"}]
    found = {path.read_text().split()[0] for path in own}
    listed = set(json.loads((folder / MANIFEST).read_text())["files"])
    assert {path.relative_to(folder).as_posix() for path in own} == listed
    return found


def killed(work: Callable[[], object], after_s: float | None = None) -> None:
    """Run work in a process of its own, which is killed after a time, or kills itself."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def left(folder: Path) -> Iterator[Path]:
    """What is unfinished below a folder."""
    for above, folders, names in os.walk(folder):  # also while the guard removes it
        yield from (Path(above, name) for name in (*folders, *names) if name.startswith(".") and name != HELD)


def until_nothing_is_left(folder: Path) -> None:
    end = time.monotonic() + 20
    while found := list(left(folder)):
        assert time.monotonic() < end, found
        time.sleep(0.02)


def test_a_build_that_is_killed_leaves_no_mix(tmp_path: Path) -> None:
    out, chance = tmp_path / "out", random.Random(7)  # noqa: S311 - repeatable
    write_folder(out, files(0))
    (out / "mine").write_text("mine")

    def build() -> None:
        for number in range(1, 10_000):
            write_folder(out, files(number))

    seen: set[str] = set()
    for _ in range(25):
        killed(build, chance.uniform(0.001, 0.12))
        found = versions(out)
        assert len(found) == 1
        seen |= found
        assert (out / "mine").read_text() == "mine"
    assert len(seen) > 2
    until_nothing_is_left(tmp_path)
    write_folder(out, files(0))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def foreign(out: Path) -> None:
    (out / ".git" / "objects").mkdir(parents=True)
    (out / ".git" / "HEAD").write_text("main")
    (out / "empty").mkdir(mode=0o750)
    (out / "devices" / "d1" / "mine").write_text("mine")
    (out / "link").symlink_to("top")
    (out / "away").symlink_to("/nowhere")
    os.mkfifo(out / "pipe")
    out.chmod(0o2750)
    (out / "devices" / "d1").chmod(0o700)


def looks(out: Path) -> dict[str, tuple[int, str]]:
    """The mode and the content of all that is in a folder, itself included."""
    return {
        path.relative_to(out.parent).as_posix(): (
            path.lstat().st_mode,
            str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else "",
        )
        for path in [out, *out.rglob("*")]
    }


@pytest.mark.parametrize("way", ["swap", "no exchange", "no link", "inside", "above is closed"])
def test_every_way_leaves_the_same(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "not permitted")

    out = tmp_path / "out"
    write_folder(out, files(0))
    foreign(out)
    inode = out.stat().st_ino
    real = write._temporary
    if way == "no exchange":
        monkeypatch.setattr(write, "exchange", failing)
    elif way == "no link":
        monkeypatch.setattr(swap.os, "link", failing)
    elif way == "inside":
        monkeypatch.chdir(out / "devices")
    elif way == "above is closed":
        monkeypatch.setattr(
            write, "_temporary", lambda above, name: failing() if above == tmp_path else real(above, name)
        )
    write_folder(out, files(1))
    monkeypatch.undo()
    assert (out.stat().st_ino != inode) == (way == "swap")
    found = looks(out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    other = tmp_path / "other" / "out"
    write_folder(other, files(1))
    foreign(other)
    assert found == looks(other)


def test_a_file_that_comes_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    write_folder(out, files(0))
    (out / "mine").write_text("old")
    real = swap.exchange

    def late(one: Path, other: Path) -> None:
        (out / "new").mkdir()
        (out / "new" / "mine").write_text("late")
        (out / "again").write_text("new")
        (out / "again").replace(out / "mine")
        real(one, other)

    monkeypatch.setattr(write, "exchange", late)
    write_folder(out, files(1))
    assert (out / "new" / "mine").read_text() == "late"
    assert (out / "mine").read_text() == "new"
    assert versions(out) == {"1"}


def test_a_link_to_the_folder_stays_and_the_lock_too(tmp_path: Path) -> None:
    real, out = tmp_path / "real", tmp_path / "out"
    real.mkdir()
    out.symlink_to("real")
    with locked(out):
        write_folder(out, files(0))
        with pytest.raises(OutputError, match="another build is writing"), locked(real):
            pass
    assert out.is_symlink()
    assert versions(real) == {"0"}
    assert not (real / HELD).exists()


def test_an_unchanged_build_keeps_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(out, files(0))
    inode = out.stat().st_ino
    assert write_folder(out, files(0)) == []
    assert out.stat().st_ino == inode


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("place", ["_write", "link_rest", "exchange", "rescue"])
def test_no_staging_stays(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    write_folder(out, files(0), private=True)
    monkeypatch.setattr(write, place, die)
    killed(lambda: write_folder(out, files(1), private=True))
    until_nothing_is_left(tmp_path)
    assert versions(out) == ({"1"} if place == "rescue" else {"0"})
    assert not list(tmp_path.glob(f"{STAGING}*"))


def test_no_unfinished_file_or_capture_with_secrets_stays(tmp_path: Path) -> None:
    def file() -> None:
        with beside(tmp_path / "plan.json", b"secret", 0o600) as place:
            assert place.exists()
            die()

    def capture() -> None:
        with CaptureFolder(tmp_path / "capture", redact=False) as folder:
            folder._write("leaf1/version.txt", "secret")
            die()

    for work in (file, capture):
        killed(work)
        until_nothing_is_left(tmp_path)
    assert list(tmp_path.iterdir()) == []
