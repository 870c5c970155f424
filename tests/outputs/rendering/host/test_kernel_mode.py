"""Which files there are in which mode, the service, and the names of routing tables."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.outputs.rendering.host import files
from railweave.outputs.rendering.host.netplan import SCRIPT
from tests.outputs.rendering.host.servers import config, every

ONLY_KERNEL = {"05-railweave-unmanaged.network", "networkd.conf", "railweave-net.service"}


def test_files_by_mode() -> None:
    for one in every():
        assert not ONLY_KERNEL & set(files(one)), "networkd handles everything"
    assert set(files(config("h100-rlb", "H100-01", "kernel"))) >= ONLY_KERNEL
    assert not ONLY_KERNEL & set(files(config("mi300x-leaf-24", "host1", "kernel"))), "no NIC takes advertisements"


def test_same_bytes_again() -> None:
    for one in every():
        assert files(one) == files(one)


def test_service_is_a_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    one = config("h100-rlb", "H100-01", "kernel")
    odd = replace(one, nics=(replace(one.nics[0], netdev="gpu-0.eth"), *one.nics[1:]))
    text = files(odd)["railweave-net.service"]
    assert r"sys-subsystem-net-devices-gpu\x2d0.eth.device" in text
    unit = tmp_path / "railweave-net.service"
    unit.write_text(text.replace(SCRIPT, "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("host", ["H100-01", "H100-03"])
def test_rlb_table_8(host: str) -> None:
    """Numbers and names of the tables, the same in both stripes; a tab between, as iproute2's own file has."""
    lines = files(config("h100-rlb", host))["rt_tables.conf"].splitlines()
    wanted = [f"{10000 + gpu * 4 + path}\tgpu{gpu}_subnet{path + 1}" for gpu in range(8) for path in range(4)]
    assert [line for line in lines if not line.startswith("#")] == wanted
    assert (wanted[0], wanted[-1]) == ("10000\tgpu0_subnet1", "10031\tgpu7_subnet4")
