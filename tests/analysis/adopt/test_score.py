"""How well an imported file gives a switch back: every statement, no other, and policies in the order that counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from railweave.analysis.adopt.adopt import score
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.conftest import example
from tests.retarget import retargeted


def test_terms_in_another_order_are_no_whole_score() -> None:
    """On a system whose terms have names the statements are the same ones, and do something else."""
    designed = device_config(example("h100-rlb"), "spine1")
    assert designed.bgp is not None
    assert score(designed, designed).whole
    first, *others = designed.bgp.policies
    turned = replace(first, terms=tuple(reversed(first.terms)))
    read = replace(designed, bgp=replace(designed.bgp, policies=(turned, *others)))
    found = score(read, designed)
    assert (found.lost, found.extra, found.reordered) == ((), (), (first.name,))
    assert not found.whole


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"alias": "Eth1/1/1"', '"alias": "etp1a"'),
        ('"brkout_mode": "2x400G"', '"brkout_mode": "2x400G[200G,100G]"'),
        ('"localhost": {', '"localhost": {"mac": "02:00:5e:00:00:01",'),
    ],
)
def test_what_a_platform_writes_is_equivalent(old: str, new: str) -> None:
    designed = device_config(retargeted("h100-rlb", "sonic"), "spine1")
    text = system("sonic").files(designed)["config_db.json"]
    assert old in text
    trees = dict(system("sonic").trees(designed))
    reader = system("sonic").reader
    assert reader is not None
    trees["config_db.json"] = reader.parsed("config_db.json", text.replace(old, new, 1))
    found = score(designed, designed, trees)
    assert (found.equivalent, found.lost, found.extra) == (1, (), ())
