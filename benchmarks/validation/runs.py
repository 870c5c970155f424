"""The runs behind published rows: on all cores, several seeds where chance decides, and none twice.

Times are kept in ``out/validation/rows.jsonl`` under a checksum of the package, so that a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
from multiprocessing import Pool
from typing import TYPE_CHECKING

from . import published
from .engine import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .published import Job

KEPT = ROOT / "out/validation/rows.jsonl"
Run = tuple["Job", int]


def code() -> str:
    """A checksum of what predictions are made of, but for how a network is designed."""
    found = hashlib.sha256()
    package = ROOT / "src/railweave"
    for room in ("collectives", "nics", "simulation"):
        for file in sorted((package / room).rglob("*")):
            if file.suffix in {".py", ".yaml"}:
                found.update(file.read_bytes())
    for file in [*sorted(package.glob("_sim*.so")), ROOT / "benchmarks/validation/beds.py"]:
        found.update(file.read_bytes())
    return found.hexdigest()


def one(task: Run) -> tuple[Run, float]:
    """The time of a collective with a seed; of other jobs what is predicted."""
    job, seed = task
    return task, published.run_once(job, seed) if isinstance(job, published.Collective) else published.run(job)


def all_of(jobs: Sequence[Job], seeds: int) -> dict[Job, float]:
    """What is predicted for each job: the first two seeds of a collective, and the others where these differ."""
    now = code()
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    kept: dict[str, float] = {}
    if KEPT.exists():
        for line in KEPT.read_text().splitlines():
            key, value = json.loads(line)
            kept[key] = value
    times: dict[Run, float] = {}

    def add(tasks: Iterable[Run]) -> None:
        todo = list(tasks)
        times.update({task: kept[_key(now, task)] for task in todo if _key(now, task) in kept})
        todo = sorted((task for task in todo if task not in times), key=_length)
        with Pool() as pool, KEPT.open("a") as file:
            for task, value in pool.imap_unordered(one, todo, 1):
                times[task] = value
                file.write(json.dumps([_key(now, task), value]) + "\n")
                file.flush()

    def alike(job: Job) -> bool:
        return times[job, 1] == times[job, 2]

    add([(job, seed) for job in jobs for seed in (1, 2) if seed == 1 or _by_chance(job)])
    chance = [job for job in jobs if isinstance(job, published.Collective) and _by_chance(job) and not alike(job)]
    add([(job, seed) for job in chance for seed in range(3, published.seeds_of(job, seeds) + 1)])
    return {
        job: published.predicted(job, [value for (of, _), value in times.items() if of == job])
        if isinstance(job, published.Collective)
        else times[job, 1]
        for job in jobs
    }


def _by_chance(job: Job) -> bool:
    """Whether a job's result can depend on the seed: there is nothing to decide inside one server."""
    return isinstance(job, published.Collective) and job.of != (1,)


def _length(task: Run) -> int:
    """Long runs first."""
    job = task[0]
    return -job.size if isinstance(job, published.Collective) and job.of != (1,) else 0


def _key(code: str, task: Run) -> str:
    return hashlib.sha256(f"{code} {task!r}".encode()).hexdigest()
