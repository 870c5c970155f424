"""Our own examples, read back from configurations: the fabric file that is found designs the same network."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from railweave.adopt.adopt import imported
from railweave.systems import system, systems
from tests.adopt.scramble import configs_of, read_back, scrambled
from tests.conftest import SMALL, designed
from tests.retarget import retargeted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from railweave.adopt.adopt import Imported
    from railweave.device.model import DeviceConfig

ONE_LEAF, RAILS, TENANTS = "mi300x-leaf-24", "h100-rlb", "evpn-server-isolation"


def _imported(configs: Mapping[str, DeviceConfig]) -> Imported:
    """What is found from the texts of switches, compared with what these texts say."""
    trees = {name: system(config.nos).trees(config) for name, config in configs.items()}
    return imported("other", {name: read_back(config) for name, config in configs.items()}, trees=trees)


def _same(found: Imported) -> None:
    """Every statement is there again, and no other."""
    assert found.differences() == []
    assert all(one.fields == () for one in found.scores)


@pytest.mark.parametrize("nos", [one for one in systems() if one != "frr"])
@pytest.mark.parametrize("name", [ONE_LEAF, TENANTS])
def test_an_example_comes_back(name: str, nos: str) -> None:
    network = retargeted(name, nos)
    found = _imported(configs_of(network))
    assert found.differences() == []
    assert {one.name for one in found.network.switches} == {one.name for one in network.switches}


def test_path_colors_come_back() -> None:
    found = _imported(configs_of(retargeted(RAILS, "junos")))
    _same(found)
    assert [one.name for one in found.network.fabrics[0].colors] == ["green", "blue", "red", "orange"]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", [ONE_LEAF, TENANTS])
def test_names_and_numbers_do_not_matter(name: str, seed: int) -> None:
    configs = scrambled(retargeted(name, "junos"), seed)
    found = _imported(configs)
    assert found.differences() == []
    assert sum(one.equivalent for one in found.scores) == 0
    assert {one.name for one in found.network.switches} == set(configs)


PODS = """
    name: pods
    fabrics:
      backend:
        topology: {stripes: 4, spines: 2, stripes_per_pod: 2, super_spines: 2, links_per_super_spine: 4, oversubscription: 4}
        leaf: {device: qfx5240-64od}
    servers:
      - {names: "g[1-8]", model: dgx-h100-2gpu, stripe: stripe1}
      - {names: "h[1-8]", model: dgx-h100-2gpu, stripe: stripe2}
      - {names: "k[1-8]", model: dgx-h100-2gpu, stripe: stripe3}
      - {names: "m[1-8]", model: dgx-h100-2gpu, stripe: stripe4}
"""


def test_pods_under_super_spines(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, PODS)
    found = _imported(scrambled(network, 5))
    assert found.differences() == []
    assert sum(one.equivalent for one in found.scores) == 0
    roles = Counter(one.role for one in found.network.switches)
    assert roles == {"leaf": 8, "spine": 4, "super-spine": 4}


def test_names_of_policies_are_equivalent() -> None:
    found = _imported(scrambled(retargeted(TENANTS, "junos"), 3, policies=True))
    assert found.differences() == []
    assert all(one.equivalent for one in found.scores)


def test_every_small_example_is_known() -> None:
    """The examples that this file leaves out are tried by hand (docs/howto/bring-an-existing-network.md)."""
    assert {ONE_LEAF, RAILS, TENANTS} <= set(SMALL)
