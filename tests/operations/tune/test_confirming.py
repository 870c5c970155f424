"""What hardware says of the best of the simulator, with evaluators whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from railweave.model.intent.study import Study
from railweave.operations.tune.measuring import FailedCombination, RefusedCombination, Sample, TrialRequest
from railweave.operations.tune.run import Candidate, confirmed, on_hardware
from railweave.operations.tune.scoring import Score, as_measured
from tests.operations.tune.test_run import a_study

OWN: Mapping[str, int] = {"x": 3}


class Network:
    """Speeds by x; each run a little off. A text is why a combination fails."""

    def __init__(self, speeds: Mapping[int, float | str], off: float = 0.1, drops: int = 0) -> None:
        self._speeds, self._off, self._drops = speeds, off, drops

    def measure(self, wanted: Sequence[TrialRequest]) -> Sequence[Sample | RefusedCombination | FailedCombination]:
        return [self._one(one) for one in wanted]

    def _one(self, one: TrialRequest) -> Sample | FailedCombination:
        speed = self._speeds[int(one.values["x"])]
        if isinstance(speed, str):
            return FailedCombination(speed)
        got = speed + self._off * (one.seed * 7919 % 5 - 2)
        return Sample(one.seed, (got,), got, drops=self._drops if one.values["x"] == OWN["x"] else 0)

    def close(self) -> None:
        """Nothing is held."""


def candidates(*values: int) -> list[Candidate]:
    return [Candidate(number, {"x": value}, Score((100.0 - number,))) for number, value in enumerate(values)]


def hardware(**bench: object) -> Study:
    return as_measured(a_study(evaluator="both", bench=bench))


def test_the_network_has_the_last_word() -> None:
    found = on_hardware(hardware(), OWN, candidates(1, 2), Network({1: 90.0, 2: 120.0, 3: 100.0}))
    assert (found.verdict, dict(found.values)) == ("better", {"x": 2})
    found = on_hardware(hardware(), OWN, candidates(1, 2), Network({1: 90.0, 2: 95.0, 3: 100.0}))
    assert found.verdict == "worse"


def test_the_best_of_many_must_be_more_sure() -> None:
    """By how much one candidate is better counts for less where it was chosen among several."""
    speeds: dict[int, float | str] = {3: 100.0, **dict.fromkeys(range(10, 16), 100.3)}
    one = on_hardware(hardware(), OWN, candidates(10), Network(speeds))
    several = on_hardware(hardware(), OWN, candidates(10, 11, 12, 13, 14, 15), Network(speeds))
    assert several.chance == pytest.approx(min(1.0, 6 * one.chance))
    assert one.verdict == "better"
    assert several.verdict == "no significant difference"


def test_what_failed_there_does_not_win() -> None:
    found = on_hardware(hardware(), OWN, candidates(1, 2), Network({1: "it dropped", 2: 120.0, 3: 100.0}))
    assert (found.verdict, dict(found.values)) == ("better", {"x": 2})
    assert [one.why for one in found.hardware] == ["it dropped", ""]
    none = on_hardware(hardware(), OWN, candidates(1, 2), Network({1: "it dropped", 2: "too", 3: 100.0}))
    assert none.verdict == "breaks a limit"
    assert none.best_score.broken[0][0] == "it dropped"


def test_a_file_that_breaks_a_guardrail_itself_loses() -> None:
    slower = Network({1: 90.0, 3: 100.0}, drops=5)
    assert on_hardware(hardware(), OWN, candidates(1), slower).verdict == "better"
    loose = hardware(guardrails={"drops": None})
    assert on_hardware(loose, OWN, candidates(1), slower).verdict == "worse"


def test_a_winner_that_fails_when_it_is_run_again_is_told() -> None:
    found = confirmed(as_measured(a_study(evaluator="bench")), OWN, {"x": 1}, {}, Network({1: "it paused", 3: 100.0}))
    assert found.verdict == "breaks a limit"
    assert found.best_score.broken[0][0] == "it paused"
