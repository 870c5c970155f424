"""Studies on the simulator: the same on any number of workers, interrupted or not; limits, pruning, several objectives."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import optuna
import pytest

from railweave.api import tune_run
from railweave.errors import InputError
from railweave.model.intent.study import Study
from railweave.operations.tune.measuring import RefusedCombination, Sample, TrialRequest, jain
from railweave.operations.tune.run import Outcome, StoppedError, run_study
from railweave.operations.tune.scoring import scored
from railweave.operations.tune.space import Knob, Space
from tests.operations.tune.studies import STUDY, study

SPACE = Space(
    (Knob("x", ("x",), tuple(range(20)), ordered=True), Knob("y", ("y",), ("a", "b", "c"), ordered=False)), (3, "c")
)


class Known:
    """An evaluator whose answers are a formula: best at x = 12, y = b; the seed moves it a little. x above 17 is refused."""

    def __init__(self, scatter: float = 0.1, *, flat: bool = False, stop_after: int | None = None) -> None:
        self.asked: list[TrialRequest] = []
        self._scatter, self._flat, self._stop = scatter, flat, stop_after

    def measure(self, wanted: Sequence[TrialRequest]) -> list[Sample | RefusedCombination]:
        self.asked += wanted
        if self._stop is not None and len(self.asked) >= self._stop:
            raise KeyboardInterrupt
        return [self._one(one) for one in wanted]

    def _one(self, one: TrialRequest) -> Sample | RefusedCombination:
        x, y = int(one.values["x"]), one.values["y"]
        if x > 17:
            return RefusedCombination("x is above 17")
        speed = 100.0 if self._flat else 200.0 - (x - 12) ** 2 - (0 if y == "b" else 20)
        speed += self._scatter * ((one.seed * 7919 + x * 104729 + ord(str(y)) * 31) % 11 - 5)
        return Sample(one.seed, (speed,), speed, drops=0, pauses=10 * x, marks=100 - x)

    def close(self) -> None:
        """Nothing is held."""


def a_study(**changed: object) -> Study:
    plain = {
        "name": "s",
        "fabric": "f.yaml",
        "goal": {"collectives": [{"collective": "all-reduce", "size": "1M"}]},
        "space": {"x": "0..19", "y": ["a", "b", "c"]},
        "search": {"trials": 24, "start": 8},
    }
    return Study.model_validate({**plain, **changed})


def trials(found: Outcome) -> list[object]:
    return [(one.number, one.chosen, one.state, one.samples) for one in found.trials]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """The study that most tests look at, and its file."""
    path = tmp_path_factory.mktemp("study") / "a.db"
    return path, run_study(a_study(), SPACE, Known(), path, "")


@pytest.fixture
def whole(finished: tuple[Path, Outcome]) -> Outcome:
    return finished[1]


def test_the_best_of_sixty_is_found_with_a_third_of_the_trials(whole: Outcome) -> None:
    assert whole.best is not None
    assert whole.scores[whole.best].values[0] >= 0.97 * 200
    assert whole.trials[0].chosen == SPACE.own_choice, "the file's own values come first"
    assert whole.confirmed is not None
    assert whole.confirmed.verdict == "better"


def test_an_interrupted_study_goes_on_as_if_it_had_not_been(whole: Outcome, tmp_path: Path) -> None:
    for stop_after in (1, 9, 20, 41):
        with pytest.raises(StoppedError):
            run_study(a_study(), SPACE, Known(stop_after=stop_after), tmp_path / "b.db", "")
    later = Known()
    found = run_study(a_study(), SPACE, later, tmp_path / "b.db", "")
    assert trials(found) == trials(whole)
    assert found.confirmed == whole.confirmed
    again = Known()
    run_study(a_study(), SPACE, again, tmp_path / "b.db", "")
    fresh = {one.seed for one in again.asked} - {1, 2, 3}
    assert all(one.seed in fresh or one.values == {"x": 3, "y": "c"} for one in again.asked), "trials are not run again"


def test_a_kill_while_trials_are_asked_for_moves_no_other(whole: Outcome, tmp_path: Path) -> None:
    """Optuna writes a trial and each of its values by itself: a kill leaves one without values, or with a part of them."""
    with pytest.raises(StoppedError):
        run_study(a_study(), SPACE, Known(stop_after=9), tmp_path / "b.db", "")
    left = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path / 'b.db'}")
    left.ask()
    left.ask({"x": optuna.distributions.IntDistribution(0, 19)})
    found = run_study(a_study(), SPACE, Known(), tmp_path / "b.db", "")
    assert trials(found) == trials(whole)
    assert (found.best, found.confirmed) == (whole.best, whole.confirmed)


def test_more_trials_go_on_and_other_knobs_are_refused(finished: tuple[Path, Outcome], tmp_path: Path) -> None:
    path, first = finished
    shutil.copy(path, tmp_path)
    more = a_study(search={"trials": 32, "start": 8})
    found = run_study(more, SPACE, Known(), tmp_path / "a.db", "")
    assert trials(found)[: len(first.trials)] == trials(first)
    assert len(found.trials) > len(first.trials)
    with pytest.raises(InputError, match="has trials of another study"):
        run_study(a_study(), SPACE, Known(), tmp_path / "a.db", "two")


def test_another_seed_of_the_study_is_another_search(tmp_path: Path) -> None:
    found = [
        trials(run_study(a_study(search={"trials": 12, "seed": seed}), SPACE, Known(), tmp_path / f"{seed}.db", ""))
        for seed in (1, 2)
    ]
    assert found[0] != found[1]


@pytest.mark.parametrize("sampler", ["cma-es", "random"])
def test_other_samplers(tmp_path: Path, sampler: str) -> None:
    asked = a_study(search={"trials": 20, "sampler": sampler})
    found = run_study(asked, SPACE, Known(), tmp_path / "a.db", "")
    assert found.best is not None
    with pytest.raises(StoppedError):
        run_study(asked, SPACE, Known(stop_after=20), tmp_path / "b.db", "")
    assert trials(run_study(asked, SPACE, Known(), tmp_path / "b.db", "")) == trials(found)


def test_a_grid_has_every_combination_once(tmp_path: Path) -> None:
    found = run_study(a_study(search={"sampler": "grid"}, seeds=1), SPACE, Known(), tmp_path / "a.db", "")
    assert len(found.trials) == len({one.chosen for one in found.trials}) == 60
    assert sum(one.state == "refused" for one in found.trials) == 6
    assert found.best is not None
    assert found.values(found.best) == {"x": 12, "y": "b"}


def test_hopeless_trials_are_given_up_after_a_seed(whole: Outcome, tmp_path: Path) -> None:
    pruned = [one for one in whole.trials if one.state == "pruned"]
    assert pruned
    assert all(len(one.samples) < 3 for one in pruned)
    assert whole.best not in [one.number for one in pruned]
    every = a_study(search={"trials": 24, "start": 8, "prune": False})
    assert all(one.state != "pruned" for one in run_study(every, SPACE, Known(), tmp_path / "b.db", "").trials)


def test_what_breaks_a_limit_does_not_win(tmp_path: Path) -> None:
    found = run_study(a_study(limits={"pauses": 80}), SPACE, Known(), tmp_path / "a.db", "")
    assert found.best is not None
    assert int(found.values(found.best)["x"]) <= 8
    broken = [score for score in found.scores.values() if not score.feasible]
    assert broken
    assert "PFC pauses, at most 80" in broken[0].broken[0][0]
    none = run_study(a_study(limits={"pauses": 0}), replace(SPACE, own_values=(5, "a")), Known(), tmp_path / "b.db", "")
    if all(one.chosen[0] for one in none.trials):
        assert none.best is None
        assert none.confirmed is None


def test_no_significant_difference_is_an_answer(tmp_path: Path) -> None:
    found = run_study(a_study(), SPACE, Known(scatter=1.0, flat=True), tmp_path / "a.db", "")
    assert found.confirmed is not None
    assert found.confirmed.verdict in {"no significant difference", "the file's own values"}
    assert found.confirmed.chance > 0.05


def test_a_knob_that_makes_no_difference_stays_as_it_is(tmp_path: Path) -> None:
    class Blind(Known):
        def _one(self, one: TrialRequest) -> Sample | RefusedCombination:
            return super()._one(TrialRequest({**one.values, "y": "b"}, one.seed))

    found = run_study(a_study(), SPACE, Blind(), tmp_path / "a.db", "")
    assert found.confirmed is not None
    assert found.confirmed.values["y"] == "c"
    assert found.confirmed.verdict == "better"


def test_several_objectives_make_a_frontier(tmp_path: Path) -> None:
    goal = {"collectives": [{"collective": "all-reduce", "size": "1M"}], "objectives": ["speed", "pauses"]}
    found = run_study(a_study(goal=goal), SPACE, Known(), tmp_path / "a.db", "")
    front = [found.scores[number].values for number in found.frontier]
    assert len(front) > 1
    assert front == sorted(front, reverse=True), "less speed, fewer pauses"
    for values in (one.values for one in found.scores.values()):
        assert not any(values[0] > speed and values[1] < pauses for speed, pauses in front)


def test_limits_hold_for_every_seed() -> None:
    asked = a_study(limits={"drops": 5, "fairness": 0.9})
    samples = [Sample(1, (), 1.0, drops=0, fairness=1.0), Sample(2, (), 1.0, drops=6, fairness=0.8, complete=False)]
    assert [what for what, _ in scored(asked.goal, asked.limits, samples).broken] == [
        "messages never arrived",
        "6 packets dropped, at most 5",
        "fairness 0.800, at least 0.9",
    ]
    assert jain([1, 1, 1]) == 1
    assert jain([1, 0, 0, 0]) == 0.25


def test_one_worker_and_two_give_the_same_study(tmp_path: Path) -> None:
    path = study(tmp_path)
    one = tune_run(path, output=tmp_path / "one", workers=1)
    two = tune_run(path, output=tmp_path / "two", workers=2)
    assert (tmp_path / "one" / "journal.jsonl").read_text() == (tmp_path / "two" / "journal.jsonl").read_text()
    assert one.verdict == two.verdict == "better"
    assert one.patch == two.patch
    assert "min_fill: 1, max_fill: 3" not in one.amended.replace("# ", "") or "qps_per_connection: 4" in one.amended


COMMAND = "from railweave.cli import main; main()"


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    path = study(tmp_path, STUDY.replace("trials: 6", "trials: 10"))
    words = ["tune", "run", str(path), "--workers", "2"]
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stderr is not None
    said = ""
    for line in running.stderr:
        said += line
        if line.startswith("3 trials"):
            running.send_signal(signal.SIGINT)
            break
    out, rest = running.communicate(timeout=120)
    assert running.returncode == 130, said + rest
    assert "trials are kept" in rest
    assert "Traceback" not in rest
    assert out == ""
    found = tune_run(path, workers=1)
    assert json.loads((tmp_path / "small.tune" / "result.json").read_text())["verdict"] == found.verdict
    other = tune_run(path, output=tmp_path / "other", workers=1)
    assert [one.chosen for one in found.outcome.trials] == [one.chosen for one in other.outcome.trials]
