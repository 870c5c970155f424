"""Training jobs with several seeds: what chance makes of a step. Seeds decide which queue pairs hashes put on a link."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railweave.prediction.simulation.training.question import predict_training

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.training.answer import TrainingPrediction


def training_over_seeds(
    network: Network, path: Path, seeds: int, given: Mapping[str, Any], progress: Callable[[str], None]
) -> TrainingPrediction:
    """The prediction of the median seed, by the steps of all jobs, with the times of all. ``given``: arguments of ``predict_training``.

    Seeds count from the one that was set, or 1. Raises ``InputError``.
    """
    settings: Mapping[str, str] = given.get("settings") or {}
    first = int(settings.get("seed", "1"))
    found: list[TrainingPrediction] = []
    for number in range(seeds):
        progress(f"seed {first + number} ({number + 1} of {seeds})")
        asked: dict[str, Any] = {**given, "settings": {**settings, "seed": str(first + number)}}
        found.append(predict_training(network, path, **asked))
    ranked = sorted(found, key=lambda one: sum(job.step_ps for job in one.jobs))
    median = ranked[(len(ranked) - 1) // 2]
    jobs = tuple(
        replace(job, seeds_ps=tuple(one.jobs[number].step_ps for one in found))
        for number, job in enumerate(median.jobs)
    )
    return replace(median, jobs=jobs)
