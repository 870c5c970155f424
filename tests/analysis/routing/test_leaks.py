"""Tenants that leak to shared services, by a statement of the file: taken, proved, read back, and nobody else's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from railweave import api
from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.headers import walk
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.analysis.routing.fabrics import configurations
from tests.systems.there_and_back import lost

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

FABRIC = """
name: leaks
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 2, oversubscription: 4}
    leaf: {device: qfx5240-64od, server_ports: {first: 16}}
    load_balancing: {mode: ecmp}
    addressing: {server_mode: static, server_pool: 10.0.0.0/12, prefix_length: 24, dual_stack: {server_pool: "fd01::/16"}}
    tenants:
      red: {members: ["h[1-4]:gpu[0-1]_eth"], leaks: [services]}
      blue: {members: ["h[1-4]:gpu[2-3]_eth"], leaks: [services]}
      services: {members: ["h[1-4]:gpu[6-7]_eth"]}
      green: {members: ["h[1-4]:gpu[4-5]_eth"]}
servers:
  - {names: "h[1-2]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "h[3-4]", model: h100-8gpu-cx7, stripe: stripe2}
"""


def _network(tmp_path: Path, nos: str = "junos", text: str = FABRIC) -> Network:
    file = tmp_path / "leaks.yaml"
    file.write_text(text, encoding="utf-8")
    return api.load(file, device=[f":{nos}"])


def _held(network: Network, leaf: str, vrf: str) -> set[str]:
    """The tenants whose prefixes a VRF of a leaf holds."""
    routes = ControlPlane(configurations(network)).routes()
    whose = {subnet.prefix: one.tenant for one in network.segments for subnet in one.subnets}
    places = np.flatnonzero(routes.holds[leaf, vrf]).tolist()
    return {whose[routes.prefixes[at]] for at in places}


@pytest.mark.parametrize("nos", ["junos", "eos"])
def test_services_and_those_who_leak_to_them_reach_each_other(tmp_path: Path, nos: str) -> None:
    network = _network(tmp_path, nos)
    assert _held(network, "stripe1-leaf1", "red") == {"red", "services"}
    assert _held(network, "stripe2-leaf2", "services") == {"red", "blue", "services"}
    assert _held(network, "stripe2-leaf2", "green") == {"green"}
    assert [one for one in run_checks(Subject.of(network), slow=False) if one.severity == "error"] == []


def test_frr_forwards_by_none_of_them_and_sonic_says_so(tmp_path: Path) -> None:
    network = _network(tmp_path, "sonic")
    assert _held(network, "stripe1-leaf1", "red") == {"red"}
    leaf = device_config(network, "stripe1-leaf1")
    assert "sonic-no-leaks" in {one.id for one in system("sonic").gaps(leaf)}


def test_without_the_statement_it_is_an_error(tmp_path: Path) -> None:
    network = _network(tmp_path)
    other = _network(tmp_path, text=FABRIC.replace(", leaks: [services]", ""))
    found = [
        one
        for one in run_checks(Subject(other, {one.name: one for one in configurations(network)}))
        if one.severity == "error"
    ]
    assert {one.id for one in found} == {"tenant-isolation"}


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "dell_sonic", "frr"])
def test_leaks_come_back(tmp_path: Path, nos: str) -> None:
    assert lost(device_config(_network(tmp_path, nos), "stripe1-leaf2")) == []


def test_leaks_to_nobody(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no tenant 'archive'"):
        _network(tmp_path, text=FABRIC.replace("leaks: [services]", "leaks: [archive]"))
    with pytest.raises(InputError, match="'red' leaks to itself"):
        _network(tmp_path, text=FABRIC.replace("leaks: [services]", "leaks: [red]", 1))


def test_paths_go_where_routes_leak(tmp_path: Path) -> None:
    network = _network(tmp_path)
    for src, dst in (("h1:gpu0_eth", "h3:gpu6_eth"), ("h3:gpu6_eth", "h1:gpu0_eth"), ("h1:gpu0_eth", "h1:gpu6_eth")):
        (found,) = api.paths(network, src, dst, 1)
        assert found.hops, (src, dst)
        told = walk(network, api.routes(network), found, src, dst)
        assert told.data[-1].receiver == dst.partition(":")[0]
        tenant = {"gpu0": "red", "gpu6": "services"}[dst.partition(":")[2][:4]]
        vni = next(one.vni for one in network.fabrics[0].tenants if one.name == tenant)
        assert {one.tunnel.vni for one in told.data if one.tunnel} in ({vni}, set())
    assert api.paths(network, "h1:gpu0_eth", "h3:gpu2_eth", 1)[0].hops == ()


def test_paths_follow_a_mistake_in_route_targets(tmp_path: Path) -> None:
    network = _network(tmp_path, text=FABRIC.replace(", leaks: [services]", ""))
    configs = {one.name: one for one in configurations(network)}
    for name, config in configs.items():
        vrfs = tuple(replace(one, import_targets=("64999:1",), export_targets=("64999:1",)) for one in config.vrfs)
        configs[name] = replace(config, vrfs=vrfs)
    tables = api.routes(network, configs=configs)
    assert queue_pair_paths(network, api.routes(network), "h1:gpu0_eth", "h3:gpu2_eth", 1)[0].hops == ()
    found = queue_pair_paths(network, tables, "h1:gpu0_eth", "h3:gpu2_eth", 1)[0]
    assert found.hops
    assert walk(network, tables, found, "h1:gpu0_eth", "h3:gpu2_eth", configs).data
