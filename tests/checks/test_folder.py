"""``verify`` of a build folder looks at the files that stand there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.conftest import EXAMPLES

from railweave.api import verify
from railweave.outputs.steps import build


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(file, tmp_path)
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("root-hash: $6$x\nnetops-hash: $6$y\nsnmp-community: pub lic\ngrpc-certificate: PEM\n")
    secrets.chmod(0o600)
    build(tmp_path / "h100-rlb.yaml", tmp_path / "out", secrets=secrets)
    return tmp_path / "out"


def _ids(folder: Path) -> set[tuple[str, str, int]]:
    return {(f.id, f.where, f.line) for f in verify(folder).findings if f.id.startswith("file-")}


def test_a_folder_as_built_is_as_designed_secrets_and_all(folder: Path) -> None:
    assert "<secret:" not in (folder / "devices/spine1/junos.conf").read_text()
    assert '"pub lic"' in (folder / "devices/spine1/junos.conf").read_text()
    assert _ids(folder) == set()


def test_an_edited_and_a_missing_file_are_found(folder: Path) -> None:
    edited = folder / "devices/spine2/frr.conf"
    lines = edited.read_text().splitlines()
    lines[4] += " please"
    edited.write_text("\n".join(lines) + "\n")
    (folder / "devices/spine3/junos.set").unlink()
    assert _ids(folder) == {("file-edited", "spine2", 5), ("file-missing", "spine3", 0)}
