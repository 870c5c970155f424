"""What it disrupts to shut or remove a port, where a configuration is lines or tables."""

from __future__ import annotations

import pytest

from railweave.model.config.compare import compare
from railweave.model.config.section_tree import SectionTree, section_tree
from railweave.model.config.sections import section
from railweave.model.config.tree import ports_of
from railweave.systems.dell_sonic.changes import RULES as DELL
from railweave.systems.eos.changes import RULES as EOS
from railweave.systems.frr.changes import RULES as FRR
from railweave.systems.sonic.changes import config_tree as tables
from railweave.systems.sonic.tables import Tables

PORTS = {"eos": "Ethernet1/1", "dell_sonic": "Eth1/1", "frr": "et-1-0"}
RULES = {"eos": EOS, "dell_sonic": DELL, "frr": FRR}


def configured(nos: str, *lines: str) -> SectionTree:
    return section_tree([section(f"interface {PORTS[nos]}", "description a", *lines)], RULES[nos])


def nothing(nos: str) -> SectionTree:
    return section_tree([], RULES[nos])


@pytest.mark.parametrize("nos", PORTS)
def test_a_port_that_is_shut_is_out_and_one_that_opens_is_not(nos: str) -> None:
    opened, shut = configured(nos), configured(nos, "shutdown")
    ((step, row),) = compare(opened, shut).disrupts
    assert ports_of(row, step) == (PORTS[nos],)
    assert not compare(shut, opened).disrupts
    assert not compare(nothing(nos), shut).disrupts


@pytest.mark.parametrize("nos", PORTS)
def test_a_port_that_is_removed_is_out(nos: str) -> None:
    there = configured(nos, "speed 400000")
    ((step, row),) = compare(there, nothing(nos)).disrupts
    assert ports_of(row, step) == (PORTS[nos],)
    assert not compare(nothing(nos), there).disrupts


@pytest.mark.parametrize(
    ("old", "new", "out"),
    [
        ({"admin_status": "up"}, {"admin_status": "down"}, ("Ethernet0",)),
        ({"admin_status": "up", "mtu": "1"}, {"mtu": "1"}, ("Ethernet0",)),
        ({"mtu": "1"}, {"mtu": "1", "admin_status": "down"}, ("Ethernet0",)),
        ({"admin_status": "down"}, {"admin_status": "up"}, None),
        ({}, {"admin_status": "up"}, None),
    ],
)
def test_a_port_of_sonic_is_out_where_it_is_shut(
    old: dict[str, str], new: dict[str, str], out: tuple[str, ...] | None
) -> None:
    before, after = (tables({"PORT": {"Ethernet0": dict(row)}}) for row in (old, new))
    assert [ports_of(row, step) for step, row in compare(before, after).disrupts] == ([] if out is None else [out])


def test_an_interface_of_sonic_that_goes_or_changes_its_vrf_is_out() -> None:
    red: Tables = {"INTERFACE": {"Ethernet0": {"vrf_name": "VrfRed"}, "Ethernet0|10.0.0.1/31": {}, "Ethernet4": {}}}
    blue: Tables = {"INTERFACE": {"Ethernet0": {"vrf_name": "VrfBlue"}, "Ethernet0|10.0.0.1/31": {}, "Ethernet4": {}}}
    without: Tables = {"INTERFACE": {"Ethernet4": {}}}
    for new in (blue, without):
        ((step, row),) = compare(tables(red), tables(new)).disrupts
        assert ports_of(row, step) == ("Ethernet0",)
    assert not compare(tables(without), tables(red)).disrupts
