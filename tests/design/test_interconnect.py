"""A fabric that spans sites: two rail-optimised sites over routers of an interconnect, three sites, leaves alone."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import QueuePairPath, queue_pair_paths
from railweave.analysis.routing.table import Routes
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.systems.junos import render as junos
from tests.conftest import designed

TWO_SITES = """
name: two-sites
sites: {east: {}, west: {}}
fabrics:
  backend:
    topology:
      stripes: [east-1, east-2, west-1]
      leaves_per_stripe: 2
      spines: 2
      links_per_spine: 4
      oversubscription: 2
      interconnect: {sites: {east: [east-1, east-2], west: [west-1]}, routers: 2, links: 2}
    leaf: {device: qfx5240-64od, server_ports: {first: 16}}
    spine: {device: qfx5240-64od}
    dci: {device: ptx10008-lc1301, release: 24.4R1}
    load_balancing: {mode: MODE}
servers:
  - {names: "e[1-2]", model: h100-8gpu-cx7, stripe: east-1}
  - {names: "e[3-4]", model: h100-8gpu-cx7, stripe: east-2}
  - {names: "w[1-2]", model: h100-8gpu-cx7, stripe: west-1}
management: {root_password: "secret:root", users: {netops: {password: "secret:netops"}}}
"""


@pytest.fixture(scope="module", params=["rlb", "dlb-flowlet"])
def two_sites(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Network:
    return designed(tmp_path_factory.mktemp("sites"), TWO_SITES.replace("MODE", request.param))[0]


def _routes(network: Network, down: tuple[str, ...] = ()) -> Routes:
    return ControlPlane(device_config(network, switch.name) for switch in network.switches).routes(down)


def _switches(network: Network, path: QueuePairPath) -> set[str]:
    known = {switch.name for switch in network.switches}
    cables = [network.cable(one.link) for hop in path.hops for one in hop]
    return {end.device for cable in cables for end in (cable.a, cable.b)} & known


def _pairs(network: Network) -> list[tuple[str, str]]:
    names = [server.name for server in network.servers]
    return [(a, b) for a, b in product(names, names) if a != b]


def test_servers_and_switches_stand_where_their_stripes_do(two_sites: Network) -> None:
    assert {server.name: server.site for server in two_sites.servers} == {
        **dict.fromkeys(("e1", "e2", "e3", "e4"), "east"),
        **dict.fromkeys(("w1", "w2"), "west"),
    }
    by_site = {
        (site, role): [s.name for s in two_sites.switches if (s.site, s.role) == (site, role)]
        for site in ("east", "west")
        for role in ("leaf", "spine", "dci")
    }
    assert [len(found) for found in by_site.values()] == [4, 2, 2, 2, 2, 2]
    assert by_site["west", "dci"] == ["west-dci1", "west-dci2"]


def test_every_spine_meets_every_router_of_its_site_and_routers_those_of_the_other(two_sites: Network) -> None:
    roles = {switch.name: (switch.role, switch.site) for switch in two_sites.switches}
    joined = [
        (roles[c.a.device], roles[c.b.device], c.speed_gbps, c.length_m)
        for c in two_sites.cables
        if c.kind == "fabric" and "dci" in {roles[c.a.device][0], roles[c.b.device][0]}
    ]
    up = [one for one in joined if one[0][0] == "spine"]
    across = [one for one in joined if one[0][0] == "dci"]
    assert len(up) == 2 * 2 * 2
    assert all(a[1] == b[1] and speed == 400 for a, b, speed, _ in up)
    assert len(across) == 2 * 2 * 2
    assert all(a[1] != b[1] and speed == 800 and length == 50_000 for a, b, speed, length in across)
    assert sum(two_sites.between_sites(cable) for cable in two_sites.cables) == len(across)


def test_every_server_pair_across_sites_is_reached_over_routers_of_both(two_sites: Network) -> None:
    routes = _routes(two_sites)
    sites = {server.name: server.site for server in two_sites.servers}
    roles = {switch.name: (switch.role, switch.site) for switch in two_sites.switches}
    for a, b in _pairs(two_sites):
        for rail, far in ((0, 0), (7, 2)):
            path = queue_pair_paths(two_sites, routes, f"{a}:gpu{rail}_eth", f"{b}:gpu{far}_eth", 1)[0]
            assert path.hops, f"{a} does not reach {b}"
            met = {roles[name] for name in _switches(two_sites, path)}
            if sites[a] == sites[b]:
                assert {site for _, site in met} == {sites[a]}, "a path inside a site stays inside"
                assert "dci" not in {role for role, _ in met}
            else:
                assert {("dci", "east"), ("dci", "west")} <= met


def test_a_path_inside_a_site_stays_inside_whatever_fails_there(two_sites: Network) -> None:
    """With a spine down there is the other; with both, stripes of a site are cut off rather than joined by the other site."""
    for down in (("east-spine1",), ("east-spine2", "east-dci1"), ("east-spine1", "east-spine2")):
        routes = _routes(two_sites, down)
        path = queue_pair_paths(two_sites, routes, "e1:gpu0_eth", "e3:gpu0_eth", 1)[0]
        assert bool(path.hops) == (len({"east-spine1", "east-spine2"} & set(down)) < 2)
        assert not any(name.startswith("west") or "dci" in name for name in _switches(two_sites, path))


def test_one_router_of_a_site_is_enough(two_sites: Network) -> None:
    routes = _routes(two_sites, ("east-dci1", "west-dci2"))
    for src, dst in (("e1", "w2"), ("w1", "e4")):
        path = queue_pair_paths(two_sites, routes, f"{src}:gpu0_eth", f"{dst}:gpu5_eth", 1)[0]
        assert path.hops
        assert {name for name in _switches(two_sites, path) if "dci" in name} == {"east-dci2", "west-dci1"}


def test_every_check_is_content(two_sites: Network) -> None:
    assert [one for one in run_checks(Subject.of(two_sites)) if one.severity != "info"] == []


def test_routers_have_nothing_that_only_switches_have(two_sites: Network) -> None:
    text = junos.files(device_config(two_sites, "east-dci1"))["junos.set"]
    assert "shared-buffer" not in text
    assert "ecmp-dlb" not in text
    assert "set interfaces et-0/0/0 speed 400g" in text


def test_a_stripe_more_moves_nothing(tmp_path: Path) -> None:
    """A stripe is added in the middle of a site, with the lock of before: cables that were there keep their ports."""
    text = TWO_SITES.replace("MODE", "ecmp")
    before, lock = designed(tmp_path, text)
    more = text.replace("east-1, east-2", "east-1, east-3, east-2")
    assert more.count("east-3") == 2
    after, _ = designed(tmp_path, more, lock)
    assert {cable.name for cable in before.cables} < {cable.name for cable in after.cables}
    assert [one.asn for one in after.switches if "dci" in one.name] == [
        one.asn for one in before.switches if "dci" in one.name
    ]


THREE = """
name: three
sites: {a: {}, b: {}, c: {}}
fabrics:
  backend:
    topology:
      {stripes: [a, b, c], leaves_per_stripe: 1, interconnect: {sites: {a: [a], b: [b], c: [c]}, links: 2}}
    leaf: {device: ptx10008-lc1301, release: 24.4R1}
    load_balancing: {mode: ecmp}
    UNDERLAY
