"""IS-IS against tables worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config, system_id
from railweave.model.device.model import DeviceConfig
from tests.conftest import designed, example

TIERS = """
name: square
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 2, links_per_spine: 2, oversubscription: 8}
    leaf: {device: qfx5240-64od, server_ports: {first: 16}}
    addressing: {server_link: routed, server_mode: static, server_pool: 10.0.0.0/16, prefix_length: 31, gateway_host: 0}
    pools: {fabric_links: 10.254.0.0/16}
    underlay: {protocol: isis, peering: numbered}
    load_balancing: {mode: ecmp}
servers:
  - {names: a, model: h100-8gpu-cx7, stripe: stripe1}
  - {names: b, model: h100-8gpu-cx7, stripe: stripe2}
"""


def _dci() -> dict[str, DeviceConfig]:
    network = example("dci-50km")
    return {switch.name: device_config(network, switch.name) for switch in network.switches}


def _long(*numbers: int) -> tuple[str, ...]:
    return tuple(f"ptx-east:et-0/0/{n}--ptx-west:et-0/0/{n}" for n in numbers)


WEST, EAST = (
    "10.50.0.38/31",
    "10.50.0.22/31",
)  # the pairs of gpu0_eth of the server in slot 1 of stripe 2, and of stripe 1


def test_all_four_long_links_share_what_goes_to_the_other_site() -> None:
    routes = ControlPlane(_dci().values()).routes()
    assert sorted(routes.prefixes) == ["10.50.0.22/31", "10.50.0.24/31", "10.50.0.38/31", "10.50.0.40/31"]
    assert routes.next_hops("ptx-east", WEST) == _long(0, 1, 2, 3)
    assert routes.next_hops("ptx-west", EAST) == _long(0, 1, 2, 3)
    assert routes.reason("ptx-east", WEST) == "multipath"
    assert routes.is_local("ptx-east", EAST)
    assert not routes.is_local("ptx-west", EAST)


def test_links_that_fail_leave_the_others() -> None:
    plane = ControlPlane(_dci().values())
    assert plane.routes(_long(1)).next_hops("ptx-east", WEST) == _long(0, 2, 3)
    one = plane.routes(_long(0, 1, 2))
    assert one.next_hops("ptx-west", EAST) == _long(3)
    assert one.reason("ptx-west", EAST) == "only"
    assert plane.routes(_long(0, 1, 2, 3)).next_hops("ptx-east", WEST) == ()
    assert plane.routes(["ptx-west"]).next_hops("ptx-east", WEST) == ()
    assert plane.routes(["dgx-west:gpu0_eth--ptx-west:et-0/0/8"]).next_hops("ptx-east", WEST) == (), "nobody tells it"


def test_a_dearer_link_is_not_taken_until_it_is_the_only_one() -> None:
    configs = _dci()
    for name, config in configs.items():
        assert config.isis is not None
        ports = tuple(replace(port, metric=20) if port.link in _long(2) else port for port in config.isis.ports)
        configs[name] = replace(config, isis=replace(config.isis, ports=ports))
    plane = ControlPlane(configs.values())
    assert plane.routes().next_hops("ptx-east", WEST) == _long(0, 1, 3)
    assert plane.routes().reason("ptx-east", WEST) == "metric"
    assert plane.routes(_long(0, 1, 3)).next_hops("ptx-east", WEST) == _long(2)


def test_groups_are_no_wider_than_configured() -> None:
    configs = _dci()
    east = configs["ptx-east"]
    assert east.isis is not None
    configs["ptx-east"] = replace(east, isis=replace(east.isis, maximum_ecmp=2))
    routes = ControlPlane(configs.values()).routes()
    assert routes.next_hops("ptx-east", WEST) == _long(0, 1)
    assert routes.next_hops("ptx-west", EAST) == _long(0, 1, 2, 3)


def test_a_link_that_one_end_leaves_out_carries_nothing_and_is_found() -> None:
    network = example("dci-50km")
    configs = _dci()
    west = configs["ptx-west"]
    assert west.isis is not None
    configs["ptx-west"] = replace(west, isis=replace(west.isis, ports=west.isis.ports[1:]))
    assert ControlPlane(configs.values()).routes().next_hops("ptx-east", WEST) == _long(1, 2, 3)
    found = [one for one in run_checks(Subject(network, configs)) if one.id == "adjacency-down"]
    assert [one.where for one in found] == ["ptx-east"]
    assert not [one for one in run_checks(Subject.of(network)) if one.severity == "error"]


def test_two_tiers_go_by_every_spine_and_around_a_dead_one(tmp_path: Path) -> None:
    """A leaf has two links to each of two spines; by hand: four ways at the leaf, two at a spine."""
    network = designed(tmp_path, TIERS)[0]
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    far = next(s.subnets[0].prefix for s in network.segments if s.leaf == "stripe2-leaf1")
    routes = plane.routes()
    ways = routes.next_hops("stripe1-leaf1", far)
    assert len(ways) == 4
    assert {network.cable(link).b.device for link in ways} == {"spine1", "spine2"}
    assert {network.cable(link).a.device for link in routes.next_hops("spine1", far)} == {"stripe2-leaf1"}
    assert len(routes.next_hops("spine1", far)) == 2
    down = plane.routes(["spine2"])
    assert {network.cable(link).b.device for link in down.next_hops("stripe1-leaf1", far)} == {"spine1"}
    # With the ways from spine 1 to leaf 2 down, IS-IS takes leaf 1 to spine 2 only; spine 1 goes down and up again.
    cut = plane.routes(routes.next_hops("spine1", far))
    assert {network.cable(link).b.device for link in cut.next_hops("stripe1-leaf1", far)} == {"spine2"}
    assert {network.cable(link).a.device for link in cut.next_hops("spine1", far)} == {"stripe1-leaf1"}


@pytest.mark.parametrize(
    ("router_id", "expected"), [("10.255.0.1", "0102.5500.0001"), ("192.168.13.240", "1921.6801.3240")]
)
def test_system_id_has_the_digits_of_the_router_id(router_id: str, expected: str) -> None:
    assert system_id(router_id) == expected
