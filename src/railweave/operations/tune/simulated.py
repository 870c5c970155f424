"""The evaluator that measures trials in the simulator.

For each combination of values, the module designs the network from the fabric file with these values. Then it simulates the
study's collectives or jobs packet by packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option
from railweave.model.catalog import in_force
from railweave.model.intent.scenario import RunOverrides, Scenario, Setting, Step
from railweave.operations.tune.measuring import RefusedCombination, Sample, TrialRequest, designed, jain, mean
from railweave.prediction.simulation.conditions import bed_of, conditions_of
from railweave.prediction.simulation.job import job_network
from railweave.prediction.simulation.job_run import run_job
from railweave.prediction.simulation.settings import texts
from railweave.prediction.simulation.training.question import predict_training
from railweave.processes import Pool, finished

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.reading.source import Source
    from railweave.model.intent.study import StudyFile, TunedCollective
    from railweave.model.network.model import Network
    from railweave.operations.tune.space import Space

DESIGNS_KEPT = 16
"""The number of designed networks that a process keeps, to run more seeds of the same values."""


@dataclass(frozen=True)
class Task:
    """The input that a worker process needs to measure any combination of a study."""

    study: StudyFile
    space: Space
    source: Source
    hardware: Path | None = None
    device: tuple[str, ...] = ()


class ParallelSimulator:
    """The simulator in ``workers`` processes. With one worker, the simulator runs in this process."""

    def __init__(self, task: Task, workers: int) -> None:
        self._task = task
        self._pool: Pool | None = None
        if workers > 1:
            self._pool = Pool(workers, partial(_begin, task))
        else:
            self._bench = InProcessSimulator(task)

    def measure(self, wanted: Sequence[TrialRequest]) -> list[Sample | RefusedCombination]:
        """Return the result of each trial in ``wanted``, in order.

        Raises ``InputError``, with the line of the study file, if the study's collectives or jobs cannot be run.
        """
        try:
            if self._pool is None:
                return [self._bench.measure(request) for request in wanted]
            tasks = [self._pool.submit(_measure, request) for request in wanted]
            for _ in finished(tasks):
                pass
            return [task.result() for task in tasks]
        except InputError as error:
            raise InputError(placed(self._task.study, error)) from None

    def close(self) -> None:
        """Stop the processes at once, because their results are no longer needed."""
        if self._pool is not None:
            self._pool.end_at_once()


def placed(study: StudyFile, error: InputError) -> list[Any]:
    """Return the problems of an error. Each problem is given the line of the study file that causes it."""
    problems: list[Any] = []
    for problem in error.problems:
        place = problem.place
        if isinstance(place, Option):
            at: tuple[str, ...] = ("goal",)
            if place.name == "--set" and place.part:
                name = str(place.part[0])
                at = ("engine", name) if name in study.study.engine else ("set", name)
            problems.append(study.document.problem(at, problem.what, problem.fix))
        else:
            problems.append(problem)
    return problems


class InProcessSimulator:
    """The simulator in this process."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._network = lru_cache(DESIGNS_KEPT)(self._designed)

    def _designed(self, in_file: tuple[tuple[tuple[str, ...], Setting], ...]) -> Network | RefusedCombination:
        network = designed(self._task.source, dict(in_file), self._task.device, self._task.hardware)
        return network if isinstance(network, RefusedCombination) else job_network(network, self._task.study.study.on)

    def measure(self, wanted: TrialRequest) -> Sample | RefusedCombination:
        """Return the result of the trial ``wanted``. Raises ``InputError`` if the study's collectives or jobs cannot be run."""
        space, study = self._task.space, self._task.study.study
        network = self._network(tuple(sorted(space.in_file(wanted.values).items())))
        if isinstance(network, RefusedCombination):
            return network
        settings = {**study.settings, **space.in_engine(wanted.values), "seed": wanted.seed}
        with in_force(network.catalog):
            if self._task.study.job is not None:
                return _of_jobs(network, self._task.study.job, settings, wanted.seed)
            parts = [of_collective(network, collective, settings) for collective in study.goal.collectives]
        weights = [collective.weight for collective in study.goal.collectives]
        speeds = tuple(part.speed for part in parts)
        return Sample(
            seed=wanted.seed,
            parts=speeds,
            speed=mean(speeds, weights),
            drops=sum(part.drops or 0 for part in parts),
            pauses=sum(part.pauses or 0 for part in parts),
            marks=sum(part.marks or 0 for part in parts),
            complete=all(part.complete for part in parts),
        )


def of_collective(network: Network, asked: TunedCollective, settings: Mapping[str, Setting]) -> Sample:
    """Simulate the collective ``asked`` packet by packet, and return its sample with counters. Raises ``InputError`` if it cannot be run.

    ``settings`` has the parameters of the simulator by name, among them the seed.
    """
    step = Step(collective=asked.collective, size=asked.size, qps=asked.qps, nccl=asked.nccl)
    scenario = Scenario(traffic=(step,), overrides=RunOverrides(set=dict(settings)))  # pyright: ignore[reportCallIssue]
    bed = bed_of(network, None, None, asked.tenant, None, order=asked.hosts)
    conditions = conditions_of(bed, asked.background, (), None)
    prediction = run_job(network, bed, scenario, conditions, engine="packet", exact=True).steps[0].prediction
    counted = prediction.counters or {}
    dropped = sum(count for name, count in counted.items() if name.startswith("dropped_"))
    return Sample(
        seed=int(settings["seed"]),
        parts=(),
        speed=prediction.bus_bandwidth_gbytes if prediction.complete else 0.0,
        drops=dropped,
        pauses=counted.get("pfc_pauses", 0),
        marks=counted.get("ecn_marked_packets", 0),
        complete=prediction.complete,
    )


def _of_jobs(network: Network, file: Path, settings: Mapping[str, Setting], seed: int) -> Sample:
    prediction = predict_training(network, file, settings=texts(settings))
    times = tuple(job.step_ps / 1e9 for job in prediction.jobs)
    kept = [job.alone_ps / job.step_ps for job in prediction.jobs]
    return Sample(
        seed=seed,
        parts=times,
        speed=mean(times, [1.0] * len(times)),
        fairness=jain(kept) if len(kept) > 1 else None,
        complete=prediction.complete,
    )


_here: list[InProcessSimulator] = []
"""The simulator of this worker process; empty before the worker starts."""


def _begin(task: Task) -> None:
    _here.append(InProcessSimulator(task))


def _measure(wanted: TrialRequest) -> Sample | RefusedCombination:
    return _here[0].measure(wanted)
