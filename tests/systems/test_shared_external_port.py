"""Several tenants on one port to an external router, each by a tag of its own: rendered, read back, proved, refused where it cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.outputs.rendering.tables import cabling_csv
from tests.external_port import FABRIC
from tests.systems.there_and_back import lost

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network


def _network(tmp_path: Path, nos: str = "junos", *changes: tuple[str, str]) -> Network:
    text = FABRIC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "wan.yaml"
    file.write_text(text, encoding="utf-8")
    return api.load(file, device=[f":{nos}"])


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic", "dell_sonic", "frr"])
def test_each_tenant_has_its_tag(tmp_path: Path, nos: str) -> None:
    leaf = device_config(_network(tmp_path, nos), "stripe1-leaf1")
    [port] = [one for one in leaf.interfaces if one.kind == "external"]
    assert [(one.vrf, one.unit_vlan, one.addresses) for one in port.parts()] == [
        ("red", 301, ("10.200.0.0/31",)),
        ("blue", 302, ("10.200.0.2/31",)),
        ("green", 303, ("fd0f::/127",)),
    ]
    assert [one.external[0].session.interface for one in leaf.vrfs] == [f"{port.name}.{tag}" for tag in (301, 302, 303)]
    assert lost(leaf) == []


def test_nothing_is_wrong_with_it(tmp_path: Path) -> None:
    found = run_checks(Subject.of(_network(tmp_path)), slow=False)
    assert [one for one in found if one.severity == "error"] == []


def test_a_port_leads_to_one_router_by_tags_of_their_own(tmp_path: Path) -> None:
    for change in (("vlan: 302", "vlan: 301"), (", vlan: 302", ""), ("vlan: 302", "speed: 400G, vlan: 302")):
        with pytest.raises(InputError, match=r"et-0/0/60"):
            _network(tmp_path, "junos", change)
    blue = FABRIC.index("      blue:")
    with pytest.raises(InputError, match="for external router other is taken by external router wan"):
        _network(tmp_path, "junos", (FABRIC[blue:], FABRIC[blue:].replace("wan:", "other:", 1)))


def test_its_cable_is_one_and_its_port_names_every_tenant(tmp_path: Path) -> None:
    network = _network(tmp_path)
    rows = [row for row in cabling_csv(network).splitlines() if row.startswith("stripe1-leaf1,et-0/0/60,")]
    assert len(rows) == 1
    [port] = [one for one in device_config(network, "stripe1-leaf1").interfaces if one.kind == "external"]
    assert port.description == "wan, tenants red, blue, green"
