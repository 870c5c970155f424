"""addresses.csv has every address that is configured on switches, by the names that their systems have for interfaces."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.model.device.build import device_config
from railweave.outputs.rendering.tables import addresses_csv
from tests.two_stripes import text

if TYPE_CHECKING:
    from pathlib import Path

NAMES = {
    "junos": {"router-id": "lo0", "vrf-loopback": "lo0.1", "gateway": "irb."},
    "eos": {"router-id": "Loopback0", "vrf-loopback": "Loopback101", "gateway": "Vlan", "tunnel": "Loopback1"},
    "sonic": {"router-id": "Loopback0", "vrf-loopback": "Loopback1", "gateway": "Vlan"},
    "dell_sonic": {"router-id": "Loopback0", "vrf-loopback": "Loopback1", "gateway": "Vlan"},
    "frr": {"router-id": "lo", "vrf-loopback": "lo1", "gateway": "irb."},
}


LINES = """
overlay: {vtep: ipv6, tenant_loopbacks: ["10.200.{tenant}.{leaf}/32", "fd00:200:{tenant}::{leaf}/128"]}
tenants: {a: {members: ["H100-[01-04]"]}}
"""


@pytest.mark.parametrize("nos", list(NAMES))
def test_every_address_of_a_leaf(tmp_path: Path, nos: str) -> None:
    file = tmp_path / "fabric.yaml"
    mode = "rlb" if "tunnel" in NAMES[nos] else "ecmp"
    file.write_text(text(LINES).replace("mode: ecmp", f"mode: {mode}"), encoding="utf-8")
    network = api.load(file, device=[f":{nos}"])
    leaf = device_config(network, "stripe1-leaf1")
    own = {str(one.address) for one in (*leaf.loopbacks(), *(one for vrf in leaf.vrfs for one in vrf.loopbacks))}
    own |= {str(one.address) for port in leaf.interfaces for one in port.addresses}
    own |= {str(one.address) for gateway in leaf.gateways for one in gateway.addresses}
    rows = [row for row in csv.DictReader(io.StringIO(addresses_csv(network))) if row["device"] == "stripe1-leaf1"]
    assert own <= {row["address"] for row in rows}
    kinds = {row["kind"]: row["interface"] for row in reversed(rows)}
    assert {"loopback", "vrf-loopback"} <= kinds.keys()
    for kind, name in NAMES[nos].items():
        assert kinds[kind].startswith(name), kind
