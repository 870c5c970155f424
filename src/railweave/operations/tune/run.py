"""The run of a study, from its file to its outcome.

The search proposes, measures and scores trials batch by batch. Then the best values and the file's own values are run
on seeds that the search has not used.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from railweave.json_values import JsonObject
from railweave.operations.bench.comparing.regressions import chance_of_slower
from railweave.operations.tune import scoring
from railweave.operations.tune.measuring import Evaluator, FailedCombination, RefusedCombination, Sample, TrialRequest
from railweave.operations.tune.search import Importance, Searcher, Trial, importance
from railweave.processes import uninterrupted
from railweave.progress import silent
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.scenario import Setting
    from railweave.model.intent.study import Study, StudyFile
    from railweave.operations.tune.space import Chosen, Space


CHANCE = 0.05
"""The significance level: a difference counts only if chance produces it with at most this probability."""
NO_LOSS = 0.005
"""The largest loss, as a fraction of an objective, that is accepted when a knob (a field to vary) is set back to the file's value."""

Verdict = Literal["better", "no significant difference", "worse", "the file's own values", "breaks a limit"]


@dataclass(frozen=True)
class Candidate:
    """A trial to confirm on hardware: its number, its values, and its score in the simulator."""

    number: int
    values: Mapping[str, Setting]
    simulated: scoring.Score


@dataclass(frozen=True)
class HardwareResult(JsonObject):
    """The result of a candidate on hardware: a score, or the reason of its failure, for example the counter of an exceeded guardrail."""

    JSON = (
        "trial=candidate.number",
        "values=candidate.values",
        "simulated=candidate.simulated",
        "measured=score",
        "why",
        "samples",
    )

    candidate: Candidate
    samples: tuple[Sample, ...]
    score: scoring.Score | None
    why: str = ""


@dataclass(frozen=True)
class Confirmation:
    """The comparison of the best values with the file's own values on fresh seeds.

    - ``values``: the proposed value of each knob (a field to vary), without the knobs that made no difference.
    - ``needless``: the knobs that were set back to the file's value.
    - ``own_samples``, ``own_score``: the results of the file's own values; ``best``, ``best_score``: the results of the
      proposed values.
    - ``chance``: the probability that chance alone makes the proposed values look this much better.
    """

    values: Mapping[str, Setting]
    needless: tuple[str, ...]
    own_samples: tuple[Sample, ...]
    best: tuple[Sample, ...]
    own_score: scoring.Score
    best_score: scoring.Score
    chance: float
    verdict: Verdict
    hardware: tuple[HardwareResult, ...] = ()
    """The hardware results of the simulator's best trials, in the simulator's order. Empty if nothing was measured on hardware."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of the confirmation: both results, the chance, the verdict, and the hardware results."""
        return {
            "verdict": self.verdict,
            "chance": self.chance,
            "values": dict(self.values),
            "needless": list(self.needless),
            "own": {**self.own_score.to_json(), "samples": [sample.to_json() for sample in self.own_samples]},
            "best": {**self.best_score.to_json(), "samples": [sample.to_json() for sample in self.best]},
            "hardware": [measured.to_json() for measured in self.hardware],
        }


