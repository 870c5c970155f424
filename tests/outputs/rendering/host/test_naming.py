"""Names of interfaces and RDMA devices: the rules as text, and as udev itself applies them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from railweave.outputs.rendering.host import files
from tests.netns import needs_root
from tests.outputs.rendering.host.servers import config, every

# A namespace with interfaces of its own and no rules but those of the folder and the system's.
_TEST = """
mount --make-rprivate /
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mkdir -p /run/udev/rules.d /etc/udev/rules.d
mount -t tmpfs tmpfs /etc/udev/rules.d
cp "$1"/*.rules /etc/udev/rules.d/
ip link add other type veth peer name kernel0
ip link set kernel0 address a0:88:c2:3b:50:66
udevadm test --action=add /sys/class/net/kernel0
"""

needs_udev = pytest.mark.skipif(shutil.which("udevadm") is None, reason="there is no udevadm (apt install udev)")


def rules(one: str, host: str = "H100-01") -> dict[str, list[str]]:
    """The rules of each file, without comments."""
    found = files(config(one, host))
    names = ("70-railweave-net.rules", "60-rdma-persistent-naming.rules")
    return {name: [line for line in found[name].splitlines() if not line.startswith("#")] for name in names}


def udev(folder: Path) -> str:
    argv = ["unshare", "--mount", "--net", "bash", "-euc", _TEST, "test", folder]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_known_macs_name_and_unknown_ones_wait() -> None:
    """The source's Table 4 has the MAC of gpu0_eth only."""
    found = rules("h100-rlb")
    (net,) = found["70-railweave-net.rules"]
    assert 'ATTR{address}=="a0:88:c2:3b:50:66"' in net
    assert net.endswith('NAME="gpu0_eth"')
    (rdma,) = [line for line in found["60-rdma-persistent-naming.rules"] if "rdma_rename" in line]
    assert "NAME_FIXED mlx5_0" in rdma
    for text in files(config("h100-rlb", "H100-01")).values():
        assert "02:64:2d:a9:aa:52" not in text.replace('"mac"', ""), "a placeholder is no MAC to match"
    whole = files(config("h100-rlb", "H100-01"))["70-railweave-net.rules"]
    assert whole.count("# placeholder: the inventory has no MAC of") == 7


def test_names_of_the_kernels_own() -> None:
    for one in every():
        careful = "Careful: eth1 to eth8" in files(one)["70-railweave-net.rules"]
        assert careful == one.network.startswith("mi300x")


@needs_root
@needs_udev
def test_udev_renames(tmp_path: Path) -> None:
    """With the condition dropped that keeps virtual interfaces out, for here there are no others."""
    (line,) = rules("h100-rlb")["70-railweave-net.rules"]
    rule = tmp_path / "70-railweave-net.rules"
    rule.write_text(line + "\n")
    assert "NAME 'gpu0_eth'" not in udev(tmp_path)
    rule.write_text(line.replace('DRIVERS=="?*", ', "") + "\n")
    said = udev(tmp_path)
    assert "renamed from 'kernel0' to 'gpu0_eth'" in said
    assert "70-railweave-net.rules" in said
    assert "Invalid" not in said


@needs_root
@needs_udev
def test_udev_finds_an_rdma_device_by_the_mac_of_its_interface(tmp_path: Path) -> None:
    """An interface stands in for the RDMA device, as both are two levels below the PCI function; rdma_rename for itself."""
    called = tmp_path / "called"
    program = tmp_path / "rdma_rename"
    program.write_text(f'#!/bin/sh\necho "$@" >>{called}\n')
    program.chmod(0o755)
    text = "\n".join(rules("h100-rlb")["60-rdma-persistent-naming.rules"]) + "\n"
    folder = tmp_path / "rules"
    folder.mkdir()
    rule = folder / "60-rdma-persistent-naming.rules"
    rule.write_text(text.replace('"infiniband"', '"net"').replace("rdma_rename", str(program)))
    said = udev(folder)
    assert called.read_text() == "kernel0 NAME_FIXED mlx5_0\n", said
    assert f"{rule.name}:" not in "".join(line for line in said.splitlines() if "nvalid" in line)
