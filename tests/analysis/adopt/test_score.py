"""How well an imported file gives a switch back: every statement, no other, and policies in the order that counts."""

from __future__ import annotations

from dataclasses import replace

from railweave.analysis.adopt.adopt import score
from railweave.model.device.build import device_config
from tests.conftest import example


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
