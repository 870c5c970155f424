"""Training jobs with one thing changed: side by side, what each costs in time and in GPUs that wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, Problem
from railweave.intent.job_file import TrainingJob
from railweave.simulation.training.question import predict_training

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from railweave.network.model import Network
    from railweave.simulation.training.answer import TrainingPrediction


@dataclass(frozen=True)
class Variants:
    """What was run: of each value of ``name`` the prediction."""

    name: str
    found: tuple[tuple[str, TrainingPrediction], ...]

    @property
    def complete(self) -> bool:
        """Whether everything that is sent arrives."""
        return all(one.complete for _, one in self.found)

    def to_text(self) -> str:
        """A table for each job."""
        blocks: list[str] = []
        for number, job in enumerate(self.found[0][1].jobs):
            rows = [(value, one.jobs[number]) for value, one in self.found]
            best = min(one.step_ps for _, one in rows)
            width = max(len(self.name), *(len(value) for value, _ in rows))
            lines = [
                *([job.plan.job.name or f"job {number + 1}"] if len(self.found[0][1].jobs) > 1 else []),
                f"{self.name:<{width}}  {'step':>12}  {'slower':>8}  {'MFU':>6}  {'waiting for communication':>26}  {'GPUs wasted':>12}",
            ]
            lines += [
                f"{value:<{width}}  {one.step_ps / 1e9:>9.1f} ms  {one.step_ps / best - 1:>8.1%}  {'' if one.mfu is None else f'{one.mfu:.1%}':>6}  "
                f"{one.exposed_ps / 1e9:>23.1f} ms  {one.plan.ranks * (1 - best / one.step_ps):>12.1f}"
                for value, one in rows
            ]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks) + "\nGPUs wasted: how many fewer would do at the pace of the quickest of these"

    def to_json(self) -> dict[str, Any]:
        """The documented object (docs/jobs.md)."""
        return {"compared": self.name, "variants": [{"value": value, **one.to_json()} for value, one in self.found]}


def compare_training(
    network: Network, path: Path, words: str, given: dict[str, Any], progress: Callable[[str], None]
) -> Variants:
    """Run a job file with each of several values: ``lb=ecmp,dlb``, ``qps=1,4``, ``host.…``, or a field of the jobs, ``parallel.pipeline=2,4``.

    ``given``: arguments of ``predict_training``. Raises ``InputError``.
    """
    name, equals, values = words.partition("=")
    wanted = [one for one in values.split(",") if one]
    field = name.split(".")[0] in TrainingJob.model_fields
    if not equals or not wanted or not (field or name == "lb" or name.startswith(("host.", "switch."))):
        fix = "write lb=ecmp,dlb, qps=1,4, or a field of the job, parallel.pipeline=2,4"
        raise InputError([Problem(Option("--compare"), f"{words!r} is nothing that jobs are compared by", fix)])
    found: list[tuple[str, TrainingPrediction]] = []
    for value in wanted:
        progress(f"{name}={value} ({len(found) + 1} of {len(wanted)})")
        found.append((value, predict_training(network, path, **_with(given, name, value, field=field))))
    return Variants(name, tuple(found))


def _with(given: dict[str, Any], name: str, value: str, *, field: bool) -> dict[str, Any]:
    if name == "lb":
        return given | {"lb": value}
    if field:
        return given | {"changes": {**(given.get("changes") or {}), name: value}}
    return given | {"settings": {**(given.get("settings") or {}), name: value}}
