"""What the parts of the trial share: the command line as a program of its own, and what stores hold."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from railweave.operations.bench.plan import NcclTests, PlannedRun, read_plan
from railweave.operations.store.records import Run
from railweave.operations.store.store import opened
from tests.conftest import ROOT

OWN = Path(__file__).parent
FABRIC = OWN / "trial.yaml"
WORK = Path(os.environ.get("BENCH_TRIAL_DIR", ROOT / ".validators" / "bench"))
"""Where the root folder is made, which takes minutes, and kept."""


class SkippedError(Exception):
    """A part cannot run here, and why."""


def say(text: str) -> None:
    """A line of the log."""
    print(text, flush=True)


def root() -> Path:
    """The root folder of ``root.sh``. Raises ``SkippedError``."""
    folder = WORK / "root"
    done = subprocess.run([str(OWN / "root.sh"), str(folder)], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SkippedError((done.stderr.strip().splitlines() or ["its root folder could not be made"])[-1])
    return folder


def railweave(*words: str | Path) -> list[str]:
    """The command line."""
    return [sys.executable, "-c", "from railweave.cli import main; main()", *map(str, words)]


def ran(*words: str | Path, good: tuple[int, ...] = (0,)) -> str:
    """What a verb prints."""
    done = subprocess.run(railweave(*words), capture_output=True, text=True, check=False)
    assert done.returncode in good, f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def until(true: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def runs(store: Path) -> dict[str, Run]:
    """The latest of each run of a plan."""
    if not store.exists():
        return {}
    with opened(store) as found:
        return {dict(one.settings)["planned run"]: one for one in found.runs()}


def best(run: Run, quantity: str) -> float:
    """The number of the largest size that a run has of a quantity."""
    found = [one for one in run.samples if one.quantity == quantity]
    return max(found, key=lambda one: one.size_bytes or 0).value


def told(out: Path, figures: dict[str, object]) -> None:
    """Hand the figures of a part over."""
    out.write_text(json.dumps(figures))


LARGEST = 1 << 20
"""Of collectives of MPI on one machine: what is tried is how they are started and read."""
PROGRAMS = ("all_reduce_perf", "alltoall_perf")


def collectives(fabric: Path, plan: Path) -> list[PlannedRun]:
    """Plan all-reduce on each server and on all, and all-to-all on all, from a 16th of ``LARGEST`` on."""
    ran("bench", "plan", fabric, "--no-predict", "--part", "servers", "--part", "cluster", "-o", plan)
    whole = read_plan(plan)
    found: list[PlannedRun] = []
    for one in whole.runs:
        assert isinstance(one.test, NcclTests)
        found.append(replace(one, test=replace(one.test, first_bytes=LARGEST >> 4, last_bytes=LARGEST), timeout_s=120))
    plan.write_bytes(replace(whole, runs=tuple(found)).to_json())
    return found


def compiled(folder: Path) -> None:
    """The programs. Raises ``SkippedError`` where there is no MPI to build with."""
    if shutil.which("mpicc") is None:
        raise SkippedError("there is no mpicc (Debian: libopenmpi-dev)")
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mpicc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(folder / PROGRAMS[0]), str(OWN / "mpi_perf.c")]
    subprocess.run(words, check=True)
    for name in PROGRAMS[1:]:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(PROGRAMS[0])


def stalling(path: Path) -> Path:
    """What starts ranks so that one of them stops: in the place of ``railweave host env``, before ``-- PROGRAM``."""
    path.write_text('#!/bin/sh\nshift\nexport MPI_PERF_STALL=300\nexec "$@"\n')
    path.chmod(0o755)
    return path


def processes(program: str) -> list[int]:
    """Ranks that run on this machine now; those that ended and wait for their parent are none."""
    words = ["pgrep", "--runstates", "R,S,D,T", "-x", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return [int(one) for one in done.stdout.split()]


def judged(planned: list[PlannedRun], store: Path) -> dict[str, float]:
    """Every run is kept, came to its end, and was read; the microseconds of the largest size, by run."""
    found = runs(store)
    times: dict[str, float] = {}
    for one in planned:
        run, test = found[one.name], one.test
        assert isinstance(test, NcclTests)
        assert not run.failures, run.failures
        assert run.ranks == len(test.hosts) * test.per_host
        times[one.name] = best(run, "time_us")
    return times


def stopped(line: list[str | Path], name: str, store: Path, wrapper: Path) -> None:
    """A rank that stops: the run is ended in time, is a result that says so, and leaves no rank behind; nor does a kill of railweave."""
    words = [*line, "--again", "--only", name, "--ranks", wrapper]
    ran(*words, "--timeout", "5", good=(1,))
    failures = runs(store)[name].failures
    assert "ended after 5 s" in failures[0], failures
    until(lambda: not processes(PROGRAMS[0]), "ranks still run after the timeout", 30)
    before = sum(1 for _ in Path(f"{store}.outputs").rglob("*.txt"))
    log = store.with_suffix(".log")
    with log.open("w") as out:
        running = subprocess.Popen(railweave(*words), stdout=out, stderr=out)
    until(lambda: len(processes(PROGRAMS[0])) > 1 or running.poll() is not None, "no rank begins", 180)
    assert running.poll() is None, f"it ended before a rank began: {log.read_text()}"
    running.kill()
    running.wait(30)
    begin = time.monotonic()
    until(lambda: not processes(PROGRAMS[0]), "ranks still run after railweave was killed", 30)
    assert sum(1 for _ in Path(f"{store}.outputs").rglob("*.txt")) == before
    say(f"ended in time, and killed in the middle: no rank runs {time.monotonic() - begin:.1f} s after")
