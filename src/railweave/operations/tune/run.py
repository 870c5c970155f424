"""A study from its file to its outcome: ask, measure, tell, batch by batch; then the best and the file's own values on fresh seeds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from railweave.operations.tune.confirming import Candidate, Confirmed, confirmed, on_hardware
from railweave.operations.tune.importance import importance
from railweave.operations.tune.measuring import Failed, Refused, Sample, Wanted
from railweave.operations.tune.scoring import Score, aims_of, as_measured, best_first, dominated, over_seeds, scored
from railweave.operations.tune.search import Searcher, Trial
from railweave.processes import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.scenario import Setting
    from railweave.model.intent.study import Study, StudyFile
    from railweave.operations.tune.importance import Importance
    from railweave.operations.tune.measuring import Evaluator
    from railweave.operations.tune.space import Chosen, Space


@dataclass(frozen=True)
class Outcome:
    """What a study found.

    ``own``, ``own_score``: samples and score of the file's own values on the study's seeds; ``scores``: of trials that were measured with every seed, by number.
    ``best``: the number of the best trial that kept to the limits, by the first objective; None where none did.
    ``frontier``: trials that no other beats in every objective. ``importance``: by knob, what part of the differences it makes; without those of which the trials cannot tell.
    ``runs``: simulations (or benchmarks) that the trials took, without those of ``confirmed``.
    """

    study: Study
    space: Space
    trials: tuple[Trial, ...]
    scores: Mapping[int, Score]
    own: tuple[Sample, ...]
    own_score: Score
    best: int | None
    frontier: tuple[int, ...]
    importance: Mapping[str, Importance]
    runs: int
    confirmed: Confirmed | None

    def values(self, number: int) -> dict[str, Setting]:
        """The values of a trial by knob."""
        return self.space.values(self.trials[number].chosen)


class StoppedError(KeyboardInterrupt):
    """A study was interrupted; what was measured is kept. ``trials`` is how many are."""

    def __init__(self, trials: int) -> None:
        super().__init__(trials)
        self.trials = trials


def digest_of(study: StudyFile) -> str:
    """What the trials of a study depend on: its file but for the budget, and the files that it names with those beside them."""
    from railweave.model.intent.reading.source import companion

    whole = study.study.model_dump(mode="json", exclude={"confirm", "description"})
    del whole["search"]["trials"]
    files = [study.fabric, *(companion(study.fabric, end) for end in ("inventory.csv", "lock"))]
    files += [study.job] if study.job is not None else []
    texts = [one.read_text(encoding="utf-8") if one.is_file() else "" for one in files]
    return hashlib.sha256(json.dumps([whole, texts], sort_keys=True).encode()).hexdigest()


def run_study(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    database: Path,
    digest: str,
    *,
    progress: Callable[[str], None] = lambda _: None,
    hardware: Callable[[], Evaluator] | None = None,
) -> Outcome:
    """Run a study, or go on with one, and confirm what it found; on ``hardware`` where that is given. Raises ``StoppedError`` where it is interrupted, and ``InputError`` for a goal that cannot be run."""
    searcher = Searcher(database, study, space, digest)
    own_values = {one.name: value for one, value in zip(space.knobs, space.own, strict=True) if value is not None}
    try:
        progress("measuring the fabric file's own values")
        asked = [Wanted(own_values, seed) for seed in range(1, study.seeds + 1)]
        own = [one for one in evaluator.measure(asked) if isinstance(one, Sample)]
        _search(study, space, evaluator, searcher, own, progress)
        return _outcome(study, space, evaluator, searcher, own, own_values, progress, hardware)
    except KeyboardInterrupt:
        raise StoppedError(sum(one.state != "open" for one in searcher.trials())) from None


def _search(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    searcher: Searcher,
    own: Sequence[Sample],
    progress: Callable[[str], None],
) -> None:
    """Ask, measure, tell, until the budget is spent. What was measured before is not measured again."""
    measured: dict[tuple[Chosen, int], Sample | Refused | Failed] = {}
    for one in searcher.trials():
        measured |= {(one.chosen, sample.seed): sample for sample in one.samples}
        if one.state == "refused":
            measured[one.chosen, 1] = Refused(one.why)
        elif one.state == "failed":
            measured |= {(one.chosen, seed): Failed(one.why) for seed in range(1, study.seeds + 1)}
    if space.own_choice is not None:
        measured |= {(space.own_choice, one.seed): one for one in own}
    while True:
        with uninterrupted():  # a trial is asked for whole
            batch = searcher.ask()
        if not batch:
            return
        told = [one for one in searcher.trials() if one.number < batch[0].number and one.state != "open"]
        found = _batch(study, space, evaluator, batch, told, measured)
        with uninterrupted():  # a batch is told whole
            for trial in found:
                bad = trial.state in {"refused", "failed"}
                score = None if bad else scored(study.goal, study.limits, trial.samples)
                searcher.tell(trial, score)
        progress(_line(study, [*told, *found]))


def _outcome(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    searcher: Searcher,
    own: Sequence[Sample],
    own_values: Mapping[str, Setting],
    progress: Callable[[str], None],
    hardware: Callable[[], Evaluator] | None,
) -> Outcome:
    """What a search that has ended found, confirmed on fresh seeds."""
    aims = aims_of(study.goal)
    trials = tuple(searcher.trials())
    scores = {one.number: scored(study.goal, study.limits, one.samples) for one in trials if one.state == "complete"}
    good = [number for number, one in scores.items() if one.feasible]
    best = min(good, key=lambda number: (best_first(aims, scores[number]), number), default=None)
    frontier = _frontier(study, scores, good, trials)
    own_score = scored(study.goal, study.limits, own)
    runs = len({(one.chosen, sample.seed) for one in trials for sample in one.samples})
    shares = importance(space, aims[0], trials)
    check: Confirmed | None = None
    if best is not None:
        if hardware is None:
            progress("running the best values and the file's own again, on fresh seeds")
        winner = space.values(trials[best].chosen)
        if hardware is None:
            check = confirmed(study, own_values, winner, {name: one.share for name, one in shares.items()}, evaluator)
        else:
            chosen = _best(study, scores, trials, good)
            candidates = [Candidate(number, space.values(trials[number].chosen), scores[number]) for number in chosen]
            progress(f"measuring the best {len(candidates)} and the file's own values on hardware")
            check = on_hardware(as_measured(study), own_values, candidates, hardware())
    return Outcome(
        study,
        space,
        trials,
        scores,
        tuple(own),
        own_score,
        best,
        frontier,
        shares,
        runs,
        check,
    )


def _frontier(
    study: Study, scores: Mapping[int, Score], good: Sequence[int], trials: Sequence[Trial]
) -> tuple[int, ...]:
    """Trials that no other beats in every objective, the best by the first objective first; of equal combinations the first."""
    aims = aims_of(study.goal)
    first: dict[Chosen, int] = {}
    for number in good:
        first.setdefault(trials[number].chosen, number)
    kept = [
        one
        for one in first.values()
        if not any(dominated(aims, scores[one], scores[other]) for other in first.values())
    ]
    return tuple(sorted(kept, key=lambda one: (best_first(aims, scores[one]), one)))


def _best(study: Study, scores: Mapping[int, Score], trials: Sequence[Trial], good: Sequence[int]) -> list[int]:
    """Trials that hardware is to confirm, the best first, each combination once."""
    aims = aims_of(study.goal)
    first: dict[Chosen, int] = {}
    for number in sorted(good, key=lambda one: (best_first(aims, scores[one]), one)):
        first.setdefault(trials[number].chosen, number)
    return list(first.values())[: study.bench.best]


def _batch(
    study: Study,
    space: Space,
    evaluator: Evaluator,
    batch: Sequence[Trial],
    told: Sequence[Trial],
    measured: dict[tuple[Chosen, int], Sample | Refused | Failed],
) -> list[Trial]:
    """Measure a batch: seed by seed where trials may be given up, which only earlier batches decide."""
    simulated = study.evaluator != "bench"  # on hardware all runs of a combination are made while it is in force
    pruning = simulated and study.search.prune and len(aims_of(study.goal)) == 1 and study.search.sampler != "grid"
    rounds = [[seed] for seed in range(1, study.seeds + 1)] if pruning else [list(range(1, study.seeds + 1))]
    found = {one.number: one for one in batch}
    for seeds in rounds:
        alive = [one for one in found.values() if one.state == "open"]
        missing = list(
            dict.fromkeys(
                (one.chosen, seed)
                for one in alive
                for seed in seeds
                if (one.chosen, seed) not in measured and not isinstance(measured.get((one.chosen, 1)), Refused)
            )
        )
        answers = evaluator.measure([Wanted(space.values(chosen), seed) for chosen, seed in missing])
        measured |= dict(zip(missing, answers, strict=True))
        for one in alive:
            first = measured[one.chosen, 1]
            if isinstance(first, Refused):
                found[one.number] = replace(one, state="refused", why=first.why)
                continue
            more = [measured[one.chosen, seed] for seed in seeds]
            if bad := next((answer for answer in more if isinstance(answer, Failed)), None):
                found[one.number] = replace(one, state="failed", why=bad.why)
                continue
            taken = (*one.samples, *(sample for sample in more if isinstance(sample, Sample)))
            last = len(taken) == study.seeds
            given_up = pruning and not last and _hopeless(study, taken, told)
            found[one.number] = replace(
                one, samples=taken, state="complete" if last else "pruned" if given_up else "open"
            )
    return list(found.values())


def _hopeless(study: Study, samples: Sequence[Sample], told: Sequence[Trial]) -> bool:
    """Whether a trial is worse after these seeds than the median of earlier ones was (the median rule of D. Golovin and others, 2017)."""
    (aim,) = aims_of(study.goal)
    count = len(samples)
    before = [over_seeds(aim, study.goal.tail, one.samples[:count]) for one in told if len(one.samples) >= count]
    if len(before) < study.search.start:
        return False
    return aim.better(median(before), over_seeds(aim, study.goal.tail, samples))


def _line(study: Study, trials: Sequence[Trial]) -> str:
    """How far a study is."""
    aim = aims_of(study.goal)[0]
    good = [
        score.values[0]
        for one in trials
        if one.state == "complete" and (score := scored(study.goal, study.limits, one.samples)).feasible
    ]
    best = (max if aim.more else min)(good, default=None)
    shown = "none keeps to the limits yet" if best is None else f"best {aim.title} {best:,.2f} {aim.unit}".rstrip()
    return f"{len(trials)} trials, {shown}"
