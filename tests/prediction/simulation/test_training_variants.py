"""Choices for training jobs side by side: what each changes, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.outputs.report.prediction.training import variants_html
from railweave.prediction.simulation.training.variants import Variants, compare_training, on_leaves, oversubscribed
from tests.conftest import EXAMPLES

FABRIC = EXAMPLES / "h100-rlb.yaml"
JOB = """
name: small
model: {layers: 2, hidden: 2048, heads: 16, ffn: 8192, vocabulary: 1000, sequence: 2048, experts: 32, top_k: 4}
parallel: {expert: 32}
batch: {global: 64}
"""


@cache
def network() -> Network:
    return railweave.load(FABRIC)


def designed(changes: Mapping[str, str]) -> Network:
    return railweave.load(FABRIC, changes=changes)


def twice(changes: Mapping[str, str]) -> tuple[Network, Network]:
    return designed(changes), designed(changes)


def compared(tmp_path: Path, words: str) -> Variants:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    return compare_training(network(), path, words, {}, lambda _: None, twice)


def uplinks(net: Network, leaf: str = "stripe1-leaf1") -> int:
    return sum(cable.kind == "fabric" and cable.a.device == leaf for cable in net.cables)


def test_fewer_uplinks_cost_what_the_uplinks_carry(tmp_path: Path) -> None:
    found = compared(tmp_path, "oversubscription=0.5:1,1:1,2:1")
    steps = [one.job.step_ps for one in found.rows(0)]
    assert steps[0] == pytest.approx(steps[1], rel=0.01)  # both have room for all; hashes differ
    assert steps[2] > steps[1] * 1.05
    waits = [one.job.exposed_ps for one in found.rows(0)]
    rows = found.rows(0)
    assert rows[1].gpus_wasted == 0
    assert rows[2].gpus_wasted == pytest.approx(32 * (1 - steps[1] / steps[2]))
    assert waits[2] - waits[1] == pytest.approx(steps[2] - steps[1], rel=0.01)
    assert "2:1" in found.to_text()
    page = variants_html(found)
    assert page.count('class="part ') >= 3 * 2
    assert "best" in page


@pytest.mark.parametrize(("text", "wanted"), [("0.5:1", 4), ("1:1", 2), ("2:1", 1), ("1", 2)])
def test_oversubscription_is_designed(text: str, wanted: int) -> None:
    assert uplinks(designed(oversubscribed(network(), text))) == wanted


@pytest.mark.parametrize("leaves", [4, 2])
def test_servers_on_fewer_leaves_keep_the_uplinks_of_the_stripe(leaves: int) -> None:
    net = designed(on_leaves(network(), str(leaves)))
    assert sum(one.role == "leaf" for one in net.switches) == 2 * leaves
    assert uplinks(net) * leaves == 8 * 4


def test_several_things_each_alone_beside_what_is(tmp_path: Path) -> None:
    dead = tmp_path / "dead.yaml"
    dead.write_text("faults:\n  - {at: 0us, kind: device-down, device: spine1}\n")
    others = tmp_path / "others.yaml"
    others.write_text(JOB.replace("small", "neighbor"))
    words = f"lb=ecmp oversubscription=2:1 scenario={dead} others={others} fabrics.backend.topology.spines=2"
    found = compared(tmp_path, words)
    by_label = {one.label: one for one in found.rows(0)}
    as_it_is = by_label["as it is"].job.step_ps
    assert next(iter(by_label)) == "as it is"
    assert len(by_label) == 6
    assert by_label[f"others={others}"].job.step_ps > as_it_is
    assert by_label["oversubscription=2:1"].job.step_ps > as_it_is
    assert by_label[f"scenario={dead}"].job.step_ps >= as_it_is * 0.999
    assert found.jobs == 1
    assert [one["value"] for one in found.to_json()["variants"]] == list(by_label)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("fabrics.nowhere.topology.spines=1,2", "is not a setting that can be varied for jobs"),
        ("oversubscription=3:1", "0.666667 uplinks of 400G"),
        ("oversubscription=much", "is not an oversubscription"),
        ("rails=3", "cannot be divided evenly over this number of leaves"),
        ("lb=ecmp,ecmp", "is not a setting that can be varied for jobs"),
        ("color=green", "is not a setting that can be varied for jobs"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path: Path, words: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        compared(tmp_path, words)


def test_a_build_folder_cannot_be_designed_anew(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    with pytest.raises(InputError, match="already designed"):
        compare_training(network(), path, "rails=8,1", {}, lambda _: None)
    railweave.build(FABRIC, tmp_path / "built")
    with pytest.raises(InputError, match="designed already"):
        railweave.load(tmp_path / "built", changes={"fabrics.backend.topology.spines": "2"})
