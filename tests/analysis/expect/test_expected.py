"""What is expected of switches agrees between the ends of a link, and with what is designed and routed."""

from __future__ import annotations

import pytest

from railweave.analysis.checks.subject import Subject
from railweave.analysis.expect import Expected, expected
from railweave.live.check.living import NetworkStates
from railweave.live.check.tenants import FOREIGN, vrfs
from railweave.model.state.device_state import DeviceState
from railweave.model.state.protocols import EvpnRoutes
from tests.analysis.routing.shared_fabric import shared_network
from tests.conftest import SMALL, example


def of(subject: Subject, down: frozenset[str] = frozenset(), *, all_routes: bool = False) -> dict[str, Expected]:
    routes = subject.control_plane.routes(down) if down else subject.routes
    return {
        name: expected(subject.network, config, routes, all_routes=all_routes)
        for name, config in subject.configs.items()
        if name not in down
    }


@pytest.mark.parametrize("name", SMALL)
def test_both_ends_of_a_link_expect_each_other(name: str) -> None:
    subject = Subject.of(example(name))
    found = of(subject)
    seen = {(one.device, one.name): (one.peer, one.peer_port) for here in found.values() for one in here.cabled}
    servers = {server.name for server in subject.network.servers}
    for here, there in seen.items():
        assert there[0] in servers or seen[there] == here
    ends = {(cable.a.device, cable.a.port) for cable in subject.network.cables}
    ends |= {(cable.b.device, cable.b.port) for cable in subject.network.cables}
    assert seen.keys() == {end for end in ends if end[0] not in servers}
    carried = {(one.device, one.session.link): one for here in found.values() for one in here.sessions}
    for (device, link), one in carried.items():
        other = carried[one.session.peer, link]
        assert (one.received, one.sent) == (other.sent, other.received), (device, link)


def test_the_example_of_the_rdma_load_balancing_document() -> None:
    """Its leaf: a session to each of 4 spines, which color has 15 leaves' prefixes; ports of 400G with RS(544,514)."""
    leaf = of(Subject.of(example("h100-rlb")))["stripe1-leaf1"]
    assert [(one.session.peer, one.color, one.received, one.sent, one.used) for one in leaf.sessions] == [
        ("spine1", "green", 60, 4, 15),
        ("spine2", "blue", 60, 4, 15),
        ("spine3", "red", 60, 4, 15),
        ("spine4", "orange", 60, 4, 15),
    ]
    assert {(one.speed_gbps, one.fec, one.mtu) for one in leaf.ports if one.kind == "fabric"} == {(400, "rs544", 9216)}
    assert [(one.color, one.ports) for one in leaf.routes] == [
        ("green", ("et-0/0/0:0",)),
        ("blue", ("et-0/0/1:0",)),
        ("red", ("et-0/0/2:0",)),
        ("orange", ("et-0/0/3:0",)),
    ]
    assert all(one.lossless == {4: 3} for one in leaf.queues)


def test_what_is_down_is_expected_of_nobody() -> None:
    subject = Subject.of(example("h100-rlb"))
    cable = next(one for one in subject.network.cables if one.kind == "fabric")
    found = of(subject, frozenset({"spine2", cable.name}))
    leaf = found[cable.a.device]
    assert "spine2" not in found
    assert {one.peer for one in leaf.cabled if one.kind == "fabric"} == {"spine3", "spine4"}
    assert [one.session.peer for one in leaf.sessions] == ["spine3", "spine4"]
    seen = [one.name for one in leaf.ports] + [one.port for one in leaf.queues]
    seen += [port for one in leaf.routes for port in one.ports]
    assert cable.a.port not in seen


def test_all_routes_are_those_of_the_tables() -> None:
    subject = Subject.of(example("h100-rlb"))
    found = of(subject, all_routes=True)
    for device, one in found.items():
        links = {port.name: port.link for port in subject.configs[device].interfaces}
        wanted = {
            prefix: set(subject.routes.next_hops(device, prefix))
            for prefix in subject.routes.prefixes
            if subject.routes.next_hops(device, prefix)
        }
        assert {route.prefix: {links[port] for port in route.ports} for route in one.routes} == wanted


def test_tenants_hold_their_own_prefixes_and_no_others() -> None:
    subject = Subject.of(example("evpn-functional"))
    owner = {subnet.prefix: segment.tenant for segment in subject.network.segments for subnet in segment.subnets}
    found = of(subject)
    seen = 0
    for here in found.values():
        for one in here.tenants:
            assert {owner[prefix] for prefix in (*one.own_prefixes, *one.learned)} == {one.vrf}
            seen += len(one.learned)
    assert seen > 0


def test_a_tenants_layer_2_networks_on_other_leaves_are_learned() -> None:
    """The subnet of a layer-2 network is a tenant's prefix as any other, though several leaves have it."""
    subject = Subject.of(shared_network())
    subnets = {
        one.prefix: tenant.name for f in subject.network.fabrics for tenant in f.tenants for one in tenant.networks
    }
    found = of(subject)
    for name, here in found.items():
        for one in here.tenants:
            mine = {prefix for prefix, tenant in subnets.items() if tenant == one.vrf}
            assert mine <= {*one.own_prefixes, *one.learned}, (name, one.vrf)
            assert not ({*one.own_prefixes, *one.learned} & subnets.keys()) - mine, (name, one.vrf)
            config = subject.configs[name]
            vrf = next(each for each in config.vrfs if each.name == one.vrf)
            assert {*vrf.own_prefixes(), *one.learned} <= {*subject.routes.of_vrf(name, one.vrf)}
            assert all(subject.routes.held(name, one.vrf, prefix) for prefix in (*vrf.own_prefixes(), *one.learned))
    [red] = [one for one in found["stripe3-leaf1"].tenants if one.vrf == "red"]
    assert set(red.learned) == {"0.0.0.0/0", "10.10.3.0/24", "10.100.88.0/24", "10.100.104.0/24"}
    assert not subject.routes.held("stripe3-leaf1", "blue", "10.10.3.0/24")
    held = EvpnRoutes(0, 0, {"red": tuple(map(str, red.learned))})
    states = {"stripe3-leaf1": DeviceState("stripe3-leaf1", "junos", evpn=held)}
    assert [one for one in vrfs(NetworkStates(subject.network, found, states)) if one.rule is FOREIGN] == []
