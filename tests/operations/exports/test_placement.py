"""Places of GPU servers, and the names that targets accept."""

from __future__ import annotations

from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.operations.exports.contracts import NameRule, check_distinct, check_names
from railweave.operations.exports.placement import Placement, placements, tree, used_levels, walk
from tests.conftest import EXAMPLES


def test_servers_of_a_network_with_pods_are_in_pods_and_stripes() -> None:
    network = railweave.load(EXAMPLES / "scale-32k-superspine.yaml")
    places = placements(network)
    assert used_levels(places) == ["pod", "stripe"]
    [root] = tree(network, places)
    assert (root.name, len(root.groups), len(root.groups[0].groups)) == ("scale-32k-superspine", 8, 8)
    assert root.groups[0].groups[0].servers == tuple(f"gpu-{number:04d}" for number in range(1, 65))


def test_groups_of_two_fabrics_have_different_names_and_no_common_root() -> None:
    network = railweave.load(EXAMPLES / "aidc-three-fabrics.yaml")
    groups = tree(network, placements(network))
    assert [group.name for group in groups] == ["backend1", "backend2"]
    assert [group.name for group in walk(groups) if group.servers] == [
        "backend1-stripe1",
        "backend1-stripe2",
        "backend2-stripe1",
        "backend2-stripe2",
    ]
    servers = [server for group in walk(groups) for server in group.servers]
    assert servers == [f"A100-{number:02d}" for number in range(1, 9)] + [
        f"H100-{number:02d}" for number in range(1, 5)
    ]


def test_a_level_that_divides_nothing_is_left_out() -> None:
    network = railweave.load(EXAMPLES / "dci-50km.yaml")  # one stripe in one pod at each of two sites
    assert used_levels(placements(network)) == ["stripe"]


def test_servers_of_a_rack_of_72_are_in_nvlink_domains() -> None:
    network = railweave.load(EXAMPLES / "gb300-racks.yaml")
    domains = [place.domain for place in placements(network)]
    assert len(set(domains)) == 8
    assert domains[:18] == ["A01"] * 18


def test_a_network_without_gpu_servers_is_refused() -> None:
    network = railweave.load(EXAMPLES / "frontend-mixed.yaml")
    with pytest.raises(InputError, match="no server with a NIC that belongs to a GPU"):
        placements(network)


RULE = NameRule("a thing", "[a-z]+", "small letters", 3, "things(5)")


def test_every_name_that_breaks_a_rule_is_named() -> None:
    check_names(RULE, ["a", "abc"])
    with pytest.raises(InputError) as refused:
        check_names(RULE, ["abc", "A", "abcd"])
    assert "A: the name of a thing has small letters (things(5))" in str(refused.value)
    assert "abcd: the name has 4 characters, but a thing has at most 3" in str(refused.value)


def test_names_that_become_the_same_are_refused() -> None:
    check_distinct("a group", {"a-b": "a_b", "c": "c"})
    with pytest.raises(InputError, match="a_b: a group would have the same name as a-b: a_b"):
        check_distinct("a group", {"a-b": "a_b", "a_b": "a_b"})


def _with(tmp_path: Path, text: str) -> Network:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    return railweave.load(file)


def test_a_network_with_the_name_of_a_stripe_has_no_two_groups_of_one_name(tmp_path: Path) -> None:
    network = _with(tmp_path, (EXAMPLES / "h100-rlb.yaml").read_text().replace("name: h100-rlb", "name: stripe1", 1))
    names = [group.name for group in walk(tree(network, placements(network)))]
    assert names == ["stripe1-network", "stripe1", "stripe2"]


def test_a_fabric_without_pods_beside_one_with_pods() -> None:
    big = [Placement(f"a{n}", "big", "site1", f"pod{n}", f"stripe{n}", "", 8, "H100", "NVIDIA") for n in (1, 2)]
    small = [Placement(f"b{n}", "small", "site1", "", f"stripe{n}", "", 8, "H100", "NVIDIA") for n in (1, 2)]
    network = railweave.load(EXAMPLES / "aidc-three-fabrics.yaml")
    groups = tree(network, [*big, *small])
    assert all(group.name for group in walk(groups))
    assert [(group.name, group.level) for group in groups[1].groups] == [
        ("small-stripe1", "stripe"),
        ("small-stripe2", "stripe"),
    ]
    assert {group.level for group in walk(groups[0].groups)} <= {"pod", "stripe"}
