"""A lab leaves the machine as it was."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.errors import LabError
from railweave.live.lab import names
from railweave.live.lab.kernel import neighbors
from tests.conftest import ROOT
from tests.live.lab.machine import needs_lab
from tests.live.lab.untouched import LIMITS


@needs_lab
def test_a_lab_leaves_the_machine_as_it_was(tmp_path: Path) -> None:
    words = [
        "unshare",
        "--mount",
        sys.executable,
        "-m",
        "tests.live.lab.untouched",
        tmp_path / "h100-rlb.yaml",
        tmp_path,
    ]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    during, after = (_without_modules(shown) for shown in json.loads(done.stdout))
    # What differs is seen: limits are raised while the lab is up, if the machine has them.
    there = [name for name in neighbors.LIMITS if (neighbors.SYSTEM / name).exists()]
    assert during == {name: [f"{LIMITS[name.rpartition('/')[2]]}\n", f"{neighbors.ROOM}\n"] for name in there}
    assert after == {}


def _without_modules(shown: dict[str, object]) -> dict[str, object]:
    """What differs, without the kernel modules that docs/lab.md names."""
    page = (ROOT / "docs" / "lab.md").read_text()
    line = next(line for line in page.splitlines() if "load and keep the kernel modules" in line)
    listed = set(re.findall(r"`(\w+)`", line))
    return {name: values for name, values in shown.items() if name.removeprefix("module ") not in listed}


def _limits(folder: Path, values: dict[str, int]) -> None:
    for name in neighbors.LIMITS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{values[path.name]}\n")


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for /proc/sys, with the kernel's defaults."""

    def given(values: dict[str, int]) -> None:
        for name, value in values.items():
            (tmp_path / name).write_text(f"{value}\n")

    _limits(tmp_path, LIMITS)
    monkeypatch.setattr(neighbors, "SYSTEM", tmp_path)
    monkeypatch.setattr(neighbors, "set_parameters", given)
    monkeypatch.setattr(names, "FOLDER", tmp_path / "labs")
    return tmp_path


def _read(folder: Path) -> set[tuple[str, int]]:
    return {(name.rpartition("/")[2], int((folder / name).read_text())) for name in neighbors.LIMITS}


def test_the_last_lab_puts_the_limits_back(system: Path) -> None:
    neighbors.raise_limits("rw1", 10)
    neighbors.raise_limits("rw2", 10_000)
    neighbors.raise_limits("rw2", 10_000)  # as after a crash
    assert _read(system) == {(name, 100_000) for name in LIMITS}
    neighbors.restore("rw1")
    assert _read(system) == {(name, 100_000) for name in LIMITS}
    neighbors.restore("rw2")
    assert _read(system) == set(LIMITS.items())
    assert list((system / "labs").iterdir()) == []
    neighbors.restore("rw2")


def test_a_limit_that_the_operator_sets_meanwhile_stays(system: Path) -> None:
    neighbors.raise_limits("rw1", 10)
    (system / "net/ipv4/neigh/default/gc_thresh3").write_text("70000\n")
    neighbors.restore("rw1")
    assert _read(system) == {*LIMITS.items(), ("gc_thresh3", 70_000)}


def test_limits_that_are_high_enough_stay(system: Path) -> None:
    _limits(system, dict.fromkeys(LIMITS, 200_000))
    neighbors.raise_limits("rw1", 10)
    assert _read(system) == {(name, 200_000) for name in LIMITS}
    neighbors.restore("rw1")
    assert _read(system) == {(name, 200_000) for name in LIMITS}


def test_a_user_who_cannot_raise_a_limit_gets_the_command_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(neighbors.ENTRIES, "1024")
    command = "sudo sysctl -w net.ipv4.neigh.default.gc_thresh3=2000 net.ipv6.neigh.default.gc_thresh3=2000"
    with pytest.raises(LabError, match=f"needs root: run `{re.escape(command)}`"):
        neighbors.raise_limits("rw1", 200)
