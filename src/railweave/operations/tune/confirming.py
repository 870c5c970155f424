"""Whether the best of a study is better than the file's own values, on seeds that the search has not seen; and which knobs it takes for that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from railweave.operations.bench.comparing.significance import chance_of_slower
from railweave.operations.tune.measuring import Sample, Wanted
from railweave.operations.tune.scoring import Score, aims_of, best_first, over_seeds, scored, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.intent.scenario import Setting
    from railweave.model.intent.study import Study
    from railweave.operations.tune.measuring import Evaluator

CHANCE = 0.05
"""A difference that chance alone makes more often than this is none."""
NO_LOSS = 0.005
"""A knob goes back to the file's own value where that costs less than this part of the first objective."""

Verdict = Literal["better", "no significant difference", "worse", "the file's own values", "breaks a limit"]


@dataclass(frozen=True)
class Candidate:
    """A trial that hardware is to confirm: its number, its values, and what the simulator found of it."""

    number: int
    values: Mapping[str, Setting]
    simulated: Score


@dataclass(frozen=True)
class Seen:
    """What hardware said of a candidate: a score; or why it failed there, with the counter of the guardrail."""

    candidate: Candidate
    samples: tuple[Sample, ...]
    score: Score | None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "trial": self.candidate.number,
            "values": dict(self.candidate.values),
            "simulated": self.candidate.simulated.to_json(),
            "measured": None if self.score is None else self.score.to_json(),
            "why": self.why,
            "samples": [one.to_json() for one in self.samples],
        }


