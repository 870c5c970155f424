"""Layer-2 networks and external routers: who reaches whom by which leaf, with links down, and with mistakes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import QueuePairPath, queue_pair_paths
from railweave.analysis.routing.table import Routes
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from tests.analysis.routing.fabrics import configurations
from tests.analysis.routing.shared_fabric import SERVERS, shared_network

LEAF1, LEAF2, LEAF3 = (f"stripe{number}-leaf1" for number in (1, 2, 3))
WAN1, WAN2 = (f"{leaf}:et-0/0/31--wan" for leaf in (LEAF1, LEAF2))


@cache
def network() -> Network:
    return shared_network()


@cache
def plane() -> ControlPlane:
    return ControlPlane(configurations(network()))


def path(src: str, dst: str, routes: Routes | None = None) -> QueuePairPath:
    return queue_pair_paths(network(), routes or plane().routes(), src, dst, 1)[0]


def devices(found: QueuePairPath) -> list[set[str]]:
    """The switches that a path leads into, hop by hop."""
    return [{end.partition(":")[0] for one in hop for end in one.link.split("--")} for hop in found.hops]


def errors(subject: Subject) -> list[tuple[str, str]]:
    return [(one.id, one.where) for one in run_checks(subject, slow=False) if one.severity == "error"]


def test_servers_of_a_network_share_subnet_and_gateway_wherever_their_leaf_is() -> None:
    nics = {name: network().server(name).nic("gpu0_eth") for name in ("n1", "n3", "n4")}
    assert [one.addresses[0].address for one in nics.values() if one] == ["10.10.3.2", "10.10.3.3", "10.10.3.4"]
    gateways = [g for c in configurations(network()) for g in c.gateways if g.vlan == 4094]
    assert [(g.addresses, g.mac) for g in gateways] == [(("10.10.3.1/24",), "00:1c:73:00:00:01")] * 2


def test_a_frame_goes_to_the_leaf_that_has_the_address() -> None:
    assert devices(path("n1:gpu0_eth", "n4:gpu0_eth")) == [
        {"n1", LEAF1},
        {LEAF1, "spine1", "spine2"},
        {LEAF2, "spine1", "spine2"},
        {"n4", LEAF2},
    ]
    assert devices(path("n3:gpu0_eth", "n4:gpu0_eth")) == [{"n3", LEAF2}, {"n4", LEAF2}]


def test_a_leaf_without_the_network_sends_to_any_leaf_that_has_it() -> None:
    """Type-5 routes name the subnet, not the server: half of the packets take a detour over the other leaf."""
    found = path("n5:gpu1_eth", "n1:gpu0_eth")
    assert plane().routes().shared.leaves(LEAF3, "red", "10.10.3.0/24") == (LEAF1, LEAF2)
    by_spine = {one.link: one.share for one in found.hops[1]}
    assert sum(by_spine.values()) == pytest.approx(1.0)
    assert devices(found)[2] == {"spine1", "spine2", LEAF1, LEAF2}
    assert len(found.hops) == 6  # to leaf 2, and from there to leaf 1
    assert sum(one.share for one in found.hops[3]) == pytest.approx(0.5)


def test_a_leaf_with_the_network_needs_no_detour() -> None:
    assert len(path("n3:gpu7_eth", "n1:gpu0_eth").hops) == 4


@pytest.mark.parametrize("target", ["n1:gpu2_eth", "n4:gpu2_eth"])
def test_networks_of_another_tenant_are_out_of_reach(target: str) -> None:
    assert path("n1:gpu0_eth", target).hops == ()
    assert path("n5:gpu7_eth", target).hops == ()


def test_the_default_route_leaves_by_both_links_and_by_the_other_when_one_is_down() -> None:
    def ways(down: list[str]) -> list[tuple[str, ...]]:
        shared = plane().routes(down).shared
        return [shared.leaves(leaf, "red", "0.0.0.0/0") for leaf in (LEAF1, LEAF2, LEAF3)]

    assert ways([]) == [(LEAF1,), (LEAF2,), (LEAF1, LEAF2)]
    assert ways([WAN1]) == [(LEAF2,)] * 3
    assert ways([WAN1, WAN2]) == [()] * 3
    assert ways(["wan"]) == [()] * 3


def test_the_default_route_is_of_one_tenant() -> None:
    shared = plane().routes().shared
    assert all("0.0.0.0/0" not in shared.exits.get((leaf, "blue"), {}) for leaf in (LEAF1, LEAF2, LEAF3))


def test_links_to_the_leaf_that_has_the_default_route() -> None:
    routes = plane().routes()
    ends = [routes.shared.endpoints[leaf] for leaf in routes.shared.leaves(LEAF3, "red", "0.0.0.0/0")]
    links = [link for end in ends for link in routes.next_hops(LEAF3, end)]
    assert {link.partition("--")[2].partition(":")[0] for link in links} == {"spine1", "spine2"}
    assert routes.shared.leaves(LEAF1, "red", "0.0.0.0/0") == (LEAF1,)  # by its own port


def test_without_a_spine_networks_take_the_other() -> None:
    found = path("n1:gpu0_eth", "n4:gpu0_eth", plane().routes(["spine1"]))
    assert [one.link for one in found.hops[1]] == [f"{LEAF1}:et-0/0/1--spine2:et-0/0/0"]


def test_a_design_with_networks_has_no_errors() -> None:
    assert errors(Subject.of(network())) == []


def mistaken(leaf: str, change: object) -> Subject:
    def told(config: DeviceConfig) -> DeviceConfig:
        return change(config) if config.name == leaf else config  # type: ignore[operator]

    return Subject(network(), {one.name: told(one) for one in configurations(network())})


def test_a_vlan_with_another_vni_is_found() -> None:
    def other(config: DeviceConfig) -> DeviceConfig:
        assert config.mac_vrf is not None
        first, *rest = config.mac_vrf.vlans
        return replace(config, mac_vrf=replace(config.mac_vrf, vlans=(replace(first, vni=999), *rest)))

    assert {one for one, _ in errors(mistaken(LEAF2, other))} == {"network-reach"}


def test_an_import_target_too_many_is_found() -> None:
    target = network().fabrics[0].tenants[1].route_target

    def other(config: DeviceConfig) -> DeviceConfig:
        first, *rest = config.vrfs
        return replace(config, vrfs=(replace(first, import_targets=(*first.import_targets, target)), *rest))

    assert ("tenant-isolation", LEAF3) in errors(mistaken(LEAF3, other))


def test_a_session_left_out_takes_the_way_outside() -> None:
    def other(config: DeviceConfig) -> DeviceConfig:
        return replace(config, vrfs=tuple(replace(one, external=()) for one in config.vrfs))

    first = mistaken(LEAF1, other)
    both = Subject(network(), {n: other(c) if n == LEAF2 else c for n, c in first.configs.items()})
    assert errors(first) == []
    assert {one for one, _ in errors(both)} == {"network-reach"}


NICS = [f"{server}:gpu{gpu}_eth" for server in SERVERS for gpu in (0, 1, 5)]


@settings(max_examples=15)
@given(
    st.lists(st.sampled_from(["", "red", "blue", "red/a", "red/b", "blue/c"]), min_size=len(NICS), max_size=len(NICS)),
    st.sampled_from(["access", "routed"]),
    st.sampled_from(["numbered", "auto-discovered"]),
)
def test_a_nic_reaches_exactly_its_tenants_nics(places: list[str], link: str, peering: str) -> None:
    tenants: list[str] = []
    for tenant, networks in (("red", "ab"), ("blue", "c")):
        routed = [nic for nic, place in zip(NICS, places, strict=True) if place == tenant]
        shared = {
            n: [nic for nic, place in zip(NICS, places, strict=True) if place == f"{tenant}/{n}"] for n in networks
        }
        lines = [f"          {n}: {{members: {own}, prefix: 10.10.{ord(n)}.0/24}}" for n, own in shared.items() if own]
        if routed or lines:
            tenants.append(f"      {tenant}:")
            tenants += [f"        members: {routed}"] if routed else []
            tenants += ["        networks:", *lines] if lines else []
    if not tenants:
        return
    made = shared_network("\n".join(tenants), link=link, peering=peering)
    routes = ControlPlane(configurations(made)).routes()
    owners = dict(zip(NICS, (place.partition("/")[0] for place in places), strict=True))
    for source, mine in owners.items():
        for target, theirs in owners.items():
            if source != target and mine and theirs:
                [found] = queue_pair_paths(made, routes, source, target, 1)
                assert bool(found.hops) == (mine == theirs), (source, target)
                if found.hops:
                    assert sum(one.share for one in found.hops[-1]) == pytest.approx(1.0)
    assert errors(Subject.of(made)) == []
