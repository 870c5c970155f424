"""Every rule fires on a leaf that is changed to break it, and on no rendered device."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from tests.conftest import SMALL
from tests.outputs.rendering.eos.networks import config, one_of_each_role

from railweave.model.config.sections import Section, merge
from railweave.model.findings.registry import rules_of
from railweave.systems.eos import render as eos
from railweave.systems.eos.lint import lint


@cache
def leaf() -> tuple[str, ...]:
    return tuple(eos.lines(config("h100-rlb", "stripe1-leaf1")))


def sections(lines: Sequence[str]) -> list[Section]:
    """The tree of lines that each have the headers above them."""
    made: list[Section] = []
    for line in lines:
        *headers, last = line.split(" / ")
        below = Section(last)
        for header in reversed(headers):
            below = Section(header, [below])
        merge(made, [below])
    return made


@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_wrong_with_what_is_rendered(name: str) -> None:
    for device in one_of_each_role(name):
        assert lint(device, eos.tree(config(name, device))) == []


BROKEN = [
    ("eos-queue-number", "uc-tx-queue 6 ", "uc-tx-queue 8 "),
    ("eos-queue-number", "dscp 26 to traffic-class 3", "dscp 26 to traffic-class 9"),
    ("eos-queue-number", "priority-flow-control priority 3", "priority-flow-control priority 8"),
    ("eos-scheduler-priority", "/ priority strict", "/ prioriy strict"),
    ("eos-strict-below", "uc-tx-queue 7 / priority strict", "uc-tx-queue 5 / priority strict"),
    ("eos-bandwidth", "bandwidth percent 85", "bandwidth percent 99"),
    ("eos-dscp-twice", "qos map dscp 26 to", "qos map dscp 26 48 to"),
    ("eos-dscp-twice", "qos map dscp 56 to", "qos map dscp 64 to"),
    ("eos-pfc-class", "qos map dscp 26 to traffic-class 3", "qos map dscp 26 to traffic-class 4"),
    ("eos-ecn", "minimum-threshold 1000", "minimum-threshold 4000"),
    ("eos-threshold", "egress unicast queue 3 threshold 1", "egress unicast queue 3 threshold 3"),
    ("eos-watchdog", "default timeout 0.2", "default timeout 0.1"),
    ("eos-watchdog-blind", "uc-tx-queue 3 / bandwidth guaranteed percent 1", "uc-tx-queue 3 / bandwidth percent 85"),
    ("eos-outer-dscp", "qos map traffic-class 3 to dscp 26", "qos map traffic-class 3 to dscp 0"),
    ("eos-watchdog", "default recovery-time 0.2", "default recovery-time 0.1"),
    ("eos-watchdog", "default timeout 0.2", "default timeout 60.1"),
    ("eos-watchdog", "default polling-interval 0.1", "default polling-interval 0.004"),
    ("eos-mtu", "mtu 9202", "mtu 9216"),
    ("eos-undefined", "route-map to-spines out", "route-map to-spine out"),
    ("eos-undefined", "match large-community path-green", "match large-community path-gren"),
    ("eos-undefined", "service-profile ROCE", "service-profile ROCe"),
    ("eos-undefined", "prefix-list own-green", "prefix-list own-gren"),
    ("eos-undefined", "peer-filter spine-as", "peer-filter spines-as"),
    ("eos-undefined", "access vlan 2", "access vlan 3"),
    ("eos-undefined", "profile railweave apply", "profile other apply"),
    ("eos-undefined", "ntp server vrf MGMT", "ntp server vrf MGNT"),
    (
        "eos-undefined",
        "gnmi / transport grpc default / ssl profile railweave",
        "gnmi / transport grpc default / ssl profile x",
    ),
    ("eos-inactive-group", "ipv6 / neighbor spine-green activate", "ipv6 / neighbor spine-green deactivate"),
]


@pytest.mark.parametrize(("rule", "old", "new"), BROKEN)
def test_a_rule_fires(rule: str, old: str, new: str) -> None:
    place = max(place for place, line in enumerate(leaf()) if old in line)
    changed = [*leaf()[:place], leaf()[place].replace(old, new, 1), *leaf()[place + 1 :]]
    assert rule in {one.id for one in lint("leaf", sections(changed))}


UNDEFINED = [
    (("dci-50km", "ptx-east"), "Ethernet1/1 / mac security profile interconnect", "profile interconect"),
    (("dci-50km", "ptx-east"), "Loopback0 / isis enable underlay", "enable overlay"),
    (("aidc-three-fabrics", "frontend-weka-leaf1"), "Ethernet31/1.299 / vrf jobs", "vrf job"),
    (("aidc-three-fabrics", "frontend-weka-leaf1"), "vxlan vlan 3 vni 10001", "vlan 5 vni 10001"),
    (("aidc-three-fabrics", "frontend-weka-leaf1"), "vlan 3 / redistribute learned", "vlan 5 / redistribute learned"),
    (
        ("aidc-three-fabrics", "frontend-weka-leaf1"),
        "neighbor 10.200.0.3 route-map from-jobs-wan in",
        "route-map from-job in",
    ),
]


@pytest.mark.parametrize(("switch", "old", "new"), UNDEFINED)
def test_names_of_networks_and_sites_are_looked_up(switch: tuple[str, str], old: str, new: str) -> None:
    have = eos.lines(config(*switch))
    (place,) = [place for place, line in enumerate(have) if line.endswith(old)]
    words = len(new.split())
    changed = " ".join([*have[place].split()[:-words], new])
    assert lint("leaf", sections(have)) == []
    assert [one.id for one in lint("leaf", sections([*have[:place], changed, *have[place + 1 :]]))] == ["eos-undefined"]


def test_every_rule_is_tried() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(rules_of("railweave.systems.eos.lint"))
