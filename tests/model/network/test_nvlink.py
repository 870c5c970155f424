"""NVLink domains of racks: which servers form one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.model.network.nvlink import nvlink_domains
from railweave.model.network.status import present
from tests.conftest import designed, example

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """
name: trays
fabrics:
  backend:
    topology: {{stripes: 2, spines: 4, links_per_spine: 9}}
    leaf: {{device: qfx5240-64od}}
    load_balancing: {{mode: ecmp}}
servers:
  - {{names: "a-[01-36]", model: gb200-nvl72, stripe: stripe1}}
  - {{names: "b-[01-18]", model: gb200-nvl72, stripe: stripe2}}
{more}
"""


def domains(folder: Path, more: str = "") -> Counter[str]:
    network, _ = designed(folder, FABRIC.format(more=more))
    return Counter(nvlink_domains(network).values())


def test_without_racks_a_domain_is_as_many_trays_as_it_has(tmp_path: Path) -> None:
    assert domains(tmp_path) == {"stripe1-domain1": 18, "stripe1-domain2": 18, "stripe2-domain1": 18}


def test_a_rack_is_a_domain(tmp_path: Path) -> None:
    racks = 'racks: {racks: {r1: {devices: {"a-[01-09]": 1}}, r2: {devices: {"a-[10-27]": 1}}}}'
    assert domains(tmp_path, racks) == {"r1": 9, "r2": 18, "stripe1-domain1": 9, "stripe2-domain1": 18}


def test_an_absent_tray_moves_no_other(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, FABRIC.format(more='status: {"a-[03-04]": failed}'))
    there = {server.name for server in present(network).servers}
    found = nvlink_domains(network)
    assert found["a-18"] == "stripe1-domain1"
    assert found["a-19"] == "stripe1-domain2"
    assert Counter(found[name] for name in there)["stripe1-domain1"] == 16


def test_servers_of_boards_have_none() -> None:
    assert nvlink_domains(example("h100-rlb")) == {}
