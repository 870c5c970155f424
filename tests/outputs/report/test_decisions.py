"""What the decisions say about path colors, and how lists of names are shortened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.model.catalog import catalog, in_force
from railweave.model.network.model import Network
from railweave.outputs.report.body import servers_decisions
from railweave.outputs.report.decisions.fabric import decisions, tenant_decisions
from railweave.outputs.report.figures import span
from tests.conftest import example
from tests.outputs.report.conftest import read
from tests.outputs.report.test_capacity import COLORED


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "none"),
        (["spine1"], "spine1"),
        ([f"gpu-{k:04d}" for k in range(1, 65)], "gpu-0001 … gpu-0064"),
        ([f"et-0/0/{k}:{c}" for k in (3, 4, 5) for c in (0, 1)], "et-0/0/3:0 … et-0/0/5:1"),
        (
            ["et-0/0/3:0", "et-0/0/3:1", "et-0/0/5:0", "et-0/0/5:1", "et-0/0/6:0"],
            "et-0/0/3:0, et-0/0/3:1, … et-0/0/6:0 (5 in all)",
        ),
        ([f"spine{k}" for k in range(1, 58, 8)], "spine1, spine9, … spine57 (8 in all)"),
        (["spine1", "spine3"], "spine1, spine3"),
        (["a", "b", "c", "d", "e"], "a, b, … e (5 in all)"),
    ],
)
def test_only_names_that_follow_each_other_are_left_out(names: list[str], said: str) -> None:
    assert span(names) == said


def test_several_uplinks_of_a_color_can_collide(tmp_path: Path, h100: Network) -> None:
    network = read(tmp_path, COLORED.replace("paths_per_nic: 8", "load_balancing: {mode: rlb}, paths_per_nic: 8"))
    wide = {one.title: one for one in decisions(network, network.fabrics[0])}
    assert "inside it (8 uplinks) flows are spread by dlb-flowlet and can collide" in wide["Load balancing"].why
    assert "uplink" not in wide["Load balancing"].chosen
    assert "no collisions" in {one.title: one for one in decisions(h100, h100.fabrics[0])}["Load balancing"].why


@pytest.mark.scale
def test_a_cable_in_the_wrong_port_is_not_called_harmless(h100: Network, large: Network) -> None:
    for network in (h100, large):
        routing = next(one for one in decisions(network, network.fabrics[0]) if one.title == "Routing")
        assert "comes up all the same, with the wrong path color" in routing.why


def test_what_keeps_paths_up_and_down_is_named_rightly(h100: Network) -> None:
    """leaf1, spine1, leaf2, spine2, leaf3 are five AS numbers: BGP's loop check lets that path pass."""
    found = {one.title: one for one in decisions(h100, h100.fabrics[0])}
    assert "Each leaf advertises its own prefixes alone (policy term no-transit)" in found["Routing"].why
    facts = dict(found["Routing"].facts)
    assert facts["ECMP width"].startswith("next-hop groups of up to so many members: leaves 16, spines 16")
    assert "qfx5240-64od" in facts["Routes"]
    assert dict(found["Load balancing"].facts)["Hash"] == "addresses and UDP ports, seed the switch's default"
    assert dict(found["Path colors"].facts)["Carried"].startswith("by BGP deterministic path forwarding")
    scheduling = {row[0]: row[5] for row in found["Traffic classes"].grids[0].rows}
    assert (scheduling["cnp"], scheduling["no-loss"]) == ("strict, at most 5 %", "weighted, at least 85 %")


def test_tenants_are_decided_with_their_numbers_and_leaves() -> None:
    network = example("evpn-functional")
    found = next(one for one in decisions(network, network.fabrics[0]) if one.title == "Tenants")
    assert found.chosen.startswith("3 tenants")
    [grid] = found.grids
    assert [row[:4] for row in grid.rows] == [
        ("tenant-1", "20001", "64512:20001", "32"),
        ("tenant-2", "20002", "64512:20002", "16"),
        ("tenant-3", "20003", "64512:20003", "16"),
    ]
    assert [row[5] for row in grid.rows] == ["leaf1 … leaf2", "leaf3 … leaf5", "leaf3 … leaf5"]


def test_ports_and_buffers_are_told_for_each_model() -> None:
    network = example("evpn-functional")
    found = {one.title: one for one in decisions(network, network.fabrics[0])}
    chosen = "qfx5240-64od and qfx5230-64cd and qfx5130-32cd as leaf, qfx5240-64qd and qfx5230-64cd as spine"
    assert found["Ports"].chosen == chosen
    buffers = {row[0]: row[1] for row in found["Buffers and headroom"].grids[0].rows}
    assert buffers == {
        "leaf qfx5240-64od": "165 MB",
        "leaf qfx5230-64cd": "112 MB",
        "leaf qfx5130-32cd": "132 MB",
        "spine qfx5240-64qd": "165 MB",
        "spine qfx5230-64cd": "112 MB",
    }


