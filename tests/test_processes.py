"""Processes beside this one end with what they are needed for: at Ctrl-C, at an error, and when their parent is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.processes import processes, uninterrupted
from tests.conftest import EXAMPLES
from tests.operations.tune.studies import STUDY, study

SLEEPS = """
import signal, time
from railweave.processes import finished, processes

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal: in the background it is ignored
    try:
        with processes(2) as pool:
            tasks = [pool.submit(time.sleep, 600) for _ in range(4)]
            print("begun", flush=True)
            for _ in finished(tasks):
                pass
    except KeyboardInterrupt:
        raise SystemExit(130) from None
"""

LONG_S = 60
"""For whatever ends at once, on a machine that has other things to do."""


@pytest.mark.slow
@pytest.mark.parametrize("wait_s", [0, 1.5], ids=["while they start", "while they work"])
def test_an_interrupt_ends_every_process_quietly(tmp_path: Path, wait_s: float) -> None:
    path = tmp_path / "sleeps.py"
    path.write_text(SLEEPS, encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(wait_s)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, wrong = child.communicate(timeout=LONG_S)
    assert (child.returncode, wrong) == (130, "")


def test_an_error_ends_every_process() -> None:
    began = time.monotonic()

    def fail() -> None:
        with processes(1) as pool:
            pool.submit(time.sleep, 600)
            raise ValueError("of the caller")

    with pytest.raises(ValueError, match="of the caller"):
        fail()
    assert time.monotonic() - began < LONG_S


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_process_starts_is_heard_afterwards(number: signal.Signals) -> None:
    """It was ignored meanwhile, and lost: a comparison then ran to its end."""
    before = signal.signal(number, signal.default_int_handler)
    reached: list[bool] = []

    def start() -> None:
        with uninterrupted():
            signal.raise_signal(number)
            reached.append(True)

    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        signal.signal(number, before)
    assert reached, "the start was interrupted"


def of_session(leader: int) -> set[int]:
    """The processes of a session but for its leader, without those that are over and wait to be reaped."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue  # it is no process, or is gone
        if int(session) == leader and state != "Z" and int(entry.name) != leader:
            found.add(int(entry.name))
    return found


def until(what: Callable[[], bool]) -> bool:
    """Whether something comes about in good time."""
    end = time.monotonic() + LONG_S
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


RENDERED = """
import time
from railweave import workers
from railweave.cli import main

def slowly(function, *others, real=workers._work):
    def wait(name):
        print("begun", flush=True)
        time.sleep(600)
        return function(name)
    real(wait, *others)

workers.LEAST, workers._work = 1, slowly
main()
"""
"""The command line with forks for devices that are few, each of which takes long."""

SIMULATED = "from railweave.cli import main; main()"

JOB = ["examples/h100-rlb.yaml", "--collective", "all-reduce", "--size", "64G", "--engine", "packet", "--exact"]


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
@pytest.mark.parametrize(
    ("program", "words"),
    [
        (SIMULATED, ["sim", *JOB, "--compare", "lb=ecmp,spray"]),
        (SIMULATED, ["sim", *JOB, "--seeds", "2"]),
        (SIMULATED, ["tune", "run", "STUDY", "--workers", "2"]),
        (RENDERED, ["verify", "examples/h100-rlb.yaml"]),
        (RENDERED, ["build", "examples/h100-rlb.yaml", "-o", "OUT"]),
    ],
    ids=["compare", "seeds", "tune", "verify", "build"],
)
def test_nothing_is_left_of_a_verb_that_is_killed(tmp_path: Path, program: str, words: list[str]) -> None:
    """SIGKILL leaves it no moment to end its workers: 580 MB each were left for ever."""
    places = {"OUT": str(tmp_path / "out")}
    if "STUDY" in words:
        places["STUDY"] = str(study(tmp_path, STUDY.replace("size: 1M", "size: 64G")))
    asked = [places.get(word, word) for word in words]
    child = subprocess.Popen(
        [sys.executable, "-c", program, *asked],
        cwd=EXAMPLES.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert child.stdout is not None
    try:
        if program == RENDERED:
            assert child.stdout.readline() == b"begun\n"
        # two workers; of a pool of started ones also what counts their semaphores
        least = 2 if program == RENDERED else 3
        assert until(lambda: len(of_session(child.pid)) >= least or child.poll() is not None)
        assert child.poll() is None, "it ended by itself"
        child.kill()
        child.wait()
        assert until(lambda: not of_session(child.pid)), "workers are left"
    finally:
        for one in of_session(child.pid):
            os.kill(one, signal.SIGKILL)
        child.kill()
        child.wait()
        child.stdout.close()
