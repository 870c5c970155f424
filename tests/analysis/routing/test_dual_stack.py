"""Paths of both address families, and that tenants are apart in each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.headers import Tunnel, walk
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError
from railweave.model.config.addresses import Family
from tests.analysis.routing.fabrics import configurations
from tests.dual_stack import FABRICS, dual

FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")


@pytest.mark.parametrize("name", FABRICS)
def test_each_family_has_its_own_gids_and_the_same_links(name: str) -> None:
    network = dual(name)
    routes = ControlPlane(configurations(network)).routes()
    by_family = {
        family: queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu0_eth", 4, family) for family in FAMILIES
    }
    for family, paths in by_family.items():
        assert {":" in gid for one in paths for gid in (one.src_gid, one.dst_gid)} == {family == "ipv6"}
        assert all(one.hops for one in paths)
    assert [one.hops for one in by_family["ipv4"]] == [one.hops for one in by_family["ipv6"]]
    usual = queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu0_eth", 4)
    first = "ipv6" if ":" in network.fabrics[0].server_pool else "ipv4"
    assert [one.src_gid for one in usual] == [one.src_gid for one in by_family[first]]


@pytest.mark.parametrize("family", FAMILIES)
def test_tenants_are_apart_in_both_families(family: Family) -> None:
    network = dual("tenants")
    routes = ControlPlane(configurations(network)).routes()
    assert not queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu2_eth", 1, family)[0].hops
    assert queue_pair_paths(network, routes, "h1:gpu4_eth", "h3:gpu5_eth", 1, family)[0].hops


def test_ipv4_goes_by_the_same_ipv6_tunnel() -> None:
    network = dual("tenants")
    routes = ControlPlane(configurations(network)).routes()
    tunnels: list[list[Tunnel | None]] = []
    for family in FAMILIES:
        path = queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu0_eth", 1, family)[0]
        found = walk(network, routes, path, "h1:gpu0_eth", "h3:gpu0_eth")
        tunnels.append([one.tunnel for one in found.data])
    assert tunnels[0] == tunnels[1]
    assert any(one is not None and ":" in one.src for one in tunnels[0])


def test_a_family_that_a_nic_lacks_is_refused() -> None:
    network = dual("tenants")
    alone = tuple(
        replace(server, nics=tuple(replace(nic, addresses=nic.addresses_of("ipv6")) for nic in server.nics))
        for server in network.servers
    )
    network = replace(network, servers=alone)
    routes = ControlPlane(configurations(network)).routes()
    with pytest.raises(InputError, match="no IPv4 address, only IPv6"):
        queue_pair_paths(network, routes, "h1:gpu0_eth", "h3:gpu0_eth", 1, "ipv4")


def test_a_route_map_that_forgets_a_family_loses_its_routes() -> None:
    """What routers do with it was seen on FRR: a condition on IPv6 prefixes says nothing good of IPv4 ones."""
    network = dual("plain", "eos")
    configs = {one.name: one for one in configurations(network)}
    broken = configs["stripe1-leaf1"]
    assert broken.bgp is not None
    policies = tuple(
        replace(one, terms=tuple(term for term in one.terms if term.match.family != "ipv4"))
        for one in broken.bgp.policies
    )
    configs["stripe1-leaf1"] = replace(broken, bgp=replace(broken.bgp, policies=policies))
    routes = ControlPlane(configs.values()).routes()
    lost = {family: queue_pair_paths(network, routes, "h3:gpu0_eth", "h1:gpu0_eth", 1, family) for family in FAMILIES}
    assert not lost["ipv4"][0].hops
    assert lost["ipv6"][0].hops