def confirmed(
    study: Study,
    own_values: Mapping[str, Setting],
    winner: Mapping[str, Setting],
    importance: Mapping[str, float],
    evaluator: Evaluator,
) -> Confirmation:
    """Compare the best values (``winner``) with the file's own values on seeds that the search has not used, measured by ``evaluator``.

    Knobs (fields that the study varies) whose value makes no difference are set back to the file's value. They are tried in order of
    ``importance``, the least important first.
    """
    seeds = _fresh(study)

    def of(values: Mapping[str, Setting]) -> tuple[Sample, ...]:
        return _samples(study, values, evaluator)[0]

    before = of(own_values)
    after, failed = _samples(study, winner, evaluator)
    if failed:
        return _broken(study, winner, before, failed)
    kept = dict(winner)
    needless: list[str] = []
    changed = [name for name, value in winner.items() if name in own_values and own_values[name] != value]
    for name in sorted(changed, key=lambda knob: (importance.get(knob, 0.0), knob)):
        if len(needless) + 1 == len(changed):
            break  # with this one too it would be the file's own
        tried = {**kept, name: own_values[name]}
        samples = of(tried)
        if len(samples) == len(seeds) and _as_good(study, after, samples):
            kept, after = tried, samples
            needless.append(name)
    scores = [scoring.scored(study.goal, study.limits, measured) for measured in (before, after)]
    chance = _chance(study, before, after)
    same = all(own_values.get(name) == value for name, value in kept.items())
    return Confirmation(
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
    study: Study, own_values: Mapping[str, Setting], candidates: Sequence[Candidate], evaluator: Evaluator
) -> Confirmation:
    """Measure the simulator's best trials and the file's own values on hardware, and propose the trial that is best on hardware.

    ``evaluator`` is the evaluator on hardware. The best of several candidates looks better than it is, because chance helps to select
    it. So ``chance`` is the probability for one candidate times the number of candidates (Bonferroni).
    """
    before = _samples(study, own_values, evaluator)[0]
    seen: list[HardwareResult] = []
    for candidate in candidates:
        samples, why = _samples(study, candidate.values, evaluator)
        seen.append(
            HardwareResult(candidate, samples, None if why else scoring.scored(study.goal, study.limits, samples), why)
        )
    aims = scoring.aims_of(study.goal)
    there = [(measured, measured.score) for measured in seen if measured.score is not None]
    if not there:
        return replace(_broken(study, candidates[0].values, before, seen[0].why), hardware=tuple(seen))
    best, score = min(
        there, key=lambda pair: (not pair[1].feasible, scoring.best_first(aims, pair[1]), pair[0].candidate.number)
    )
    values = best.candidate.values
    chance = min(1.0, len(there) * _chance(study, before, best.samples))
    same = all(own_values.get(name) == value for name, value in values.items())
    verdict = _verdict(study, before, best.samples, chance, same=same)
    own_score = scoring.scored(study.goal, study.limits, before)
    return Confirmation(values, (), before, best.samples, own_score, score, chance, verdict, tuple(seen))


def _fresh(study: Study) -> range:
    """Return the seeds for the confirmation of a study, none of which its search has used."""
    return range(study.seeds + 1, study.seeds + study.confirm + 1)


def _samples(study: Study, values: Mapping[str, Setting], evaluator: Evaluator) -> tuple[tuple[Sample, ...], str]:
    """Return (samples of some values on seeds that the search has not used, reason if the values failed or were refused; else empty)."""
    answers = evaluator.measure([TrialRequest(values, seed) for seed in _fresh(study)])
    failed = next((answer.why for answer in answers if not isinstance(answer, Sample)), "")
    return tuple(answer for answer in answers if isinstance(answer, Sample)), failed


def _broken(study: Study, winner: Mapping[str, Setting], before: tuple[Sample, ...], why: str) -> Confirmation:
    """Return the confirmation for values that failed on hardware or that the design refuses, for the reason ``why``.

    ``winner`` has these values, and ``before`` the samples of the file's own values.
    """
    score = scoring.Score(tuple(aim.hopeless for aim in scoring.aims_of(study.goal)), ((why, 1.0),))
    own_score = scoring.scored(study.goal, study.limits, before)
    return Confirmation(winner, (), before, (), own_score, score, 1.0, "breaks a limit")


def _as_good(study: Study, before: Sequence[Sample], after: Sequence[Sample]) -> bool:
    """Return True if the samples ``after`` exceed no limit and are at most ``NO_LOSS`` worse than ``before`` in every objective."""
    if not scoring.scored(study.goal, study.limits, after).feasible:
        return False
    for aim in scoring.aims_of(study.goal):
        earlier, other = (scoring.over_seeds(aim, study.goal.tail, samples) for samples in (before, after))
        if (other < earlier * (1 - NO_LOSS)) if aim.more else (other > earlier * (1 + NO_LOSS)):
            return False
    return True


def _chance(study: Study, before: Sequence[Sample], after: Sequence[Sample]) -> float:
    """Return the probability that chance alone makes ``after`` look this much better than ``before`` in the first objective."""
    aim = scoring.aims_of(study.goal)[0]
    rows = [[scoring.value_of(aim, sample) for sample in samples] for samples in (before, after)]
    if not aim.more:
        rows = [[1 / (value + 1e-9 if aim.objective == "speed" else value + 1) for value in row] for row in rows]
    if not all(rows) or min(min(row) for row in rows) <= 0:
        return 0.0 if rows[1] and min(rows[1], default=0) > 0 else 1.0
    return chance_of_slower(rows[1], rows[0], None)


