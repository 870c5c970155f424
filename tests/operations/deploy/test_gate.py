"""What the check after a wave expects while only a part of a network is changed, and what FRR goes back to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.operations.deploy.gate import two_sided
from railweave.systems import system
from railweave.systems.frr import transaction
from railweave.systems.transaction import ChangeRequest
from tests.conftest import example


def test_a_session_whose_other_end_is_not_changed_yet_is_not_expected() -> None:
    network = example("evpn-gpu-isolation")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    assert two_sided(configs) == configs
    bare = replace(configs["spine1"], bgp=None, overlay=None)
    found = two_sided(configs | {"spine1": bare})
    for name, config in found.items():
        before, overlay = configs[name].bgp, configs[name].overlay
        if name == "spine1" or before is None or overlay is None or config.bgp is None or config.overlay is None:
            continue
        left = {one.link for group in config.bgp.groups for one in group.sessions}
        every = {one.link for group in before.groups for one in group.sessions}
        of_spine = {one.name for one in network.cables_of(name) if "spine1" in (one.a.device, one.b.device)}
        assert left == every - of_spine
        assert [one.peer for one in config.overlay.neighbors] == [
            one.peer for one in overlay.neighbors if one.peer != "spine1"
        ]


def test_a_session_whose_ends_refuse_each_other_for_now_is_not_expected() -> None:
    """Half of a network has other AS numbers, or tunnels of another family."""
    network = example("evpn-gpu-isolation")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    leaf, name = configs["stripe1-leaf1"], "stripe1-leaf1"
    assert leaf.bgp is not None
    assert leaf.overlay is not None
    other = replace(leaf.bgp, groups=tuple(replace(group, local_as=64999) for group in leaf.bgp.groups))
    renumbered = two_sided(configs | {name: replace(leaf, bgp=other)})[name]
    assert renumbered.bgp is not None
    assert not renumbered.bgp.groups
    moved = tuple(replace(one, local_address=one.peer_address) for one in leaf.overlay.neighbors)
    elsewhere = two_sided(configs | {name: replace(leaf, overlay=replace(leaf.overlay, neighbors=moved))})
    far = elsewhere["spine1"].overlay
    assert far is not None
    assert name not in {one.peer for one in far.neighbors}


class Told:
    """A session that keeps what it is given."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}

    async def execute(self, words: str, given: str = "") -> str:
        """Nothing is answered."""
        if given:
            self.given[words.rpartition(" ")[2]] = given
        return ""

    async def close(self) -> None:
        """Nothing is open."""


def test_a_new_switch_goes_back_without_taking_interfaces_away() -> None:
    """``frr-reload.py`` fails on ``no interface lo``, and left the switch with its timer armed for good."""
    before = "hostname spine4\n"
    target = "hostname spine4\ninterface lo\n ip address 10.0.0.1/32\nexit\ninterface et-0-0\nexit\n"
    given = ChangeRequest("label", {"frr.conf": ()}, {"frr.conf": target}, {"frr.conf": before})
    told = Told()
    asyncio.run(transaction.commit(told, given, 60))
    assert told.given["before.conf"] == f"{before}interface lo\nexit\ninterface et-0-0\nexit\n"


def test_another_profile_of_defaults_takes_the_place_of_the_one_before() -> None:
    """A new switch has FRR's ``traditional``; there is no ``no frr defaults``."""
    reader = system("frr").reader
    assert reader is not None
    old, new = (reader.parsed("frr.conf", f"frr defaults {one}\nhostname a\n") for one in ("traditional", "datacenter"))
    assert [str(one) for one in compare(old, new).commands] == ["frr defaults datacenter"]


def test_the_instance_of_a_vrf_goes_last_and_the_way_back_is_typed_before_it_is_reloaded() -> None:
    before = "frr defaults datacenter\nhostname a\nvrf green\n vni 7\nexit-vrf\nrouter bgp 65001 vrf green\n bgp router-id 10.0.0.1\nexit\n"
    target = "frr defaults datacenter\nhostname a\n"
    reader = system("frr").reader
    assert reader is not None
    lines = compare(reader.parsed("frr.conf", before), reader.parsed("frr.conf", target)).commands
    told = Told()
    given = ChangeRequest("railweave-x-1", {"frr.conf": lines}, {"frr.conf": target}, {"frr.conf": before})
    asyncio.run(transaction.commit(told, given, 60))
    assert told.given["last.conf"] == "no router bgp 65001 vrf green\n"
    assert told.given["change.conf"].split("\n") == ["vrf green", " no vni 7", "exit", ""]
    assert told.given["back.conf"].startswith("vrf green\n vni 7\nexit\nrouter bgp 65001 vrf green\n")
