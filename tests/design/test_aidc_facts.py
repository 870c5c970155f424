"""Values of the report "AI Data Center Network with Juniper Apstra, NVIDIA GPUs, and WEKA Storage", in what is rendered.

After its errata: `flowlet-table-size` is `flowset-table-size`, and 2048 as tuned; headroom by port list.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from railweave.outputs.rendering.host import files as host_files
from railweave.systems.frr import render as frr
from railweave.systems.junos import render as junos
from tests.conftest import EXAMPLES, designed, example


def network() -> Network:
    return example("aidc-three-fabrics")


@cache
def lines(name: str) -> list[str]:
    return junos.files(device_config(network(), name))["junos.set"].splitlines()


def models(fabric: str, role: str, stripe: str | None = None) -> Counter[str]:
    found = [s for s in network().switches if s.fabric == fabric and s.role == role]
    return Counter(s.model for s in found if stripe in {None, s.stripe})


def test_devices_under_test_of_both_clusters() -> None:
    """Test Topology, clusters 1 and 2."""
    assert models("backend1", "leaf", "stripe1") == {"qfx5220-32cd": 8}
    assert models("backend1", "leaf", "stripe2") == {"qfx5230-64cd": 8}
    assert models("backend1", "spine") == {"qfx5230-64cd": 1, "ptx10008-lc1201": 1}
    for role in ("leaf", "spine"):
        assert set(models("backend2", role)) == {"qfx5240-64od", "qfx5241-64od"}
    gpus = {nic.fabric: catalog().servers[s.model].gpu for s in network().servers for nic in s.nics if nic.rail == 8}
    assert gpus == {"backend1": "A100", "backend2": "H100"}
    assert set(models("storage", "leaf")) == {"qfx5220-32cd"}
    assert set(models("frontend", "spine")) == {"qfx5220-32cd"}


def test_releases() -> None:
    """Table 1: D20, and D42 on the QFX5241."""
    assert {s.release for s in network().switches if s.model == "qfx5241-64od"} == {"23.4X100-D42"}
    backends = [s for s in network().switches if s.fabric.startswith("backend") and s.model[:6] == "qfx523"]
    assert {s.release for s in backends} == {"23.4X100-D20"}


def test_servers_are_on_their_three_fabrics() -> None:
    def fabrics(server: str) -> list[str]:
        return list(dict.fromkeys(nic.fabric for nic in network().server(server).nics))

    assert fabrics("A100-01") == ["frontend", "storage", "backend1"]
    assert fabrics("H100-01") == ["frontend", "storage", "backend2"]
    assert fabrics("WEKA-1") == ["frontend", "storage"]
    assert fabrics("headend-1") == ["frontend"]


BUFFERS = [
    "ingress buffer-partition lossless percent 80",
    "ingress buffer-partition lossless dynamic-threshold 7",
    "ingress buffer-partition lossless-headroom percent 10",
    "ingress buffer-partition lossy percent 10",
]
DLB = [
    "flowlet inactivity-interval 256",
    "flowlet flowset-table-size 2048",
    "sampling-rate 62500",
    "egress-quantization min 20",
    "egress-quantization max 50",
    "egress-quantization rate-weightage 50",
    "ether-type ipv4",
]
QFX = [
    "backend1-stripe1-leaf1",
    "backend1-stripe2-leaf1",
    "backend1-spine1",
    "backend2-stripe1-leaf1",
    "backend2-stripe2-leaf8",
    "backend2-spine4",
    "storage-a100-leaf1",
    "storage-spine1",
]


@pytest.mark.parametrize("name", QFX)
def test_buffers_marking_and_dlb_of_qfx(name: str) -> None:
    """Test Environment, "Buffer management values for QFX" and "DLB values for QFX"."""
    has = lines(name)
    assert [f"set class-of-service shared-buffer {one}" in has for one in BUFFERS] == [True] * len(BUFFERS)
    assert [f"set forwarding-options enhanced-hash-key ecmp-dlb {one}" in has for one in DLB] == [True] * len(DLB)
    assert not any("reassignment" in one for one in has)
    marking = "storage" if name.startswith("storage") else "no-loss"
    assert f"set class-of-service drop-profiles ecn-{marking} interpolate fill-level 55" in "\n".join(has)


def test_ptx_marks_at_49_and_has_none_of_the_rest() -> None:
    """Test Environment, "Buffer management values for PTX"."""
    has = "\n".join(lines("backend1-spine2"))
    assert "drop-profiles ecn-no-loss interpolate fill-level 49" in has
    assert "shared-buffer" not in has
    assert "ecmp-dlb" not in has


@pytest.mark.parametrize("name", [*QFX, "frontend-ai-leaf1"])
def test_headroom_goes_to_ports_in_use_only(name: str) -> None:
    """The note after "DLB values for QFX": bound to every interface, 10 % headroom is not enough."""
    bound = {one.split()[3] for one in lines(name) if one.startswith("set class-of-service interfaces")}
    config = device_config(network(), name)
    assert bound == {one.name for one in config.interfaces}
    paused = {
        one.split()[3] for one in lines(name) if "congestion-notification-profile pfc" in one and " interfaces " in one
    }
    cabled = {one.name for one in config.interfaces if one.kind != "external"}
    assert paused == (set() if name.startswith("frontend") else cabled)
    assert not any(one.id == "headroom-short" for one in network().findings)


def test_storage_has_a_lossless_class_of_its_own() -> None:
    has = lines("storage-weka1-leaf1")
    assert "set class-of-service forwarding-classes class STORAGE queue-num 4 no-loss pfc-priority 3" in has
    assert "set class-of-service schedulers storage explicit-congestion-notification" in has
    assert not any("NO-LOSS" in one for one in has)
    [own] = [one for one in host_config(network(), "WEKA-1").qos if one.fabric == "storage"]
    assert (own.dscp, own.priority, own.lossless) == (26, 3, True)


def test_routing_zones_and_virtual_networks() -> None:
    """Table 8: routing zones, virtual networks; Table 7: type 5."""
    for leaf in ("frontend-ai-leaf1", "frontend-weka-leaf1"):
        has = lines(leaf)
        assert "set routing-instances jobs instance-type vrf" in has
        assert "set routing-instances jobs protocols evpn ip-prefix-routes advertise direct-nexthop" in has
        assert "set routing-instances evpn-1 instance-type mac-vrf" in has
        assert "set routing-instances evpn-1 vlans vn3 vxlan vni 10001" in has
        assert "set interfaces irb unit 3 family inet address 10.10.3.1/24" in has
        assert "set interfaces irb unit 3 mac 00:1c:73:00:00:01" in has
    assert "set routing-instances weka instance-type vrf" in lines("frontend-weka-leaf1")
    assert not any(one.startswith("set routing-instances weka") for one in lines("frontend-ai-leaf1"))


def test_a_network_has_ports_on_both_leaves() -> None:
    leaves = Counter(nic.leaf for s in network().servers for nic in s.nics if nic.network == "compute")
    assert leaves == {"frontend-ai-leaf1": 12, "frontend-weka-leaf1": 3}


def test_external_routers() -> None:
    has = lines("frontend-ai-leaf1")
    assert "set routing-instances jobs protocols bgp group wan neighbor 10.200.0.1 peer-as 65000" in has
    assert "set policy-options policy-statement from-jobs-wan term listed from route-filter 0.0.0.0/0 exact" in has
    assert "set policy-options policy-statement to-jobs-wan term listed from route-filter 10.10.3.0/24 orlonger" in has
    assert "set interfaces et-0/0/30 unit 299 vlan-id 299" in has
    text = frr.files(device_config(network(), "frontend-weka-leaf1", "frr"))["frr.conf"]
    assert " neighbor 10.200.0.5 remote-as 65001" in text
    assert "ip prefix-list from-weka-admin seq 5 permit 0.0.0.0/0\n" in text


def test_the_way_out_of_both_zones() -> None:
    routes = ControlPlane(device_config(network(), one.name) for one in network().switches).routes()
    ways = {key: found["0.0.0.0/0"] for key, found in routes.shared.exits.items()}
    both = ("frontend-ai-leaf1", "frontend-weka-leaf1")
    assert ways == {
        ("frontend-ai-leaf1", "jobs"): both,
        ("frontend-weka-leaf1", "jobs"): both,
        ("frontend-weka-leaf1", "weka"): ("frontend-weka-leaf1",),
    }


def test_servers_go_out_by_the_frontend_and_to_storage_by_its_nic() -> None:
    text = host_files(host_config(network(), "A100-01"))["netplan.yaml"]
    assert "- {to: default, via: 10.10.3.1}\n" in text
    assert "- {to: 10.3.0.0/16, via: 10.3.17.1}\n" in text
    assert "NCCL_SOCKET_IFNAME=mgmt_eth" in host_files(host_config(network(), "A100-01"))["nccl.env"]
    assert "nccl.env" not in host_files(host_config(network(), "WEKA-1"))


def test_the_lock_is_current(tmp_path) -> None:  # type: ignore[no-untyped-def]
    _, lock = designed(tmp_path, (EXAMPLES / "aidc-three-fabrics.yaml").read_text())
    assert lock.to_text() == (EXAMPLES / "aidc-three-fabrics.lock").read_text()
