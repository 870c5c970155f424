"""The score of a combination: its objectives over all seeds, and the limits that it exceeds."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from railweave.json_values import JsonObject
from railweave.model.intent.study import Goal, Limits, Objective, Study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.tune.measuring import Sample


ANY = 1 << 62
"""The value of a limit that is not set. No result exceeds it."""


def as_measured(study: Study) -> Study:
    """Return the study with its guardrails (limits on counters of switches) as its limits, to score samples from hardware."""
    rails = study.bench.guardrails
    return study.model_copy(
        update={"limits": Limits(drops=ANY if rails.drops is None else rails.drops, pauses=rails.pauses)}
    )


@dataclass(frozen=True)
class Aim:
    """An objective: its title and unit. ``more`` is True if larger values are better."""

    objective: Objective
    title: str
    unit: str
    more: bool

    def better(self, value: float, other: float) -> bool:
        """Return True if ``value`` is better than ``other``."""
        return value > other if self.more else value < other

    @property
    def hopeless(self) -> float:
        """A value that is worse than any measured value. Combinations that the design refuses get this value."""
        return 0.0 if self.more else 1e15


def aims_of(goal: Goal) -> tuple[Aim, ...]:
    """Return the objectives of a goal, in the goal's order."""
    speed = (
        Aim("speed", "bus bandwidth", "GB/s", more=True)
        if goal.job is None
        else Aim("speed", "time of a step", "ms", more=False)
    )
    known = {
        "speed": speed,
        "pauses": Aim("pauses", "PFC pauses", "", more=False),
        "marks": Aim("marks", "ECN marks", "", more=False),
        "fairness": Aim("fairness", "fairness", "", more=True),
    }
    return tuple(known[objective] for objective in goal.objectives)


@dataclass(frozen=True)
class Score(JsonObject):
    """The score of a combination.

    - ``values``: the value of each objective.
    - ``broken``: each exceeded limit, as a description and the amount (above 0) by which it was exceeded.
    """

    JSON = ("values", "broken=breaches")

    values: tuple[float, ...]
    broken: tuple[tuple[str, float], ...] = ()

    @property
    def feasible(self) -> bool:
        """True if the combination exceeded no limit."""
        return not self.broken

    @property
    def breaches(self) -> list[str]:
        """The descriptions of the limits that the combination exceeded."""
        return [breach for breach, _ in self.broken]


def value_of(aim: Aim, sample: Sample) -> float:
    """Return the value of the objective ``aim`` in one sample. If it was not measured, fairness counts as 1, and a counter as 0."""
    value = getattr(sample, aim.objective)
    return float(value) if value is not None else 1.0 if aim.objective == "fairness" else 0.0


def over_seeds(aim: Aim, tail: str, samples: Sequence[Sample]) -> float:
    """Return the value of the objective ``aim`` over the samples of several seeds: worst, median or mean, as ``tail`` says."""
    values = [value_of(aim, sample) for sample in samples]
    if tail == "worst":
        return min(values) if aim.more else max(values)
    return median(values) if tail == "median" else fmean(values)


def scored(goal: Goal, limits: Limits, samples: Sequence[Sample]) -> Score:
    """Return the score of a combination by the objectives of ``goal``. ``samples`` has a sample per seed, and every seed must meet ``limits``."""
    broken: list[tuple[str, float]] = []
    if not all(sample.complete for sample in samples):
        broken.append(("messages never arrived", 1.0))
    drops = max((sample.drops or 0 for sample in samples), default=0)
    if drops > limits.drops:
        broken.append((f"{drops:,} packets dropped, at most {limits.drops:,}", float(drops - limits.drops)))
    pauses = max((sample.pauses or 0 for sample in samples), default=0)
    if limits.pauses is not None and pauses > limits.pauses:
        broken.append((f"{pauses:,} PFC pauses, at most {limits.pauses:,}", float(pauses - limits.pauses)))
    fairness = min((sample.fairness for sample in samples if sample.fairness is not None), default=1.0)
    if limits.fairness is not None and fairness < limits.fairness:
        broken.append((f"fairness {fairness:.3f}, at least {limits.fairness:g}", limits.fairness - fairness))
    return Score(tuple(over_seeds(aim, goal.tail, samples) for aim in aims_of(goal)), tuple(broken))


def best_first(aims: Sequence[Aim], score: Score) -> tuple[float, ...]:
    """Return a sort key that puts the best score first: by the first objective of ``aims``, then by the others."""
    return tuple(-value if aim.more else value for aim, value in zip(aims, score.values, strict=True))


def dominated(aims: Sequence[Aim], score: Score, other: Score) -> bool:
    """Return True if ``other`` is at least as good as ``score`` in every objective of ``aims``, and better in at least one."""
    mine, theirs = best_first(aims, score), best_first(aims, other)
    return all(b <= a for a, b in zip(mine, theirs, strict=True)) and mine != theirs
