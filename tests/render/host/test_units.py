"""The services of a server: what systemd makes of them, and that they run what the how-to installs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from railweave.host import options
from railweave.render.host import units
from tests.render.host.stand_ins import server
from tests.render.host.test_boot import values


def test_qos_comes_after_the_nics_and_before_jobs() -> None:
    unit = values(units.files(server("h100-rlb"))["nic-qos.service"])
    assert (unit["Type"], unit["RemainAfterExit"], unit["WantedBy"]) == ("oneshot", "yes", "multi-user.target")
    assert "slurmd.service" in unit["Before"].split()
    devices = {f"sys-subsystem-net-devices-{nic.netdev}.device" for nic in server("h100-rlb").nics}
    assert set(unit["Wants"].split()) == devices
    assert devices < set(unit["After"].split())
    assert unit["ExecStart"] == f"{units.QOS_FOLDER}/nic-qos.sh"


def test_railweave_host_stays_and_is_started_again() -> None:
    unit = values(units.files(server("h100-rlb"))["railweave-host.service"])
    assert unit["Restart"] == "on-failure"
    program, *words = unit["ExecStart"].split()
    assert program == units.PROGRAM
    asked = options.parse(words)
    assert (asked.verb, asked.wait, asked.partial, asked.watch) == ("apply", 300, True, True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here (package systemd)")
@pytest.mark.parametrize("name", ["nic-qos.service", "railweave-host.service"])
def test_systemd_takes_the_unit(tmp_path: Path, name: str) -> None:
    unit = tmp_path / name
    text = units.files(server("h100-rlb"))[name]
    unit.write_text(text.replace(f"{units.QOS_FOLDER}/nic-qos.sh", "/bin/true").replace(units.PROGRAM, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
