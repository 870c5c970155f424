"""A change between two designs, as Junos commits it: the old configuration and the lines are the new one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from tests.drawn import examples_of_day
from tests.model.config import junos_schema
from tests.model.config.junos_candidate import Candidate
from tests.model.config.junos_schema import FILE, Word, models, schema
from tests.model.config.references import dangling, uses
from tests.model.config.variants import changes, networks, trees

from railweave.model.config.compare import compare
from railweave.model.device.build import device_config
from railweave.systems.junos.changes import is_list
from railweave.systems.junos.render import tree
from railweave.systems.junos.tree import to_set

SCHEMA = schema()

_POLICY = r"(?<!vrf-target )\b(?:import|export|instance-import) (\S+)$"
REFERENCES = {
    "policy": ([r"^policy-options policy-statement (\S+)"], [_POLICY]),
    "community": (
        [r"^policy-options community (\S+)"],
        [r" from community (\S+)", r" then community \S+ (\S+)"],
    ),
    "prefix list": ([r"^policy-options prefix-list (\S+)"], [r" from prefix-list(?:-filter)? (\S+)"]),
    "AS list": ([r"^policy-options as-list (\S+)"], [r" peer-as-list (\S+)"]),
    "VLAN": ([r"vlans (\S+)"], [r" vlan members (\S+)"]),
    "IRB": (
        [r"^interfaces irb unit (\d+)"],
        [
            r" l3-interface irb\.(\d+)",
            r"^routing-instances \S+ interface irb\.(\d+)",
            r" router-advertisement interface irb\.(\d+)",
        ],
    ),
    "port": (
        [r"^interfaces (et-\S+)"],
        [
            r"^class-of-service interfaces (et-\S+)",
            r" peer-auto-discovery interface (et-\S+)\.0",
            r"^routing-instances \S+ interface (et-\S+)\.\d+",
        ],
    ),
    "scheduler": (
        [r"^class-of-service schedulers (\S+)"],
        [r" scheduler-maps \S+ forwarding-class \S+ scheduler (\S+)"],
    ),
    "scheduler map": ([r"^class-of-service scheduler-maps (\S+)"], [r" scheduler-map (\S+)"]),
    "drop profile": ([r"^class-of-service drop-profiles (\S+)"], [r" drop-profile (\S+)"]),
    "classifier": ([r"^class-of-service classifiers (\S+ \S+)"], [r" unit \d+ classifiers (\S+ \S+)"]),
    "PFC profile": (
        [r"^class-of-service congestion-notification-profile (\S+)"],
        [r"^class-of-service interfaces \S+ congestion-notification-profile (\S+)"],
    ),
    "forwarding class": (
        [r"^class-of-service forwarding-classes class (\S+)"],
        [r" scheduler-maps \S+ forwarding-class (\S+)", r" classifiers \S+ \S+ forwarding-class (\S+)"],
    ),
}
KNOWN = {"forwarding class": {"best-effort", "network-control", "expedited-forwarding", "assured-forwarding"}}


@cache
def _lines(number: int, switch: str) -> tuple[str, ...]:
    statements = tree(device_config(networks("junos")[number], switch, "junos"))
    return tuple(to_set(statements).splitlines())


@cache
def _candidate(number: int, switch: str) -> Candidate:
    return Candidate(SCHEMA, _lines(number, switch))


@cache
def _said(number: int, switch: str) -> Any:
    return _candidate(number, switch).said()


@pytest.mark.slow
@examples_of_day(300, 60)
@given(change=changes("junos"))
def test_a_commit_gives_the_new_configuration_and_leaves_no_name_behind(change: tuple[int, int, str]) -> None:
    *pair, switch = change
    old, new = (trees("junos", number)[switch]["junos.conf"] for number in pair)
    was, wanted = (_said(number, switch) for number in pair)
    found = compare(old, new)
    candidate = _candidate(pair[0], switch).copy()
    candidate.load(map(str, found.commands))
    assert candidate.said() == wanted
    assert not dangling(candidate.lines(), REFERENCES, KNOWN)
    candidate.load(map(str, found.inverse.commands))
    assert candidate.said() == was


@pytest.mark.slow
def test_the_variants_name_something_of_every_kind() -> None:
    lines = [
        line
        for number, found in enumerate(networks("junos"))
        for one in found.switches
        for line in _candidate(number, one.name).lines()
    ]
    assert uses(lines, REFERENCES) == REFERENCES.keys()


def _leaves(word: Word, parent: str) -> list[tuple[str, str, str]]:
    """The places of leaves: the word of the hierarchy around each, its own word, and its kind."""
    found: list[tuple[str, str, str]] = []
    for one in word.below:
        if one.word != "*" and one.kind in {"leaf", "leaf-list"}:
            found.append((parent, one.word, one.kind))
        found += _leaves(one, parent if one.word == "*" else one.word)
    return found


def test_lists_are_those_of_the_published_models() -> None:
    leaves = _leaves(SCHEMA, "")
    assert sum(kind == "leaf-list" for *_, kind in leaves) > 20
    assert [one for one in leaves if is_list(one[0], one[1]) != (one[2] == "leaf-list")] == []


@pytest.mark.slow
def test_the_schema_kept_here_is_that_of_the_published_models() -> None:
    found = models()
    if found is None:
        pytest.skip("set RAILWEAVE_YANG to a folder of published models (junos-qfx/conf-with-extensions)")
    assert junos_schema.made(found) == FILE.read_text()
