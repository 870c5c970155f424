"""Tenants on routing daemons: connected by type-5 routes, kept apart, and mistakes in route targets named. Root only."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.analysis.routing.table import Routes
from railweave.api import drift
from railweave.errors import LabError
from railweave.live.lab import assertions, life
from railweave.live.lab.assertions.tenants import isolated
from railweave.live.lab.capture import collect_lab
from railweave.live.lab.faults import sweep as matrix
from railweave.live.lab.faults.scenario import play
from railweave.live.lab.faults.sweep import sweep
from railweave.live.lab.faults.traffic import forbidden_pairs
from railweave.live.lab.fib import differences, read
from railweave.live.lab.frr import rootfs
from railweave.live.lab.kernel.links import router_lines
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.plan import make_plan
from railweave.live.lab.running import Running
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig, Vrf
from railweave.model.network.model import Network
from railweave.systems.frr.host import tunnels, vrf_by_interface
from tests.analysis.routing.shared_fabric import shared_network
from tests.conftest import ROOT, example
from tests.dual_stack import dual
from tests.live.lab.machine import lab, needs_lab, part_of
from tests.systems.test_tenants_over_super_spines import pods

LIMIT_S = 60
TYPED, LEAKING, MIXING = "stripe1-leaf1", "stripe2-leaf1", "stripe2-leaf2"
PART = "spines=2"


def _new_enough() -> bool:
    """Whether there is an FRR with IPv6 tunnel endpoints: a folder of its own, which `make validators` makes."""
    folder = rootfs.IPV6_TUNNELS.folder
    return any((place / folder).is_dir() for place in (rootfs.CACHE, ROOT / ".validators")) or bool(
        shutil.which("mmdebstrap")
    )


def test_vrfs_are_namespaces_with_the_interfaces_of_their_gateways() -> None:
    plan = make_plan(example("evpn-gpu-isolation"), None)
    leaf = plan.configs["stripe1-leaf1"]
    assert vrf_by_interface(leaf)["irb.2"] == "tenant-1"
    assert vrf_by_interface(leaf)["et-16-0"] == "tenant-1"
    assert "et-0-0" not in vrf_by_interface(leaf)
    assert {space for space in plan.spaces() if space.startswith("stripe1-leaf1")} == {
        "stripe1-leaf1", "stripe1-leaf1@tenant-1", "stripe1-leaf1@tenant-2",
    }  # fmt: skip
    assert "link set et-16-0 master irb.2" in list(router_lines(leaf, "tenant-1"))
    assert not any("irb." in line or "et-16" in line for line in router_lines(leaf))
    assert rootfs.need(plan.configs.values()) is rootfs.IPV6_TUNNELS
    assert rootfs.need(make_plan(example("evpn-server-isolation"), None).configs.values()) is rootfs.TENANTS
    assert rootfs.need(make_plan(example("h100-rlb"), None).configs.values()) is rootfs.PLAIN


def test_an_endpoint_per_color_is_refused() -> None:
    network = example("evpn-gpu-isolation")
    leaf = network.switches[0]
    colored = replace(leaf, endpoints=leaf.endpoints * 2)
    with pytest.raises(LabError, match=f"{leaf.name} has a tunnel endpoint per path color"):
        make_plan(replace(network, switches=(colored, *network.switches[1:])), None)


@needs_lab
@pytest.mark.skipif(
    not _new_enough(), reason="no FRR with IPv6 tunnel endpoints: neither a folder of it nor mmdebstrap"
)
def test_gpus_of_one_server_are_in_tenants_that_are_kept_apart(tmp_path: Path) -> None:
    network = example("evpn-gpu-isolation")
    with _of_its_own_frr(tmp_path / "gpu.yaml", network) as running:
        outcomes = {one.id: one for one in assertions.run(running)}
        assert {name: one.failures for name, one in outcomes.items() if not one.passed} == {}
        nics = [(server.name, nic.tenant) for server in network.servers for nic in server.nics]
        forbidden = sum(a[0] != b[0] and a[1] != b[1] for a in nics for b in nics)
        assert len(forbidden_pairs(running)) == forbidden == 480
        assert outcomes["tenants-isolated"].evidence.startswith("480 of 480 forbidden pairs silent")
        assert outcomes["tenants-connected"].evidence.startswith("16 type-5 routes in 6 VRFs, 192 queue pairs")
        assert outcomes["slaac-addresses"].checked == 32
        assert _differing(tmp_path / "gpu.yaml", network) == []
        faults = [
            {"at": "0s", "kind": "device-down", "device": "spine1"},
            {"at": "0s", "kind": "nic-down", "nic": "H100-01:gpu0_eth"},
        ]
        measured = play(running, matrix.targets(running, faults), lambda _: None)
        assert [(one.kind, one.target, one.unexpected) for one in measured if not one.passed] == []
        assert measured[1].kept < measured[1].asked
        swept = sweep(running, links=[running.plan.wires[0].link, running.plan.wires[-1].link])
        assert [one.failures for one in swept if not one.passed] == []


@needs_lab
@pytest.mark.skipif(not _new_enough(), reason="no FRR with tunnels: neither a folder of it nor mmdebstrap")
def test_tenants_reach_over_super_spines(tmp_path: Path) -> None:
    with _of_its_own_frr(tmp_path / "pods.yaml", pods(tmp_path)) as running:
        outcomes = {one.id: one for one in assertions.run(running)}
        assert {name: one.failures for name, one in outcomes.items() if not one.passed} == {}
        # On a busy machine the evidence goes on with the routers whose stuck BFD session was configured anew.
        assert outcomes["bgp-sessions"].evidence.startswith("64 ends of sessions established, 32 of EVPN")
        faults = [
            {"at": "0s", "kind": "device-down", "device": "plane1-super1"},
            {"at": "0s", "kind": "device-down", "device": "pod2-spine2"},
        ]
        measured = play(running, matrix.targets(running, faults), lambda _: None)
        assert [(one.kind, one.target, one.unexpected) for one in measured if not one.passed] == []
        assert [one.kept == one.asked > 0 for one in measured] == [True, True]


def _differing(fabric: Path, network: Network) -> list[str]:
    """Switches of which `drift` says that they run something else than designed."""
    capture = fabric.with_name("capture")
    collect_lab(fabric, capture, servers=False)
    return [one.device for one in drift(network, capture).devices]


@contextmanager
def _of_its_own_frr(fabric: Path, network: Network) -> Iterator[Running]:
    try:
        life.up(fabric, network, overlay=Overlay())
        _, running = life.attach(fabric)
        with running:
            yield running
    finally:
        life.down(fabric)


def _with_wrong_target(config: DeviceConfig) -> DeviceConfig:
    """A leaf that exports tenant-1 with a target that nobody imports."""
    wrong = {"tenant-1": ("target:64512:29999",)}
    vrfs = tuple(replace(vrf, export_targets=wrong.get(vrf.name, vrf.export_targets)) for vrf in config.vrfs)
    return replace(config, vrfs=vrfs)


def _with_a_port_in_another_vrf(config: DeviceConfig) -> tuple[DeviceConfig, str]:
    """A leaf whose first port of tenant-1 is in the VRF of its other tenant; and the prefix of that port."""
    moved = next(gateway for gateway in config.gateways if gateway.vrf == "tenant-1")
    other = next(vrf.name for vrf in config.vrfs if vrf.name != "tenant-1")

    def owned(vrf: Vrf) -> tuple[str, ...]:
        kept = tuple(prefix for prefix in vrf.prefixes if prefix not in moved.prefixes)
        return (*kept, *moved.prefixes) if vrf.name == other else kept

    gateways = tuple(replace(one, vrf=other) if one is moved else one for one in config.gateways)
    vrfs = tuple(replace(vrf, prefixes=owned(vrf)) for vrf in config.vrfs)
    return replace(config, gateways=gateways, vrfs=vrfs), moved.prefixes[0]


@needs_lab
def test_both_address_families_of_a_tenant_are_connected_and_kept_apart(tmp_path: Path) -> None:
    with lab(tmp_path / "dual.yaml", dual("tenants of one leaf each, on routed links"), "rails=2-3") as (made, running):
        assert made.unsettled == ()
        assert {":" in pair.src_gid for pair in forbidden_pairs(running)} == {True, False}
        assert [(one.id, one.failures) for one in assertions.run(running) if not one.passed] == []


NETWORKS = """
      red:
        members: ["n[1-6]:gpu7_eth"]
        networks:
          wide: {members: ["n1:gpu0_eth", "n[3-4]:gpu0_eth"], prefix: 10.10.3.0/24}
          narrow: {members: ["n[5-6]:gpu1_eth"], prefix: 10.10.5.0/24, vlan: 40}
      blue:
        networks:
          other: {members: ["n[1-6]:gpu2_eth"], prefix: 10.10.9.0/24}
