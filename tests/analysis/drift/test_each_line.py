"""Any line of a leaf's configuration may be lost: it is a finding with its file and line, and never ends in an exception."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.dual_stack import dual
from tests.external_port import shared_port

from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.drift import Drift, drift
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.network.model import Network

LEAF = "stripe1-leaf1"
SAMPLED = 14
"""So many lines of each file: a prime step through it, so that every fabric has others."""

NOTHING = {
    "!",
    "exit",
    "end",
    "exit-address-family",
    "write memory",
    "configure terminal",
    "{",
    "}",
    "},",
    "[",
    "],",
    "]",
}
"""Lines that end what stands above them, or save: without them a text says the same, or is no text."""


def _network(name: str, nos: str) -> Network:
    return shared_port(nos) if name == "external" else dual("tenants", nos)


@cache
def _subject(name: str, nos: str) -> Subject:
    return Subject.of(_network(name, nos))


@cache
def _texts(name: str, nos: str) -> dict[str, str]:
    config, kind = _subject(name, nos).configs[LEAF], system(nos)
    written = kind.files(config)
    return {file: written[file] for file in kind.configurations(config)}


def _without(name: str, nos: str, file: str, place: int) -> Drift:
    texts, subject = dict(_texts(name, nos)), _subject(name, nos)
    lines = texts[file].splitlines(keepends=True)
    texts[file] = "".join(lines[:place] + lines[place + 1 :])
    return drift(subject.network, {LEAF: texts}, configs=dict(subject.configs))


def _lines(name: str, nos: str) -> Iterator[tuple[str, int, str]]:
    """The file, the place and the words of every line that says something."""
    for file, text in _texts(name, nos).items():
        for place, line in enumerate(text.splitlines()):
            if line.strip() not in NOTHING:
                yield file, place, line.strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tenants", "external"])
@pytest.mark.parametrize("nos", systems())
def test_any_line_may_be_lost(name: str, nos: str) -> None:
    found = list(_lines(name, nos))
    for file, place, line in found[7 :: len(found) // SAMPLED]:
        lost = _without(name, nos, file, place)
        assert not lost.equal, f"{file}:{place + 1} {line}"
        for one in lost.devices:
            assert all(finding.file == file and finding.line for finding in one.stands.findings), line


CUT = [  # the fabric, the system, words that begin the line, and whether leaves then lose others' servers, beside what routers outside give
    ("tenants", "frr", "advertise ipv6 unicast", True),
    ("tenants", "sonic", "advertise ipv4 unicast", True),
    ("external", "frr", "redistribute connected", True),
    ("external", "frr", "router bgp 4200001001 vrf blue", True),
    ("tenants", "sonic", "address-family l2vpn evpn", True),
    ("tenants", "dell_sonic", "ipv6 address fc00", True),
    ("tenants", "dell_sonic", "ip vrf Vrf-tenant-2", True),
    ("external", "eos", "vrf red", False),
    ("tenants", "eos", "address-family ipv6", True),
    ("tenants", "eos", "neighbor spine-underlay activate", True),
    ("tenants", "sonic", "neighbor spine-underlay activate", True),
    ("tenants", "dell_sonic", "address-family ipv6 unicast", True),
    ("external", "junos", "address 10.200.0.0/31;", False),
    ("external", "eos", "ip address 10.200.0.0/31", False),
]


@pytest.mark.parametrize(("name", "nos", "words", "cuts_off"), CUT)
def test_what_it_does_to_routes_is_said(name: str, nos: str, words: str, cuts_off: bool) -> None:
    file, place, _ = next(one for one in _lines(name, nos) if one[2].startswith(words))
    lost = _without(name, nos, file, place)
    [leaf] = lost.devices
    assert all((finding.file, finding.severity) != ("", "info") for finding in leaf.stands.findings)
    assert {finding.file for finding in leaf.stands.findings} == {file}
    assert lost.effects.lost
    assert any(one.id == "unreachable" for one in lost.findings) == cuts_off


def test_a_document_that_is_none_cannot_be_read() -> None:
    found = _without("tenants", "sonic", "config_db.json", 0)
    [leaf] = found.devices
    assert [(one.id, one.file) for one in leaf.stands.findings] == [("file-unreadable", "config_db.json")]
