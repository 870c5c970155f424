"""What the parts of the trial share: the command line as a program of its own, and what stores hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from railweave.store.records import Run
from railweave.store.store import opened
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