def test_planes_of_ports_are_not_called_planes_of_rails() -> None:
    """All rails of a plane reach each other, and ports of one NIC do not; where each rail has spines it is the other way."""
    network = example("two-planes")
    found = {one.title: one for one in decisions(network, network.fabrics[0])}
    shape = found["Topology"]
    assert shape.chosen == "rail-optimised, 2 planes, 2 stripes of 2 leaves, 8 spines"
    assert "A port has no path to a port of another plane" in shape.why
    assert "other rails have no path" not in shape.why
    assert dict(shape.facts)["Planes"] == (
        "plane1 has port 1 of every NIC, rails 1–8; plane2 has port 2 of every NIC, rails 9–16"
    )
    spines = [row[3] for row in found["Path colors"].grids[0].rows]
    assert spines == [f"plane1-spine{k}, plane2-spine{k}" for k in range(1, 5)]


def test_planes_of_rails_are_told_as_before(tmp_path: Path) -> None:
    network = read(
        tmp_path,
        "name: rails\n"
        "fabrics: {backend: {topology: {stripes: 2, planes: rail, spines: 2}, leaf: {device: qfx5240-64od}}}\n"
        'servers: [{names: "gpu-[1-4]", model: h100-8gpu-cx7}]\n',
    )
    shape = next(one for one in decisions(network, network.fabrics[0]) if one.title == "Topology")
    assert "other rails have no path in the network" in shape.why
    assert "Planes" not in dict(shape.facts)


@pytest.mark.parametrize(
    ("server", "links"), [("h100-8gpu-cx7", "NVLink"), ("mi300x-8gpu-thor2", "XGMI"), ("mi355x-8gpu-pollara", "XGMI")]
)
def test_the_links_between_gpus_have_the_name_of_the_catalog(tmp_path: Path, server: str, links: str) -> None:
    network = read(
        tmp_path,
        "name: rails\n"
        "fabrics: {backend: {topology: {stripes: 2, planes: rail, spines: 2}, leaf: {device: qfx5240-64od}}}\n"
        f'servers: [{{names: "gpu-[1-4]", model: {server}}}]\n',
    )
    shape = next(one for one in decisions(network, network.fabrics[0]) if one.title == "Topology")
    assert f"servers change rails inside ({links}, PXN)" in shape.why


def test_ports_are_not_counted_as_nics() -> None:
    [servers] = servers_decisions(example("two-planes"))
    assert servers.chosen == "4 servers with 8 B300 GPUs, 8 NICs with 16 ports"
    assert dict(servers.facts)["NIC ports"].startswith("16 x connectx-8-2x400 at 400G")
    network = example("frontend-mixed")
    with in_force(catalog().with_hardware(network.hardware)):
        mixed = {one.title: one.chosen for one in servers_decisions(network)}
    assert mixed["dgx-h100-one-card"].endswith("8 H100 GPUs, 1 NIC with 2 ports")  # one in each of two fabrics


def test_each_kind_of_server_link_is_told_with_its_prefixes() -> None:
    """On one leaf of frontend-mixed servers are on trunks and on routed ports, and a tester is on an edge port."""
    network = example("frontend-mixed")
    addressing = next(one for one in decisions(network, network.fabrics[0]) if one.title == "Addressing")
    facts = dict(addressing.facts)
    assert facts["VLANs"] == (
        "2 to 3, one per rail and stripe, local to its leaf, the native one of trunk ports; "
        "4 NICs on routed ports of leaves without a VLAN"
    )
    assert facts["Tagged VLANs"].startswith("300, 301 on the same trunk ports")
    assert facts["Server prefixes on VLANs"].startswith("4 prefixes from 10.20.0.0/16 and fd00:20::/32, one per rail")
    routed = facts["Server prefixes on routed ports"]
    assert routed.startswith("8 prefixes from 10.30.0.0/16 and fd00:30::/32, one per NIC, address family")
    assert facts["Edge ports"].startswith("tester1 on frontend-leaf1 et-0/0/30, tester2 on frontend-leaf2")
    assert [row[0] for row in addressing.grids[0].rows] == ["row1 rail 1"] * 2 + ["WEKA-1 mgmt_eth"] * 2
    storage = next(one for one in decisions(network, network.fabrics[1]) if one.title == "Addressing")
    assert dict(storage.facts)["VLANs"] == "none: every NIC is on a routed port of its leaf"


def test_tenants_that_leak_are_not_said_to_be_apart() -> None:
    network = example("evpn-gpu-isolation")
    fabric = network.fabrics[0]
    first, second, *rest = fabric.tenants
    leaking = replace(fabric, tenants=(replace(first, leaks=(second.name,)), second, *rest))
    said = {name: tenant_decisions(network, one)[0].why for name, one in (("apart", fabric), ("leaks", leaking))}
    assert "no tenant has a route to another's NICs" in said["apart"]
    assert f"{first.name} and {second.name}" in said["leaks"]
    assert "no tenant has a route" not in said["leaks"]
