"""A refusal names the change that mends it: each remedy is put into the file, and the file is then designed."""

from __future__ import annotations

from pathlib import Path

import pytest

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
