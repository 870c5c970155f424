"""Tenants of pods under super-spines: who reaches whom, on every system; a super-spine that keeps its loopback to itself shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from tests.conftest import designed
from tests.systems.test_pfc_ports import MODELS
from tests.systems.there_and_back import lost, one_of_each_role

PODS = """
name: pods
fabrics:
  backend:
    topology: {{stripes: 4, stripes_per_pod: 2, spines: 2, super_spines: 2, leaves_per_stripe: 1, oversubscription: 16}}
    leaf: {{device: {device}}}
    load_balancing: {{mode: {mode}}}
    overlay: {{vtep: {vtep}}}
    pools: {{fabric_links: "{links}"}}
    tenants:
      one: {{members: ["h[1-4]:gpu[0-3]_eth"]}}
      two: {{members: ["h[1-4]:gpu[4-7]_eth"]}}
servers:
  - {{names: "h[1-2]", model: h100-8gpu-cx7, stripe: stripe1}}
  - {{names: "h[3-4]", model: h100-8gpu-cx7, stripe: stripe3}}
management: {{root_password: secret:root, users: {{ops: {{password: secret:ops}}}}}}
"""
JUNOS = "qfx5240-64od, release: 25.4R1"


def pods(folder: Path, nos: str = "junos", mode: str = "dlb-flowlet", vtep: str = "ipv4") -> Network:
    device = JUNOS if nos in {"junos", "frr"} else MODELS[nos].removesuffix("}")
    links = "10.252.0.0/14" if vtep == "ipv4" else "fd00:ffff::/48"
    return designed(folder, PODS.format(device=device, mode=mode, vtep=vtep, links=links))[0]


def configs_of(network: Network, nos: str) -> dict[str, DeviceConfig]:
    return {one.name: device_config(network, one.name, "frr" if nos == "frr" else None) for one in network.switches}


def errors(network: Network, configs: dict[str, DeviceConfig]) -> set[str]:
    return {one.id for one in run_checks(Subject(network, configs), slow=False) if one.severity == "error"}


@pytest.mark.parametrize("nos", ["junos", "frr", *MODELS])
def test_a_tenant_reaches_its_own_in_the_other_pod_and_no_other_tenant(tmp_path: Path, nos: str) -> None:
    network = pods(tmp_path, nos)
    configs = configs_of(network, nos)
    assert errors(network, configs) == set()
    for name in one_of_each_role(network):
        assert lost(configs[name]) == []
    routes = ControlPlane(configs.values()).routes()
    [path] = queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu3_eth", 1)
    assert len(path.hops) == 6  # up and down over a super-spine
    assert not queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu4_eth", 1)[0].hops


@pytest.mark.parametrize("vtep", ["ipv4", "ipv6"])
def test_path_colors_and_both_families_of_tunnels(tmp_path: Path, vtep: str) -> None:
    network = pods(tmp_path, mode="rlb", vtep=vtep)
    configs = configs_of(network, "junos")
    assert errors(network, configs) == set()


def test_without_a_way_over_super_spines_the_pods_are_apart(tmp_path: Path) -> None:
    network = pods(tmp_path)
    plane = ControlPlane(configs_of(network, "junos").values())
    supers = frozenset(one.name for one in network.switches if one.role == "super-spine")
    assert queue_pair_paths(network, plane.routes(supers - {"plane1-super1"}), "h1:gpu0_eth", "h3:gpu0_eth", 1)[0].hops
    assert not queue_pair_paths(network, plane.routes(supers), "h1:gpu0_eth", "h3:gpu0_eth", 1)[0].hops
    assert queue_pair_paths(network, plane.routes(supers), "h1:gpu0_eth", "h2:gpu0_eth", 1)[0].hops


@pytest.mark.parametrize("nos", ["frr", "eos", "dell_sonic"])
def test_super_spines_that_advertise_no_loopback_have_no_overlay_sessions(tmp_path: Path, nos: str) -> None:
    """Found in the lab: systems that originate by redistribution originate nothing without it."""
    network = pods(tmp_path, nos)
    configs = configs_of(network, nos)
    for name, config in configs.items():
        if network.switch(name).role == "super-spine" and config.bgp is not None:
            configs[name] = replace(config, bgp=replace(config.bgp, redistribute_connected=None))
    assert errors(network, configs) == {"unreachable"}
