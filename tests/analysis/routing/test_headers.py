"""Packets on the wire, against the EVPN test report's walk ("How DCQCN was tested", tables 3 to 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

import railweave
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.headers import Walk, Wire, connection, walk
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from tests.analysis.routing.shared_fabric import shared_network
from tests.conftest import example


def walked(name: str, src: str, dst: str, qps: int = 1, down: Sequence[str] = ()) -> list[Walk]:
    network = example(name)
    tables = railweave.routes(network, down)
    return [walk(network, tables, path, src, dst) for path in railweave.paths(network, src, dst, qps, down)]


def gid(network: Network, name: str) -> str:
    server, _, nic = name.partition(":")
    found = network.server(server).nic(nic)
    assert found is not None
    return found.addresses[0].address


@pytest.fixture(scope="module")
def isolation() -> Walk:
    """Sender S and receiver R of one tenant, each on a leaf of its own, over a spine."""
    return walked("evpn-server-isolation", "H100-01:gpu0_eth", "H100-03:gpu0_eth")[0]


S, R, LEAF1, SPINE, LEAF2 = "H100-01:gpu0_eth", "H100-03:gpu0_eth", "stripe1-leaf1", "spine1", "stripe2-leaf1"


def test_the_report_s_steps(isolation: Walk) -> None:
    """Table 7: S, Leaf-1 encapsulates, Spine-1 forwards, Leaf-2 decapsulates; and the CNP back the same way."""
    assert [one.sender for one in isolation.data] == ["H100-01", LEAF1, SPINE, LEAF2]
    assert [one.sender for one in isolation.cnp] == ["H100-03", LEAF2, SPINE, LEAF1]
    for way in (isolation.data, isolation.cnp):
        assert [one.tunnel is not None for one in way] == [False, True, True, False]


def test_table_3_header_at_the_sender(isolation: Walk) -> None:
    first, network = isolation.data[0], example("evpn-server-isolation")
    assert (first.eth_from, first.eth_to) == (S, LEAF1)
    assert (first.src, first.dst) == (gid(network, S), gid(network, R))
    assert first.to_json()["ip"]["udp"] == 4791


def test_table_4_header_at_leaf_1(isolation: Walk) -> None:
    told = isolation.data[1].to_json()
    network = example("evpn-server-isolation")
    leaves = [device_config(network, name).overlay for name in (LEAF1, LEAF2)]
    assert told["ethernet"] == {"from": LEAF1, "to": SPINE}
    assert [told["outer"]["src"], told["outer"]["dst"]] == [str(one.loopback) for one in leaves if one]
    assert told["outer"]["udp"] == 4789
    assert told["vni"] == network.fabrics[0].tenants[0].vni
    assert (told["ip"]["src"], told["ip"]["dst"], told["ip"]["udp"]) == (gid(network, S), gid(network, R), 4791)


def test_step_3_the_spine_changes_nothing_but_the_ttl(isolation: Walk) -> None:
    before, after = isolation.data[1], isolation.data[2]
    assert before.tunnel is not None
    assert after.tunnel is not None
    assert after.tunnel.ttl == before.tunnel.ttl - 1
    assert (after.tunnel.src, after.tunnel.dst, after.tunnel.vni) == (
        before.tunnel.src,
        before.tunnel.dst,
        before.tunnel.vni,
    )
    assert (after.src, after.dst, after.ttl, after.dscp) == (before.src, before.dst, before.ttl, before.dscp)


def test_table_5_header_at_leaf_2(isolation: Walk) -> None:
    last, first = isolation.data[3], isolation.data[0]
    assert (last.eth_from, last.eth_to) == (LEAF2, R)
    assert last.tunnel is None
    assert (last.src, last.dst, last.dscp) == (first.src, first.dst, first.dscp)
    assert [one.ttl for one in isolation.data] == [255, 254, 254, 253], "both leaves route it"


def test_table_6_the_notification(isolation: Walk) -> None:
    data, cnp = isolation.data[1].to_json(), isolation.cnp[1].to_json()
    assert cnp["ethernet"] == {"from": LEAF2, "to": SPINE}
    assert (cnp["outer"]["src"], cnp["outer"]["dst"]) == (data["outer"]["dst"], data["outer"]["src"])
    assert cnp["outer"]["udp"] == 4789
    assert cnp["vni"] == data["vni"], "Same VNI as RDMA traffic"
    assert (cnp["ip"]["src"], cnp["ip"]["dst"]) == (data["ip"]["dst"], data["ip"]["src"])


def test_table_8_where_ecn_is_marked_and_copied(isolation: Walk) -> None:
    """Leaf1 marks the inner bits, the spine the outer, Leaf2 copies outer to inner, and marks the inner."""
    assert [one.marks for one in isolation.data] == ["", "inner", "outer", "inner"]
    assert [one.copies for one in isolation.data] == ["", "inner to outer", "", "outer to inner"]
    assert {one.marks for one in isolation.cnp} == {""}, "nobody marks a notification"


def test_queues_and_code_points(isolation: Walk) -> None:
    """DSCP 26 in the lossless queue, DSCP 48 in the notifications' (Thor2 guide, section 2.2.1.3)."""
    assert {one.dscp for one in isolation.data} == {26}
    assert {one.dscp for one in isolation.cnp} == {48}
    assert {(one.traffic_class, one.queue) for one in isolation.data[1:]} == {("no-loss", 4)}
    assert {(one.traffic_class, one.queue) for one in isolation.cnp[1:]} == {("cnp", 3)}
    assert (isolation.data[0].traffic_class, isolation.data[0].queue) == ("", 3)


