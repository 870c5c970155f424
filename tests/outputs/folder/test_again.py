"""Building again: the same bytes, only what changed, and nothing of the user's touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.errors import InputError, OutputError
from railweave.outputs.folder.steps import build
from tests.outputs.folder.fabrics import content, fabric


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    one, two = fabric(tmp_path / "one"), fabric(tmp_path / "two")
    build(one, tmp_path / "one" / "out")
    build(two, tmp_path / "two" / "deep" / "below" / "results")
    assert content(tmp_path / "one" / "out") == content(tmp_path / "two" / "deep" / "below" / "results")
    assert (tmp_path / "one" / "pod1.lock").read_bytes() == (tmp_path / "two" / "pod1.lock").read_bytes()


@pytest.mark.slow
def test_the_order_of_sets_does_not_show(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        file = fabric(tmp_path / seed)
        subprocess.run(
            [sys.executable, "-c", "from railweave.cli import main; main()", "build", file.name, "-o", "out", "-q"],
            cwd=file.parent,
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        )
    assert content(tmp_path / "1") == content(tmp_path / "2")


def test_the_second_build_changes_nothing(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    first = build(file, tmp_path / "out")
    before = content(tmp_path)
    inodes = {path: path.stat().st_ino for path in tmp_path.rglob("*")}
    second = build(file, tmp_path / "out")
    assert len(first.changed) == first.files
    assert second.changed == []
    assert content(tmp_path) == before
    assert {path: path.stat().st_ino for path in tmp_path.rglob("*")} == inodes


def test_a_changed_spec_rewrites_only_what_changed(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    before = content(tmp_path / "out")
    inodes = {str(path.relative_to(tmp_path / "out")): path.stat().st_ino for path in (tmp_path / "out").rglob("*")}
    fabric(tmp_path, ('"gpu-[03-04]"', '"gpu-[03-05]"'))
    built = build(file, tmp_path / "out")
    after = content(tmp_path / "out")
    different = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert different == {*built.changed, "manifest.json"}
    switches = {name.split("/")[1] for name in different if name.startswith("devices/")}
    assert switches == {"stripe2-leaf1"}
    same = [name for name in before if name not in different]
    assert "devices/stripe1-leaf1/junos.conf" in same
    kept = [(path, name) for name in same if (path := tmp_path / "out" / name).is_file()]
    assert all(path.stat().st_ino == inodes[name] for path, name in kept)


def test_a_damaged_output_file_is_written_again(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    before = content(tmp_path)
    (tmp_path / "out" / "cabling.csv").write_text("edited by hand\n")
    (tmp_path / "out" / "devices" / "spine1" / "junos.conf").unlink()
    assert build(file, tmp_path / "out").changed == ["cabling.csv", "devices/spine1/junos.conf"]
    assert content(tmp_path) == before


def test_stale_files_go_and_the_users_own_stay(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    out = tmp_path / "out"
    build(file, out)
    (out / "notes.txt").write_text("mine\n")
    (out / "devices" / "spine2" / "notes.txt").write_text("mine too\n")
    fabric(tmp_path, ("spines: 2", "spines: [spine1]"))
    built = build(file, out)
    assert {"devices/spine2/junos.conf", "devices/spine2/frr.conf"} <= set(built.changed)
    assert [path.name for path in (out / "devices" / "spine2").iterdir()] == ["notes.txt"]
    assert (out / "devices" / "spine2" / "notes.txt").read_text() == "mine too\n"
    assert (out / "notes.txt").read_text() == "mine\n"
    (out / "notes.txt").unlink()
    (out / "devices" / "spine2" / "notes.txt").unlink()
    (out / "devices" / "spine2").rmdir()
    build(file, tmp_path / "fresh")
    assert content(out) == content(tmp_path / "fresh")


def test_a_device_that_is_gone_takes_its_folder_along(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    assert (tmp_path / "out" / "devices" / "spine2").is_dir()
    fabric(tmp_path, ("spines: 2", "spines: [spine1]"))
    build(file, tmp_path / "out")
    assert not (tmp_path / "out" / "devices" / "spine2").exists()


@pytest.mark.parametrize("name", ["thesis.tex", ".hidden", "manifest.json"])
def test_a_foreign_folder_is_refused_and_untouched(tmp_path: Path, name: str) -> None:
    file = fabric(tmp_path / "in")
    out = tmp_path / "home"
    out.mkdir()
    (out / name).write_text("years of work\n")
    before = content(tmp_path)
    with pytest.raises(InputError, match="home: exists and was not written by railweave build"):
        build(file, out)
    assert content(tmp_path) == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    file = fabric(tmp_path / "in")
    (tmp_path / "out").write_text("a file\n")
    before = content(tmp_path)
    with pytest.raises(InputError, match="out: exists and was not written by railweave build"):
        build(file, tmp_path / "out")
    assert content(tmp_path) == before


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert build(fabric(tmp_path / "in"), tmp_path / "out").files > 0
    assert (tmp_path / "out" / "design.json").is_file()


MANIFESTS = [
    '{"files": {"thesis.tex": "1.0"}}',
    '{"railweave": 1, "files": []}',
    '{"railweave": 1, "files": null}',
    '{"railweave": 1, "files": {"../victim.txt": "0", "/etc/hostname": "0"}}',
    "[]",
]


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_a_manifest_that_is_not_ours_gives_no_right_to_anything(tmp_path: Path, manifest: str) -> None:
    file = fabric(tmp_path / "in")
    out = tmp_path / "home"
    out.mkdir()
    (out / "manifest.json").write_text(manifest)
    (out / "thesis.tex").write_text("years of work\n")
    (tmp_path / "victim.txt").write_text("mine\n")
    before = content(tmp_path)
    with pytest.raises(InputError, match="was not written by railweave build"):
        build(file, out)
    assert content(tmp_path) == before


@pytest.mark.parametrize("place", ["cabling.csv", "devices/spine1"])
def test_what_stands_in_the_way_is_seen_before_anything_is_renamed(tmp_path: Path, place: str) -> None:
    file = fabric(tmp_path)
    out = tmp_path / "out"
    build(file, out)
    if place == "cabling.csv":
        (out / place).unlink()
        (out / place).mkdir()
    else:
        for path in (out / place).iterdir():
            path.unlink()
        (out / place).rmdir()
        (out / place).write_text("in the way\n")
    fabric(tmp_path, ("spines: 2", "spines: [spine1]"))
    fabric(tmp_path, ('"gpu-[03-04]"', '"gpu-[03-05]"'))
    before = content(tmp_path)
    with pytest.raises(OutputError, match="nothing was changed"):
        build(file, out)
    assert content(tmp_path) == before


def test_a_failed_first_build_leaves_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from railweave.outputs.folder import write

    file = fabric(tmp_path)
    before = content(tmp_path)

    def failing(staging: object, name: str, data: bytes, *, private: bool) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write, "_write", failing)
    with pytest.raises(OutputError):
        build(file, tmp_path / "x" / "y" / "out")
    assert content(tmp_path) == before


def test_a_file_without_a_lock_over_the_build_of_another_is_warned_of(tmp_path: Path) -> None:
    """Built as it stands, a changed copy gets none of the allocations of the folder that it replaces."""
    file, out = fabric(tmp_path), tmp_path / "out"
    build(file, out)
    copy = tmp_path / "copy.yaml"
    copy.write_text(file.read_text())
    assert "lock-missing" not in [one.id for one in build(copy, out).findings], "nothing moves"
    changed = tmp_path / "changed.yaml"
    changed.write_text(file.read_text().replace("gpu-[01-02]", "gpu-[02,05]"))
    (warned,) = [one for one in build(changed, out).findings if one.id == "lock-missing"]
    assert "1 of the names" in warned.what
    assert "gpu-02" in warned.what
    assert "lock-missing" not in (out / "findings.json").read_text(), (
        "a folder does not depend on what was there before"
    )
    assert "lock-missing" not in [one.id for one in build(changed, out).findings], "now it has a lock"
