"""``--csv``: the table of a result has the values of its JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave.cli import main
from tests.conftest import EXAMPLES

H100 = EXAMPLES / "h100-rlb.yaml"


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def answer(*words: object) -> Any:
        monkeypatch.setattr("sys.argv", ["railweave", *map(str, words), "--json", "--quiet"])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return json.loads(capsys.readouterr().out)

    return answer


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_models_are_those_of_json(tmp_path: Path, answered: Callable[..., Any]) -> None:
    models = answered("hardware", "list", "nics", "--csv", tmp_path / "models.csv")
    assert rows(tmp_path / "models.csv") == [
        {name: model[name] for name in ("section", "name", "origin", "description")} for model in models
    ]


def test_a_comparison_has_a_row_for_each_variant(tmp_path: Path, answered: Callable[..., Any]) -> None:
    more = ("--size", "1M", "--engine", "flow", "--compare", "hosts=2,4", "--csv", tmp_path / "hosts.csv")
    variants = answered("sim", H100, "--collective", "all-reduce", *more)["variants"]
    times = {variant["value"]: variant["time_us"] for variant in variants}
    assert {row["value"]: float(row["time_us"]) for row in rows(tmp_path / "hosts.csv")} == times


def test_a_grid_has_a_row_for_each_cell(tmp_path: Path, answered: Callable[..., Any]) -> None:
    more = ("--engine", "flow", "--compare", "size=1M,4M hosts=2,4", "--csv", tmp_path / "grid.csv")
    cells = answered("sim", H100, "--collective", "all-reduce", *more)["cells"]
    table = rows(tmp_path / "grid.csv")
    assert [(row["size_bytes"], row["hosts"], float(row["time_us"])) for row in table] == [
        (cell["values"]["size"], cell["values"]["hosts"], cell["time_us"]) for cell in cells
    ]


def test_a_job_has_a_row_for_each_communication(tmp_path: Path, answered: Callable[..., Any]) -> None:
    job = EXAMPLES / "jobs" / "dense.yaml"
    jobs = answered("sim", H100, "--job", job, "--csv", tmp_path / "job.csv")["jobs"]
    sent = {(one["kind"], one["collective"], str(one["size_bytes"])) for one in jobs[0]["communications"]}
    table = rows(tmp_path / "job.csv")
    assert table
    assert {(row["kind"], row["collective"], row["size_bytes"]) for row in table} <= sent