@dataclass(frozen=True)
class Confirmed:
    """The best values and the file's own on fresh seeds.

    ``values``: by knob what is proposed, less what made no difference; ``needless``: knobs that went back to the file's own value.
    ``chance``: how likely chance alone would make the proposed values look so much better.
    """

    values: Mapping[str, Setting]
    needless: tuple[str, ...]
    own: tuple[Sample, ...]
    best: tuple[Sample, ...]
    own_score: Score
    best_score: Score
    chance: float
    verdict: Verdict
    hardware: tuple[Seen, ...] = ()
    """What hardware said of each of the best of the simulator, in the simulator's order; empty where it was not asked."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "verdict": self.verdict,
            "chance": self.chance,
            "values": dict(self.values),
            "needless": list(self.needless),
            "own": {**self.own_score.to_json(), "samples": [one.to_json() for one in self.own]},
            "best": {**self.best_score.to_json(), "samples": [one.to_json() for one in self.best]},
            "hardware": [one.to_json() for one in self.hardware],
        }


def confirmed(
    study: Study,
    own: Mapping[str, Setting],
    winner: Mapping[str, Setting],
    importance: Mapping[str, float],
    evaluator: Evaluator,
) -> Confirmed:
    """Run both on fresh seeds, and put back what makes no difference, the least important first."""
    seeds = _fresh(study)

    def of(values: Mapping[str, Setting]) -> tuple[Sample, ...]:
        return _samples(study, values, evaluator)[0]

    before = of(own)
    after, failed = _samples(study, winner, evaluator)
    if failed:
        return _broken(study, winner, before, failed)
    kept = dict(winner)
    needless: list[str] = []
    changed = [name for name, value in winner.items() if name in own and own[name] != value]
    for name in sorted(changed, key=lambda one: (importance.get(one, 0.0), one)):
        if len(needless) + 1 == len(changed):
            break  # with this one too it would be the file's own
        tried = {**kept, name: own[name]}
        samples = of(tried)
        if len(samples) == len(seeds) and _as_good(study, after, samples):
            kept, after = tried, samples
            needless.append(name)
    scores = [scored(study.goal, study.limits, one) for one in (before, after)]
    chance = _chance(study, before, after)
    same = all(own.get(name) == value for name, value in kept.items())
    return Confirmed(
        kept,
        tuple(needless),
        before,
        after,
        scores[0],
        scores[1],
        chance,
        _verdict(study, before, after, chance, same=same),
    )


def on_hardware(
    study: Study, own: Mapping[str, Setting], candidates: Sequence[Candidate], evaluator: Evaluator
) -> Confirmed:
    """Measure the best of the simulator and the file's own values on hardware; the best there is proposed.

    The best of several looks better than it is: ``chance`` is that of one of them, times how many there are (Bonferroni).
    """
    before = _samples(study, own, evaluator)[0]
    seen: list[Seen] = []
    for one in candidates:
        samples, why = _samples(study, one.values, evaluator)
        seen.append(Seen(one, samples, None if why else scored(study.goal, study.limits, samples), why))
    aims = aims_of(study.goal)
    there = [(one, one.score) for one in seen if one.score is not None]
    if not there:
        return replace(_broken(study, candidates[0].values, before, seen[0].why), hardware=tuple(seen))
    best, score = min(
        there, key=lambda pair: (not pair[1].feasible, best_first(aims, pair[1]), pair[0].candidate.number)
    )
    values = best.candidate.values
    chance = min(1.0, len(there) * _chance(study, before, best.samples))
    same = all(own.get(name) == value for name, value in values.items())
    verdict = _verdict(study, before, best.samples, chance, same=same)
    own_score = scored(study.goal, study.limits, before)
    return Confirmed(values, (), before, best.samples, own_score, score, chance, verdict, tuple(seen))


def _fresh(study: Study) -> range:
    """Seeds that the search has not seen."""
    return range(study.seeds + 1, study.seeds + study.confirm + 1)


def _samples(study: Study, values: Mapping[str, Setting], evaluator: Evaluator) -> tuple[tuple[Sample, ...], str]:
    """The samples of values on fresh seeds; and why they failed on hardware or were refused, or nothing."""
    found = evaluator.measure([Wanted(values, seed) for seed in _fresh(study)])
    failed = next((one.why for one in found if not isinstance(one, Sample)), "")
    return tuple(one for one in found if isinstance(one, Sample)), failed


def _broken(study: Study, winner: Mapping[str, Setting], before: tuple[Sample, ...], why: str) -> Confirmed:
    """The result for values that failed on hardware, or that no network can have."""
    score = Score(tuple(one.hopeless for one in aims_of(study.goal)), ((why, 1.0),))
    own = scored(study.goal, study.limits, before)
    return Confirmed(winner, (), before, (), own, score, 1.0, "breaks a limit")


def _as_good(study: Study, before: Sequence[Sample], after: Sequence[Sample]) -> bool:
    """Whether nothing is lost: every objective within ``NO_LOSS``, limits kept."""
    if not scored(study.goal, study.limits, after).feasible:
        return False
    for aim in aims_of(study.goal):
        one, other = (over_seeds(aim, study.goal.tail, samples) for samples in (before, after))
        if (other < one * (1 - NO_LOSS)) if aim.more else (other > one * (1 + NO_LOSS)):
            return False
    return True


def _chance(study: Study, before: Sequence[Sample], after: Sequence[Sample]) -> float:
    """How likely chance alone makes the later values of the first objective so much better than the earlier ones."""
    aim = aims_of(study.goal)[0]
    rows = [[value_of(aim, one) for one in samples] for samples in (before, after)]
    if not aim.more:
        rows = [[1 / (one + 1e-9 if aim.objective == "speed" else one + 1) for one in row] for row in rows]
    if not all(rows) or min(min(row) for row in rows) <= 0:
        return 0.0 if rows[1] and min(rows[1], default=0) > 0 else 1.0
    return chance_of_slower(rows[1], rows[0], None)


def _verdict(study: Study, before: Sequence[Sample], after: Sequence[Sample], chance: float, *, same: bool) -> Verdict:
    if same:
        return "the file's own values"
    own, best = (scored(study.goal, study.limits, one) for one in (before, after))
    if not best.feasible:
        return "breaks a limit"
    if not own.feasible or chance <= CHANCE:
        return "better"
    if len(aims_of(study.goal)) > 1 and own.values != best.values and _as_good(study, before, after):
        return "better"  # as fast, and better in another objective
    return "worse" if 1 - chance <= CHANCE else "no significant difference"
