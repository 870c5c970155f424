"""Studies on a network: every trial is taken back, whatever ends it; guardrails are held by counters."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave.api import tune_run
from railweave.api.deploying import deploy_history, deploy_resume
from railweave.errors import InputError
from railweave.operations.tune import hardware
from railweave.operations.tune.measuring import Sample
from railweave.operations.tune.page import tuning_html
from railweave.operations.tune.run import StoppedError
from tests.operations.tune.network import FABRIC, LOSSY, STUDY, Bed, bed, fill_of

QPS = "hosts.job.qps_per_connection: [4, 8]"
FOUR = "hosts: {job: {qps_per_connection: 4}}\n"
LATE = STUDY.replace("[10, 40]", "[10, 40, 80]")


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    with bed(tmp_path, monkeypatch) as found:
        yield found


def alive(pid: int) -> bool:
    try:
        return "mpirun" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_trials_are_in_force_while_they_are_measured_and_taken_back(network: Bed) -> None:
    found = tune_run(network.study(), access=network.network.access)
    assert found.verdict == "better", found.to_text()
    assert found.outcome.confirmed is not None
    assert list(found.outcome.confirmed.values.values()) == [40]
    assert "min_fill: 40" in found.patch
    assert network.at_own()
    assert {fill for _, fill, _ in network.ran()} == {10, 40}, "each was in force when it was measured"
    assert {one.state for one in deploy_history(network.folder / "fabric.yaml")} == {"rolled back"}
    assert (network.folder / "small.tune" / "runs.db").exists()


def test_a_trial_that_breaks_a_guardrail_is_rolled_back_at_once(network: Bed) -> None:
    (network.folder / "hold").write_text(str(LOSSY))  # it would go on for five minutes
    began = time.monotonic()
    found = tune_run(network.study(LATE), access=network.network.access)
    assert time.monotonic() - began < 100, "nobody waited for the benchmark"
    (bad,) = [one for one in found.outcome.trials if one.state == "failed"]
    assert list(found.outcome.values(bad.number).values()) == [80]
    assert "rolled back at once" in bad.why
    assert "packets of lossless classes dropped, at most 0: stripe1-leaf1 et-0/0/" in bad.why
    assert "dropped by queue 4 rose by" in bad.why
    assert network.at_own()
    assert not any(alive(pid) for pid, _, _ in network.ran()), "the benchmark has ended"
    assert found.verdict == "better"
    result = json.loads((network.folder / "small.tune" / "result.json").read_text())
    assert [one["state"] for one in result["trials"]].count("failed") == 1
    assert bad.why in found.to_text()


def test_ctrl_c_takes_the_trial_back_and_the_study_goes_on(network: Bed) -> None:
    def stop(device: str, call: str) -> None:
        box = network.network.boxes["stripe1-leaf1"]
        if fill_of(box.running) == 40 and (network.folder / "ran").exists():
            network.called = lambda _, __: None
            os.kill(os.getpid(), signal.SIGINT)

    network.called = stop
    with pytest.raises(StoppedError):
        tune_run(network.study(), access=network.network.access)
    assert network.at_own()
    assert [one.state for one in deploy_history(network.folder / "fabric.yaml")] == ["rolled back"]
    assert tune_run(network.study(), access=network.network.access).verdict == "better"


COMMAND = "from railweave.cli import main; main()"


@pytest.mark.slow
def test_what_a_killed_study_left_is_brought_back_first(network: Bed) -> None:
    (network.folder / "hold").write_text("11")  # the file's own values are measured; the first trial is held
    study = network.study(STUDY.replace("[10, 40]", "[40, 50]"))
    study.write_text(study.read_text().replace("guardrails: {every: 0.1}", "guardrails: {every: 60}"))
    words = ["tune", "run", str(study), "--access", str(network.network.access), "-q"]
    running = subprocess.Popen([sys.executable, "-c", COMMAND, *words], stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not (network.folder / "held").exists() and time.monotonic() < end and running.poll() is None:
        time.sleep(0.02)
    assert (network.folder / "held").exists(), running.communicate()
    running.kill()
    running.communicate()
    assert all(box.waits for box in network.network.boxes.values()), "timers run on every switch"
    assert [one.state for one in deploy_history(network.folder / "fabric.yaml")] == ["running"]
    (network.folder / "hold").unlink()
    said: list[str] = []
    found = tune_run(study, access=network.network.access, progress=said.append)
    assert "revision 1, a trial, was interrupted: it is rolled back" in said
    assert said.index("revision 1, a trial, was interrupted: it is rolled back") < said.index(
        "measuring the file's own values"
    )
    assert found.verdict == "better"
    assert network.at_own()


def test_a_killed_trial_is_never_kept_by_deploy_resume(network: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise SystemExit  # nothing is taken back: as a process that is gone leaves it

    monkeypatch.setattr("railweave.operations.deploy.trial._end", lambda *_: None)
    monkeypatch.setattr(hardware.HardwareEvaluator, "_runs", killed)
    monkeypatch.setattr(hardware.HardwareEvaluator, "_own_runs", lambda *_: [Sample(1, (1.0,), 1.0)])
    with pytest.raises(SystemExit):
        tune_run(network.study(), access=network.network.access)
    assert not network.at_own()
    revision = deploy_resume(network.folder / "fabric.yaml", access=network.network.access, settle=0)
    assert revision.state == "rolled back"
    assert network.at_own()


def test_queue_pairs_are_set_by_the_run_and_guarded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is deployed. The network drops whatever the queue pairs: the file's own values do too, which does not end the study."""
    text = STUDY.replace("fabrics.backend.qos.classes.no-loss.ecn.min_fill: [10, 40]", QPS)
    with bed(tmp_path, monkeypatch, FABRIC.replace("min_fill: 10", "min_fill: 80") + FOUR) as found:
        result = tune_run(found.study(text), access=found.network.access)
        assert deploy_history(tmp_path / "fabric.yaml") == []
        assert {one.state for one in result.outcome.trials} == {"complete", "failed"}
        assert (
            "packets of lossless classes dropped" in result.outcome.own_score.broken[0][0]
            or result.outcome.own_samples[0].drops
        )
        assert any("NCCL_IB_QPS_PER_CONNECTION=8" in words for _, _, words in found.ran())
        assert result.verdict != "better"