servers:
  - {names: sa, model: dgx-h100-2gpu, stripe: a}
  - {names: sb, model: dgx-h100-2gpu, stripe: b}
  - {names: sc, model: dgx-h100-2gpu, stripe: c}
"""
ISIS = "underlay: {protocol: isis, peering: numbered}"


@pytest.mark.parametrize("underlay", ["", ISIS, "underlay: {peering: numbered}"])
def test_three_sites_of_one_leaf_reach_each_other_directly(tmp_path: Path, underlay: str) -> None:
    network = designed(tmp_path, THREE.replace("UNDERLAY", underlay))[0]
    between = [cable for cable in network.cables if cable.kind == "fabric"]
    assert len(between) == 3 * 2
    assert len({(end.device, end.port) for cable in between for end in (cable.a, cable.b)}) == 12
    routes = _routes(network)
    for src, dst in _pairs(network):
        path = queue_pair_paths(network, routes, f"{src}:gpu0_eth", f"{dst}:gpu1_eth", 1)[0]
        assert [len(hop) for hop in path.hops] == [1, 2, 1]


@pytest.mark.parametrize(("underlay", "reached"), [("", False), (ISIS, True)])
def test_a_site_between_two_others_carries_their_traffic_with_isis_only(
    tmp_path: Path, underlay: str, reached: bool
) -> None:
    """A leaf's BGP policy tells its own prefixes alone; IS-IS has no policy, and goes around by the third site."""
    network = designed(tmp_path, THREE.replace("UNDERLAY", underlay))[0]
    cut = tuple(c.name for c in network.cables if {c.a.device, c.b.device} == {"a-leaf1", "b-leaf1"})
    path = queue_pair_paths(network, _routes(network, cut), "sa:gpu0_eth", "sb:gpu0_eth", 1)[0]
    assert bool(path.hops) == reached
    assert ("c-leaf1" in _switches(network, path)) == reached
