"""The export of predicted jobs as execution traces for other simulators: computation and communication of each rank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.prediction.jobs.plan import JobPlan
from railweave.prediction.jobs.traces.chakra_write import of_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.prediction.simulation.training.answer import TrainingPrediction


def chakra_files(prediction: TrainingPrediction) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of the trace files of all jobs: ``NAME.RANK.et`` and ``NAME.comm_group.json``, with the job's name as NAME.

    Raises ``InputError`` for a job that is itself a trace, and ``OutputError`` if protobuf is not installed.
    """
    names: list[str] = []
    for number, job in enumerate(prediction.jobs, 1):
        if not isinstance(job.plan, JobPlan):
            description = f"job {job.plan.job.name or number} is already a trace"
            raise InputError([Problem(Option("--chakra-out"), description, "give a job file whose jobs have models")])
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", job.plan.job.name).strip("-") or "job"
        names.append(name if name not in names else f"{name}-{number}")
        yield from of_model(job.plan, names[-1])
