"""Nodes, cables, delivery on every example, and what fails while the engine runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from railweave._sim import DLB, DLB_PER_PACKET, ECMP, HOST, LINK_DOWN, NODE_DOWN, NODE_UP, ROUTE, SPRAY
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError
from railweave.prediction.simulation.model.fabric import packet_fabric
from railweave.prediction.simulation.model.outages import Outage, timeline
from railweave.prediction.simulation.model.wiring import FEC_PS, OPTICS_PS, SWITCH_PS, servers
from tests.conftest import designed
from tests.prediction.simulation.beds import ALL, bed, crossed, engine, plane_of, travelled

EXAMPLES = ["h100-rlb", "h100-rlb-8up", "mi300x-leaf-24", "mi300x-leaf-31"]
MS = 10**9


def test_wiring_of_the_rlb_network() -> None:
    network, _, fabric = bed("h100-rlb")
    wiring = fabric.wiring
    assert (len(wiring.nics), len(wiring.switches)) == (32, 20)
    assert (wiring.kinds == HOST).sum() == 32
    assert wiring.links == tuple(cable.name for cable in network.cables)
    assert wiring.cables[:, 2].tolist() == [cable.speed_gbps * 1000 for cable in network.cables]
    # 10 m to the servers, 50 m between switches; a server cable ends at one switch, a fabric cable at two
    server, fabric_ = 50_540 + FEC_PS + OPTICS_PS + SWITCH_PS // 2, 252_700 + FEC_PS + OPTICS_PS + SWITCH_PS
    assert wiring.cables[:, 3].tolist() == [server if cable.kind == "server" else fabric_ for cable in network.cables]


@pytest.mark.parametrize("name", EXAMPLES)
def test_ports_and_names_lead_to_each_other(name: str) -> None:
    network, _, fabric = bed(name)
    wiring = fabric.wiring
    assert len(wiring.port_cable) == 2 * len(network.cables)
    for cable in network.cables:
        near = cable.a.device if cable.kind == "fabric" else f"{cable.a.device}:{cable.a.port}"
        ports = [wiring.port(cable.name, near), wiring.port(cable.name, cable.b.device)]
        assert [wiring.port_link(port) for port in ports] == [cable.name] * 2
        nodes = (np.searchsorted(wiring.first_port, ports, side="right") - 1).tolist()
        assert nodes == [wiring.node[near], wiring.node[cable.b.device]]
    elsewhere = wiring.switches[-1] if len(wiring.switches) > 1 else wiring.nics[-1]
    assert wiring.port(network.cables[0].name, elsewhere) is None
    assert wiring.port("a cable of no design", elsewhere) is None


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("lb", [None, "ecmp", "dlb:inactivity=16us", "dlb-per-packet", "spray"])
def test_all_pairs_arrive_and_nothing_is_lost(name: str, lb: str | None) -> None:
    _, _, fabric = bed(name, lb)
    count = len(fabric.wiring.nics)
    src, dst = (one.astype(np.uint32) for one in np.nonzero(~np.eye(count, dtype=bool)))
    pairs = fabric.addresses.pairs(src, dst, (src + dst) % 5)
    one = engine(fabric, pairs, [(qp, 60_000, 0) for qp in range(len(pairs))])
    one.run(100 * MS)
    assert (one.arrivals() < ALL).all()
    counted = one.counters()
    assert {name: value for name, value in counted.items() if "dropped" in name and value} == {}
    assert counted["retransmitted_packets"] == counted["timeouts"] == 0
    assert counted["delivered_packets"] == len(pairs) * 15


SRC, DST = "H100-01:gpu0_eth", "H100-03:gpu0_eth"


def test_a_spine_that_fails_and_comes_back() -> None:
    """Before, between and after: the links that ``paths`` says, with what is down then."""
    network, plane, fabric = bed("h100-rlb")
    spine = "spine2"
    what_happens = timeline(fabric.wiring, plane, fabric.routes, [Outage(spine, 50 * MS, 150 * MS)], 10 * MS)
    pairs = fabric.queue_pairs([(SRC, DST, qp) for qp in range(4)])
    starts = [1, 70, 170]
    one = engine(fabric, pairs, [(qp, 50_000, at * MS) for at in starts for qp in range(4)], what_happens)
    before = np.zeros(len(fabric.wiring.port_cable), np.uint64)
    for at, down in zip(starts, [(), (spine,), ()], strict=True):
        one.run((at + 20) * MS)
        now = one.port_counters()["tx_bytes"]
        used = crossed(fabric, now - before, 50_000)
        before = now
        paths = queue_pair_paths(network, plane.routes(down), SRC, DST, 4)
        pinned = [tuple(hop[0].link for hop in path.hops) for path in paths if path.pinned]
        expected = set().union(*(travelled(network, hops, SRC) for hops in pinned))
        assert expected <= used
        assert len(pinned) == (3 if down else 4)
        free = {link.link for path in paths for hop in path.hops for link in hop if not path.pinned}
        assert {link for link, _ in used - expected} <= free, "the color of the dead spine chooses among the others"
        assert any(spine in link for link, _ in used) == (not down)
    assert (one.arrivals() < ALL).all()
    assert one.counters()["retransmitted_packets"] == 0, "nothing was under way at the time"


def test_what_is_under_way_survives_a_spine() -> None:
    """8 MB take 170 us; the spine dies in the middle of it, and routes follow before the timeout of 4 ms."""
    _, plane, fabric = bed("h100-rlb")
    pairs = fabric.queue_pairs([(SRC, DST, qp) for qp in range(4)])
    messages = [(qp, 8_000_000, 0) for qp in range(4)]
    follows = timeline(fabric.wiring, plane, fabric.routes, [Outage("spine3", 100 * 10**6)], MS)
    one = engine(fabric, pairs, messages, follows)
    one.run(100 * MS)
    slow = one.arrivals() > 4 * MS
    assert (one.arrivals() < ALL).all()
    assert slow.tolist().count(True) == 1, "the queue pair of its color alone"
    assert one.counters()["dropped_link_down"] > 0
    never = timeline(fabric.wiring, plane, fabric.routes, [Outage("spine3", 100 * 10**6)], 1000 * MS)
    one = engine(fabric, pairs, messages, never)
    one.run(100 * MS)
    assert (one.arrivals() == ALL).tolist() == slow.tolist()


def test_what_is_down_in_the_routes_is_down_from_the_beginning() -> None:
    network, plane, _ = bed("h100-rlb")
    link = next(cable.name for cable in network.cables if cable.kind == "fabric" and cable.a.device == "stripe1-leaf1")
    cut = packet_fabric(network, plane.configs, plane.routes([link]))
    pairs = cut.queue_pairs([(SRC, DST, qp) for qp in range(4)])
    changes = cut.arguments(pairs)["changes"].tolist()
    assert changes == [[0, LINK_DOWN, int(cut.wiring.end_ports[cut.wiring.cable[link], 0]), 0, 0]]
    one = engine(cut, pairs, [(qp, 50_000, 0) for qp in range(4)])
    one.run(MS)
    assert (one.arrivals() < ALL).all()
    assert link not in {name for name, _ in crossed(cut, one.port_counters()["tx_bytes"])}


def test_outages_of_links_servers_and_nics() -> None:
    _, plane, fabric = bed("h100-rlb")
    wiring = fabric.wiring
    many = timeline(wiring, plane, fabric.routes, [Outage("H100-02", 5, 9), Outage("H100-01:gpu3_eth", 7)], 100)
    nodes = list(range(8, 16))
    assert [row[:3] for row in many.changes] == [
        *((5, NODE_DOWN, node) for node in nodes),
        (7, NODE_DOWN, 3),
        *((9, NODE_UP, node) for node in nodes),
    ]
    tables = [one for one in many.tables if one.at_ps < 1000]
    assert [one.at_ps for one in tables] == [105, 107, 109]
    nic_link = wiring.port_link(int(wiring.first_port[3]))
    assert [set(one.routes.down) for one in tables] == [{"H100-02"}, {"H100-02", nic_link}, {nic_link}]


@pytest.mark.parametrize(
    ("outages", "said"),
    [
        ([Outage("spine9", 0)], "spine9: the simulated fabrics have no link"),
        ([Outage("spine1", 5, 5)], "ends before it begins"),
        ([Outage("spine1", 5), Outage("spine1", 7, 9)], "overlap"),
    ],
)
def test_wrong_outages(outages: list[Outage], said: str) -> None:
    _, plane, fabric = bed("h100-rlb")
    with pytest.raises(InputError, match=said):
        timeline(fabric.wiring, plane, fabric.routes, outages, 0)


def test_routes_change_for_used_addresses_only_where_they_differ() -> None:
    _, plane, fabric = bed("h100-rlb")
    pairs = fabric.queue_pairs([(SRC, DST, 0)])
    rows = fabric.arguments(pairs, timeline(fabric.wiring, plane, fabric.routes, [Outage("spine1", 5)], 100))["changes"]
    routes = rows[rows[:, 1] == ROUTE]
    assert len(routes) > 0
    assert set(routes[:, 0].tolist()) == {105}
    assert set(routes[:, 3].tolist()) <= {0, 1}


def test_fast_reroute_shares_over_what_is_left_before_routes_follow() -> None:
    """Under ECMP a group of four uplinks lives on with three; without fast reroute some flows hang.

    Only the leaf mends its group: answers that the spine has for the leaf are still lost.
    """
    network, plane, fabric = bed("h100-rlb", "ecmp")
    pairs = fabric.queue_pairs([(SRC, DST, qp) for qp in range(32)])
    link = next(cable.name for cable in network.cables if cable.kind == "fabric" and cable.a.device == "stripe1-leaf1")
    late = timeline(fabric.wiring, plane, fabric.routes, [Outage(link, 0)], 1000 * MS, repair_ps=2 * MS)
    messages = [(qp, 40_000, 3 * MS) for qp in range(32)]
    for repairs in (True, False):
        one = engine(replace(fabric, repairs=(repairs,) * len(fabric.repairs)), pairs, messages, late)
        one.run(100 * MS)
        assert (one.arrivals() < ALL).all() == repairs
    alone = timeline(fabric.wiring, plane, fabric.routes, [Outage(link, 0)], 1000 * MS)
    _, _, colored = bed("h100-rlb")
    one = engine(colored, colored.queue_pairs([(SRC, DST, qp) for qp in range(4)]), messages[:4], alone)
    one.run(100 * MS)
    assert (one.arrivals() == ALL).sum() == 1, "a path color of one uplink has nothing left until routes follow"


def test_outages_beside_what_was_down_before() -> None:
    _, plane, fabric = bed("h100-rlb")
    both = timeline(fabric.wiring, plane, plane.routes(["spine1"]), [Outage("spine2", 5, 9)], 100)
    routes = {one.at_ps: one.routes for one in both.tables}
    assert [set(routes[at].down) for at in (105, 109)] == [{"spine1", "spine2"}, {"spine1"}]
    # back, but without a table until routes have followed
    assert [one.at_ps for one in both.tables if one.silent == {"spine2"}] == [9, 105]


@pytest.mark.parametrize(
    ("lb", "code"), [(None, DLB), ("ecmp", ECMP), ("dlb-per-packet", DLB_PER_PACKET), ("spray", SPRAY)]
)
def test_groups_share_as_wanted(lb: str | None, code: int) -> None:
    _, plane, fabric = bed("h100-rlb", lb)
    pairs = fabric.queue_pairs([(SRC, DST, 0)])
    follows = timeline(fabric.wiring, plane, fabric.routes, [Outage("spine1", 0)], 0)
    groups = fabric.arguments(pairs, follows)["groups"]
    assert len(groups) > 0
    assert set(groups[:, 2].tolist()) == {code}
    one = engine(fabric, pairs, [(0, 1_000_000, 0)])
    one.run(MS)
    sent = crossed(fabric, one.port_counters()["tx_bytes"], 5000)
    uplinks = {link for link, sender in sent if sender == "stripe1-leaf1" and "--spine" in link}
    assert len(uplinks) == (4 if code in {SPRAY, DLB_PER_PACKET} else 1)


@pytest.mark.parametrize("lb", [None, "ecmp"])
def test_storage_takes_no_part(tmp_path: Path, lb: str | None) -> None:
    text = """
    name: two
    fabrics:
      backend:
        topology: {stripes: 1, spines: 2, leaves_per_stripe: 1, oversubscription: 16}
        leaf: {device: qfx5240-64od}
      store:
        nics: storage
        addressing: {server_pool: "fd00:5::/32"}
        naming: {leaf: "store-leaf{leaf}", spine: "store-{spine}"}
        topology: {stripes: 1, spines: 2, leaves_per_stripe: 1, oversubscription: 16}
        leaf: {device: qfx5240-64od}
    servers: [{names: "n[1-2]", model: dgx-h100}]
    """
    network, _ = designed(tmp_path, text)
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes(), lb)
    assert {nic.fabric for server in network.servers for nic in server.nics} == {"backend", "store"}
    assert len(fabric.wiring.nics) == 16
    assert fabric.wiring.switches == ("stripe1-leaf1", "spine1", "spine2")
    assert [len(nics) for _, nics, _ in servers(network, fabric.wiring)] == [8, 8]
    one = engine(fabric, fabric.queue_pairs([("n1:gpu0_eth", "n2:gpu7_eth", 1)]), [(0, 1000, 0)])
    one.run(MS)
    assert one.arrivals()[0] < ALL


def test_servers_of_a_job() -> None:
    network, _, fabric = bed("h100-rlb")
    found = servers(network, fabric.wiring)
    assert found == [(f"H100-0{n + 1}", list(range(8 * n, 8 * n + 8)), 8) for n in range(4)]
    rails = [[network.server(name).nics[place].rail for place in range(8)] for name, _, _ in found]
    assert rails == [list(range(1, 9))] * 4


def test_unknown_nic() -> None:
    _, _, fabric = bed("h100-rlb")
    for wrong in ("H100-01:eth9", "spine1"):
        with pytest.raises(InputError, match="not a NIC of the simulated fabrics"):
            fabric.queue_pairs([(wrong, DST, 0)])
