"""The folder of an export, also if an export is interrupted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.errors import OutputError
from railweave.operations.exports.folder import write_export
from railweave.writing import Folder
from tests.conftest import EXAMPLES


def test_an_interrupted_removal_is_completed_by_the_next_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_export(tmp_path, "slurm", {"a.yaml": "a", "nodes/b.yaml": "b"})
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "remove", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
        with pytest.raises(OutputError, match="cannot remove old files"):
            write_export(tmp_path, "slurm", {"a.yaml": "new"})
    assert (tmp_path / "nodes/b.yaml").exists()
    write_export(tmp_path, "slurm", {"a.yaml": "new"})
    assert not (tmp_path / "nodes").exists()
    assert (tmp_path / "a.yaml").read_text() == "new"


def test_a_list_that_somebody_wrote_removes_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    folder = tmp_path / "out"
    write_export(folder, "slurm", {"a.yaml": "a"})
    (folder / ".railweave-slurm").write_text(f"../outside\n{tmp_path}/outside\n\n.\na.yaml\n")
    write_export(folder, "slurm", {"b.yaml": "b"})
    assert (tmp_path / "outside").read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == [".railweave-slurm", "b.yaml"]


def test_many_files_are_counted_not_listed(tmp_path: Path) -> None:
    words = ["export", "kubernetes", str(EXAMPLES / "gb300-racks.yaml"), "-o", str(tmp_path), "-q"]
    shown = CliRunner().invoke(app, words).output
    assert "148 files: nic-configuration.yaml, pod-networks.yaml" in shown
    assert shown.endswith("gb300-004.yaml and 140 more (--json lists all)\n")
    assert len(json.loads(CliRunner().invoke(app, [*words, "--json"]).output)["files"]) == 148
