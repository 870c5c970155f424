"""Whatever happens while a lab comes up, what is its own goes and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.errors import LabError
from railweave.live.lab import life, names
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.namespace import existing
from railweave.model.network.model import Network
from tests.conftest import EXAMPLES, example, frr_root
from tests.live.lab.machine import needs_lab

pytestmark = needs_lab


def _begin(folder: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """`railweave lab up` as a process of its own, on a copy of the example."""
    for path in EXAMPLES.glob("h100-rlb.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    fabric = folder / "h100-rlb.yaml"
    words = ["lab", "up", str(fabric), "--slice", "rails=1"]
    root = ["--frr-root", str(frr_root())] if frr_root() else []
    program = "import sys; from railweave.cli import main; sys.argv[0] = 'railweave'; main()"
    with (folder / "log").open("wb") as log:
        begun = subprocess.Popen([sys.executable, "-c", program, *words, *root], stdout=log, stderr=log)
    return begun, fabric


def _until(true: Callable[[], object], begun: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        assert begun.poll() is None, (folder / "log").read_text()
        time.sleep(0.01)


STAGES: dict[str, Callable[[str], object]] = {
    "namespaces": lambda lab: len(existing(f"{lab}-")) >= 3,
    "daemons": lambda lab: len(processes.of_lab(lab)) >= 3,
}


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_leaves_nothing(stage: str, tmp_path: Path) -> None:
    begun, fabric = _begin(tmp_path)
    lab = names.lab_id(fabric)
    try:
        _until(lambda: STAGES[stage](lab), begun, tmp_path)
        begun.send_signal(signal.SIGINT)
        assert begun.wait(60) == 130
        assert existing(lab) == []
        assert processes.of_lab(lab) == []
        assert list(names.FOLDER.glob(f"{lab}*")) == []
    finally:
        begun.kill()
        begun.wait()
        life.down(fabric)


def test_down_cleans_up_after_a_crash_and_touches_nothing_else(tmp_path: Path) -> None:
    begun, fabric = _begin(tmp_path)
    lab = names.lab_id(fabric)
    mine = f"x{lab}-mine"  # whose name holds the lab's, and which is not the lab's
    stranger: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run(["ip", "netns", "add", mine], check=True)
        _until(lambda: STAGES["daemons"](lab), begun, tmp_path)
        begun.kill()
        begun.wait()
        with pytest.raises(LabError, match="a former `lab up` did not end"):
            life.attach(fabric)
        with pytest.raises(LabError, match="is there already"):
            life.up(fabric, _network())
        stranger = subprocess.Popen(["ip", "netns", "exec", existing(f"{lab}-")[0], "sleep", "60"])
        _until(lambda: processes.inside(lab), stranger, tmp_path)
        gone = life.down(fabric)
        assert gone.namespaces >= 3
        assert gone.processes >= 3
        assert any("(sleep)" in one for one in gone.strangers)
        assert stranger.poll() is None
        assert mine in existing("x")
        assert existing(lab) == []
        assert processes.of_lab(lab) == []
        assert list(names.FOLDER.glob(f"{lab}*")) == []
        again = life.down(fabric)
        assert (again.namespaces, again.processes, again.folder) == (0, 0, False)
    finally:
        if stranger is not None:
            os.kill(stranger.pid, signal.SIGKILL)
            stranger.wait()
        begun.kill()
        begun.wait()
        life.down(fabric)
        subprocess.run(["ip", "netns", "del", mine], check=True)


def _network() -> Network:
    return example("h100-rlb")
