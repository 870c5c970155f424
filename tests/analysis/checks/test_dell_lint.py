"""The grammar of Enterprise SONiC's commands takes every rendered device, and no misspelt one."""

from __future__ import annotations

import re
from functools import cache

import pytest
from tests.retarget import ON_DELL, retargeted

from railweave.model.config.codecs import in_range
from railweave.model.device.build import device_config
from railweave.systems.dell_sonic import render as dell_sonic
from railweave.systems.dell_sonic.lint import lint
from railweave.systems.dell_sonic.lint.grammar import GRAMMAR, TOP, match
from railweave.systems.dell_sonic.tree import parse


@cache
def text(name: str, device: str) -> str:
    return dell_sonic.files(device_config(retargeted(name, "dell_sonic"), device))["sonic.cli"]


@pytest.mark.parametrize("name", ON_DELL)
def test_rendered_devices_are_clean(name: str) -> None:
    for switch in retargeted(name, "dell_sonic").switches:
        assert lint(switch.name, parse(text(name, switch.name))) == []


@pytest.mark.parametrize(
    ("id_", "old", "new"),
    [
        ("dell-command", "type strict", "type strickt"),
        ("dell-command", " queue 6\n", " queue 9\n"),
        ("dell-command", "weight 85", "weight 185"),
        ("dell-command", "mtu 9202", "mtu 9300"),
        ("dell-command", "speed 400000", "speed 500000"),
        ("dell-command", "detect-time 200", "detect-time 20"),
        ("dell-command", "traffic-class 6\n", "traffic-class 8\n"),
        ("dell-command", " no shutdown", " noshutdown"),
        ("dell-command", "maximum-paths 4", "maximum-path 4"),
        ("dell-command", "mode 2x400G", "mode 3x400G"),
        ("dell-command", "hostname stripe1-leaf1\n", "hostname stripe1-leaf1\n shutdown\n"),
        ("dell-dscp", "dscp 26 traffic", "dscp 64 traffic"),
        ("dell-dscp", "dscp 26 traffic", "dscp 26,48 traffic"),
        ("dell-scheduler", "type strict", "type strict\n  weight 5"),
        ("dell-scheduler", "weight 85", "weight 95"),
        ("dell-pfc", " priority-flow-control priority 3\n", " priority-flow-control priority 4\n"),
        ("dell-reference", " scheduler-policy ROCE\n", " scheduler-policy ROCE2\n"),
        ("dell-reference", " qos-map dscp-tc ROCE\n", " qos-map dscp-tc RICE\n"),
        ("dell-reference", "wred-policy ROCE\n scheduler", "wred-policy ROSE\n scheduler"),
        ("dell-reference", "match community path-green", "match community path-grean"),
        ("dell-reference", "prefix-list local\n", "prefix-list lokal\n"),
        ("dell-reference", "route-map from-green in", "route-map from-grean in"),
        ("dell-reference", " peer-group spine-green\n   ", " peer-group spine-grean\n   "),
        ("dell-reference", "switchport access Vlan 2", "switchport access Vlan 3"),
        ("dell-reference", "bfd profile fabric", "bfd profile fabrik"),
        ("dell-reference", " ars bind ROCE\n", " ars bind RACE\n"),
        ("dell-reference", "set ars-object ROCE", "set ars-object RACE"),
        ("dell-reference", "buffer priority-group 3 pg_lossless", "buffer priority-group 3 lossless"),
    ],
)
def test_mistakes_are_found(id_: str, old: str, new: str) -> None:
    made = text("h100-rlb", "stripe1-leaf1")
    if old.endswith("   "):
        old, new = old.rstrip(" "), new.rstrip(" ")
    assert old in made
    assert id_ in {finding.id for finding in lint("leaf", parse(made.replace(old, new, 1)))}


def test_every_command_has_a_source_and_every_mode_is_reached() -> None:
    assert all(command.source for commands in GRAMMAR.values() for command in commands)
    opened = {command.opens for commands in GRAMMAR.values() for command in commands} - {None}
    assert opened | {TOP} == set(GRAMMAR)


@pytest.mark.parametrize(("low", "high"), [(0, 7), (1, 4094), (1312, 9216), (46080, 8388608), (0, 16777214)])
def test_ranges_of_numbers(low: int, high: int) -> None:
    pattern = re.compile(in_range(low, high))
    for number in {low, low + 1, high - 1, high, (low + high) // 2, 9, 10, 99, 100, 4000}:
        assert bool(pattern.fullmatch(str(number))) == (low <= number <= high), number
    assert not pattern.fullmatch(str(high + 1))
    assert low == 0 or not pattern.fullmatch(str(low - 1))
    assert not pattern.fullmatch(f"0{high}")


def test_a_line_is_matched_whole() -> None:
    assert match("hostname leaf1", TOP) is not None
    assert match("hostname leaf1 now", TOP) is None
