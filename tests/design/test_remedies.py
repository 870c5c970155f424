"""A refusal names the change that mends it: each remedy is put into the file, and the file is then designed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import railweave
from railweave.analysis.routing.headers import Connection, connection
from railweave.errors import InputError
from tests.conftest import designed

FILE = """name: pod
fabrics:
  backend:
    topology: {topology}
    leaf: {{device: qfx5240-64od}}
    load_balancing: {{mode: ecmp}}
servers:
  - {{names: "gpu-[001-{servers}]", model: dgx-h100}}
"""


@pytest.mark.parametrize(
    ("topology", "servers", "wrong", "remedy"),
    [
        ("{stripes: 2, spines: 4, links_per_spine: 16}", 128, "too few ports", "spines: 8, links_per_spine: 8"),
        ("{stripes: 3, spines: 4, links_per_spine: 16}", 180, "too few ports", "spines: 16, links_per_spine: 4"),
        ("{stripes: 2, spines: 4, links_per_spine: 1}", 16, "oversubscription is", "spines: 4, links_per_spine: 2"),
        ("{stripes: 2, spines: 4, links_per_spine: 1}", 16, "oversubscription is", "spines: 8, links_per_spine: 1"),
        ("{stripes: 2, spines: 4, links_per_spine: 1}", 16, "oversubscription is", "spines: 4, oversubscription: 2"),
    ],
)
def test_what_the_refusal_names_mends_it(topology: str, servers: int, wrong: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=wrong) as refused:
        designed(tmp_path, FILE.format(topology=topology, servers=servers))
    stripes = topology.partition(",")[0]
    changed = [setting for setting in remedy.split(", ") if setting not in topology]
    assert all(f"`{setting}`" in str(refused.value) for setting in changed)
    network, _ = designed(tmp_path, FILE.format(topology=f"{stripes}, {remedy}}}", servers=servers))
    assert len(network.servers) == servers


def test_super_spines_are_named_where_no_number_of_spines_is_enough(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"a spine has ports for 128 leaves: give `stripes_per_pod` and `super_spines`"
    ):
        designed(tmp_path, FILE.format(topology="{stripes: 20, spines: 8}", servers=160))


def test_the_switches_and_cables_of_one_more_stripe_are_those_of_the_designs(tmp_path: Path) -> None:
    """What the refusal says the second stripe costs is the difference of the design with its remedy to that of one stripe."""
    before, _ = designed(tmp_path, FILE.format(topology="{stripes: 1, spines: 4, links_per_spine: 16}", servers=60))
    with pytest.raises(InputError, match="too few ports") as refused:
        designed(tmp_path, FILE.format(topology="{stripes: 2, spines: 4, links_per_spine: 16}", servers=120))
    said = re.search(
        r"`spines: (\d+)` with `links_per_spine: (\d+)`.*: (\d+) switches and ([\d,]+) cables more than without stripe2",
        str(refused.value),
    )
    assert said is not None
    spines, links, switches, cables = (int(number.replace(",", "")) for number in said.groups())
    after, _ = designed(
        tmp_path, FILE.format(topology=f"{{stripes: 2, spines: {spines}, links_per_spine: {links}}}", servers=120)
    )
    assert len(after.switches) - len(before.switches) == switches
    assert len(after.cables) - len(before.cables) == cables


STORAGE = """name: files
fabrics:
  storage:
    nics: storage
    topology: {topology}
    leaf: {{device: qfx5220-32cd}}
    addressing: {{server_mode: static, server_pool: 10.3.0.0/16, prefix_length: 24}}
    load_balancing: {{mode: ecmp}}
servers:
  - {{names: "file-[1-4]", model: two-ports}}
hardware:
  servers:
    two-ports:
      extends: weka-storage
      nics:
        storage: {{nic: connectx-6dx-100, names: [stor0_eth, stor1_eth], rdma: [mlx5_0, mlx5_1], source: "a test"}}
"""


def test_leaves_that_no_link_joins_are_named_with_what_joins_them(tmp_path: Path) -> None:
    def between(topology: str) -> Connection:
        network, _ = designed(tmp_path, STORAGE.format(topology=topology))
        return connection(network, railweave.routes(network), ("file-1:stor0_eth", "file-2:stor1_eth"), 1)

    apart = between("{stripes: 1, leaves_per_stripe: 2}")
    assert not apart.complete
    (note,) = apart.notes
    assert "no link joins these leaves: give `spines:` under `topology:` of storage" in note
    assert "`planes: rail`" in note
    assert between("{stripes: 1, leaves_per_stripe: 2, spines: 2}").complete
    (note,) = between("{stripes: 1, leaves_per_stripe: 2, planes: rail}").notes
    assert "as designed, no link joins these rails" in note
