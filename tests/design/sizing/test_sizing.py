"""Sizing says what the design of its own fabric file then has: switches, cables, optics, spare ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.design.sizing.fabric_file import fabric_text
from railweave.design.sizing.shapes import choose, size, sizes
from railweave.design.sizing.size import RefusedShape, Size, SizeRequest
from railweave.design.sizing.words import reason
from railweave.model.catalog import catalog
from railweave.model.network.model import Network
from tests.conftest import designed
from tests.growth import growth_of

SERVER, SWITCH = "h100-8gpu-cx7", "qfx5240-64od"
TWO_PORTS = "hgx-b300-8gpu-cx8-2x400"


def sized(
    gpus: int, shape: str | None = None, oversubscription: float = 1, growth: float = 1, server: str = SERVER
) -> Size:
    wanted = SizeRequest(gpus, server, SWITCH, oversubscription, growth)
    found = {name: one for name, one in sizes(catalog(), wanted).items() if shape in {None, name}}
    best = choose(found)
    assert best is not None, found
    return best


def modules(network: Network) -> int:
    """Pluggables: one a NIC, and one a physical switch port in use."""
    ends = [end for cable in network.cables for end in (cable.a, cable.b)]
    nics = sum(end.physical is None for end in ends)
    return nics + len({(end.device, end.physical) for end in ends if end.physical is not None})


@pytest.mark.parametrize(
    ("gpus", "shape", "oversubscription", "growth"),
    [
        (64, "port-planes", 1, 1),
        (128, "port-planes", 1, 1),
        (200, "port-planes", 1, 1),
        (600, "port-planes", 2, 2),
        (8, None, 1, 1),
        (8, "two-tier", 1, 1),
        (64, None, 1, 1),
        (64, "two-tier", 1, 2),
        (512, None, 1, 1),
        (512, None, 1, 2),
        (512, "rail-planes", 1, 1),
        (512, "rail-planes", 1, 2),
        (512, None, 3, 2),
        (1000, None, 1.5, 1),
        (1000, None, 2, 1),
        (1000, None, 3, 1),
        (1001, "rail-planes", 4, 3),
        (1024, "rail-planes", 1, 1),
        (1024, None, 1, 1),
        pytest.param(4608, "super-spine", 1, 1, marks=pytest.mark.slow),
        pytest.param(8192, None, 1, 1, marks=pytest.mark.scale),
    ],
)
def test_design_of_the_file_has_what_sizing_counts(
    gpus: int, shape: str | None, oversubscription: float, growth: float, tmp_path: Path
) -> None:
    found = sized(gpus, shape, oversubscription, growth, TWO_PORTS if shape == "port-planes" else SERVER)
    text = fabric_text(catalog(), found)
    assert len(text.splitlines()) <= 15
    network, _ = designed(tmp_path, text)
    roles = [switch.role for switch in network.switches]
    counted = found.leaf_switches, found.spine_switches, found.super_spine_switches
    assert tuple(roles.count(role) for role in ("leaf", "spine", "super-spine")) == counted
    kinds = [cable.kind for cable in network.cables]
    assert (kinds.count("server"), kinds.count("fabric")) == (found.server_cables, found.fabric_cables)
    assert modules(network) == found.modules
    assert len(network.servers) * 8 >= gpus > len(network.servers) * 8 - 8
    room = growth_of(network, network.fabrics[0])
    if found.spines:
        assert room.ports - room.used == found.spare_top_ports
        assert len(network.fabrics[0].colors) == found.colors
    assert [one for one in network.findings if one.severity != "info"] == []


@pytest.mark.parametrize(
    ("gpus", "shape", "leaves", "spines", "super_spines", "links"),
    [  # counted by hand in docs/howto/size-a-network.md
        (1024, "two-tier", 16, 8, 0, 8),
        (8192, "two-tier", 128, 64, 0, 1),
        (32768, "rail-planes", 512, 256, 0, 2),
        (32768, "super-spine", 512, 512, 256, 1),
    ],
)
def test_counts_by_hand(gpus: int, shape: str, leaves: int, spines: int, super_spines: int, links: int) -> None:
    found = sized(gpus, shape)
    assert (found.leaf_switches, found.spine_switches, found.super_spine_switches) == (leaves, spines, super_spines)
    assert found.links_per_spine == links


def test_nics_with_two_ports_get_a_plane_for_each_where_that_fits() -> None:
    found = sizes(catalog(), SizeRequest(512, TWO_PORTS, SWITCH))
    best = choose(found)
    assert best is not None
    assert best.shape == "port-planes"
    # in each plane 8 leaves with 64 uplinks, and 4 spines with 16 links to each of them
    assert (best.leaf_switches, best.spine_switches, best.links_per_spine) == (16, 8, 16)
    assert reason(best).startswith("2 networks without a link between them, one for each port of a NIC")
    assert sized(8192, server=TWO_PORTS).shape == "port-planes"
    most = sizes(catalog(), SizeRequest(8193, TWO_PORTS, SWITCH))["port-planes"]
    assert isinstance(most, RefusedShape)
    assert "the limit of this shape is 8,192" in most.why
    assert "port-planes" not in sizes(catalog(), SizeRequest(512, SERVER, SWITCH))


def test_two_tiers_end_at_a_port_of_a_spine_for_every_leaf() -> None:
    wanted = SizeRequest(8193, SERVER, SWITCH)
    found = size(catalog(), wanted, "two-tier")
    assert isinstance(found, RefusedShape)
    assert "8,192" in found.why
