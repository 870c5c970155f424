"""Routers outside the fabric, read back from configurations."""

from __future__ import annotations

import pytest

from railweave.analysis.adopt.adopt import imported
from railweave.systems import system, systems
from tests.analysis.adopt.scramble import configs_of, read_back
from tests.external_port import shared_port


@pytest.mark.parametrize("nos", [one for one in systems() if one != "frr"])
def test_tenants_on_one_port_keep_their_own_prefixes_and_tags(nos: str) -> None:
    configs = configs_of(shared_port(nos))
    trees = {device: system(config.nos).trees(config) for device, config in configs.items()}
    found = imported("other", {device: read_back(config) for device, config in configs.items()}, trees=trees)
    assert found.differences() == []
    links = [link for tenant in found.network.fabrics[0].tenants for one in tenant.external for link in one.links]
    assert [(link.address, link.vlan) for link in links] == [("10.200.0.0", 301), ("10.200.0.2", 302), ("fd0f::", 303)]