def _verdict(study: Study, before: Sequence[Sample], after: Sequence[Sample], chance: float, *, same: bool) -> Verdict:
    if same:
        return "the file's own values"
    own_score, best = (scoring.scored(study.goal, study.limits, samples) for samples in (before, after))
    if not best.feasible:
        return "breaks a limit"
    if not own_score.feasible or chance <= CHANCE:
        return "better"
    if len(scoring.aims_of(study.goal)) > 1 and own_score.values != best.values and _as_good(study, before, after):
        return "better"  # as fast, and better in another objective
    return "worse" if 1 - chance <= CHANCE else "no significant difference"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a study.

    - ``own_samples``, ``own_score``: the samples and score of the file's own values on the study's seeds.
    - ``scores``: the score of each trial that was measured with every seed, by number.
    - ``best``: the number of the best trial by the first objective, among the trials that exceeded no limit; None if
      there is none.
    - ``frontier``: the trials that no other trial beats in every objective.
    - ``importance``: the share of the differences between trials that each knob explains; knobs whose share cannot be
      determined are left out.
    - ``runs``: the number of simulations or benchmarks for the trials, without the runs that confirm the result.
    """

    study: Study
    space: Space
    trials: tuple[Trial, ...]
    scores: Mapping[int, scoring.Score]
    own_samples: tuple[Sample, ...]
    own_score: scoring.Score
    best: int | None
    frontier: tuple[int, ...]
    importance: Mapping[str, Importance]
    runs: int
    confirmed: Confirmation | None

    def values(self, number: int) -> dict[str, Setting]:
        """Return the values of trial ``number``, by knob (a field that the study varies)."""
        return self.space.values(self.trials[number].chosen)


class StoppedError(KeyboardInterrupt):
    """The error for a study that was interrupted. Its measurements are kept in a folder; ``trials`` is the number of trials kept."""

    def __init__(self, trials: int, folder: Path) -> None:
        super().__init__(f"stopped: {trials} trials are kept in {folder}; run the same command to continue")
        self.trials = trials


def digest_of(study: StudyFile) -> str:
    """Return a digest of the inputs that determine the trials of a study.

    The inputs are the study file without its budget, and the files that the study names, with their companion files.
    """
    from railweave.model.intent.reading.source import companion

    whole = study.study.model_dump(mode="json", exclude={"confirm", "description"})
    del whole["search"]["trials"]
    files = [study.fabric, *(companion(study.fabric, end) for end in ("inventory.csv", "lock"))]
    files += [study.job] if study.job is not None else []
    texts = [file_text(file) if file.is_file() else "" for file in files]
    return hashlib.sha256(json.dumps([whole, texts], sort_keys=True).encode()).hexdigest()


def run_study(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    database: Path,
    digest: str,
    *,
    progress: Callable[[str], None] = silent,
    hardware: Callable[[], Evaluator] | None = None,
) -> Outcome:
    """Run or continue a study, and confirm its result. If ``hardware`` is given, the result is confirmed on hardware.

    - ``space``: the knobs (fields to vary). ``evaluator``: measures trials.
    - ``database``: the file with the state of the search. ``digest``: identifies the study (``digest_of``).

    Raises ``StoppedError`` if the study is interrupted. Raises ``InputError`` if the file belongs to a different study, or if the study's
    collectives or jobs cannot be run.
    """
    searcher = Searcher(database, study, space, digest)
    own_values = {
        knob.name: value for knob, value in zip(space.knobs, space.own_values, strict=True) if value is not None
    }
    try:
        progress("measuring the fabric file's own values")
        asked = [TrialRequest(own_values, seed) for seed in range(1, study.seeds + 1)]
        own_samples = [answer for answer in evaluator.measure(asked) if isinstance(answer, Sample)]
        _search(study, space, evaluator, searcher, own_samples, progress)
        return _outcome(study, space, evaluator, searcher, own_samples, own_values, progress, hardware)
    except KeyboardInterrupt:
        kept = sum(trial.state != "open" for trial in searcher.trials())
        raise StoppedError(kept, database.parent) from None


def _search(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    searcher: Searcher,
    own_samples: Sequence[Sample],
    progress: Callable[[str], None],
) -> None:
    """Propose and measure batches of trials until the budget is spent. Earlier measurements are not repeated.

    ``searcher`` proposes the trials of ``space``, and ``evaluator`` measures them. ``own_samples`` are the samples of the file's own
    values.
    """
    measured: dict[tuple[Chosen, int], Sample | RefusedCombination | FailedCombination] = {}
    for past_trial in searcher.trials():
        measured |= {(past_trial.chosen, sample.seed): sample for sample in past_trial.samples}
        if past_trial.state == "refused":
            measured[past_trial.chosen, 1] = RefusedCombination(past_trial.why)
        elif past_trial.state == "failed":
            measured |= {
                (past_trial.chosen, seed): FailedCombination(past_trial.why) for seed in range(1, study.seeds + 1)
            }
    if space.own_choice is not None:
        measured |= {(space.own_choice, sample.seed): sample for sample in own_samples}
    while True:
        with uninterrupted():  # a trial is asked for whole
            batch = searcher.ask()
        if not batch:
            return
        earlier = [trial for trial in searcher.trials() if trial.number < batch[0].number and trial.state != "open"]
        results = _batch(study, space, evaluator, batch, earlier, measured)
        with uninterrupted():  # a batch is told whole
            for trial in results:
                bad = trial.state in {"refused", "failed"}
                score = None if bad else scoring.scored(study.goal, study.limits, trial.samples)
                searcher.tell(trial, score)
        progress(_line(study, [*earlier, *results]))


def _outcome(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    searcher: Searcher,
    own_samples: Sequence[Sample],
    own_values: Mapping[str, Setting],
    progress: Callable[[str], None],
    hardware: Callable[[], Evaluator] | None,
) -> Outcome:
    """Return the outcome of a finished search, confirmed on seeds that the search has not used.

    ``evaluator`` confirms the result or, if ``hardware`` is given, the evaluator that ``hardware`` returns. ``own_values`` and
    ``own_samples`` are the file's own values and their samples.
    """
    aims = scoring.aims_of(study.goal)
    trials = tuple(searcher.trials())
    scores = {
        trial.number: scoring.scored(study.goal, study.limits, trial.samples)
        for trial in trials
        if trial.state == "complete"
    }
    good = [number for number, score in scores.items() if score.feasible]
    best = min(good, key=lambda number: (scoring.best_first(aims, scores[number]), number), default=None)
    frontier = _frontier(study, scores, good, trials)
    own_score = scoring.scored(study.goal, study.limits, own_samples)
    runs = len({(trial.chosen, sample.seed) for trial in trials for sample in trial.samples})
    shares = importance(space, aims[0], trials)
    check: Confirmation | None = None
    if best is not None:
        if hardware is None:
            progress("running the best values and the file's own again, on fresh seeds")
        winner = space.values(trials[best].chosen)
        if hardware is None:
            check = confirmed(
                study, own_values, winner, {name: weight.share for name, weight in shares.items()}, evaluator
            )
        else:
            chosen = _best(study, scores, trials, good)
            candidates = [Candidate(number, space.values(trials[number].chosen), scores[number]) for number in chosen]
            progress(f"measuring the best {len(candidates)} and the file's own values on hardware")
            check = on_hardware(scoring.as_measured(study), own_values, candidates, hardware())
    return Outcome(
        study,
        space,
        trials,
        scores,
        tuple(own_samples),
        own_score,
        best,
        frontier,
        shares,
        runs,
        check,
    )


def _frontier(
    study: Study, scores: Mapping[int, scoring.Score], good: Sequence[int], trials: Sequence[Trial]
) -> tuple[int, ...]:
    """Return the numbers of the trials that no other trial beats in every objective, sorted by the first objective, best first.

    ``scores`` has the score of each trial by number, and ``good`` the numbers of the trials that exceed no limit. Of several trials with
    the same values, only the first counts.
    """
    aims = scoring.aims_of(study.goal)
    first: dict[Chosen, int] = {}
    for number in good:
        first.setdefault(trials[number].chosen, number)
    kept = [
        candidate
        for candidate in first.values()
        if not any(scoring.dominated(aims, scores[candidate], scores[other]) for other in first.values())
    ]
    return tuple(sorted(kept, key=lambda candidate: (scoring.best_first(aims, scores[candidate]), candidate)))


def _best(study: Study, scores: Mapping[int, scoring.Score], trials: Sequence[Trial], good: Sequence[int]) -> list[int]:
    """Return the numbers of the trials to confirm on hardware, best first, with each combination only once.

    ``scores`` has the score of each trial by number, and ``good`` the numbers of the trials that exceed no limit.
    """
    aims = scoring.aims_of(study.goal)
    first: dict[Chosen, int] = {}
    for number in sorted(good, key=lambda candidate: (scoring.best_first(aims, scores[candidate]), candidate)):
        first.setdefault(trials[number].chosen, number)
    return list(first.values())[: study.bench.best]


def _batch(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    batch: Sequence[Trial],
    earlier: Sequence[Trial],
    measured: dict[tuple[Chosen, int], Sample | RefusedCombination | FailedCombination],
) -> list[Trial]:
    """Measure a batch of trials with ``evaluator``, and return the trials with their results. If trials may be pruned, measure seed by seed.

    The decision to prune a trial (to stop it early) depends only on earlier batches (``earlier``). ``measured`` has the
    results so far by combination and seed. These are not measured again, and new results are added.
    """
    simulated = study.evaluator != "bench"  # on hardware all runs of a combination are made while it is in force
    pruning = (
        simulated and study.search.prune and len(scoring.aims_of(study.goal)) == 1 and study.search.sampler != "grid"
    )
    rounds = [[seed] for seed in range(1, study.seeds + 1)] if pruning else [list(range(1, study.seeds + 1))]
    trials = {trial.number: trial for trial in batch}
    for seeds in rounds:
        alive = [trial for trial in trials.values() if trial.state == "open"]
        missing = list(
            dict.fromkeys(
                (trial.chosen, seed)
                for trial in alive
                for seed in seeds
                if (trial.chosen, seed) not in measured
                and not isinstance(measured.get((trial.chosen, 1)), RefusedCombination)
            )
        )
        answers = evaluator.measure([TrialRequest(space.values(chosen), seed) for chosen, seed in missing])
        measured |= dict(zip(missing, answers, strict=True))
        for trial in alive:
            first = measured[trial.chosen, 1]
            if isinstance(first, RefusedCombination):
                trials[trial.number] = replace(trial, state="refused", why=first.why)
                continue
            more = [measured[trial.chosen, seed] for seed in seeds]
            if bad := next((answer for answer in more if isinstance(answer, FailedCombination)), None):
                trials[trial.number] = replace(trial, state="failed", why=bad.why)
                continue
            taken = (*trial.samples, *(sample for sample in more if isinstance(sample, Sample)))
            last = len(taken) == study.seeds
            given_up = pruning and not last and _hopeless(study, taken, earlier)
            trials[trial.number] = replace(
                trial, samples=taken, state="complete" if last else "pruned" if given_up else "open"
            )
    return list(trials.values())


def _hopeless(study: Study, samples: Sequence[Sample], earlier: Sequence[Trial]) -> bool:
    """Return True if a trial with the results ``samples`` is worse than the median of the earlier trials (``earlier``).

    All trials are compared after the number of seeds that ``samples`` has. This is the median rule of D. Golovin and others, 2017. The
    result is False while too few earlier trials have so many seeds.
    """
    (aim,) = scoring.aims_of(study.goal)
    count = len(samples)
    before = [
        scoring.over_seeds(aim, study.goal.tail, trial.samples[:count])
        for trial in earlier
        if len(trial.samples) >= count
    ]
    if len(before) < study.search.start:
        return False
    return aim.better(median(before), scoring.over_seeds(aim, study.goal.tail, samples))


def _line(study: Study, trials: Sequence[Trial]) -> str:
    """Return a line with the number of trials and the best result so far, such as ``12 trials, best bus bandwidth 301.22 GB/s``."""
    aim = scoring.aims_of(study.goal)[0]
    good = [
        score.values[0]
        for trial in trials
        if trial.state == "complete" and (score := scoring.scored(study.goal, study.limits, trial.samples)).feasible
    ]
    best = (max if aim.more else min)(good, default=None)
    shown = "none keeps to the limits yet" if best is None else f"best {aim.title} {best:,.2f} {aim.unit}".rstrip()
    return f"{len(trials)} trials, {shown}"
