"""Pollara 400: nicctl is told the design, in the order in which the adapter takes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from railweave.render.host import files
from tests.render.host.stand_ins import Machine, config_of

SHELLCHECK = Path(sys.executable).with_name("shellcheck")

NICCTL = """
case "$*" in
"show port") printf 'Port : port-1 (eth1/1)\\nPort : port-2 (eth1/2)\\n' ;;
"show qos") printf 'Classification type : DSCP\\nPFC no-drop priorities : 5\\n' ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "machine").mkdir()
    made = Machine(tmp_path / "machine")
    config = config_of(tmp_path, "mi355x-8gpu-pollara")
    made.nics(config)
    made.write(files(config))
    made.tool("ethtool")
    return made


def script(machine: Machine) -> Path:
    return next(machine.folder.rglob("nic-qos.sh"))


def test_the_design_is_told(machine: Machine) -> None:
    machine.tool("nicctl", NICCTL)
    done = machine.run(script(machine))
    assert (done.returncode, done.stderr) == (0, "")
    calls = [one for one in machine.calls() if one.startswith("nicctl update")]
    assert calls[:3] == [
        "nicctl update port -p port-1 --pause-type pfc --rx-pause enable --tx-pause enable",
        "nicctl update port -p port-2 --pause-type pfc --rx-pause enable --tx-pause enable",
        "nicctl update qos --classification-type dscp",
    ]
    rest = calls[3:]
    assert rest[0] == "nicctl update qos dscp-to-priority --dscp 0-25,27-47,49-63 --priority 0"
    assert set(rest[1:3]) == {
        "nicctl update qos dscp-to-priority --dscp 26 --priority 3",
        "nicctl update qos dscp-to-priority --dscp 48 --priority 6",
    }
    assert rest[3:5] == [
        "nicctl update qos pfc --priority 5 --no-drop disable",
        "nicctl update qos pfc --priority 3 --no-drop enable",
    ]
    assert rest[5].startswith("nicctl update qos scheduling --priority 3,0,6 --dwrr ")
    assert next(one for one in rest[6:] if " -r ionic_0 " in one).endswith("--cnp-dscp 48")
    assert len(rest) == 6 + 8  # congestion control of each of eight adapters; the rest is told once


def test_without_its_tool_nothing_is_done_and_that_is_said(machine: Machine) -> None:
    done = machine.run(script(machine))
    assert done.returncode != 0
    assert "nicctl is missing" in done.stderr


def test_shellcheck_finds_nothing(machine: Machine) -> None:
    done = subprocess.run([SHELLCHECK, script(machine)], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")