def joined(wires: Sequence[Wire]) -> bool:
    return all(one.receiver == following.sender for one, following in pairwise(wires))


@pytest.mark.parametrize(
    ("name", "src", "dst"),
    [
        ("h100-rlb", "H100-01:gpu0_eth", "H100-03:gpu0_eth"),
        ("h100-rlb", "H100-01:gpu0_eth", "H100-02:gpu0_eth"),
        ("evpn-server-isolation", "MI300-01:eth1", "MI300-02:eth1"),
        ("evpn-gpu-isolation", "H100-01:gpu0_eth", "H100-03:gpu0_eth"),
        ("aidc-three-fabrics", "H100-01:gpu0_eth", "H100-03:gpu0_eth"),
    ],
)
def test_both_ways_are_whole(name: str, src: str, dst: str) -> None:
    for one in walked(name, src, dst, 4):
        for way, ends in ((one.data, (src, dst)), (one.cnp, (dst, src))):
            assert way
            assert joined(way)
            assert [way[0].sender, way[-1].receiver] == [end.partition(":")[0] for end in ends]
            assert (way[0].eth_from, way[-1].eth_to) == ends
        assert {one.data[0].link, one.data[-1].link} == {one.cnp[0].link, one.cnp[-1].link}


def test_without_tenants_each_switch_routes() -> None:
    (one,) = walked("h100-rlb", "H100-01:gpu0_eth", "H100-03:gpu0_eth")
    assert [wire.ttl for wire in one.data] == [255, 254, 253, 252]
    assert [wire.tunnel for wire in one.data] == [None] * 4
    assert [wire.marks for wire in one.data] == ["", "ip", "ip", "ip"]
    assert [wire.link for wire in one.cnp] == [wire.link for wire in reversed(one.data)], "the color is the way's"


def test_on_one_leaf_the_nics_address_each_other() -> None:
    (one,) = walked("h100-rlb", "H100-01:gpu0_eth", "H100-02:gpu0_eth")
    assert {(wire.eth_from, wire.eth_to, wire.ttl) for wire in one.data} == {
        ("H100-01:gpu0_eth", "H100-02:gpu0_eth", 255)
    }


@pytest.fixture(scope="module")
def shared() -> Network:
    """Tenant red: network `wide` on leaves 1 and 2, network `narrow` on leaf 3."""
    return shared_network()


def between(network: Network, src: str, dst: str) -> tuple[Wire, ...]:
    tables = railweave.routes(network)
    (path,) = railweave.paths(network, src, dst)
    return walk(network, tables, path, src, dst).data


def vnis(network: Network) -> tuple[int, dict[str, int]]:
    (red,) = (one for one in network.fabrics[0].tenants if one.name == "red")
    return red.vni, {one.name: one.vni for one in red.networks}


def test_a_layer_2_network_is_bridged(shared: Network) -> None:
    """Inner Ethernet from S to R, as in the report's table 4, and no TTL of theirs is touched."""
    wires = between(shared, "n1:gpu0_eth", "n3:gpu0_eth")
    inside = [one.tunnel for one in wires if one.tunnel is not None]
    assert {one.vni for one in inside} == {vnis(shared)[1]["wide"]}
    assert {(one.inner_from, one.inner_to) for one in inside} == {("n1:gpu0_eth", "n3:gpu0_eth")}
    assert {one.ttl for one in wires} == {255}
    assert (wires[0].eth_to, wires[-1].eth_from) == ("n3:gpu0_eth", "n1:gpu0_eth")


