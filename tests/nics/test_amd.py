"""Pollara 400: nicctl is told the design, in the order in which the adapter takes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from railweave.outputs.rendering.host import files
from tests.outputs.rendering.host.stand_ins import Machine, config_of

SHELLCHECK = Path(sys.executable).with_name("shellcheck")

NICCTL = """
case "$*" in
"show port") printf 'Port : port-1 (eth1/1)\\nPort : port-2 (eth1/2)\\n' ;;
"show qos") printf 'Classification type : DSCP\\nDSCP-to-purpose : 0x40000000000 ==> 42 ==> xccl-cts\\nPFC no-drop priorities : 5\\n' ;;
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
    # Purposes of an earlier set-up go first: AMD's own, those of designed DSCPs, and the one that nicctl shows.
    purposes = [f"nicctl update qos dscp-to-purpose --dscp {dscp} --purpose none" for dscp in (10, 24, 26, 42, 46, 48)]
    head = [
        "nicctl update port -p port-1 --pause-type pfc --rx-pause enable --tx-pause enable",
        "nicctl update port -p port-2 --pause-type pfc --rx-pause enable --tx-pause enable",
        *purposes,
        "nicctl update qos --classification-type dscp",
    ]
    assert calls[: len(head)] == head
    rest = calls[len(head) :]
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


def test_variables_of_jobs_are_amds(tmp_path: Path) -> None:
    """ROCm container toolkit, "Running RCCL Tests on AMD GPUs with Pollara AINIC"; comments name no other vendor's parts."""
    config = config_of(tmp_path, "mi355x-8gpu-pollara")
    found = {one.name: one for one in config.job}
    assert {
        "RCCL_AINIC_ROCE": "1",
        "IONIC_LOCKFREE": "all",
        "NCCL_IB_USE_INLINE": "1",
        "NCCL_GDR_FLUSH_DISABLE": "1",
        "NCCL_GDRCOPY_ENABLE": "0",
        "NCCL_IGNORE_CPU_AFFINITY": "1",
        "NCCL_IB_PCI_RELAXED_ORDERING": "1",
    }.items() <= {name: one.value for name, one in found.items()}.items()
    # Clear-to-send messages have the class of congestion notification (46 both in AMD's documents, 48 both here).
    assert found["NCCL_IB_FIFO_TC"].value == str(48 * 4 + 2)
    assert len(config.job) == len(found)
    assert not [one for one in config.job if "guide" in one.why or "nic-nvm" in one.why]


def test_clear_to_send_is_as_the_fabric_file_says(tmp_path: Path) -> None:
    text = "hosts: {job: {clear_to_send_dscp: 46, environment: {RCCL_AINIC_ROCE: 0, IONIC_LOCKFREE: null}}}"
    found = {one.name: one.value for one in config_of(tmp_path, "mi355x-8gpu-pollara", more=text).job}
    assert found["NCCL_IB_FIFO_TC"] == str(46 * 4 + 2)
    assert found["RCCL_AINIC_ROCE"] == "0"
    assert "IONIC_LOCKFREE" not in found


def test_nothing_is_kept_in_its_flash(machine: Machine) -> None:
    done = machine.run(next(machine.folder.rglob("nic-nvm.sh")))
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.run(next(machine.folder.rglob("nic-nvm.sh")), "--nic=gpu0_eth").returncode == 1


def test_without_its_tool_nothing_is_done_and_that_is_said(machine: Machine) -> None:
    done = machine.run(script(machine))
    assert done.returncode != 0
    assert "nicctl is missing" in done.stderr


def test_shellcheck_finds_nothing(machine: Machine) -> None:
    done = subprocess.run([SHELLCHECK, script(machine)], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")
