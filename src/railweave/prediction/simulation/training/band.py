"""What the time of a step lies between: how far off published steps were, and what chance makes of it.

``errors.json`` is written by ``python -m benchmarks.training --write``: a list of groups of published steps that judge, by GPU, with how far off
the predictions were, in percent of the published step.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.prediction.jobs.traces.traced import Traced
from railweave.prediction.simulation.errors import how_near

if TYPE_CHECKING:
    from railweave.prediction.jobs.plan import Planned

TABLE = Path(__file__).with_name("errors.json")
FEW = 5
"""Of fewer rows the largest error is taken, as a ninth decile would be of nothing."""


@dataclass(frozen=True)
class Judged:
    """Published steps on one GPU. ``gpus``: the least and the most of them; errors in percent, whichever way."""

    gpu: str
    gpus: tuple[int, int]
    rows: int
    median_abs_percent: float
    p90_abs_percent: float
    max_abs_percent: float

    @property
    def error(self) -> float:
        """The part by which nine of ten of them were off at most; of few, all."""
        return (self.p90_abs_percent if self.rows >= FEW else self.max_abs_percent) / 100


@dataclass(frozen=True)
class StepBand:
    """What a step takes between, ps. ``error`` is None where no published step ran on the GPU; ``outside``: what of the job no such step has."""

    low_ps: int
    high_ps: int
    error: float | None
    compared: str
    outside: str
    seeds_ps: tuple[int, ...] = ()

    def to_text(self) -> str:
        """A line for people, and another where the job is unlike what was compared."""
        chance = ""
        if len(self.seeds_ps) > 1:
            low, high = min(self.seeds_ps), max(self.seeds_ps)
            chance = f"; {len(self.seeds_ps)} seeds " + (
                "give the same" if low == high else f"from {low / 1e9:,.1f} to {high / 1e9:,.1f} ms"
            )
        if self.error is None and not chance:
            return f"  not compared   {self.outside}"
        about = self.compared if self.error is None else f"{self.error:.1%} either way: {self.compared}"
        line = f"  between        {self.low_ps / 1e9:,.1f} and {self.high_ps / 1e9:,.1f} ms ({about}{chance})"
        return f"{line}\n  not compared   {self.outside}" if self.outside else line

    def to_json(self) -> dict[str, Any]:
        """The documented object (docs/jobs.md)."""
        return {
            "low_ms": self.low_ps / 1e9,
            "high_ms": self.high_ps / 1e9,
            "error": self.error,
            "compared": self.compared,
            "outside": self.outside,
            "seeds_ms": [one / 1e9 for one in self.seeds_ps],
        }


@cache
def judged() -> dict[str, Judged]:
    """The committed table, by GPU."""
    rows: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
    found: dict[str, Judged] = {}
    for row in rows:
        given: dict[str, Any] = {**row, "gpus": tuple(row["gpus"])}
        found[row["gpu"]] = Judged(**given)
    return found


def step_band(plan: Planned | Traced, step_ps: int, seeds_ps: tuple[int, ...] = (), others: str = "") -> StepBand:
    """The band of a step. ``seeds_ps``: its times with several seeds; ``others``: what else goes on that no published step has."""
    low, high = min(seeds_ps or (step_ps,)), max(seeds_ps or (step_ps,))
    if isinstance(plan, Traced):
        outside = "a trace has what was computed and sent; no published step was run from one"
        return StepBand(low, high, None, "no published step is a trace", outside, seeds_ps)
    known = judged().get(plan.kernels.gpu.name)
    if known is None:
        outside = f"no published step on {plan.kernels.gpu.name}; how far off this is is not known"
        return StepBand(low, high, None, "no published step is of this GPU", outside, seeds_ps)
    job, layout = plan.job, plan.layout
    unlike = [
        what
        for what, there in (
            ("experts", plan.model.experts > 0),
            ("FSDP", job.parallel.zero == 3),
            ("context parallel", layout.context > 1),
            (f"{layout.ranks:,} GPUs", not known.gpus[0] <= layout.ranks <= known.gpus[1]),
            ("measured layers", job.layer is not None),
            (others, bool(others)),
        )
        if there
    ]
    compared = how_near(known.rows, f"{known.rows} published steps on {known.gpu}")
    outside = f"no published step has {', '.join(unlike)}; the error is that of others" if unlike else ""
    error = known.error
    return StepBand(round(low / (1 + error)), round(high * (1 + error)), error, compared, outside, seeds_ps)
