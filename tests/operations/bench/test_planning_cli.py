"""``railweave bench plan`` as it is called: its file, whole or not at all, its table, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.cli.failures import run as run_verb
from railweave.operations.bench.plan import read_plan
from railweave.operations.bench.planning.making import duration, plan_text
from tests.conftest import EXAMPLES

RLB = str(EXAMPLES / "h100-rlb.yaml")


def test_the_plan_is_written_and_shown(tmp_path: Path) -> None:
    words = ["bench", "plan", RLB, "--suite", "acceptance", "--no-predict", "-q", "-o", str(tmp_path / "plan.json")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    plan = read_plan(tmp_path / "plan.json")
    assert plan.suite == "acceptance"
    assert plan.fabric == RLB
    assert done.stdout == plan_text(plan) + f"\nwrote {tmp_path / 'plan.json'}\n"
    rows = {tuple(line.split()[:3]) for line in done.stdout.splitlines()}
    assert {("mesh", "32", "2"), ("loops", "32", "8"), ("pairs", "16", "1"), ("stripes", "2", "2")} <= rows


def test_what_is_expected_is_shown(tmp_path: Path) -> None:
    words = ["bench", "plan", RLB, "--part", "mesh", "-q", "-o", str(tmp_path / "plan.json")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("mesh"))
    assert "Gb/s at 8M" in row
    assert {one.part for one in read_plan(tmp_path / "plan.json").runs} == {"mesh"}


def test_as_json(tmp_path: Path) -> None:
    words = ["bench", "plan", RLB, "--suite", "table1.3", "--no-predict", "--json", "-o", str(tmp_path / "plan.json")]
    done = CliRunner().invoke(app, words)
    found = json.loads(done.stdout)
    plan = read_plan(tmp_path / "plan.json")
    assert (found["runs"], found["parts"], found["digest"]) == (5, {"table1.3": 5}, plan.digest)
    assert found["notes"] == list(plan.notes)
    assert found["estimate_s"] == plan.estimate_s


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    for words in (["--suite", "none"], ["--memory", "disk"], ["--hosts", "H100-07"], ["--part", "spines"]):
        path = tmp_path / "plan.json"
        assert run_verb(app, ["bench", "plan", RLB, "--no-predict", "-q", "-o", str(path), *words]) == 2
        assert list(tmp_path.iterdir()) == []


def test_times_for_people() -> None:
    assert [duration(one) for one in (8.4, 60, 200, 3600, 4320)] == [
        "8 s",
        "1 min 0 s",
        "3 min 20 s",
        "1 h 0 min",
        "1 h 12 min",
    ]
