"""Sizing says what the design of its own fabric file then has: switches, cables, optics, spare ports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.catalog import catalog
from railweave.cli.app import app
from railweave.design.growth import growth_of
from railweave.design.growth_cost import grow
from railweave.design.network import Network
from railweave.design.size import Refused, Size, Wanted
from railweave.design.sized import fabric_text
from railweave.design.sizing import choose, size, sizes
from tests.conftest import designed

SERVER, SWITCH = "h100-8gpu-cx7", "qfx5240-64od"


def sized(gpus: int, shape: str | None = None, oversubscription: float = 1, growth: float = 1) -> Size:
    wanted = Wanted(gpus, SERVER, SWITCH, oversubscription, growth)
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
        (4608, "super-spine", 1, 1),
        (8192, None, 1, 1),
    ],
)
def test_design_of_the_file_has_what_sizing_counts(
    gpus: int, shape: str | None, oversubscription: float, growth: float, tmp_path: Path
) -> None:
    found = sized(gpus, shape, oversubscription, growth)
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


@pytest.mark.parametrize("shape", ["two-tier", "rail-planes"])
def test_growth_that_was_asked_for_moves_no_cable(shape: str) -> None:
    for gpus in (512, 1024, 2048, 4096):
        step = grow(catalog(), sized(gpus, shape, growth=2), 2)
        assert step.moved == 0
        assert isinstance(step.size, Size)
        assert step.size.links_per_spine == sized(gpus, shape, growth=2).links_per_spine


def test_growth_that_was_not_asked_for_moves_half_of_full_spines() -> None:
    found = sized(1024)  # 16 leaves x 8 links fill a spine's 128 ports
    step = grow(catalog(), found, 2)
    assert found.spare_top_ports == 0
    assert step.moved == found.fabric_cables // 2


def test_two_tiers_end_at_a_port_of_a_spine_for_every_leaf() -> None:
    wanted = Wanted(8193, SERVER, SWITCH)
    found = size(catalog(), wanted, "two-tier")
    assert isinstance(found, Refused)
    assert "8,192" in found.why


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["init", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_init_writes_a_file_and_prints_choice_and_alternatives(tmp_path: Path) -> None:
    out = run(str(tmp_path / "new"), "--gpus", "512", "--nic", "cx7", "--switch", "qfx5240-64", "--growth", "2x")
    assert "chosen: two tiers" in out
    assert "alternative: rail planes" in out
    assert "not super-spines: " in out
    network, _ = designed(tmp_path, (tmp_path / "new" / "rail-512.yaml").read_text())
    assert len(network.servers) == 64


def test_init_for_machines(tmp_path: Path) -> None:
    found = json.loads(run(str(tmp_path / "new"), "--gpus", "32768", "--json"))
    assert found["chosen"] == "rail-planes"
    fits = {one["shape"]: one["fits"] for one in found["shapes"]}
    assert fits == {"one-leaf": False, "two-tier": False, "rail-planes": True, "super-spine": True}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpus", "8", "--nic", "cx9"], "no server has a NIC 'cx9'"),
        (["--gpus", "8", "--switch", "z7"], "no switch model begins with 'z7'"),
        (["--gpus", "8", "--growth", "twice"], "'twice' is no growth"),
        (["--gpus", "8", "--shape", "ring"], "there is no shape 'ring'"),
        (["--gpus", "9000", "--shape", "two-tier"], "9000 GPUs fit no shape"),
        ([], "nothing to start from"),
        (["--gpus", "8", "--example", "h100-rlb"], "nothing to start from"),
    ],
)
def test_what_cannot_be_sized_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    from railweave.errors import InputError

    with pytest.raises(InputError, match=said):
        CliRunner().invoke(app, ["init", str(tmp_path / "new"), *words], catch_exceptions=False)
    assert not (tmp_path / "new").exists()
