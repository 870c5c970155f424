"""Tenants on routing daemons: connected by type-5 routes, kept apart, and mistakes in route targets named. Root only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.design.network import Network
from railweave.device.build import device_config
from railweave.device.model import DeviceConfig, Vrf
from railweave.errors import LabError
from railweave.lab import assertions, life, matrix, rootfs
from railweave.lab.assertions import Outcome
from railweave.lab.links import router_lines
from railweave.lab.plan import make_plan
from railweave.lab.running import Running
from railweave.lab.scenario import play
from railweave.lab.spaces import vrf_by_interface
from railweave.lab.sweep import sweep
from railweave.lab.traffic import forbidden_pairs
from tests.conftest import ROOT, example
from tests.lab.machine import lab, needs_lab

TYPED, LEAKING = "stripe1-leaf1", "stripe2-leaf1"
PART = "stripes=2,spines=2,servers=8"


def _new_enough() -> bool:
    """Whether there is an FRR with IPv6 tunnel endpoints: a folder of its own, which `make judges` makes."""
    folder = rootfs.IPV6_TUNNELS.folder
    return any((place / folder).is_dir() for place in (rootfs.CACHE, ROOT / rootfs.JUDGES)) or bool(
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
@pytest.mark.skipif(not _new_enough(), reason="no FRR with IPv6 tunnel endpoints: neither a folder of it nor mmdebstrap")
def test_gpus_of_one_server_are_in_tenants_that_are_kept_apart(tmp_path: Path) -> None:
    network = example("evpn-gpu-isolation")
    with _of_its_own_frr(tmp_path / "gpu.yaml", network) as running:
        outcomes = {one.id: one for one in assertions.run(running)}
        assert {name: one.failures for name, one in outcomes.items() if not one.passed} == {}
        nics = [(server.name, nic.tenant) for server in network.servers for nic in server.nics]
        forbidden = sum(a[0] != b[0] and a[1] != b[1] for a in nics for b in nics)
        assert len(forbidden_pairs(running)) == forbidden == 480
        assert outcomes["tenants-isolated"].evidence.startswith("480 of 480 forbidden pairs")
        assert outcomes["tenants-connected"].evidence.startswith("16 type-5 routes in 6 VRFs, 192 queue pairs")
        assert outcomes["slaac-addresses"].checked == 32
        faults = [
            {"at": "0s", "kind": "device-down", "device": "spine1"},
            {"at": "0s", "kind": "nic-down", "nic": "H100-01:gpu0_eth"},
        ]
        measured = play(running, matrix.targets(running, faults), lambda _: None)
        assert [(one.kind, one.target, one.unexpected) for one in measured if not one.passed] == []
        assert measured[1].kept < measured[1].asked
        swept = sweep(running, links=[running.plan.wires[0].link, running.plan.wires[-1].link])
        assert [one.failures for one in swept if not one.passed] == []


@contextmanager
def _of_its_own_frr(fabric: Path, network: Network) -> Iterator[Running]:
    try:
        life.up(fabric, network, overlay=life.Overlay())
        _, running = life.attach(fabric)
        with running:
            yield running
    finally:
        life.down(fabric)


def _with_targets(config: DeviceConfig, tenant: str, **targets: tuple[str, ...]) -> DeviceConfig:
    def changed(vrf: Vrf) -> Vrf:
        return replace(vrf, **targets) if vrf.name == tenant else vrf

    return replace(config, vrfs=tuple(map(changed, config.vrfs)))


@needs_lab
def test_whole_servers_are_tenants_and_wrong_route_targets_are_named(tmp_path: Path) -> None:
    network = example("evpn-server-isolation")
    configs = {one.name: device_config(network, one.name, "frr") for one in network.switches}
    configs[TYPED] = _with_targets(configs[TYPED], "tenant-1", export_targets=("target:64512:29999",))
    leaked = ("target:64512:20001", "target:64512:20003")
    configs[LEAKING] = _with_targets(configs[LEAKING], "tenant-3", import_targets=leaked)
    with lab(tmp_path / "server.yaml", network, PART, configs) as (made, running):
        assert made.unsettled == ()  # FRR does what these configurations say, and `routes` knew it
        found: dict[str, Outcome] = {one.id: one for one in assertions.run(running, patience_s=0)}
        wrong = {name for name, one in found.items() if not one.passed}
        assert wrong == {"tenants-connected", "tenants-isolated", "reachability", "mtu", "queue-pair-links"}

        connected = found["tenants-connected"].failures
        target = "with route target 64512:29999, not 64512:20001"
        assert any(line.startswith(f"{TYPED} sends ") and line.endswith(target) for line in connected)
        [missing] = {line.split(" lacks ")[0] for line in connected if " lacks " in line} & {"stripe2-leaf1: tenant-1"}
        assert missing

        isolated = found["tenants-isolated"].failures
        assert any(line.startswith(f"{LEAKING}: tenant-3 has a route to ") for line in isolated)
