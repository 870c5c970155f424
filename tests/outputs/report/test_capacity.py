from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from railweave.analysis.checks.subject import Subject
from railweave.model.network.model import Network
from railweave.outputs.report.body import forwarding
from railweave.outputs.report.capacity import capacity_grid, failures_decision, rail_capacities
from tests.conftest import example
from tests.outputs.report.conftest import read

COLORED = """
name: colored
fabrics: {backend: {topology: {stripes: 1, spines: 64}, leaf: {device: qfx5240-64od}, paths_per_nic: 8}}
servers: [{names: "gpu-[01-64]", model: h100-8gpu-cx7}]
"""


def test_a_rail_of_h100_rlb_by_hand(h100: Network) -> None:
    found = rail_capacities(h100, h100.fabrics[0], Subject.of(h100).routes)
    assert [one.rails for one in found] == [(rail,) for rail in range(1, 9)]
    rail = found[2]
    # Two leaves with two servers and four uplinks of 400G each.
    assert (rail.leaves, rail.nics, rail.down_gbps, rail.up_gbps) == (2, 4, 2 * 2 * 400, 2 * 4 * 400)
    assert rail.oversubscription == 2 / 4
    assert rail.one_spine_down == 2 / 3
    assert rail.color_one_spine_down is None  # a spine takes a whole color, whose traffic moves
    assert rail.uplinks_used == rail.spines == (4, 4)
    assert rail.width == (1, 1)
    assert rail.color_gbps == (400, 400)


def test_an_uplink_that_policy_hides_is_no_way(h100: Network) -> None:
    subject = Subject.of(h100)
    leaf = subject.configs["stripe1-leaf1"]
    assert leaf.bgp is not None
    groups = tuple(one for one in leaf.bgp.groups if one.name != "spine-red")
    subject.configs["stripe1-leaf1"] = replace(leaf, bgp=replace(leaf.bgp, groups=groups))
    rail = rail_capacities(h100, h100.fabrics[0], subject.routes)[0]
    assert rail.uplinks_used == (3, 3)  # the other leaf has no route of that color to it either
    assert rail_capacities(h100, h100.fabrics[0], subject.routes)[1].uplinks_used == (4, 4)


def test_a_color_without_its_cable_is_uneven(h100: Network) -> None:
    gone = next(cable for cable in h100.cables if cable.a.device == "stripe2-leaf4" and cable.color == 2)
    network = replace(h100, cables=tuple(cable for cable in h100.cables if cable is not gone))
    rails = rail_capacities(network, network.fabrics[0], Subject.of(network).routes)
    assert rails[3].color_gbps == (0, 400)
    assert rails[3].oversubscription == 2 / 3
    assert rails[4].color_gbps == (400, 400)


def test_without_spines_there_are_no_ways(flat: Network) -> None:
    routes = Subject.of(flat).routes
    found = rail_capacities(flat, flat.fabrics[0], routes)
    assert [one.rails for one in found] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert {(one.oversubscription, one.one_spine_down, one.uplinks_used, one.color_gbps) for one in found} == {
        (None,) * 4
    }
    failures = failures_decision(flat, flat.fabrics[0], routes, found)
    assert failures is not None
    assert [name for name, _ in failures.facts] == ["A leaf", "A server cable or NIC", "Noticed"]


def test_failures_of_h100_rlb(h100: Network) -> None:
    routes = Subject.of(h100).routes
    found = failures_decision(h100, h100.fabrics[0], routes, rail_capacities(h100, h100.fabrics[0], routes))
    assert found is not None
    facts = dict(found.facts)
    backup = routes.backup("stripe1-leaf1", "fc00:2:1:1::/64")
    assert facts["An uplink"].startswith(f"its path color moves to its backup, {len(backup)} uplink")
    assert facts["A spine"].endswith("0.67:1 at most")
    assert facts["A leaf"].startswith("up to 2 servers lose the NICs of 1 rail")


def test_what_fails_costs_its_share_where_nics_have_a_port_in_each_plane() -> None:
    network = example("two-planes")
    routes, fabric = Subject.of(network).routes, network.fabrics[0]
    capacities = rail_capacities(network, fabric, routes)
    found = failures_decision(network, fabric, routes, capacities)
    assert found is not None
    facts = dict(found.facts)
    assert facts["A spine"].startswith("every leaf of its plane loses")
    assert facts["A plane"].startswith(
        "every NIC loses one of 2 ports. Jobs that use the net plugin, or NCCL 2.29 and newer"
    )
    assert facts["A leaf"].startswith("up to 2 servers lose one of 2 ports of 8 NICs each, with the same consequences")
    assert "1/2 of their bandwidth" in facts["A leaf"]
    assert facts["A server cable or port"] == "one NIC loses one of 2 ports, with the same consequences"
    assert facts["A NIC"].startswith("one server loses all ports of a NIC")
    _, grid = capacity_grid(network, fabric, capacities)
    assert (grid.header[2], grid.rows[0][2]) == ("NIC ports", "32 NIC ports")


def test_a_color_that_loses_an_uplink_is_fuller_than_its_leaf(tmp_path: Path) -> None:
    """64 uplinks to 64 spines in 8 colors, 64 servers: a color of 8 is left with 7 of them, the leaf with 63 of 64."""
    network = read(tmp_path, COLORED)
    routes = Subject.of(network).routes
    found = rail_capacities(network, network.fabrics[0], routes)
    assert {one.one_spine_down for one in found} == {64 / 63}
    assert {one.color_one_spine_down for one in found} == {8 / 7}
    failures = failures_decision(network, network.fabrics[0], routes, found)
    assert failures is not None
    words = "1.14:1 on the color that loses an uplink, 1.02:1 on the whole leaf"
    assert f"oversubscription is then {words} at most" in dict(failures.facts)["A spine"]
    # One stripe: ways lead to leaves of other rails, and an uplink's loss is told all the same.
    assert {one.uplinks_used for one in found} == {(64, 64)}
    assert dict(failures.facts)["An uplink"] == "its path color keeps the other 7 uplinks of its next-hop group"
    _, grid = capacity_grid(network, network.fabrics[0], found)
    assert "Uplinks used to another leaf" in grid.header
    assert {row[6] for row in grid.rows} == {words}


def test_forwarding_is_the_tables(h100: Network) -> None:
    routes = Subject.of(h100).routes
    coded = forwarding(h100, routes)
    for switch in h100.switches:
        rows = [row for row, count in coded["devices"][switch.name] for _ in range(count)]
        assert len(rows) == len(h100.segments)
        for segment, row in zip(h100.segments, rows, strict=True):
            entry = coded["rows"][row]
            for place, net in enumerate(segment.subnets):
                group = entry if isinstance(entry, int) else entry[place]
                links = () if group < 0 else tuple(h100.cables[k].name for k in coded["groups"][group])
                assert links == routes.next_hops(switch.name, net.prefix)
