"""Values that a system takes and no network works with, and values that a reader does not understand: both are named on their line."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from railweave.analysis.checks.devices import DeviceCheck, attributed, compare_device
from railweave.analysis.checks.incomplete import incomplete_config
from railweave.analysis.checks.senseless import BOUNDS, senseless_statement, senseless_value
from railweave.analysis.checks.subject import Subject
from railweave.model.catalog import in_force
from railweave.model.device.timers import Bfd
from railweave.model.findings import Finding
from railweave.systems import system, systems
from tests.mutants.configs import designed

EXAMPLE, LEAF = "h100-rlb", "stripe1-leaf1"


@cache
def _files(nos: str) -> dict[str, str]:
    config = designed(EXAMPLE, nos)[1][LEAF]
    files = system(nos).files(config)
    return {file: files[file] for file in system(nos).configurations(config)}


def _checked(nos: str, old: str, new: str) -> tuple[DeviceCheck, int]:
    """A leaf with one text in place of another, and the line on which the new one ends."""
    network, configs = designed(EXAMPLE, nos)
    file, text = next((file, text) for file, text in _files(nos).items() if old in text)
    line = text[: text.index(old)].count("\n") + new.rstrip("\n").count("\n") + 1
    with in_force(network.catalog):
        return compare_device(configs[LEAF], _files(nos), {file: (file, text.replace(old, new, 1))}), line


def _found(nos: str, old: str, new: str) -> tuple[list[Finding], int]:
    network, _ = designed(EXAMPLE, nos)
    checked, line = _checked(nos, old, new)
    assert checked.config is not None
    with in_force(network.catalog):
        subject = Subject(network, {LEAF: checked.config})
        follows = attributed([*senseless_value.run(subject), *incomplete_config.run(subject)], {LEAF: checked})
    return [*checked.findings, *follows], line


@pytest.mark.parametrize(
    ("nos", "old", "new", "field"),
    [
        ("frr", "detect-multiplier 3", "detect-multiplier 255", "bgp.bfd"),
        ("frr", "transmit-interval 1000\n", "transmit-interval 60000\n", "bgp.bfd"),
        ("sonic", "detect-multiplier 3", "detect-multiplier 1", "bgp.bfd.multiplier"),
        ("dell_sonic", "detect-multiplier 3", "detect-multiplier 0", "bgp.bfd.multiplier"),
        ("eos", "interval 1000 min-rx 1000", "interval 1 min-rx 1", "bgp.groups.spine-green.bfd"),
        ("eos", "default timeout 0.2", "default timeout 60", "qos.watchdog"),
        ("dell_sonic", "restore-time 200", "restore-time 0", "qos.watchdog.recovery"),
        ("junos", "poll-interval 100;", "poll-interval 1000000;", "qos.watchdog"),
        ("junos", "mtu 9216;", "mtu 65535;", "interfaces.et-0/0/0:0.mtu"),
        ("sonic", '"mtu": "9202"', '"mtu": "0"', "interfaces.Ethernet0.mtu"),
        ("dell_sonic", "minimum-threshold 1048", "minimum-threshold 3048", "qos.marking.no-loss.first"),
        ("sonic", '"green_max_threshold": "2097000"', '"green_max_threshold": "999999999999"', "qos.marking.no-loss.last"),
        ("sonic", '"xoff": "461264"', '"xoff": "999999999"', "qos.profiles.pfc-50m.headroom_bytes"),
        ("sonic", '"26": "3"', '"64": "3"', "qos.classes.no-loss.dscp"),
        ("eos", "bandwidth percent 5", "bandwidth percent 0", "qos.classes.best-effort.transmit_percent"),
        ("junos", "fill-level [ 55 90 ];", "fill-level [ 90 55 ];", "qos.classes.no-loss.ecn.min_fill"),
    ],
)  # fmt: skip
def test_a_value_beyond_sense_is_named_on_its_line(nos: str, old: str, new: str, field: str) -> None:
    findings, line = _found(nos, old, new)
    senseless = [finding for finding in findings if finding.id == "senseless-value"]
    assert any(finding.what.startswith(f"{field}: ") and finding.line == line for finding in senseless)
    assert all(finding.where == LEAF and finding.file for finding in senseless)


@pytest.mark.parametrize(
    ("nos", "old", "new"),
    [
        ("frr", " neighbor spine-green timers connect 5\n", " neighbor spine-green timers connect 5\n timers bgp 60 30\n"),
        ("frr", " neighbor spine-green timers connect 5\n", " neighbor spine-green timers connect 65535\n"),
        ("sonic", " neighbor spine-green timers connect 5\n", " neighbor spine-green timers connect 5\n bgp graceful-restart restart-time 4000\n"),
        ("dell_sonic", "timers connect 5\n", "timers connect 5\n  timers 60 30\n"),
        ("dell_sonic", "    weight 5\n", "    weight 0\n"),
        ("eos", "   neighbor spine-green bfd\n", "   neighbor spine-green bfd\n   timers bgp 0 0\n"),
        ("eos", "lldp management-address vrf MGMT\n", "lldp management-address vrf MGMT\nlldp timer 32768\n"),
        ("junos", "group spine-green {\n", "group spine-green {\n            hold-time 7200;\n"),
    ],
)  # fmt: skip
def test_a_statement_that_no_field_holds_is_named_too(nos: str, old: str, new: str) -> None:
    if old not in "".join(_files(nos).values()):
        old, new = old.strip(" "), new.lstrip(" ")
    findings, line = _found(nos, old, new)
    assert [(finding.id, finding.severity, finding.line) for finding in findings] == [
        ("senseless-statement", "error", line)
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "router bgp 1 / timers bgp 3 9",
        "router bgp 1 / neighbor x timers 60 180",
        "protocols / bgp / group x / hold-time 30",
        "BGP_NEIGHBOR / default / holdtime 180",
        "router bgp 1 / bgp graceful-restart restart-time 120",
        "lldp timer 30",
    ],
)
def test_a_usual_time_is_no_finding(statement: str) -> None:
    assert senseless_statement(statement) is None


@pytest.mark.parametrize("nos", systems())
def test_no_designed_value_is_senseless(nos: str) -> None:
    for example in (EXAMPLE, "evpn-functional"):
        network, configs = designed(example, nos)
        with in_force(network.catalog):
            assert list(senseless_value.run(Subject(network, configs))) == []


def test_a_designed_value_beyond_sense_is_found_where_no_text_is() -> None:
    network, configs = designed(EXAMPLE, "junos")
    bgp = configs[LEAF].bgp
    assert bgp is not None
    slow = replace(configs[LEAF], bgp=replace(bgp, bfd=Bfd(minimum_interval=255_000, multiplier=255)))
    with in_force(network.catalog):
        (finding,) = senseless_value.run(Subject(network, {LEAF: slow}))
    assert finding.what == "bgp.bfd: detection time 65025000 ms is more than 90000 ms"
    assert "RFC 4271" in finding.why


def test_every_bound_has_a_reason() -> None:
    assert all(bound.why for bound in BOUNDS)


@pytest.mark.parametrize(
    ("nos", "old", "new", "field"),
    [
        ("junos", "cable-length 10;", "cable-length 1e3;", "cable length"),
        ("junos", "number-of-sub-ports 2;", "number-of-sub-ports 0x1g;", "channels"),
        ("eos", "min-rx 1000 multiplier 3", "min-rx 1000 multiplier 0x1g", "bfd is unknown"),
        ("frr", "remote-as 42000", "remote-as %42000", "peer as"),
        ("sonic", '"green_min_threshold": "1048000"', '"green_min_threshold": "1e3"', "first"),
        ("dell_sonic", "ipv6 prefix-list own-blue seq 5 permit", "ipv6 prefix-list own-blue seq 1e3 permit", "own-blue"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_understood_is_not_called_another_value(nos: str, old: str, new: str, field: str) -> None:
    findings, line = _found(nos, old, new)
    first = findings[0]
    assert first.line == line
    assert "not understood" in first.what
    assert field in first.what
    assert "is unknown, and the design has" in first.what
    assert "becomes" not in first.what
    # What else is lacking because of it has the same line; nothing calls the field's default a value.
    assert {finding.line for finding in findings} == {line}
    assert "senseless-value" not in {finding.id for finding in findings}


def test_priorities_of_pfc_that_are_none_or_another_are_not_understood() -> None:
    network, _ = designed(EXAMPLE, "sonic")
    reader = system("sonic").reader
    assert reader is not None
    text = _files("sonic")["config_db.json"]
    with in_force(network.catalog):
        for value in ("300.1.1.1", "9", "4"):
            changed = text.replace('"pfc_enable": "3"', f'"pfc_enable": "{value}"', 1)
            reading = reader.read({**_files("sonic"), "config_db.json": changed})
            assert f"pfc_enable {value}" in " ".join(statement.path for statement in reading.not_understood)


@pytest.mark.parametrize(
    "words", ["timers connect 300.1.1.1", "timers connect 99999999999999999999", "ebgp-multihop 999"]
)
def test_times_and_hops_of_no_number_are_not_understood(words: str) -> None:
    network, _ = designed(EXAMPLE, "frr")
    reader = system("frr").reader
    assert reader is not None
    text = _files("frr")["frr.conf"].replace("timers connect 5", words, 1)
    with in_force(network.catalog):
        assert words in " ".join(statement.path for statement in reader.read({"frr.conf": text}).not_understood)
