"""Routes turn from what is drained, in every form of path colors, as far as the whole way of a packet."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.checks.subject import Subject
from railweave.model.device.build import device_config
from railweave.model.intent.status import with_drained
from railweave.model.network.model import Network
from railweave.model.network.status import reachable
from railweave.operations.deploy.drain import by_hand, named, ports
from railweave.operations.deploy.remaining import capacity, lost_parts, still_used
from railweave.outputs.folder.sources import designed_as
from tests.analysis.routing.test_isis import TIERS

BASE = """
name: t
fabrics:
  f:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 4, link_speed: 400G, oversubscription: 8}
    leaf: {device: DEVICE}
    spine: {device: DEVICE}
servers:
  - {names: "a[1-2]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "b[1-2]", model: h100-8gpu-cx7, stripe: stripe2}
"""
JUNOS = "qfx5240-64od"
OLD = BASE.replace("    leaf:", "    underlay: {path_color: local-preference}\n    leaf:").replace("DEVICE", JUNOS)
FORMS = {
    "dpf": BASE.replace("DEVICE", JUNOS),
    "local-preference": OLD,
    "frr": BASE.replace("DEVICE", "qfx5240-64od, nos: frr"),
    "aigp": BASE.replace("DEVICE", "qfx5240-64od, nos: frr").replace(
        "    leaf:", "    emulation: {path_color: aigp}\n    leaf:"
    ),
    "eos": BASE.replace("DEVICE", "arista-7060x6-64pe, nos: eos"),
    "dell": BASE.replace("DEVICE", "z9864f-on, nos: dell_sonic"),
}


def drained(folder: Path, text: str, *names: str) -> tuple[Network, Network, Subject, frozenset[str]]:
    path = folder / "t.yaml"
    path.write_text(text)
    whole = api.load(path)
    found = [named(whole, name) for name in names]
    lines = with_drained(text, [one for each in found for one in each.patterns])
    after = designed_as(path, lines, None)
    return whole, after, Subject.of(reachable(after)), frozenset(link for one in found for link in one.links)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", ["spine2", "stripe1-leaf1--spine2"])
def test_no_leaf_sends_over_what_is_drained(tmp_path: Path, form: str, what: str) -> None:
    whole, after, subject, links = drained(tmp_path, FORMS[form], what)
    assert list(still_used(after, subject.configs, links)) == []
    undrained = {one.name: device_config(whole, one.name) for one in whole.switches}
    assert list(still_used(after, undrained, links)), "without the drain they would"


def test_a_far_leaf_that_goes_on_is_found_though_its_own_links_are_not_drained(tmp_path: Path) -> None:
    """The leaf at the drained link does its part, and the other leaves are told nothing."""
    whole, after, subject, links = drained(tmp_path, FORMS["frr"], "stripe1-leaf1--spine2")
    half = subject.configs | {"stripe1-leaf1": device_config(whole, "stripe1-leaf1")}
    assert any(one.startswith("stripe2-leaf1 would still send") for one in still_used(after, half, links))


def test_what_is_left_and_what_is_lost(tmp_path: Path) -> None:
    whole, after, subject, _ = drained(tmp_path, FORMS["frr"], "spine2")
    lines, lost = list(capacity(whole, after)), list(lost_parts(whole, after, subject.configs))
    assert any("4 of 4 leaves lose uplinks" in one and "75%" in one for one in lines)
    assert [one for one in lost if one.startswith("path color")]
    whole, after, subject, _ = drained(tmp_path, FORMS["frr"], "spine1", "spine2", "spine3", "spine4")
    assert any(
        "every uplink would be gone on stripe1-leaf1" in one for one in lost_parts(whole, after, subject.configs)
    )


def test_ports_are_measured_at_the_drained_switch_and_at_leaves_of_a_server(tmp_path: Path) -> None:
    whole, _, subject, links = drained(tmp_path, FORMS["frr"], "spine2")
    found = ports(whole, subject.configs, links)
    assert set(found) == {"spine2"}
    assert len(found["spine2"]) == len(links)
    _, _, subject, links = drained(tmp_path, FORMS["frr"], "a1")
    assert sum(map(len, ports(whole, subject.configs, links).values())) == len(links) == 8


def test_on_a_switch_that_nothing_here_changes_the_lines_are_said(tmp_path: Path) -> None:
    whole, _, subject, _ = drained(tmp_path, FORMS["dell"], "spine2")
    lines = list(by_hand(device_config(whole, "spine2"), subject.configs["spine2"]))
    assert any("set as-path prepend" in one for one in lines)
    assert all(one.startswith("spine2: type `") for one in lines)
    assert list(by_hand(*(device_config(whole, "spine2"),) * 2)) == []


PODS = """
name: t
fabrics:
  f:
    topology: {stripes: 4, spines: 2, stripes_per_pod: 2, super_spines: 2, links_per_super_spine: 2, link_speed: 400G}
    leaf: {device: DEVICE}
    spine: {device: DEVICE}
    super_spine: {device: DEVICE}
servers:
  - {names: "a[1-8]", model: dgx-h100-2gpu}
"""


@pytest.mark.parametrize(
    "what", ["pod1-spine2", "plane2-super1", "stripe1-leaf1--pod1-spine2", "pod1-spine2--plane2-super1"]
)
def test_other_pods_turn_from_what_is_drained(tmp_path: Path, what: str) -> None:
    _, after, subject, links = drained(tmp_path, PODS.replace("DEVICE", "qfx5240-64od, nos: frr"), what)
    assert list(still_used(after, subject.configs, links)) == []


def test_a_super_spine_takes_uplinks_of_spines(tmp_path: Path) -> None:
    whole, after, _, _ = drained(tmp_path, PODS.replace("DEVICE", JUNOS), "plane2-super1")
    assert any("2 of 4 spines lose uplinks; pod1-spine2 keeps least, 50%" in one for one in capacity(whole, after))


def test_it_is_found_where_a_drain_does_not_reach(tmp_path: Path) -> None:
    """AIGP goes through super-spines unchanged, so that other pods go on; and by IS-IS nothing is told at all."""
    _, after, subject, links = drained(tmp_path, PODS.replace("DEVICE", JUNOS), "pod1-spine2")
    assert any(one.startswith("stripe3-leaf1 would still send") for one in still_used(after, subject.configs, links))
    _, after, subject, links = drained(tmp_path, TIERS, "spine2")
    assert any("would still send" in one for one in still_used(after, subject.configs, links))
