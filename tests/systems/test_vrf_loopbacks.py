"""Loopbacks in VRFs on every system: rendered, read back as they were, and known to routes and checks."""

from __future__ import annotations

import numpy as np
import pytest

from railweave import api
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.analysis.routing.fabrics import configurations
from tests.conftest import EXAMPLES
from tests.systems.there_and_back import lost, one_of_each_role

FABRIC = EXAMPLES / "multitenancy-lab.yaml"
EXPECTED = {
    "junos": (
        "junos.set",
        [
            "set interfaces lo0 unit 1 family inet address 10.200.1.1/32",
            "set routing-instances tenant-1 interface lo0.1",
        ],
    ),
    "eos": ("eos.conf", ["interface Loopback101", "   vrf tenant-1", "   ipv6 address fd00:200:1::1/128"]),
    "sonic": ("config_db.json", ['"Loopback1|10.200.1.1/32": {}', '"vrf_name": "Vrf-tenant-1"']),
    "dell_sonic": ("dell_sonic.conf", ["interface Loopback 1", " ip address 10.200.1.1/32"]),
    "frr": ("frr.conf", ["interface lo1 vrf tenant-1", " ipv6 address fd00:200:1::1/128"]),
}


@pytest.mark.parametrize("nos", EXPECTED)
def test_loopbacks_of_vrfs_come_back(nos: str) -> None:
    network = api.load(FABRIC, device=[f":{nos}"])
    for device in one_of_each_role(network):
        assert lost(device_config(network, device)) == []
    file, lines = EXPECTED[nos]
    text = "\n".join(system(nos).files(device_config(network, "gpu-leaf01")).values())
    assert [one for one in lines if one not in text] == [], file


def test_a_vrf_holds_the_loopbacks_of_its_tenant_and_no_others() -> None:
    network = api.load(FABRIC)
    routes = ControlPlane(configurations(network)).routes()
    held = {routes.prefixes[at] for at in np.flatnonzero(routes.holds["gpu-leaf01", "tenant-1"]).tolist()}
    assert {"10.200.1.1/32", "10.200.1.3/32", "fd00:200:1::3/128"} <= held
    assert not any(one.startswith(("10.200.2.", "fd00:200:2:")) for one in held)
    assert "10.200.1.2/32" not in held  # gpu-leaf02 has no GPU of the tenant
    ports = routes.next_hops("gpu-leaf01", "10.200.1.3/32")
    assert len(ports) == 8
