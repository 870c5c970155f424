"""The runs behind published rows: on all cores, several seeds where chance decides, and none twice.

Times are kept in ``out/validation/rows.jsonl`` under a checksum of the package, so that a run that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, replace
from multiprocessing import Pool
from typing import TYPE_CHECKING, Any

from . import fits, published
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
    simulation = "prediction/simulation"
    rooms = ("prediction/collectives", "nics", "model/catalog", f"{simulation}/engines", f"{simulation}/model")
    for room in (*rooms, f"{simulation}/collective.py", f"{simulation}/agreement.py", f"{simulation}/conditions.py"):
        files = [file for file in sorted((package / room).rglob("*")) if file.suffix in {".py", ".yaml"}] or [
            package / room
        ]
        for file in files:
            found.update(file.read_bytes())
    for file in [*sorted(package.glob("_sim*.so")), ROOT / "benchmarks/validation/beds.py"]:
        found.update(file.read_bytes())
    return found.hexdigest()


def one(task: Run) -> tuple[Run, published.Outcome]:
    """The outcome of a collective with a seed; of other jobs what is predicted."""
    job, seed = task
    if isinstance(job, published.Collective):
        return task, published.run_once(job, seed)
    return task, published.Outcome(published.run(job))


def kept() -> dict[str, list[Any]]:
    """What was run before: the outcome by key."""
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    return dict(json.loads(line) for line in KEPT.read_text().splitlines()) if KEPT.exists() else {}


def all_of(jobs: Sequence[Job], seeds: int) -> dict[Job, published.Outcome]:
    """What is predicted for each job: the first two seeds of a collective, and the others where these differ."""
    now, before = code(), kept()
    found: dict[Run, published.Outcome] = {}

    def add(tasks: Iterable[Run]) -> None:
        todo = list(tasks)
        found.update({task: published.Outcome(*before[_key(now, task)]) for task in todo if _key(now, task) in before})
        todo = sorted((task for task in todo if task not in found), key=_length)
        with Pool() as pool, KEPT.open("a") as file:
            for task, outcome in pool.imap_unordered(one, todo, 1):
                found[task] = outcome
                file.write(json.dumps([_key(now, task), list(astuple(outcome))]) + "\n")
                file.flush()

    def alike(job: Job) -> bool:
        return found[job, 1].value == found[job, 2].value

    add([(job, seed) for job in jobs for seed in (1, 2) if seed == 1 or _by_chance(job)])
    chance = [job for job in jobs if isinstance(job, published.Collective) and _by_chance(job) and not alike(job)]
    add([(job, seed) for job in chance for seed in range(3, published.seeds_of(job, seeds) + 1)])
    return {
        job: replace(
            found[job, 1],
            value=published.predicted(job, [outcome.value for (of, _), outcome in found.items() if of == job])
            if isinstance(job, published.Collective)
            else found[job, 1].value,
        )
        for job in jobs
    }


def one_trial(trial: fits.Trial) -> tuple[fits.Trial, float]:
    """What is predicted with another value of a constant."""
    return trial, fits.run(trial)


def trials_of(trials: Sequence[fits.Trial]) -> dict[fits.Trial, float]:
    """What is predicted with other values of constants."""
    now, before = code(), kept()
    key = {trial: _key(now, trial) for trial in trials}
    found = {trial: float(before[name][0]) for trial, name in key.items() if name in before}
    todo = sorted((trial for trial in trials if trial not in found), key=lambda trial: _length((trial.job, 0)))
    with Pool() as pool, KEPT.open("a") as file:
        for trial, value in pool.imap_unordered(one_trial, todo, 1):
            found[trial] = value
            file.write(json.dumps([key[trial], [value]]) + "\n")
            file.flush()
    return found


def _by_chance(job: Job) -> bool:
    """Whether a job's result can depend on the seed: there is nothing to decide inside one server."""
    return isinstance(job, published.Collective) and job.of != (1,)


def _length(task: Run) -> int:
    """Long runs first."""
    job = task[0]
    return -job.size if isinstance(job, published.Collective) and job.of != (1,) else 0


def _key(code: str, task: Run | fits.Trial) -> str:
    return hashlib.sha256(f"{code} {task!r}".encode()).hexdigest()
