"""Gateways of both address families on every system: rendered, and read back as they were."""

from __future__ import annotations

import pytest

from railweave.model.device.build import device_config
from tests.dual_stack import FABRICS, dual
from tests.systems.there_and_back import lost, one_of_each_role

SYSTEMS = ("junos", "eos", "sonic", "dell_sonic", "frr")


@pytest.mark.parametrize("nos", SYSTEMS)
@pytest.mark.parametrize("name", FABRICS)
def test_both_families_come_back(name: str, nos: str) -> None:
    network = dual(name, nos)
    for device in one_of_each_role(network):
        assert lost(device_config(network, device, nos)) == []
