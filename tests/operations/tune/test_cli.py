"""``railweave tune run`` as it is used."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from railweave.api import load, tune_run
from railweave.cli import main
from railweave.errors import DesignError
from tests.chromium import browser, program
from tests.operations.tune.studies import STUDY, study


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["railweave", "tune", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, printed.out, printed.err


def test_the_patch_is_shown_and_applied_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study(tmp_path)
    bed = tmp_path / "bed.yaml"
    before = bed.read_text()
    code, out, err = run(monkeypatch, capsys, "run", str(path), "--workers", "1")
    assert code == 0, err
    assert "the proposed values are better" in out
    assert "nothing was changed" in out
    assert bed.read_text() == before
    folder = tmp_path / "small.tune"
    assert {one.name for one in folder.iterdir()} >= {
        "study.db",
        "journal.jsonl",
        "result.json",
        "fabric.patch",
        "report.html",
    }
    if shutil.which("patch"):
        copy = tmp_path / "copy.yaml"
        copy.write_text(before)
        subprocess.run(["patch", "-s", str(copy), str(folder / "fabric.patch")], check=True)
    code, out, _ = run(monkeypatch, capsys, "run", str(path), "--workers", "1", "--apply", "--json")
    found = json.loads(out)
    assert found["verdict"] == "better"
    assert bed.read_text() != before
    assert "# the report has 55 and 90" in bed.read_text(), "comments stay"
    if shutil.which("patch"):
        assert copy.read_text() == bed.read_text()
    values = found["confirmed"]["values"]
    assert load(bed).hosts.job.qps_per_connection == values["hosts.job.qps_per_connection"]


def test_a_folder_of_another_study_is_refused_and_begun_again_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = STUDY.replace("trials: 6", "trials: 2").replace("batch: 3", "batch: 2")
    assert run(monkeypatch, capsys, "run", str(study(tmp_path, small)), "--workers", "1")[0] == 0
    path = study(tmp_path, small.replace("seeds: 2", "seeds: 1"))
    code, out, _ = run(monkeypatch, capsys, "run", str(path), "--workers", "1", "--json")
    assert code == 2
    assert "--fresh" in json.loads(out)["problems"][0]["fix"]
    assert run(monkeypatch, capsys, "run", str(path), "--workers", "1", "--fresh")[0] == 0


def test_an_engine_parameter_that_is_none_is_told_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study(tmp_path, STUDY + "engine:\n  dcqcn.additiv: [5M, 50M]\n")
    code, _, err = run(monkeypatch, capsys, "run", str(path), "--workers", "1")
    assert code == 2
    assert f"{path}:13: " in err
    assert "dcqcn.additiv" in err


def test_a_tenant_that_is_none_is_told_at_the_goal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = study(tmp_path, STUDY.replace("tenant-3", "tenant-9"))
    code, _, err = run(monkeypatch, capsys, "run", str(path), "--workers", "1")
    assert code == 2
    assert f"{path}:3: there is no tenant 'tenant-9'" in err


def test_what_no_fabric_file_has_is_proposed_beside_the_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = STUDY + "engine:\n  dcqcn.additive: [5M, 5G]\n"
    code, out, err = run(monkeypatch, capsys, "run", str(study(tmp_path, text)), "--workers", "1", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["verdict"] == "better"
    assert found["not_in_the_fabric_file"].keys() == {"dcqcn.additive"}


@pytest.mark.skipif(program() is None, reason="needs Chromium")
def test_the_page_fits_its_window_and_says_nothing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    goal = "goal:\n  objectives: [speed, marks]\n"
    path = study(tmp_path, STUDY.replace("goal:\n", goal))
    assert run(monkeypatch, capsys, "run", str(path), "--workers", "1", "-q")[0] == 0
    with browser() as chromium:
        for width in (1280, 800):
            page = chromium.open(tmp_path / "small.tune" / "report.html", width=width, height=900)
            assert page.errors == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("document.querySelectorAll('.trial').length") >= 3
            assert page.evaluate("document.querySelectorAll('#frontier .dot').length") >= 3


def test_a_fabric_that_cannot_be_built_is_an_error_at_its_own_lines(tmp_path: Path) -> None:
    path = study(tmp_path)
    bed = tmp_path / "bed.yaml"
    bed.write_text(bed.read_text().replace("H100-[01-02]", "H100-[01-04]").replace("H100-[03-04]", "H100-[05-08]"))
    with pytest.raises(DesignError, match=r"oversubscription is 2\.00:1"):
        tune_run(path, workers=1)
    assert not (tmp_path / "small.tune").exists()