"""


def test_a_layer_2_network_has_a_tunnel_of_its_own_and_the_shared_address_of_its_gateway() -> None:
    leaf = make_plan(shared_network(NETWORKS), None).configs["stripe1-leaf1"]
    assert [(one.device, one.vrf, one.bridge) for one in tunnels(leaf)] == [
        ("vni20001", "red", "br20001"),
        ("vni20002", "blue", "br20002"),
        ("vni10001", "red", "irb.4094"),
        ("vni10003", "blue", "irb.4092"),
    ]
    lines = list(router_lines(leaf, "red"))
    assert any(line.startswith("link add name irb.4094 address 00:1c:73:00:00:01 ") for line in lines)
    assert any(line.startswith("link add name irb.9 mtu ") for line in lines)


def _in_vrfs(running: Running, expected: Routes) -> list[str]:
    return [str(one) for one in differences(expected, read(running, expected)) if " in " in one.device]


@needs_lab
def test_layer_2_networks_span_leaves_and_their_tenants_are_kept_apart(tmp_path: Path) -> None:
    fabric, network = tmp_path / "networks.yaml", shared_network(NETWORKS)
    with lab(fabric, network) as (made, running):
        assert made.unsettled == ()
        outcomes = {one.id: one for one in assertions.run(running)}
        assert {name: one.failures for name, one in outcomes.items() if not one.passed} == {}
        assert outcomes["tenants-connected"].evidence.startswith("9 type-5 routes in 6 VRFs, 104 queue pairs")
        assert _differing(fabric, network) == []
        with running.vty("stripe2-leaf1", "bgpd") as vty:
            router = f"router bgp {network.switch('stripe2-leaf1').asn} vrf red"
            vty.configure([router, "address-family l2vpn evpn", "no advertise ipv4 unicast"])
        lost = [
            "stripe1-leaf1 in red sends 10.100.104.0/24 to nothing, and should to a route",
            "stripe3-leaf1 in red sends 10.10.3.0/24 to stripe1-leaf1, and should to stripe1-leaf1 + stripe2-leaf1",
            "stripe3-leaf1 in red sends 10.100.104.0/24 to nothing, and should to a route",
        ]
        expected, until = running.control_plane.routes(), time.monotonic() + LIMIT_S
        while (now := sorted(_in_vrfs(running, expected))) != lost:
            assert time.monotonic() < until, now
            time.sleep(0.1)


@needs_lab
def test_whole_servers_are_tenants_and_what_mixes_them_is_named(tmp_path: Path) -> None:
    network = part_of(example("evpn-server-isolation"), PART)
    configs = {one.name: device_config(network, one.name, "frr") for one in network.switches}
    configs[TYPED] = _with_wrong_target(configs[TYPED])
    configs[MIXING], prefix = _with_a_port_in_another_vrf(configs[MIXING])
    with lab(tmp_path / "server.yaml", example("evpn-server-isolation"), PART, configs) as (made, running):
        assert made.unsettled == ()  # FRR does what these configurations say, and `routes` knew it
        with running.vty(LEAKING, "bgpd") as vty:
            router = f"router bgp {network.switch(LEAKING).asn} vrf tenant-3"
            vty.configure([router, "address-family l2vpn evpn", "route-target import 64512:20001"])
        assert _differing(tmp_path / "server.yaml", example("evpn-server-isolation")) == [TYPED, LEAKING, MIXING]
        good = ["bgp-sessions", "bfd-sessions", "slaac-addresses", "host-tables", "no-leaf-transit"]
        assert [(one.id, one.failures) for one in assertions.run(running, only=good) if not one.passed] == []
        wrong = ["tenants-connected", "tenants-isolated"]
        found = {one.id: one for one in assertions.run(running, only=wrong, retry_s=0)}
        assert not any(one.passed for one in found.values())

        connected = found["tenants-connected"].failures
        target = "with route target 64512:29999, not 64512:20001"
        assert any(line.startswith(f"{TYPED} sends ") and line.endswith(target) for line in connected)

        mixed = list(isolated(running, running.control_plane.routes()).failures)
        assert f"{MIXING}: tenant-3 has {prefix}, which is tenant-1's on {MIXING}" in mixed
        assert any(line.startswith(f"{LEAKING}: tenant-3 has ") for line in mixed)
        assert any(line.startswith("a packet of tenant-3 arrives in tenant-1: ") for line in mixed)
