"""Networks whose servers have both address families, read back from configurations."""

from __future__ import annotations

import pytest

from railweave.analysis.adopt.adopt import imported
from railweave.systems import system, systems
from tests.analysis.adopt.scramble import configs_of, read_back
from tests.dual_stack import FABRICS, dual


@pytest.mark.parametrize("nos", [one for one in systems() if one != "frr"])
@pytest.mark.parametrize("name", FABRICS)
def test_a_dual_stack_network_comes_back(name: str, nos: str) -> None:
    configs = configs_of(dual(name, nos))
    trees = {device: system(config.nos).trees(config) for device, config in configs.items()}
    found = imported("other", {device: read_back(config) for device, config in configs.items()}, trees=trees)
    assert found.differences() == []
    assert {pool.partition(":")[1] for pool in found.network.fabrics[0].server_pools} == {"", ":"}
