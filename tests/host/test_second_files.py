"""Files beside ours that the system merges with ours or takes in place of ours: each is named with its line, its key and who wins."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from railweave.host import host_file
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, NOT_SEEN, OK, WARNING, Outcome
from railweave.host.checks.server import server
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.netplan import netplan_yaml
from tests.conftest import example
from tests.host.machines import Parts, Written, healthy
from tests.host.machines.plans import plan

EXAMPLE, HOST = "h100-rlb", "H100-01"
OURS = "/etc/netplan/60-railweave.yaml"


@cache
def _ours() -> str:
    return netplan_yaml(host_config(example(EXAMPLE), HOST))


def _looked(tmp_path: Path, check: str, files: dict[str, str], links: dict[str, str] | None = None) -> list[Outcome]:
    file, document = plan(EXAMPLE, tmp_path)
    parts: Parts = healthy(document)
    parts.files |= {OURS: _ours(), **files}
    parts.links |= links or {}
    plan_of_host: dict[str, Any] = document
    looked = server(Written(parts), host_file.load(file), plan_of_host)
    return [result.outcome for result in running.run(looked, [ALL[check]])]


def _netplan(*lines: str) -> str:
    return "\n".join(["network:", "  version: 2", "  ethernets:", *(f"    {line}" for line in lines)]) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "verdict", "words"),
    [
        ("99-x.yaml", _netplan("gpu0_eth:", "  mtu: 1500"), FAILED, "99-x.yaml:5: gpu0_eth.mtu 1500 wins over 60-railweave.yaml"),
        ("50-x.yaml", _netplan("gpu0_eth:", "  mtu: 1500"), WARNING, "50-x.yaml:5: gpu0_eth.mtu 1500 loses to 60-railweave.yaml"),
        ("50-x.yaml", _netplan("gpu0_eth:", "  addresses:", "  - 10.0.0.1/24"), FAILED, "50-x.yaml:5: gpu0_eth.addresses is added to what"),
        ("99-x.yaml", _netplan("gpu0_eth: {mtu: 1500, dhcp4: true}"), FAILED, "gpu0_eth.mtu 1500 wins"),
        ("99-x.yaml", _netplan("all:", "  match: {name: 'gpu*'}", "  dhcp4: true"), FAILED, "all.dhcp4 true is added"),
        ("99-x.yaml", "network:\n  renderer: NetworkManager\n", FAILED, "99-x.yaml:2: renderer NetworkManager wins"),
        ("99-x.yaml", "network:\n  bonds:\n    bond0:\n      interfaces: [gpu0_eth, gpu1_eth]\n", FAILED, "bond0.interfaces"),
        ("50-cloud-init.yaml", _netplan("eno1:", "  dhcp4: true"), OK, "alone"),
    ],
)  # fmt: skip
def test_a_second_netplan_file(tmp_path: Path, name: str, text: str, verdict: str, words: str) -> None:
    outcomes = _looked(tmp_path, "second-netplan", {f"/etc/netplan/{name}": text})
    assert any(words in outcome.seen for outcome in outcomes), outcomes
    assert {outcome.verdict for outcome in outcomes} == {verdict}


@pytest.mark.parametrize(
    ("check", "path", "text", "words"),
    [
        ("second-networkd", "/etc/systemd/network/05-all.network", "[Match]\nName=gpu*\n[Network]\nDHCP=yes\n", "takes the NIC (DHCP) and wins"),
        ("second-networkd", "/etc/systemd/network/10-netplan-gpu0_eth.network.d/x.conf", "[Link]\nMTUBytes=1500\n", "x.conf:2: Link.MTUBytes 1500 wins over 10-netplan-gpu0_eth.network"),
        ("second-networkd", "/etc/systemd/network/01-x.link", "[Match]\nOriginalName=*\n[Link]\nMTUBytes=1500\n", "01-x.link:4: MTUBytes 1500"),
        ("second-networkd", "/etc/NetworkManager/system-connections/gpu0.nmconnection", "[connection]\ninterface-name=gpu0_eth\n[ipv4]\naddress1=10.0.0.1/24\n", "gpu0.nmconnection:4: ipv4.address1 10.0.0.1/24"),
        ("second-unit", "/etc/systemd/system/nic-qos.service.d/override.conf", "[Service]\nExecStart=\nExecStart=/bin/true\n", "override.conf:3: Service.ExecStart /bin/true wins over nic-qos.service"),
        ("second-sysctl", "/etc/sysctl.d/99-x.conf", "# no\nkernel.numa_balancing = 1\n", "99-x.conf:2: kernel.numa_balancing 1 wins over 70-railweave.conf"),
        ("second-sysctl", "/etc/sysctl.conf", "kernel/numa_balancing=1\n", "/etc/sysctl.conf:1: kernel.numa_balancing 1 wins"),
        ("second-udev", "/etc/udev/rules.d/99-x.rules", 'SUBSYSTEM=="net", KERNEL=="gpu0_eth", NAME="eth7"\n', "99-x.rules:1: NAME eth7 wins over 70-railweave-net.rules"),
        ("second-modprobe", "/etc/modprobe.d/x.conf", "blacklist mlx5_ib\n", "x.conf:1: blacklist mlx5_ib"),
        ("second-nccl", "/etc/nccl.conf", "NCCL_ALGO=Ring\n", "nccl.conf:1: NCCL_ALGO Ring counts"),
    ],
)  # fmt: skip
def test_another_file_of_the_system(tmp_path: Path, check: str, path: str, text: str, words: str) -> None:
    outcomes = _looked(tmp_path, check, {path: text})
    assert any(words in outcome.seen for outcome in outcomes), outcomes
    assert {outcome.verdict for outcome in outcomes} == {FAILED}
    assert all(outcome.remedy for outcome in outcomes)


def test_a_masked_unit(tmp_path: Path) -> None:
    outcomes = _looked(tmp_path, "second-unit", {"/dev/null": ""}, {"/etc/systemd/system/nic-qos.service": "/dev/null"})
    assert [outcome.seen for outcome in outcomes] == ["/etc/systemd/system/nic-qos.service is masked"]


@pytest.mark.parametrize(
    ("check", "path", "text"),
    [
        ("second-networkd", "/etc/systemd/network/20-wired.network", "[Match]\nName=en*\n[Network]\nDHCP=yes\n"),
        ("second-networkd", "/usr/lib/systemd/network/99-default.link", "[Match]\nOriginalName=*\n[Link]\nNamePolicy=keep\n"),
        ("second-sysctl", "/etc/sysctl.d/10-x.conf", "kernel.numa_balancing = 1\n"),
        ("second-udev", "/etc/udev/rules.d/99-x.rules", 'SUBSYSTEM=="net", KERNEL=="eno1", NAME="mgmt0"\n'),
        ("second-modprobe", "/etc/modprobe.d/x.conf", "blacklist nouveau\n"),
    ],
)  # fmt: skip
def test_a_file_that_changes_nothing_of_ours_is_no_fault(tmp_path: Path, check: str, path: str, text: str) -> None:
    assert {outcome.verdict for outcome in _looked(tmp_path, check, {path: text})} == {OK}


@pytest.mark.parametrize(
    ("check", "path"),
    [
        ("second-netplan", "/etc/netplan/99-x.yaml"),
        ("second-networkd", "/etc/NetworkManager/system-connections/gpu0.nmconnection"),
        ("second-unit", "/etc/systemd/system/nic-qos.service.d/override.conf"),
        ("second-sysctl", "/etc/sysctl.d/99-x.conf"),
        ("second-udev", "/etc/udev/rules.d/99-x.rules"),
        ("second-modprobe", "/etc/modprobe.d/x.conf"),
    ],
)
def test_a_file_that_cannot_be_read_is_not_called_good(tmp_path: Path, check: str, path: str) -> None:
    outcomes = _looked(tmp_path, check, {}, {path: "/nowhere"})
    assert {outcome.verdict for outcome in outcomes} == {NOT_SEEN}


def test_what_is_found_counts_beside_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    files = {"/etc/modprobe.d/x.conf": "blacklist mlx5_ib\n"}
    outcomes = _looked(tmp_path, "second-modprobe", files, {"/etc/modprobe.d/a.conf": "/nowhere"})
    assert [outcome.verdict for outcome in outcomes] == [FAILED, NOT_SEEN]