def test_what_was_measured_after_the_timers_ran_out_does_not_count(
    network: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(0, 1_000_000)
    monkeypatch.setattr("railweave.operations.deploy.trial.monotonic", lambda: next(clock))
    found = tune_run(network.study(), access=network.network.access)
    assert [one.state for one in found.outcome.trials] == ["complete", "failed"]
    assert "after which devices go back by themselves" in found.outcome.trials[1].why
    assert found.verdict == "the file's own values"
    assert network.at_own()


def test_a_switch_that_refuses_a_trial_makes_it_fail(network: Bed) -> None:
    network.network.boxes["spine1"].candidate_refused = True
    found = tune_run(network.study(), access=network.network.access)
    (bad,) = [one for one in found.outcome.trials if one.state == "failed"]
    assert "spine1: " in bad.why
    assert "not within range" in bad.why
    assert network.fills == {10}, "no switch ever ran it"
    assert network.at_own()


def test_the_network_must_run_the_file_first(network: Bed) -> None:
    box = network.network.boxes["spine1"]
    box.running = [*box.running, "set protocols bgp group other type external"]
    box.running = [one for one in box.running if "fill-level 95" not in one]
    with pytest.raises(InputError, match=r"small.yaml:2: .*spine1 does not run the fabric file's own values"):
        tune_run(network.study(), access=network.network.access)
    assert not network.ran()


@pytest.mark.parametrize(
    ("instead", "line", "what"),
    [
        (("evaluator: bench", "evaluator: sim"), 12, "the section `bench` has no effect: only the simulator measures"),
        (
            ("seeds: 1", "seeds: 1\nengine: {dcqcn.additive: [5M, 50M]}"),
            10,
            "parameters of the simulator",
        ),
        (("seeds: 1", "seeds: 1\nlimits: {pauses: 3}"), 10, "these limits apply only to the simulator"),
        (("size: 1M}", "size: 1M, background: {share: 30%}}"), 5, "traffic of others cannot be generated on hardware"),
        (("every: 0.1", "every: 0.1, drop: 3"), 16, "drop"),
        (("settle: 0", "settle: 0\n  mpi_script: absent.sh"), 15, "there is no file"),
        (("{collective: all-reduce, size: 1M}", "{collective: all-reduce, size: 1M, tenant: red}"), 5, "tenant"),
    ],
)
def test_what_cannot_be_measured_is_told_at_its_line(
    network: Bed, instead: tuple[str, str], line: int, what: str
) -> None:
    with pytest.raises(InputError) as wrong:
        tune_run(network.study(STUDY.replace(*instead)), access=network.network.access)
    assert f"small.yaml:{line}: " in str(wrong.value)
    assert what in str(wrong.value)
    assert network.at_own()


BOTH = LATE.replace("evaluator: bench", "evaluator: both").replace("settle: 0", "settle: 0\n  best: 3")


def test_the_best_of_the_simulator_are_confirmed_on_the_network(network: Bed) -> None:
    found = tune_run(network.study(BOTH), access=network.network.access, workers=1)
    check = found.outcome.confirmed
    assert check is not None
    assert {one.state for one in found.outcome.trials} == {"complete"}, "in the simulator nothing is rolled back"
    seen = {next(iter(one.candidate.values.values())): one for one in check.hardware}
    assert set(seen) == {10, 40, 80}
    assert seen[80].score is None
    assert "packets of lossless classes dropped" in seen[80].why
    assert found.verdict == "better", found.to_text()
    assert list(check.values.values()) == [40]
    assert "on hardware" in found.to_text()
    assert "min_fill: 40" in found.patch
    assert {fill for _, fill, _ in network.ran()} == {10, 40, 80}
    assert len(network.ran()) <= 3 * 4, "only the best and the file's own values are measured, three times each"
    assert network.at_own()
    result = json.loads((network.folder / "small.tune" / "result.json").read_text())
    assert len(result["confirmed"]["hardware"]) == 3
    assert "its best were measured on hardware" in tuning_html(found)


def test_a_network_that_is_not_as_the_file_has_it_is_told_before_the_search(network: Bed) -> None:
    box = network.network.boxes["spine1"]
    box.running = [one for one in box.running if "fill-level 95" not in one]
    said: list[str] = []
    with pytest.raises(InputError, match="spine1 does not run the fabric file's own values"):
        tune_run(network.study(BOTH), access=network.network.access, workers=1, progress=said.append)
    assert not any("measuring" in one for one in said)
