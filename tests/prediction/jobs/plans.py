"""Small jobs for tests: planned, built, and run on networks of which each communication takes a given time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from railweave.model.intent.job_file import read_jobs
from railweave.prediction.jobs.build import build
from railweave.prediction.jobs.graph import Communication, Graph
from railweave.prediction.jobs.plan import JobPlan, planned
from railweave.prediction.jobs.run import Times, run

SMALL = {"layers": 8, "hidden": 1024, "heads": 8, "ffn": 4096, "vocabulary": 1, "sequence": 1024, "gated": False}


class Given:
    """A network on which a communication takes what a function says, however many go on."""

    def __init__(self, graph: Graph, time_ps: Callable[[Communication], int]) -> None:
        self._times = [time_ps(one) for one in graph.communications]

    def alone_ps(self, communication: int) -> int:
        return self._times[communication]

    def paces(self, active: tuple[int, ...]) -> list[float]:
        return [1.0] * len(active)


def plan_of(tmp_path: Path, gpus: int = 8, gpu: str = "H100", **given: object) -> JobPlan:
    job: dict[str, object] = {"model": SMALL, "batch": {"global": 8}, "layer": ["1ms", "2ms"], **given}
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    found = planned(read_jobs(path), 0, gpu, gpus)
    assert isinstance(found, JobPlan), [str(one) for one in found]
    return found


def step(plan: JobPlan, times: Mapping[str, int] | int = 0) -> tuple[Graph, Times]:
    """The step where a communication of a kind takes so many ps."""
    graph = build(plan, lambda _: None)
    return graph, run(graph, Given(graph, lambda one: times if isinstance(times, int) else times.get(one.kind, 0)))
