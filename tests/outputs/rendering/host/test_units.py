"""The services of a server: what systemd makes of them, and that they run what the how-to installs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from railweave.host import options
from railweave.outputs.rendering.host import units
from tests.netns import needs_root
from tests.outputs.rendering.host.stand_ins import server
from tests.outputs.rendering.host.test_boot import values


def test_qos_comes_after_the_nics_and_before_jobs() -> None:
    unit = values(units.files(server("h100-rlb"))["nic-qos.service"])
    assert (unit["Type"], unit["RemainAfterExit"], unit["WantedBy"]) == ("oneshot", "yes", "multi-user.target")
    assert "slurmd.service" in unit["Before"].split()
    devices = {f"sys-subsystem-net-devices-{nic.netdev}.device" for nic in server("h100-rlb").nics}
    # What nic-qos.sh reads and writes in configfs and debugfs has to be there.
    assert set(unit["Wants"].split()) == {*devices, "sys-kernel-config.mount", "sys-kernel-debug.mount"}
    assert set(unit["Wants"].split()) < set(unit["After"].split())
    assert unit["ExecStart"] == f"{units.QOS_FOLDER}/nic-qos.sh"


def test_qos_is_set_again_for_a_nic_whose_device_comes_back() -> None:
    made = units.files(server("h100-rlb"))
    (rule,) = [line for line in made["90-railweave-qos.rules"].splitlines() if not line.startswith("#")]
    assert 'SUBSYSTEM=="infiniband"' in rule
    assert 'DRIVERS=="mlx5_core"' in rule
    assert rule.endswith('TAG+="systemd", ENV{SYSTEMD_WANTS}+="nic-qos@$id.service"')
    unit = values(made["nic-qos@.service"])
    assert unit["ExecStart"] == f"{units.QOS_FOLDER}/nic-qos.sh apply --nic=%i"
    assert unit["Type"] == "oneshot"
    assert "RemainAfterExit" not in unit, "a unit that stays active would not run a second time"
    assert "nic-qos.service" in unit["After"].split()


def test_qos_is_set_again_after_sleep() -> None:
    unit = values(units.files(server("h100-rlb"))["nic-qos-resume.service"])
    assert "suspend.target" in unit["After"].split()
    assert unit["After"] == unit["WantedBy"]
    assert "RemainAfterExit" not in unit


def udevadm_test(rules: str, folder: Path) -> str:
    """Return what udev says of a file of rules, as it reads it."""
    (folder / "90-railweave-qos.rules").write_text(rules)
    script = 'mount --bind "$1" /etc/udev/rules.d && udevadm test --action=add /sys/class/net/lo'
    done = subprocess.run(
        ["unshare", "--mount", "--propagation=private", "bash", "-c", script, "test", folder],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "90-railweave-qos.rules" in done.stderr, done.stderr
    return "".join(line for line in done.stderr.splitlines(True) if "90-railweave-qos.rules:" in line)


@needs_root
@pytest.mark.skipif(shutil.which("udevadm") is None, reason="udevadm is not here (package udev)")
@pytest.mark.skipif(not Path("/etc/udev/rules.d").is_dir(), reason="there is no /etc/udev/rules.d")
def test_udev_takes_the_rule(tmp_path: Path) -> None:
    rules = units.files(server("h100-rlb"))["90-railweave-qos.rules"]
    assert udevadm_test(rules, tmp_path) == ""
    assert "90-railweave-qos.rules:" in udevadm_test(rules.replace("SUBSYSTEMS==", "SUBSYSTEMZ=="), tmp_path)


def test_railweave_host_stays_and_is_started_again() -> None:
    unit = values(units.files(server("h100-rlb"))["railweave-host.service"])
    assert unit["Restart"] == "on-failure"
    program, *words = unit["ExecStart"].split()
    assert program == units.PROGRAM
    asked = options.parse(words)
    assert (asked.verb, asked.wait, asked.partial, asked.watch) == ("apply", 300, True, True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here (package systemd)")
@pytest.mark.parametrize(
    "name", ["nic-qos.service", "nic-qos@.service", "nic-qos-resume.service", "railweave-host.service"]
)
def test_systemd_takes_the_unit(tmp_path: Path, name: str) -> None:
    unit = tmp_path / name
    text = units.files(server("h100-rlb"))[name]
    unit.write_text(text.replace(f"{units.QOS_FOLDER}/nic-qos.sh", "/bin/true").replace(units.PROGRAM, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
