"""acs-off.sh: executed on a copy of sysfs, with a stand-in for setpci that keeps the control registers as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.outputs.rendering.host import boot
from tests.outputs.rendering.host.stand_ins import Machine, server

BRIDGE, NIC = "0x060400", "0x020000"

# setpci -s DEVICE ECAP_ACS+0x6.w[=VALUE]; a device without the capability is an error, as pciutils has it.
SETPCI = """
file="$(dirname "$0")/../acs/$2"
[[ -e $file ]] || { echo "setpci: $2: Instance #0 of Capability 000d not found" >&2; exit 1; }
case $3 in
*=*) [[ -w $file && ! -e $file.stuck ]] && echo "${3#*=}" >"$file" || true ;;
*) cat "$file" ;;
esac
"""

DEVICES = {
    "0000:16:01.0": (BRIDGE, "001d"),
    "0000:17:00.0": (BRIDGE, "0000"),
    "0000:18:00.0": (BRIDGE, None),
    "0000:19:01.0": (BRIDGE, "005F"),
    "0000:1b:00.0": (NIC, "001d"),
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    found.tool("setpci", SETPCI)
    (tmp_path / "acs").mkdir()
    for device, (kind, control) in DEVICES.items():
        found.attribute(f"bus/pci/devices/{device}/class", kind)
        if control is not None:
            (tmp_path / "acs" / device).write_text(control + "\n")
    return found


def script(machine: Machine) -> Path:
    return machine.write({"acs-off.sh": boot.files(server("h100-rlb"))["acs-off.sh"]}) / "acs-off.sh"


def controls(machine: Machine) -> dict[str, str]:
    return {
        file.name: file.read_text().strip() for file in (machine.folder / "acs").iterdir() if file.suffix != ".stuck"
    }


def test_bridges_are_turned_off_and_nothing_else(machine: Machine) -> None:
    done = machine.run(script(machine))
    assert (done.returncode, done.stderr) == (0, "")
    assert controls(machine) == {
        "0000:16:01.0": "0000",
        "0000:17:00.0": "0000",
        "0000:19:01.0": "0000",
        "0000:1b:00.0": "001d",
    }
    writes = [call for call in machine.calls() if "=" in call]
    assert writes == [f"setpci -s {one} ECAP_ACS+0x6.w=0000" for one in ("0000:16:01.0", "0000:19:01.0")]
    assert "3 bridges with ACS: 1 were off, 2 turned off, 0 on" in done.stdout
    assert "3 were off, 0 turned off" in machine.run(script(machine)).stdout
    assert not [call for call in machine.calls() if "=" in call]


def test_check_changes_nothing(machine: Machine) -> None:
    before = controls(machine)
    done = machine.run(script(machine), "--check")
    assert done.returncode == 1
    assert "0000:16:01.0: ACS is on (001d)" in done.stdout
    assert controls(machine) == before
    machine.run(script(machine))
    assert machine.run(script(machine), "--check").returncode == 0


def test_a_bridge_that_does_not_take_it_is_an_error(machine: Machine) -> None:
    (machine.folder / "acs" / "0000:19:01.0.stuck").touch()
    done = machine.run(script(machine))
    assert done.returncode == 1
    assert "0000:19:01.0: ACS stays on (005F, was 005F)" in done.stderr
    assert controls(machine)["0000:16:01.0"] == "0000"


def test_without_setpci(machine: Machine) -> None:
    (machine.bin / "setpci").unlink()
    done = machine.run(script(machine))
    assert done.returncode == 1
    assert "setpci is missing (package pciutils)" in done.stderr
    assert machine.run(script(machine), "--undo").returncode == 2
