"""Sizing of racks that are NVLink domains: whole racks in each stripe, and a place in a rack for each tray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.design.sizing.request import Request, answer
from railweave.model.catalog import catalog
from railweave.model.network.nvlink import nvlink_domains
from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("nic", "gpus", "stripes", "racks"),
    [
        ("gb300", 576, [54, 54, 36], 8),  # a leaf has 64 ports down, which are three racks and a rest
        ("gb200", 576, [54, 54, 36], 8),
        ("rubin", 144, [18, 18], 2),  # 32 ports down of 800G: one rack
        ("gb300", 600, [54, 54, 42], 9),  # the last rack has six trays
    ],
)
def test_each_stripe_has_whole_racks(nic: str, gpus: int, stripes: list[int], racks: int, tmp_path: Path) -> None:
    sized = answer(catalog(), Request(gpus, nic, "qfx5240-64od", lb=None))
    network, _ = designed(tmp_path, sized.fabric())
    of_stripe: dict[str, list[str]] = {}
    for server in network.servers:
        of_stripe.setdefault(server.nics[0].stripe, []).append(server.name)
    assert [len(names) for names in of_stripe.values()] == stripes
    domains = nvlink_domains(network)
    assert {network.positions[name].rack for name in domains} == set(domains.values())
    assert len(set(domains.values())) == racks
    for stripe, names in of_stripe.items():
        others = {domains[name] for other, rest in of_stripe.items() if other != stripe for name in rest}
        assert not others & {domains[name] for name in names}
    assert [finding for finding in network.findings if finding.id == "nvlink-rack"] == []


def test_servers_of_boards_get_no_racks() -> None:
    assert "racks:" not in answer(catalog(), Request(512, "cx7", "qfx5240-64od")).fabric()
