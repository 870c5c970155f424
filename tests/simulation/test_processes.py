"""Ctrl-C ends a simulation in many processes at once, and none of them says a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from railweave.simulation.processes import processes

SLEEPS = """
import time
from railweave.simulation.processes import processes

if __name__ == "__main__":
    try:
        with processes(2) as pool:
            tasks = [pool.submit(time.sleep, 600) for _ in range(4)]
            print("begun", flush=True)
            tasks[0].result()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
"""


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
    began = time.monotonic()
    _, wrong = child.communicate(timeout=30)
    assert (child.returncode, wrong) == (130, "")
    assert time.monotonic() - began < 10


def test_an_error_ends_every_process() -> None:
    began = time.monotonic()

    def fail() -> None:
        with processes(1) as pool:
            pool.submit(time.sleep, 600)
            raise ValueError("of the caller")

    with pytest.raises(ValueError, match="of the caller"):
        fail()
    assert time.monotonic() - began < 60
