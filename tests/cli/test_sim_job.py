"""``railweave sim --job``: every example runs, says what it says as JSON too, and refuses what is no question of a job."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave.cli import main
from railweave.model.network.model import Network
from railweave.prediction.simulation.training import variants
from railweave.prediction.simulation.training.variants import compare_training
from tests.conftest import EXAMPLES

FABRIC = str(EXAMPLES / "h100-rlb.yaml")
ON = {
    "checkpoint": (str(EXAMPLES / "aidc-three-fabrics.yaml"), "--fabric", "backend2"),
    "tenants": (str(EXAMPLES / "evpn-server-isolation.yaml"),),
}
"""What examples run on, by name; the others on ``FABRIC``."""
JOBS = sorted((EXAMPLES / "jobs").glob("*.yaml"))


Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the verb, whose exit code is looked at: what it printed."""

    def call(*words: str, code: int = 0) -> str:
        job = Path(words[words.index("--job") + 1]).stem if "--job" in words else ""
        monkeypatch.setattr("sys.argv", ["railweave", "sim", *ON.get(job, (FABRIC,)), "-q", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capfd.readouterr()
        assert stop.value.code == code, printed
        return printed.err if code else printed.out

    return call


@pytest.mark.parametrize("job", JOBS, ids=lambda path: path.stem)
def test_an_example_runs(run: Run, job: Path) -> None:
    found = json.loads(run("--job", str(job), "--json"))
    assert found["complete"]
    for one in found["jobs"]:
        assert (one["mfu"] is None) == ("trace" in one)
        assert one["mfu"] is None or 0 < one["mfu"] < 1
        assert sum(one["parts_ms"].values()) == pytest.approx(one["step_ms"], rel=1e-6)
        assert one["communications"]
        assert one["alone_ms"] <= one["step_ms"] * (1 + 1e-6)


def test_packets_beside_flows(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found = json.loads(run("--job", str(EXAMPLES / "jobs" / "fsdp.yaml"), "--check-packets", "--json", "-o", str(page)))
    assert "The same by packets" in page.read_text()
    (job,) = found["jobs"]
    assert [one["collective"] for one in job["by_packets"]] == ["all-gather", "reduce-scatter", "reduce-scatter"]
    assert all(abs(one["longer"]) < 0.05 for one in job["by_packets"])


def test_packets_beside_flows_are_of_a_job(run: Run) -> None:
    assert "goes with --job" in run("--check-packets", code=2)


def test_choices_side_by_side(run: Run) -> None:
    found = run("--job", str(EXAMPLES / "jobs" / "dense.yaml"), "--compare", "parallel.pipeline=1,2,4")
    lines = [line.split() for line in found.splitlines()]
    assert lines[0][0] == "parallel.pipeline"
    steps = [float(line[1].replace(",", "")) for line in lines[1:4]]
    assert steps == sorted(steps)
    assert [line[0] for line in lines[1:4]] == ["1", "2", "4"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--collective", "all-reduce"), "goes with collectives"),
        (("--hosts", "2"), "goes with collectives"),
        (("--compare", "lb=ecmp", "--seeds", "2"), "goes with one prediction"),
        (("--engine", "fluid"), "'fluid' is not an engine"),
        (("--compare", "size=1,2"), "not a setting that can be varied for jobs"),
        (("--compare", "qps=0"), "qps: 0 is not allowed: the value must be at least 1"),
        (("--compare", "parallel.tensor=3"), "are"),
        (("--compare", "batch.micro=many"), "batch.micro"),
    ],
)
def test_what_is_no_question_of_a_job_is_refused(run: Run, words: tuple[str, ...], what: str) -> None:
    assert what in run("--job", str(EXAMPLES / "jobs" / "dense.yaml"), *words, code=2)


def test_a_file_that_is_none(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("model: llama3-8b\nbatch: {global: 8}\nparalel: {tensor: 2}\n")
    assert "job.yaml:3" in run("--job", str(path), code=2)


def test_a_step_is_written_as_traces_and_read_again(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    given = json.loads(run("--job", str(EXAMPLES / "jobs" / "fsdp.yaml"), "--chakra-out", str(folder), "--json"))
    assert sorted(one.name for one in folder.iterdir())[:2] == ["8B-FSDP.0.et", "8B-FSDP.1.et"]
    (tmp_path / "again.yaml").write_text("trace: traces\n")
    found = json.loads(run("--job", str(tmp_path / "again.yaml"), "--json"))["jobs"][0]
    assert found["step_ms"] == pytest.approx(given["jobs"][0]["step_ms"], rel=1e-6)
    assert (found["mfu"], found["gpus"], found["trace"]) == (None, 32, "traces")
    page = tmp_path / "page.html"
    run("--job", str(tmp_path / "again.yaml"), "--html", str(page))
    assert "nodes of 32 ranks, traces" in page.read_text()
    assert "is already a trace" in run("--job", str(tmp_path / "again.yaml"), "--chakra-out", str(folder), code=2)
    assert "goes with one prediction" in run(
        "--job", str(JOBS[0]), "--chakra-out", str(folder), "--compare", "qps=1", code=2
    )


def test_a_setting_of_the_fabric_file_is_designed_with_the_switches_that_are_given(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Network] = []

    def watched(*given: Any) -> Any:
        made.append(given[-1]({})[0])
        return compare_training(*given)

    monkeypatch.setattr(variants, "compare_training", watched)
    setting = (
        "--compare",
        "parallel.pipeline=1",
        "--device",
        "spine=acme-32x800:sonic",
        "--hardware",
        str(EXAMPLES / "hardware"),
    )
    run("--job", str(EXAMPLES / "jobs" / "dense.yaml"), *setting)
    (network,) = made
    assert {switch.model for switch in network.switches if switch.role == "spine"} == {"acme-32x800"}