def test_from_network_to_network_packets_are_routed(shared: Network) -> None:
    """Leaf 1 lacks the network: a type-5 route leads to the leaf that has it, in the tenant's own VNI."""
    wires = between(shared, "n1:gpu0_eth", "n5:gpu1_eth")
    assert {one.tunnel.vni for one in wires if one.tunnel} == {vnis(shared)[0]}
    assert [one.ttl for one in wires] == [255, 254, 254, 253]


def test_a_leaf_that_has_the_network_sends_on_to_the_one_that_has_the_nic(shared: Network) -> None:
    wires = between(shared, "n5:gpu1_eth", "n3:gpu0_eth")
    assert joined(wires)
    own, networks = vnis(shared)
    passed = [one.tunnel.vni for one in wires if one.tunnel]
    assert passed in ([own, own], [own, own, networks["wide"], networks["wide"]])
    assert wires[-1].ttl == 253


def of_isolation() -> tuple[Network, dict[str, DeviceConfig]]:
    network = example("evpn-server-isolation")
    return network, {one.name: device_config(network, one.name) for one in network.switches}


def test_a_vrf_that_a_leaf_names_otherwise_is_found_by_its_prefix(isolation: Walk) -> None:
    """Names of VRFs are each device's own: a leaf takes a route by its targets, and the VNI is that of the far leaf."""
    network, configs = of_isolation()
    (vrf, *others) = configs[LEAF2].vrfs
    assert vrf.name == network.fabrics[0].tenants[0].name
    renamed = replace(vrf, name="elsewhere")
    configs[LEAF2] = replace(configs[LEAF2], vrfs=(*others, renamed))
    tables = ControlPlane(configs.values()).routes()
    (path,) = queue_pair_paths(network, tables, S, R, 1)
    assert walk(network, tables, path, S, R, configs).data == isolation.data


LACKING: dict[str, tuple[str, dict[str, object]]] = {
    "no VRF at the far leaf": (LEAF2, {"vrfs": ()}),
    "no gateway at the far leaf": (LEAF2, {"gateways": ()}),
    "no overlay at the far leaf": (LEAF2, {"overlay": None}),
    "no endpoint at the near leaf": (LEAF1, {}),
}


@pytest.mark.parametrize("what", LACKING)
def test_without_what_a_tunnel_needs_there_is_nothing(what: str) -> None:
    """Tables may be those of the design, and the configurations those that were read."""
    network, configs = of_isolation()
    leaf, change = LACKING[what]
    overlay = configs[leaf].overlay
    assert overlay is not None
    lacking = replace(configs[leaf], **(change or {"overlay": replace(overlay, endpoints=())}))
    tables = ControlPlane(configs.values()).routes()
    (path,) = queue_pair_paths(network, tables, S, R, 1)
    assert path.hops
    none = walk(network, tables, path, S, R, {**configs, leaf: lacking})
    assert (none.data, none.cnp) == ((), ())


def test_a_way_that_comes_by_no_leaf_with_the_network_is_empty(shared: Network) -> None:
    """The path is the design's; the tables are those of a far leaf that lost its VRF, so the near one has no exit."""
    configs = {one.name: device_config(shared, one.name) for one in shared.switches}
    src, dst = "n1:gpu0_eth", "n5:gpu1_eth"
    (path,) = queue_pair_paths(shared, ControlPlane(configs.values()).routes(), src, dst, 1)
    assert path.hops
    configs["stripe3-leaf1"] = replace(configs["stripe3-leaf1"], vrfs=())
    assert walk(shared, ControlPlane(configs.values()).routes(), path, src, dst, configs).data == ()


def test_without_a_path_there_is_nothing() -> None:
    down = [f"spine{number}" for number in range(1, 5)]
    (one,) = walked("h100-rlb", "H100-01:gpu0_eth", "H100-03:gpu0_eth", down=down)
    assert (one.data, one.cnp) == ((), ())


@pytest.mark.parametrize(
    ("name", "ends", "down", "reason"),
    [
        (
            "evpn-server-isolation",
            ("H100-01:gpu0_eth", "MI300-01:eth1"),
            (),
            "H100-01 belongs to tenant-1 and MI300-01 to tenant-2",
        ),
        (
            "h100-rlb",
            ("H100-01:gpu0_eth", "H100-03:gpu0_eth"),
            ("stripe2-leaf1",),
            "stripe2-leaf1 of these NICs is down",
        ),
    ],
)
def test_the_reason_is_named_where_there_is_no_path(
    name: str, ends: tuple[str, str], down: tuple[str, ...], reason: str
) -> None:
    network = example(name)
    result = connection(network, railweave.routes(network, down), ends, 1)
    assert not result.complete
    assert reason in result.to_text()
