"""What growth is said to cost is what the designs before and after differ in."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.design.sizing.fabric_file import fabric_text
from railweave.design.sizing.shapes import Step, grow, growth_steps, size
from railweave.design.sizing.size import RefusedShape, Shape, Size, SizeRequest
from railweave.design.sizing.words import cost, growth_lines
from railweave.model.catalog import catalog
from railweave.model.network.devices import Cable
from railweave.model.network.model import Network
from tests.conftest import designed, example

SERVER, SWITCH = "h100-8gpu-cx7", "qfx5240-64od"
TWO_PORTS = "hgx-b300-8gpu-cx8-2x400"
SMALL = "qfx5220-32cd"
"""Spines of 32 ports are full, and pods under super-spines worth while, at few servers."""


def sized(gpus: int, shape: Shape, oversubscription: float = 1, growth: float = 1, switch: str = SWITCH) -> Size:
    server = TWO_PORTS if shape == "port-planes" else SERVER
    found = size(catalog(), SizeRequest(gpus, server, switch, oversubscription, growth), shape)
    assert isinstance(found, Size), found
    return found


def text_of(found: Size) -> str:
    """Its fabric file, with names of servers and of the network that stay the same when it grows."""
    text = re.sub(r"gpu-\[\d+-(\d+)\]", lambda m: f"gpu-[00001-{int(m[1]):05d}]", fabric_text(catalog(), found))
    return re.sub(r"^name: .*$", "name: grows", text, flags=re.MULTILINE)


def ends(cables: list[Cable]) -> Counter[tuple[str, ...]]:
    return Counter((cable.a.device, cable.a.port, cable.b.device, cable.b.port) for cable in cables)


def laid_anew(before: Network, after: Network, kind: str) -> tuple[int, int]:
    """Cables in place that join other switches afterwards, and those that join the same two by other ports."""
    old, new = ([one for one in network.cables if one.kind == kind] for network in (before, after))
    pairs = Counter((one.a.device, one.b.device) for one in old) - Counter((one.a.device, one.b.device) for one in new)
    gone = ends(old) - ends(new)
    return pairs.total(), gone.total() - pairs.total()


@pytest.mark.parametrize(
    ("gpus", "shape", "oversubscription", "growth"),
    [
        (512, "two-tier", 1, 1),
        (1024, "two-tier", 2, 1),
        (100, "two-tier", 1, 1),
        (1000, "two-tier", 3, 1),
        (1032, "two-tier", 1, 1),
        (600, "two-tier", 1.5, 2),
        (512, "two-tier", 1, 2),
        (777, "two-tier", 1, 3),
        (512, "rail-planes", 1, 1),
        (1024, "rail-planes", 2, 1),
        (1100, "rail-planes", 1, 1),
        (1100, "rail-planes", 2, 2),
        (100, "one-leaf", 1, 1.2),
        (64, "port-planes", 1, 1),
        (128, "port-planes", 1, 1),
        (256, "port-planes", 1, 1),
        (512, "port-planes", 1, 1),
        (600, "port-planes", 2, 2),
        (384, "super-spine", 1, 1),
        (400, "super-spine", 2, 2),
        (600, "super-spine", 1, 1),
        (1000, "super-spine", 3, 1),
    ],
)
def test_growth_lays_anew_what_the_designs_differ_in(
    gpus: int, shape: Shape, oversubscription: float, growth: float, tmp_path: Path
) -> None:
    found = sized(gpus, shape, oversubscription, growth, SMALL if shape == "super-spine" else SWITCH)
    step = grow(catalog(), found, max(growth, 2) if shape != "one-leaf" else growth)
    assert isinstance(step.size, Size)
    before, lock = designed(tmp_path, text_of(found))
    if step.servers_laid:  # leaves that were full of servers get uplinks: other places for all of them
        lock = None
    after, _ = designed(tmp_path, text_of(step.size), lock)
    assert len(after.switches) - len(before.switches) == step.switches
    kinds = [Counter(cable.kind for cable in network.cables) for network in (before, after)]
    assert kinds[1]["server"] - kinds[0]["server"] == step.server_cables
    assert kinds[1]["fabric"] - kinds[0]["fabric"] == step.cables
    assert laid_anew(before, after, "fabric") == (step.laid.elsewhere, step.laid.ports)
    elsewhere, ports = laid_anew(before, after, "server")
    assert elsewhere + ports == step.servers_laid
    if growth > 1:
        assert step.moved == 0
    warned = {one.id for one in after.findings if one.severity != "info"}
    assert warned <= ({"colors-unbalanced"} if found.colors != step.size.colors else set())


def test_super_spines_above_two_tiers_take_half_the_cables(tmp_path: Path) -> None:
    """The spines there become those of the first pod, and the stripes of its first half keep their cables."""
    found = sized(512, "two-tier", switch=SMALL)
    step = grow(catalog(), found, 2, "super-spine")
    assert isinstance(step.size, Size)
    before, _ = designed(tmp_path, text_of(found))
    after, _ = designed(tmp_path, text_of(step.size))

    def first_pod(name: str) -> str:
        return f"pod1-{name}" if name.startswith("spine") else name

    old = {
        (one.a.device, one.a.port, first_pod(one.b.device), one.b.port) for one in before.cables if one.kind == "fabric"
    }
    new = {(one.a.device, one.a.port, one.b.device, one.b.port) for one in after.cables if one.kind == "fabric"}
    assert len(old - new) == step.laid.elsewhere + step.laid.ports == 256


def test_growth_never_takes_away() -> None:
    """No growth takes away a stripe, an uplink or a spine, whatever the size it starts from."""
    for gpus in (8, 13, 100, 600, 1000, 1025, 3001, 5000, 8192):
        for ratio in (1, 1.5, 2, 3, 4):
            for shape in ("two-tier", "rail-planes", "super-spine"):
                found = size(catalog(), SizeRequest(gpus, SERVER, SWITCH, ratio), shape)
                if isinstance(found, RefusedShape):
                    continue
                step = grow(catalog(), found, 2)
                if isinstance(step.size, Size) and found.spines:
                    assert step.size.stripes >= found.stripes
                    assert step.size.uplinks >= found.uplinks
                    assert step.size.spine_switches >= found.spine_switches
                    assert step.servers_laid == 0


def test_growth_that_a_shape_does_not_take_names_those_that_do() -> None:
    one = sized(100, "one-leaf")
    steps = growth_steps(catalog(), one, 2)
    assert [step.size.shape for step in steps] == ["one-leaf", "two-tier", "rail-planes"]
    assert growth_lines(steps, 2)[1] == (
        "as two tiers: 7 leaves, 2 spines, 104 server cables, 224 cables between switches and 380 optics more, "
        "104 server cables moved to other ports"
    )
    most = sized(65536, "rail-planes")
    assert [step.size.shape for step in growth_steps(catalog(), most, 2)] == ["rail-planes", "super-spine"]


def test_growth_counts_the_new_servers_own_cables() -> None:
    """By hand: 64 servers more are 512 cables and 512 NIC optics; 8 leaves have 256 + 256, 8 spines 64 each, 4 had."""
    step = grow(catalog(), sized(512, "two-tier"), 2)
    assert (step.server_cables, step.cables, step.modules) == (512, 512, 512 + 8 * 64 + 4 * 64)
    assert cost(step).startswith(
        "8 leaves, 4 spines, 512 server cables, 512 cables between switches and 1,280 optics more"
    )
    assert (step.laid.elsewhere, step.laid.ports) == (256, 248)


def ways_out(network: Network) -> str:
    return next(one.fix for one in network.findings if one.id == "spines-full")


@pytest.mark.parametrize(
    ("gpus", "shape"), [(512, "two-tier"), (1024, "two-tier"), (1032, "two-tier"), (2048, "rail-planes")]
)
def test_a_full_fabric_says_of_growth_what_init_says(gpus: int, shape: Shape, tmp_path: Path) -> None:
    found = sized(gpus, shape)
    network, _ = designed(tmp_path, fabric_text(catalog(), found))
    said = growth_lines(growth_steps(catalog(), found, 2), 2)
    assert ways_out(network).startswith(said[0])
    assert all(line in ways_out(network) for line in said)


def test_a_full_fabric_of_one_link_to_each_spine_names_other_shapes() -> None:
    said = ways_out(example("scale-8k"))
    assert (
        "not possible in this shape (16,384 GPUs need 256 leaves on a spine with 128 ports; the limit of this shape is 8,192)"
        in said
    )
    assert "as rail planes: 128 leaves, 64 spines, " in said
    assert "as super-spines: 128 leaves, 192 spines, 128 super-spines, " in said


def test_a_full_fabric_that_sizing_does_not_count_names_its_ways_without_numbers(tmp_path: Path) -> None:
    """Spines of another model than the leaves: not a fabric that `init` would write."""
    network, _ = designed(
        tmp_path,
        """
        name: full
        fabrics:
          backend:
            topology: {stripes: 2, servers_per_stripe: 2, spines: 4, links_per_spine: 2}
            leaf: {device: qfx5240-64od}
            spine: {device: qfx5220-32cd}
        servers: [{names: "gpu-[1-4]", model: h100-8gpu-cx7}]
        """,
    )
    assert ways_out(network) == (
        "growth takes more spines with fewer than 2 links to each (most cables to them must be laid again), or one plane per rail "
        "(`planes: rail`; every leaf-spine cable must be laid again), or super-spines (`stripes_per_pod`, `super_spines`), which "
        "need half the ports of every spine, or spines with more ports"
    )


def test_full_spines_of_half_empty_leaves_grow_on_those(tmp_path: Path) -> None:
    network, _ = designed(
        tmp_path,
        """
        name: full
        fabrics:
          backend:
            topology: {stripes: 2, servers_per_stripe: 2, spines: 8, links_per_spine: 8}
            leaf: {device: qfx5240-64od}
            paths_per_nic: 8
        servers: [{names: "gpu-[1-4]", model: h100-8gpu-cx7}]
        """,
    )
    assert ways_out(network).startswith(
        "growth 2x, to 64 GPUs: no switches, 32 server cables, 0 cables between switches and 48 optics more, no cable moves"
    )


def test_a_step_that_does_not_fit_has_no_cost() -> None:
    step = Step(sized(8192, "two-tier"), 0, RefusedShape("two-tier", "too many"))
    with pytest.raises(TypeError, match="too many"):
        cost(replace(step))
