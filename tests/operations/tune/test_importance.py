"""Which knobs matter: right on full grids, with uncertainty elsewhere, and nothing where trials cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from railweave.model.intent.study import Goal
from railweave.operations.tune.measuring import Sample
from railweave.operations.tune.scoring import aims_of
from railweave.operations.tune.search import Importance, Trial, importance
from railweave.operations.tune.space import Knob, Space

Got = Callable[[tuple[int, ...]], float]
[SPEED] = aims_of(Goal.model_validate({"collectives": [{"collective": "all-reduce", "size": "1M"}]}))


def space(*levels: int) -> Space:
    knobs = tuple(Knob("abcdef"[place], ("x",), tuple(range(many)), True) for place, many in enumerate(levels))
    return Space(knobs, (None,) * len(levels))


def grid(*levels: int) -> list[tuple[int, ...]]:
    return list(product(*map(range, levels)))


def trials(chosen: list[tuple[int, ...]], got: Got, noise: float = 0.0, seeds: int = 3, seed: int = 0) -> list[Trial]:
    rng = np.random.default_rng(seed)
    by_seed = rng.normal(0, 10 * noise, seeds)  # a seed is as kind to all combinations
    return [
        Trial(
            number,
            one,
            "complete",
            tuple(Sample(s + 1, (), got(one) + float(by_seed[s]) + float(rng.normal(0, noise))) for s in range(seeds)),
        )
        for number, one in enumerate(chosen)
    ]


def shares(*given: object) -> dict[str, float]:
    return {name: one.share for name, one in importance(*given).items()}  # type: ignore[arg-type]


def test_on_a_full_grid_a_knob_that_changes_nothing_has_nothing() -> None:
    found = shares(space(4, 3), SPEED, trials(grid(4, 3), lambda one: 100.0 + 5 * one[0]))
    assert found == {"a": pytest.approx(1.0), "b": 0.0}


def test_shares_of_a_full_grid_are_those_of_variances() -> None:
    """Two independent effects of -1 and 1, and of -3 and 3: one tenth and nine."""
    found = importance(space(2, 2), SPEED, trials(grid(2, 2), lambda one: 2.0 * one[0] + 6.0 * one[1] + 50))
    assert {name: one.share for name, one in found.items()} == {"a": pytest.approx(0.1), "b": pytest.approx(0.9)}


def test_knobs_that_matter_only_together_both_matter() -> None:
    found = shares(space(2, 2, 2), SPEED, trials(grid(2, 2, 2), lambda one: float(one[0] ^ one[1]) + 9))
    assert found == {"a": pytest.approx(1.0), "b": pytest.approx(1.0), "c": 0.0}


@pytest.mark.parametrize("seeds", [1, 3])
def test_with_noise_the_knob_that_matters_is_found_with_its_uncertainty(seeds: int) -> None:
    made = trials(grid(5, 4), lambda one: 10.0 * one[0], noise=2.0, seeds=seeds)
    found = importance(space(5, 4), SPEED, made)
    assert 0.9 < found["a"].share <= 1
    assert 0 < found["a"].high - found["a"].low < 0.2
    assert found["a"].low <= found["a"].share <= found["a"].high
    assert found.get("b", Importance(0, 0, 0)).share < 0.1


def sampled(levels: tuple[int, ...], many: int, seed: int) -> list[tuple[int, ...]]:
    every = grid(*levels)
    return [every[place] for place in np.random.default_rng(seed).permutation(len(every))[:many]]


@pytest.mark.parametrize("many", [2, 4, 8])
def test_too_few_trials_tell_nothing(many: int) -> None:
    levels = (8, 7, 6)
    assert shares(space(*levels), SPEED, trials(sampled(levels, many, 1), lambda one: 9.0 * one[0])) == {}


def test_a_search_that_is_no_grid_tells_the_knob_that_matters() -> None:
    levels = (8, 7, 6)
    found = importance(space(*levels), SPEED, trials(sampled(levels, 60, 1), lambda one: 9.0 * one[0], noise=1.0))
    assert set(found) == {"a"}
    assert 0.7 < found["a"].low <= found["a"].share <= found["a"].high <= 1


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seeds", [1, 3])
def test_noise_alone_is_not_called_important(*, whole: bool, seeds: int) -> None:
    """Of 30 studies in which no knob changes anything few may name one: 5 % are allowed."""
    levels = (4, 3, 2)
    named = 0
    for seed in range(30):
        chosen = grid(*levels) if whole else sampled(levels, 20, seed)
        found = importance(space(*levels), SPEED, trials(chosen, lambda _: 50.0, noise=1.0, seeds=seeds, seed=seed))
        named += bool(found)
    assert named <= 4


def test_trials_that_have_not_ended_do_not_count() -> None:
    made = trials(grid(4, 3), lambda one: 5.0 * one[0])
    made.append(Trial(99, (0, 0), "pruned", (Sample(1, (), 1e6),)))
    assert shares(space(4, 3), SPEED, made) == {"a": pytest.approx(1.0), "b": 0.0}


def test_nothing_that_differs_is_a_knob_without_a_share() -> None:
    assert shares(space(4, 3), SPEED, trials(grid(4, 3), lambda _: 7.0)) == {"a": 0.0, "b": 0.0}
    assert shares(space(4, 3), SPEED, []) == {}
