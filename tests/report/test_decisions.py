"""What the decisions say about path colors, and how lists of names are shortened."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.network.model import Network
from railweave.report.decisions.fabric import decisions
from railweave.report.figures import span
from tests.conftest import example
from tests.report.conftest import read
from tests.report.test_capacity import COLORED


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
        ("tenant-1", "20001", "target:64512:20001", "32"),
        ("tenant-2", "20002", "target:64512:20002", "16"),
        ("tenant-3", "20003", "target:64512:20003", "16"),
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
