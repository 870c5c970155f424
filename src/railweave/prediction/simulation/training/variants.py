"""Training jobs with one thing changed: side by side, what each choice costs in time and in GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.prediction.simulation.training.choices import Choice, choices
from railweave.prediction.simulation.training.question import predict_training

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.training.answer import JobResult, TrainingPrediction

SEVERAL = "choice"
"""What the column is called where several things are varied."""
AS_IT_IS = "as it is"
"""The row without a change, where several things are varied."""


@dataclass(frozen=True)
class Row:
    """A job with one choice. ``slower``: its step over that of the quickest, less 1; ``gpus_wasted``: how many fewer would do at that pace."""

    label: str
    job: JobResult
    slower: float
    gpus_wasted: float


@dataclass(frozen=True)
class Variants:
    """What was run: of each choice the prediction. ``name``: what was varied; several words where several things were."""

    name: str
    found: tuple[tuple[str, TrainingPrediction], ...]
    jobs: int
    """How many of the jobs of a prediction are the file's own: those of other files stand behind them."""

    @property
    def complete(self) -> bool:
        """Whether everything that is sent arrives."""
        return all(one.complete for _, one in self.found)

    def rows(self, number: int) -> list[Row]:
        """A job with each choice, in the order in which they were given."""
        own = [(label, one.jobs[number]) for label, one in self.found]
        best = min(one.step_ps for _, one in own)
        return [
            Row(label, one, one.step_ps / best - 1, one.plan.ranks * (1 - best / one.step_ps)) for label, one in own
        ]

    def title(self, number: int) -> str:
        """What a job is called."""
        return self.found[0][1].jobs[number].plan.job.name or f"job {number + 1}"

    def to_text(self) -> str:
        """A table for each job."""
        blocks: list[str] = []
        for number in range(self.jobs):
            rows = self.rows(number)
            width = max(len(self.name), *(len(one.label) for one in rows))
            lines = [
                *([self.title(number)] if self.jobs > 1 else []),
                f"{self.name:<{width}}  {'step':>12}  {'slower':>8}  {'MFU':>6}  {'waiting for communication':>26}  {'GPUs wasted':>12}  bound by",
            ]
            lines += [
                f"{one.label:<{width}}  {one.job.step_ps / 1e9:>9.1f} ms  {one.slower:>8.1%}  {'' if one.job.mfu is None else f'{one.job.mfu:.1%}':>6}  "
                f"{one.job.exposed_ps / 1e9:>23.1f} ms  {one.gpus_wasted:>12.1f}  {one.job.binds()}"
                for one in rows
            ]
            blocks.append("\n".join(lines))
        return (
            "\n\n".join(blocks)
            + "\nslower: than the quickest of these. GPUs wasted: how many fewer would do at its pace"
        )

    def to_json(self) -> dict[str, Any]:
        """The documented object (docs/jobs.md)."""
        costs = [self.rows(number) for number in range(self.jobs)]
        return {
            "compared": self.name,
            "variants": [
                {
                    "value": value,
                    "cost": [{"slower": rows[place].slower, "gpus_wasted": rows[place].gpus_wasted} for rows in costs],
                    **one.to_json(),
                }
                for place, (value, one) in enumerate(self.found)
            ],
        }


def compare_training(
    network: Network,
    path: Path,
    words: str,
    given: Mapping[str, Any],
    progress: Callable[[str], None],
    designed: Callable[[Mapping[str, str]], tuple[Network, Network]] | None = None,
) -> Variants:
    """Run a job file with each of several values of one thing, ``lb=ecmp,dlb``, or of several, ``lb=ecmp oversubscription=2:1,4:1``.

    Of several things each value is run alone, beside the jobs as they are.

    ``given``: arguments of ``predict_training``; ``designed``: designs the network with fields of its fabric file changed, and that with fabrics
    of storage too; None: there is no file. Raises ``InputError``.
    """
    several = words.split()
    wanted = [one for word in several for one in choices(network, word, given)]
    if not wanted:
        raise InputError([Problem(Option("--compare"), "nothing to compare", "write lb=ecmp,dlb")])
    labels = [one.value if len(several) == 1 else f"{one.name}={one.value}" for one in wanted]
    if len(several) > 1:
        wanted, labels = [Choice("", ""), *wanted], [AS_IT_IS, *labels]
    found: list[tuple[str, TrainingPrediction]] = []
    for label, one in zip(labels, wanted, strict=True):
        progress(f"{label} ({len(found) + 1} of {len(wanted)})")
        net, whole = (network, given.get("whole")) if not one.fabric else _anew(designed, one.fabric)
        with in_force(net.catalog):
            asked: dict[str, Any] = {**given, "whole": whole, **one.given}
            found.append((label, predict_training(net, path, **asked)))
    own = min(one.own for _, one in found)
    return Variants(words.partition("=")[0] if len(several) == 1 else SEVERAL, tuple(found), own)


def _anew(
    designed: Callable[[Mapping[str, str]], tuple[Network, Network]] | None, changes: Mapping[str, str]
) -> tuple[Network, Network]:
    if designed is None:
        what = f"{', '.join(changes)} is of the fabric file, and a build folder is designed already"
        raise InputError([Problem(Option("--compare"), what, "give the fabric file")])
    return designed(changes)
