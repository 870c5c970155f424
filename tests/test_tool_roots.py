"""No program is run that somebody else could have put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from railweave.analysis.checks import validators
from railweave.analysis.checks.validators import validate_all
from railweave.errors import LabError
from railweave.live.lab.frr import rootfs
from railweave.systems.frr import validator
from railweave.tool_roots import untrusted
from tests.conftest import ROOT


def planted(folder: Path, name: str) -> Path:
    """A program that leaves a mark where it is run."""
    program = folder / name
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {folder}/was-run\n")
    program.chmod(0o755)
    return program


def test_nothing_is_run_from_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / ".validators" / "netplan"
    planted(root, "usr/libexec/netplan/generate")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(validators, "_GENERATORS", ("usr/libexec/netplan/generate",))
    monkeypatch.setattr(validators, "project_root", lambda _: None)
    if not Path("/usr/libexec/netplan/generate").exists():
        [report] = [
            one for one in validate_all({"a": {"netplan.yaml": "network: {version: 2}\n"}}) if one.name == "netplan"
        ]
        assert not report.ran
    assert not (root / "was-run").exists()


def test_the_lab_takes_no_root_from_the_folder_one_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(tmp_path / ".validators" / "frr", "usr/lib/frr/zebra")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rootfs, "project_root", lambda _: None)
    monkeypatch.setattr(rootfs, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(rootfs.shutil, "which", lambda _: None)
    try:
        found = rootfs.find(None, rootfs.PLAIN, lambda _: None)
    except LabError:
        return
    assert found.root == Path("/")


def test_verify_takes_frr_of_the_checkout_if_the_machine_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never that of the current folder; and vtysh of the machine comes first."""
    unpacked, here = tmp_path / "clone" / ".validators" / "frr", tmp_path / "elsewhere"
    for root in (unpacked, here / ".validators" / "frr"):
        planted(root, "usr/bin/vtysh")
        planted(root, "lib64/ld-linux-x86-64.so.2")
    monkeypatch.chdir(here)
    monkeypatch.setattr(validator.shutil, "which", lambda _: None)
    monkeypatch.setattr(validator, "project_root", lambda name: unpacked if name == "frr" else None)
    tool = validator.find(None)
    assert isinstance(tool, validator.Tool)
    assert tool.command[-1] == str((unpacked / "usr/bin/vtysh").resolve())
    given = validator.find(here / ".validators" / "frr")
    assert isinstance(given, validator.Tool)
    assert str(here) in given.command[-1]
    monkeypatch.setattr(validator, "project_root", lambda _: None)
    said = validator.find(None)
    assert isinstance(said, str)
    assert "sudo make validators" in said
    monkeypatch.setattr(validator.shutil, "which", lambda _: "/usr/bin/vtysh")
    monkeypatch.setattr(validator, "project_root", lambda _: unpacked)
    assert validator.find(None) == validator.Tool(("/usr/bin/vtysh",), "/usr/bin/vtysh")


def test_the_checkouts_own_folder_is_found_wherever_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from railweave.tool_roots import project_root

    monkeypatch.chdir(tmp_path)
    wanted = ROOT / ".validators" / "netplan"
    assert project_root("netplan") == (wanted if wanted.is_dir() else None)
    assert project_root("nothing-of-that-name") is None


@pytest.mark.parametrize("place", ["usr/bin/vtysh", "usr/bin", "."])
def test_what_others_may_write_is_not_run(tmp_path: Path, place: str) -> None:
    program = planted(tmp_path / "root", "usr/bin/vtysh")
    assert untrusted(tmp_path / "root", program) == ""
    (tmp_path / "root" / place).chmod(0o777)
    assert "can be written by others" in untrusted(tmp_path / "root", program)


def test_a_program_outside_its_root_is_not_run(tmp_path: Path) -> None:
    outside = planted(tmp_path / "elsewhere", "vtysh")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "vtysh").symlink_to(outside)
    assert "is outside" in untrusted(tmp_path / "root", tmp_path / "root" / "vtysh")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_what_belongs_to_somebody_else_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    root = tmp_path / "root"
    program = planted(root, "usr/lib/frr/zebra")
    os.chown(program, 65534, 65534)
    with pytest.raises(LabError, match=r"nothing is run from this root folder with FRR: .*zebra belongs to user 65534"):
        rootfs.find(root, rootfs.PLAIN, lambda _: None)
