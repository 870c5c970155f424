"""Our own examples, read back from configurations: the fabric file that is found designs the same network."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from railweave.analysis.adopt.adopt import imported
from railweave.outputs.folder.designing import design_file
from railweave.systems import system, systems
from tests.analysis.adopt.scramble import configs_of, read_back, scrambled
from tests.conftest import EXAMPLES, SMALL, designed
from tests.design.test_interconnect import TWO_SITES
from tests.retarget import retargeted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from railweave.analysis.adopt.adopt import ImportedNetwork
    from railweave.model.device.model import DeviceConfig

ONE_LEAF, RAILS, TENANTS = "mi300x-leaf-24", "h100-rlb", "evpn-server-isolation"


def _imported(configs: Mapping[str, DeviceConfig]) -> ImportedNetwork:
    """What is found from the texts of switches, compared with what these texts say."""
    trees = {name: system(config.nos).trees(config) for name, config in configs.items()}
    return imported("other", {name: read_back(config) for name, config in configs.items()}, trees=trees)


def _same(found: ImportedNetwork) -> None:
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


def test_models_that_only_the_far_end_tells_apart() -> None:
    """A QFX5230 has no word for the speed of a whole port, and a QFX5240 has such a port at another: spines say the speed."""
    _same(_imported(configs_of(design_file(EXAMPLES / "evpn-functional.yaml")[0])))


def test_ports_of_which_no_text_says_the_speed() -> None:
    assert _imported(configs_of(retargeted("evpn-functional", "frr"))).differences() == []


@pytest.mark.parametrize("nos", ["junos", "sonic", "frr"])
def test_leaves_that_join_two_sites(nos: str) -> None:
    network = design_file(EXAMPLES / "dci-50km.yaml")[0] if nos == "junos" else retargeted("dci-50km", nos)
    found = _imported(scrambled(network, 3))
    assert found.differences() == []
    assert len({one.site for one in found.network.switches}) == 2


@pytest.mark.parametrize(
    "underlay",
    [
        "",
        """
    underlay: {protocol: isis, peering: numbered}
    addressing: {server_pool: 10.0.0.0/8, prefix_length: 24, server_mode: static}
    pools: {fabric_links: 10.128.0.0/12}
""",
    ],
)
def test_routers_that_join_two_sites(tmp_path: Path, underlay: str) -> None:
    text = TWO_SITES.replace("MODE", "dlb-flowlet").replace("servers:\n", f"{underlay}\nservers:\n")
    configs = scrambled(designed(tmp_path, text)[0], 5)
    found = _imported(configs)
    assert found.differences() == []
    assert sum(one.equivalent for one in found.scores) == 0
    assert {one.name for one in found.network.switches} == set(configs)
    assert "addresses:" not in found.fabric  # the pool gives them all


def test_names_of_policies_are_equivalent() -> None:
    found = _imported(scrambled(retargeted(TENANTS, "junos"), 3, policies=True))
    assert found.differences() == []
    assert all(one.equivalent for one in found.scores)


def test_every_small_example_is_known() -> None:
    """The examples that this file leaves out are tried by hand (docs/collect.md)."""
    assert {ONE_LEAF, RAILS, TENANTS} <= set(SMALL)
