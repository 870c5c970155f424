"""Both ends of every link understand each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.model.catalog import catalog
from railweave.model.catalog.optics import joins
from tests.conftest import SMALL, designed, example

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

TEXT = """
name: small
fabrics:
  backend:
    topology: {{stripes: 2, spines: 4, link_speed: 400G}}
    leaf: {{device: {leaf}}}
    spine: {{device: qfx5240-64od}}
    {more}
servers: [{{names: "n[1-4]", model: h100-8gpu-cx7}}]
"""


def pairs(network: Network) -> set[tuple[str, str, str]]:
    return {(cable.kind, cable.a.optic, cable.b.optic) for cable in network.cables}


def wrong(network: Network) -> list[str]:
    known = catalog().optics
    ends = [(cable, known.get(cable.a.optic), known.get(cable.b.optic)) for cable in network.cables]
    return [cable.name for cable, a, b in ends if a and b and not joins(a, b)]


@pytest.mark.parametrize("name", SMALL)
def test_the_examples(name: str) -> None:
    assert wrong(example(name)) == []


def test_multimode_where_nothing_speaks_against_it(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, TEXT.format(leaf="qfx5240-64od", more=""))
    assert {kind: a for kind, a, _ in pairs(network)} == {"server": "osfp-400g-sr4", "fabric": "osfp-800g-2x400g-sr4"}


def test_ports_that_take_single_mode_only_decide_for_the_other_end(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, TEXT.format(leaf="qfx5240-64qd", more=""))
    assert pairs(network) == {
        ("server", "osfp-400g-dr4", "qsfpdd-800g-2x400g-dr4"),
        ("fabric", "qsfpdd-800g-2x400g-dr4", "osfp-800g-2x400g-dr4"),
    }
    assert not [one for one in network.findings if one.id.startswith("optic")]


def test_links_that_share_a_module_are_of_one_kind(tmp_path: Path) -> None:
    """A spine's module has a link to each of two leaves: single mode for one of them is for both."""
    more = "overrides: {devices: {stripe1-leaf1: {device: qfx5240-64qd}}}"
    network, _ = designed(tmp_path, TEXT.format(leaf="qfx5240-64od", more="") + more)
    assert wrong(network) == []
    by_leaf = {cable.a.device: cable.a.optic for cable in network.cables if cable.kind == "fabric"}
    assert by_leaf["stripe1-leaf1"] == "qsfpdd-800g-2x400g-dr4"
    assert by_leaf["stripe1-leaf2"] == "osfp-800g-2x400g-dr4"


def test_optics_that_were_asked_for_are_kept_and_complained_of(tmp_path: Path) -> None:
    more = "cabling: {fabric: {length: 30m, optic: osfp-800g-2x400g-sr4, far_optic: osfp-800g-2x400g-dr4}}"
    network, _ = designed(tmp_path, TEXT.format(leaf="qfx5240-64od", more=more))
    (found,) = [one for one in network.findings if one.id == "optic-mismatch"]
    assert (found.severity, found.line) == ("error", 8)
    assert "osfp-800g-2x400g-sr4 (multimode fibre) at stripe1-leaf1" in found.what
    assert {a for kind, a, _ in pairs(network) if kind == "fabric"} == {"osfp-800g-2x400g-sr4"}


def test_one_end_asked_for_decides_the_other(tmp_path: Path) -> None:
    network, _ = designed(
        tmp_path, TEXT.format(leaf="qfx5240-64od", more="cabling: {server: {length: 10m, far_optic: osfp-400g-dr4}}")
    )
    assert {one for one in pairs(network) if one[0] == "server"} == {
        ("server", "osfp-400g-dr4", "osfp-800g-2x400g-dr4")
    }
