"""Servers: no finding where all is as designed, and each fault of what ``railweave-host show`` says under its own name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from railweave.analysis.expect.hosts import ExpectedHost, PathAddress, expected_host
from railweave.live.check import NetworkStates, diagnose
from railweave.model.state.host_state import read_host
from tests.conftest import SMALL, example
from tests.live.check.said.host import addresses, document
from tests.live.check.test_diagnosis import told

Change = Callable[[dict[str, Any]], None]


@cache
def servers(name: str) -> dict[str, ExpectedHost]:
    network = example(name)
    return {one.name: expected_host(network, one.name) for one in network.servers if one.name not in network.absent}


def living(name: str, change: Change | None = None, before: bool = False) -> NetworkStates:
    """Only servers are asked; the first has the change."""
    wanted = servers(name)
    first = next(iter(wanted))
    documents = {device: document(one) for device, one in wanted.items()}
    then = {device: read_host(device, {"host": json.dumps(one)}) for device, one in documents.items()}
    if change is not None:
        change(documents[first])
    now = {device: read_host(device, {"host": json.dumps(one)}) for device, one in documents.items()}
    assert all(one.notes == () for one in now.values())
    return NetworkStates(example(name), {}, {}, servers_expected=wanted, hosts=now, hosts_before=then if before else {})


@pytest.mark.parametrize("name", SMALL)
def test_servers_that_are_as_designed_have_no_findings(name: str) -> None:
    assert diagnose(living(name, before=True)) == []


def _first(key: str, value: object, table: str = "links") -> Change:
    def change(shown: dict[str, Any]) -> None:
        shown[table][0][key] = value

    return change


def _gone(table: str) -> Change:
    def change(shown: dict[str, Any]) -> None:
        del shown[table][0]

    return change


def _wrong_leaf(shown: dict[str, Any]) -> None:
    ports = shown["lldp"]["lldp"]["interface"]
    first, second = next(iter(ports[0])), next(iter(ports[1]))
    ports[0][first], ports[1][second] = ports[1][second], ports[0][first]


def _rule_before(shown: dict[str, Any]) -> None:
    shown["rules"].append(shown["rules"][0] | {"priority": 1, "table": 9999})


def _added(rows: str, **row: object) -> Change:
    """A row like the first of a table, but for these fields."""

    def change(shown: dict[str, Any]) -> None:
        shown[rows].append(shown[rows][0] | row)

    return change


def _permanent(shown: dict[str, Any]) -> None:
    dev = shown["links"][0]["name"]
    shown["permanent_neighbors"] = [{"dev": dev, "address": "fc00:1:1:1::9", "mac": "02:00:5e:00:00:09"}]


def _others_address(shown: dict[str, Any]) -> None:
    """Another server's address, as the design has it, beside the server's own."""
    server = next(one for one in example("h100-rlb").servers if one.name == "H100-02")
    there = expected_host(example("h100-rlb"), server.name).nics[0]
    shown["addresses"].append(shown["addresses"][0] | {"address": addresses(there)[0]})


FAULTS: dict[str, tuple[str, Change]] = {
    "no carrier": ("nic-down", _first("carrier", False)),
    "set down": ("nic-down", _first("up", False)),
    "mtu": ("nic-mtu-differs", _first("mtu", 1500)),
    "speed": ("nic-speed-differs", _first("speed_mbps", 100_000)),
    "another name": ("nic-absent", _first("name", "enp1s0")),
    "address": ("nic-address-missing", _gone("addresses")),
    "duplicate address": ("nic-address-missing", _first("flags", ["tentative", "dadfailed"], "addresses")),
    "gid": ("gid-missing", _gone("gids")),
    "gid of RoCE v1": ("gid-missing", _first("type", "IB/RoCE v1", "gids")),
    "rule": ("server-rule-missing", _gone("rules")),
    "rule to another table": ("server-rule-stray", _first("table", 9999, "rules")),
    "another rule before it": ("server-rule-stray", _rule_before),
    "route": ("server-route-missing", _gone("routes")),
    "route by another gateway": ("server-route-stray", _first("via", "fc00::9", "routes")),
    "cables": ("cables-swapped", _wrong_leaf),
    "rule before, by destination": (
        "server-rule-stray",
        _added("rules", priority=500, **{"from": "", "to": "fc00:1::/32"}, table=254),
    ),
    "rule before, of everything": ("server-rule-stray", _added("rules", priority=500, **{"from": ""}, table=254)),
    "rule before, by mark": (
        "server-rule-stray",
        _added("rules", priority=500, plain=False, more="fwmark 0x1", table=254),
    ),
    "rule before, by user": (
        "server-rule-stray",
        _added("rules", priority=500, plain=False, more="uidrange 0-9", table=254),
    ),
    "rule before, that drops": (
        "server-rule-stray",
        _added("rules", priority=500, plain=False, more="unreachable", table=0),
    ),
    "route of a longer prefix": ("server-route-stray", _added("routes", to="fc00:1:2::/48")),
    "route with another source": ("server-route-stray", _first("rest", ["src", "2001:db8::1"], "routes")),
    "route of another device": ("server-route-stray", _added("routes", dev="eno1")),
    "route with another metric": ("server-route-stray", _first("metric", 7, "routes")),
    "route that wraps": ("server-route-stray", _first("opaque", ["encap"], "routes")),
    "permanent neighbor": ("server-neighbor-permanent", _permanent),
    "another server's address": ("server-address-duplicate", _others_address),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_server_is_found_at_its_nic(fault: str) -> None:
    rule, change = FAULTS[fault]
    first = next(iter(servers("h100-rlb").values()))
    found = told(diagnose(living("h100-rlb", change)))
    assert [id_ for id_, _ in found] == [rule], found
    assert found[0][1].split(" and ")[0] == f"{first.device} {first.nics[0].name}"


def test_an_address_that_the_design_gives_to_another_server() -> None:
    """Found on the server that has it, also where the other is silent."""
    name = next(one for one in SMALL if any(path.address for path in _static(one)))
    first, second = list(servers(name).values())[:2]
    address = str(second.nics[0].addresses[0].address)

    def take(shown: dict[str, Any]) -> None:
        shown["addresses"].append(shown["addresses"][0] | {"address": address})

    one = living(name, take)
    for hosts in (one.hosts, {first.device: one.hosts[first.device]}):
        found = [each for each in diagnose(replace(one, hosts=hosts)) if each.id == "server-address-duplicate"]
        assert [each.where for each in found] == [f"{first.device} {first.nics[0].name}"]
        assert found[0].what.endswith(f"has {address}, which is that of {second.device} {second.nics[0].name}")


def _static(name: str) -> tuple[PathAddress, ...]:
    return next(iter(servers(name).values())).nics[0].addresses


def test_packets_that_were_sent_again_and_links_that_flap_need_two_captures() -> None:
    def lose(shown: dict[str, Any]) -> None:
        shown["rdma"][0]["counters"]["packet_seq_err"] += 5

    first = next(iter(servers("h100-rlb").values()))
    assert diagnose(living("h100-rlb", lose)) == []
    [finding] = diagnose(living("h100-rlb", lose, before=True))
    assert (finding.id, finding.where) == ("rdma-retransmitted", f"{first.device} {first.nics[0].name}")
    assert "packet_seq_err 5" in finding.what


def test_a_server_that_is_silent_is_a_finding_and_one_that_was_not_asked_is_not() -> None:
    one = living("h100-rlb")
    first = next(iter(one.hosts))
    hosts = {device: state for device, state in one.hosts.items() if device != first}
    [finding] = diagnose(replace(one, hosts=hosts, silent={first: "connection refused"}))
    assert (finding.id, finding.where, finding.severity) == ("device-silent", first, "error")
    [finding] = diagnose(replace(one, hosts=hosts, silent={first: "it was not asked"}))
    assert finding.severity == "info"


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"links": 3}', "railweave-host: not found", '{"links": [{"name": {}}]}', ""]
)
def test_an_answer_that_is_none_is_a_note(text: str) -> None:
    state = read_host("H100-01", {"host": text})
    assert state.notes or not state.interfaces
