"""A change between two designs, typed line by line into EOS, FRR and Enterprise SONiC, gives the new configuration."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn import examples_of_day
from tests.model.config.line_switch import LineSwitch, Manual
from tests.model.config.manuals import DELL, EOS, FRR
from tests.model.config.references import dangling, uses
from tests.model.config.variants import TOTAL, changes, networks, trees

from railweave.model.config.compare import compare
from railweave.model.device.build import device_config

SYSTEMS = {
    "eos": (EOS, "eos.conf", "railweave.systems.eos.render"),
    "frr": (FRR, "frr.conf", "railweave.systems.frr.render"),
    "sonic": (FRR, "frr.conf", "railweave.systems.sonic.render.frr"),
    "dell_sonic": (DELL, "sonic.cli", "railweave.systems.dell_sonic.render"),
}
"""The manual, the file, and what renders its sections."""

_MAPS = {
    "route map": ([r"^route-map (\S+) "], [r" route-map (\S+)( in| out|$)"]),
    "prefix list": ([r"^ipv?6? prefix-list (\S+)"], [r" address prefix-list (\S+)"]),
}
REFERENCES: dict[str, Any] = {
    "eos": {
        **_MAPS,
        "community": ([r"^ip large-community-list (\S+)"], [r" match large-community (\S+)"]),
        "VRF": (
            [r"^vrf instance (\S+)"],
            [r"^interface .* / vrf (\S+)$", r"^ip routing vrf (\S+)", r" vxlan vrf (\S+) "],
        ),
        "VLAN": ([r"^vlan (\d+)$"], [r" switchport access vlan (\d+)", r" vxlan vlan (\d+) ", r"^interface Vlan(\d+)"]),
        "QoS profile": ([r"^qos profile (\S+)$"], [r" service-profile (\S+)"]),
        "peer filter": ([r"^peer-filter (\S+)"], [r" peer-filter (\S+)"]),
        "peer group": ([r" / neighbor (\S+) peer group$"], [r" / neighbor \S+ peer group (\S+)", r" peer-group (\S+)"]),
    },
    "frr": {
        **_MAPS,
        "community": ([r"^bgp large-community-list standard (\S+)"], [r" match large-community (\S+)"]),
        "BFD profile": ([r"^bfd / profile (\S+)"], [r" bfd profile (\S+)"]),
        "peer group": ([r" / neighbor (\S+) peer-group$"], [r" / neighbor \S+ peer-group (\S+)"]),
    },
    "dell_sonic": {
        **_MAPS,
        "community": ([r"^bgp community-list standard (\S+)"], [r" match community (\S+)"]),
        "BFD profile": ([r"^bfd / profile (\S+)"], [r" bfd profile (\S+)"]),
        "peer group": ([r" / peer-group (\S+)$"], [r" / neighbor .* / peer-group (\S+)"]),
        "VRF": ([r"^ip vrf (\S+)"], [r" ip vrf forwarding (\S+)", r" map vni \d+ vrf (\S+)"]),
        "VLAN": ([r"^interface Vlan (\d+)"], [r" switchport access Vlan (\d+)", r" map vni \d+ vlan (\d+)"]),
        "WRED policy": ([r"^qos wred-policy (\S+)"], [r" wred-policy (\S+)$"]),
        "buffer profile": ([r"^buffer profile (\S+)"], [r" buffer priority-group \d+ (\S+)"]),
        "scheduler": ([r"^qos scheduler-policy (\S+)"], [r"^interface \S+ / scheduler-policy (\S+)"]),
    },
}
REFERENCES["sonic"] = REFERENCES["frr"]


@cache
def _loaded(nos: str, number: int, switch: str) -> LineSwitch:
    tree = importlib.import_module(SYSTEMS[nos][2]).tree
    found = LineSwitch(SYSTEMS[nos][0])
    found.load(tree(device_config(networks(nos)[number], switch, nos)))
    return found


NOT_TYPED = {"ip forwarding", "ipv6 forwarding"}
"""Lines of FRR that no command takes away: ``no ip forwarding`` clears the kernel's own parameter (systems/frr/changes.py)."""


@cache
def _said(nos: str, number: int, switch: str) -> Any:
    return _loaded(nos, number, switch).said()


@pytest.mark.slow
@pytest.mark.parametrize("nos", SYSTEMS)
@examples_of_day(300, 60)
@given(data=st.data())
def test_typed_commands_give_the_new_configuration_and_leave_no_name_behind(nos: str, data: st.DataObject) -> None:
    *pair, switch = data.draw(changes(nos))
    old, new = (trees(nos, number)[switch][SYSTEMS[nos][1]] for number in pair)
    change = compare(old, new)
    found = _loaded(nos, pair[0], switch).copy()
    found.type([str(line) for line in change.commands])
    reached = {line: below for line, below in found.said().items() if line not in NOT_TYPED}
    assert reached == {line: below for line, below in _said(nos, pair[1], switch).items() if line not in NOT_TYPED}
    assert not dangling(found.flat(), REFERENCES[nos])


@pytest.mark.slow
@pytest.mark.parametrize("nos", SYSTEMS)
def test_the_variants_name_something_of_every_kind(nos: str) -> None:
    flat = [
        line
        for number in range(TOTAL)
        for one in networks(nos)[number].switches
        for line in _loaded(nos, number, one.name).flat()
    ]
    assert uses(flat, REFERENCES[nos]) == REFERENCES[nos].keys()


def test_the_small_switch_refuses_what_a_switch_refuses() -> None:
    found = LineSwitch(Manual(settings=(r"mtu ",), refused=(r"(peer-group) ",)))
    found.type(["mtu 9000", "peer-group a"])
    for line in ("no description", "peer-group b"):
        with pytest.raises(AssertionError):
            found.type([line])
    found.type(["no mtu", "no peer-group a"])
    assert found.said() == {}
