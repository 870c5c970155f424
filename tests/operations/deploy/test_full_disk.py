"""An apply whose journal is on a disk that becomes full, or is read-only: a tmpfs in a mount namespace of the operator's process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.api.deploying import deploy_plan
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import changing, runs
from tests.operations.deploy.test_rollout import SMALL, other

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nsenter") is None, reason="needs root, mount and nsenter"),
]
OPERATOR = """
import subprocess, sys
from pathlib import Path
from railweave.api.deploying import deploy_apply, deploy_history, deploy_resume, deploy_status
from railweave.errors import RailweaveError

plan, access, fabric, options = sys.argv[1:]
state = Path(fabric).with_suffix(".state")
state.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", state], check=True)
try:
    print(deploy_apply(plan, access=access, settle=0).state)
except RailweaveError as error:
    print(f"stopped: {error}")
print(*sorted(f"{one.device}={one.state}" for one in deploy_status(fabric, access=access)[1]))
subprocess.run(["mount", "-o", "remount,rw,size=64m", state], check=True)
if (history := deploy_history(fabric)) and history[0].state == "running":
    print(deploy_resume(fabric, access=access, settle=0, back=True).state)
"""
CALLS = range(3, 75, 3)
"""The calls of devices at which the disk becomes full. An apply makes about 75."""


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("READER", PASSWORD)
    path = tmp_path / "fabric.yaml"
    path.write_text(SMALL)
    return path


def operated(fabric: Path, options: str, full_at: int = 0) -> tuple[list[str], dict[str, str]]:
    """Apply another pool on a disk of its own; fill the disk at a call. Return the operator's lines, and what each device runs in the end."""
    wanted = {name: sorted(lines) for name, lines in runs(fabric).items()}
    with changing(fabric, other(fabric.parent)) as network:
        before = {name: sorted(box.running) for name, box in network.boxes.items()}
        plan = fabric.with_name("plan.json")
        planned = deploy_plan(fabric, live=True, access=network.access, allow_cut=["backend"])
        write_file(plan, json.dumps(planned.to_json()), private=True)
        words = ["unshare", "--mount", sys.executable, "-c", OPERATOR, plan, network.access, fabric, options]
        left, child = full_at, None

        def fill(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0 and child is not None:
                ballast = f"of={fabric.with_suffix('.state')}/ballast"
                inside = ["nsenter", "-t", str(child.pid), "-m", "dd", "if=/dev/zero", ballast, "bs=1k"]
                subprocess.run(inside, check=False, capture_output=True)

        for box in network.boxes.values():
            box.before = fill
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said, errors = child.communicate(timeout=300)
        assert "Traceback" not in errors, errors
        assert child.returncode == 0, errors
        assert not any(box.waits for box in network.boxes.values())
        ends = {
            name: "before"
            if sorted(box.running) == before[name]
            else "after"
            if sorted(box.running) == wanted[name]
            else "otherwise"
            for name, box in network.boxes.items()
        }
    return said.splitlines(), ends


@pytest.mark.parametrize("call", CALLS)
def test_a_disk_that_becomes_full_leaves_every_device_in_a_known_state(fabric: Path, call: int) -> None:
    said, ends = operated(fabric, "size=2m", call)
    assert set(ends.values()) <= {"before", "after"}, (said, ends)
    if said[0] == "done":
        assert set(ends.values()) == {"after"}
        return
    assert re.search("cannot (be written|write)", said[0]), said
    shown = dict(word.split("=") for word in said[1].split())
    assert set(shown.values()) <= {"before", "waiting", "after"}, said
    spines = [ends["spine1"], ends["spine2"]]
    assert spines in (["before", "before"], ["after", "before"], ["after", "after"]), "waves are in order"


@pytest.mark.parametrize("options", ["size=4k", "size=24k", "ro"])
def test_nothing_is_changed_where_no_journal_can_be_begun(fabric: Path, options: str) -> None:
    said, ends = operated(fabric, options)
    assert said[0].startswith("stopped: ")
    assert "cannot be written" in said[0]
    assert set(ends.values()) == {"before"}
