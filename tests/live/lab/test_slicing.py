"""A slice is a network of its own, in which everything is called and numbered as in the whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import InputError
from railweave.live.lab.slicing import parse
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from tests.conftest import example
from tests.live.lab.machine import part_of
from tests.systems.test_tenants_over_super_spines import pods


def _leaves(network: Network) -> list[str]:
    return [one.name for one in network.switches if one.role == "leaf"]


@pytest.mark.parametrize(
    ("text", "leaves", "spines", "servers", "nics"),
    [
        ("rails=1", ["stripe1-leaf1", "stripe2-leaf1"], 4, 4, 1),
        ("rails=2-3,stripes=1", ["stripe1-leaf2", "stripe1-leaf3"], 4, 2, 2),
        ("rails=1,spines=2", ["stripe1-leaf1", "stripe2-leaf1"], 2, 4, 1),
        ("rails=1,servers=2-3", ["stripe1-leaf1", "stripe2-leaf1"], 4, 2, 1),
    ],
)
def test_a_slice_has_what_was_asked_and_is_whole(
    text: str, leaves: list[str], spines: int, servers: int, nics: int
) -> None:
    part = part_of(example("h100-rlb"), text)
    assert _leaves(part) == leaves
    assert len(part.switches) == len(leaves) + spines
    assert [len(server.nics) for server in part.servers] == [nics] * servers
    assert part.dangling() == ""
    assert len(part.cables) == len(leaves) * spines + servers * nics


def test_what_is_left_forwards_as_in_the_whole_network() -> None:
    whole, part = (
        ControlPlane(device_config(network, one.name, "frr") for one in network.switches).routes()
        for network in (example("h100-rlb"), part_of(example("h100-rlb"), "rails=1"))
    )
    for device in part.fibs:
        for prefix in part.prefixes:
            assert part.next_hops(device, prefix) == whole.next_hops(device, prefix)
            assert part.backup(device, prefix) == whole.backup(device, prefix)


def test_a_slice_of_routed_links_keeps_the_segments_of_its_nics() -> None:
    part = part_of(example("mi300x-leaf-31"), "rails=1-2,servers=1")
    assert [len(server.nics) for server in part.servers] == [2]
    assert len(part.segments) == 2
    assert part.dangling() == ""


@pytest.mark.parametrize(
    "text", ["rails", "rails=0", "rails=3-2", "racks=1", "rails=1,rails=2", "", "rails=1;stripes=1"]
)
def test_what_is_no_slice_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(InputError, match="--slice rails=1-2"):
        parse(text)


def test_a_slice_without_servers_is_refused() -> None:
    with pytest.raises(InputError, match="no leaf with a server"):
        part_of(example("h100-rlb"), "rails=9-10")


def test_spines_are_taken_of_every_plane_and_pod_and_super_spines_with_them(tmp_path: Path) -> None:
    planes = part_of(example("two-planes"), "rails=8-9,spines=2")  # the last rail of one plane, the first of the other
    assert Counter((one.role, one.plane) for one in planes.switches) == {
        ("leaf", "plane1"): 2, ("leaf", "plane2"): 2, ("spine", "plane1"): 2, ("spine", "plane2"): 2,
    }  # fmt: skip
    racks = part_of(example("gb300-racks"), "rails=4-5,stripes=1-2,spines=2,servers=1-4")  # as its page says
    assert Counter((one.role, one.plane) for one in racks.switches) == {
        ("leaf", "plane1"): 2, ("leaf", "plane2"): 2, ("spine", "plane1"): 2, ("spine", "plane2"): 2,
    }  # fmt: skip
    found = part_of(pods(tmp_path), "spines=1")
    assert [one.name for one in found.switches if one.role != "leaf"] == [
        "pod1-spine1", "pod2-spine1", "plane1-super1", "plane1-super2",
    ]  # fmt: skip
    assert found.dangling() == ""
