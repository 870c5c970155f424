"""Rules, routes, neighbors and addresses that take a server's traffic from the planned way, as ``ip -j`` shows them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railweave.host import host_file
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, OK, WARNING
from railweave.host.checks.server import Result, server
from railweave.host.entries import Route, Rule, rule_of
from railweave.host.files import content, parsed
from railweave.host.strays import Stray, stray_routes, stray_rules
from tests.host.machines import Written, healthy
from tests.host.machines.plans import plan
from tests.netns import Server, needs_root
from tests.netns import server as network_server

NAME = "h100-rlb"
Row = dict[str, Any]


@pytest.fixture
def planned(tmp_path: Path) -> tuple[Path, Row]:
    return plan(NAME, tmp_path)


def look(file: Path, document: Row, words: tuple[str, ...], rows: list[Row], check: str) -> list[Result]:
    """What a check says where ``ip`` shows these rows before those of a healthy server."""
    parts = healthy(document)
    parts.say(json.dumps(rows + json.loads(parts.commands[words].out)), *words)
    return running.run(server(Written(parts), host_file.load(file), parsed(content(file))), [ALL[check]])


RULES = ("ip", "-j", "-6", "-N", "-d", "rule", "show")
ROUTES = ("ip", "-j", "-6", "-N", "-d", "route", "show", "table", "all")


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ({"src": "fc00:1:1:4::", "srclen": 64, "table": "254"}, FAILED),
        ({"src": "fc00:1:1:4::7", "table": "254"}, FAILED),
        ({"src": "fc00::", "srclen": 8, "table": "77"}, FAILED),
        ({"src": "all", "dst": "fc00:1::", "dstlen": 32, "table": "254"}, FAILED),
        ({"src": "all", "table": "254"}, FAILED),
        ({"src": "all", "table": "254", "suppress_prefixlen": 0}, FAILED),
        ({"src": "all", "iif": "lo", "table": "254"}, FAILED),
        ({"src": "all", "oif": "eth1", "oif_detached": None, "table": "254"}, FAILED),
        ({"src": "all", "uid_start": 0, "uid_end": 1000, "table": "254"}, FAILED),
        ({"src": "all", "ipproto": "ipproto-17", "dport": 4791, "table": "100"}, FAILED),
        ({"src": "all", "fwmark": "0", "fwmask": "0xff", "table": "254"}, FAILED),
        ({"not": None, "src": "all", "fwmark": "0xca6c", "table": "51820"}, FAILED),
        ({"src": "all", "action": "7"}, FAILED),
        ({"src": "all", "goto": 32766}, FAILED),
        ({"src": "all", "fwmark": "0x1", "table": "254"}, WARNING),
        ({"src": "all", "iif": "docker0", "table": "254"}, WARNING),
        ({"src": "2001:db8::", "srclen": 32, "table": "254"}, OK),
        ({"src": "all", "table": "255"}, OK),
        ({"src": "all", "nop": None}, OK),
        ({"src": "all", "l3mdev": None}, OK),
        ({"src": "all", "goto": 30000, "unresolved": None}, OK),
        ({"src": "all", "goto": 501}, OK),
    ],
)
def test_a_rule_before_ours(planned: tuple[Path, Row], row: Row, verdict: str) -> None:
    file, document = planned
    [found] = look(file, document, RULES, [{"priority": 500, "protocol": "0", **row}], "host-stray-rules")
    assert found.outcome.verdict == verdict, found.outcome
    if verdict != OK:
        assert found.outcome.seen.startswith("stray rule 500: ")
        assert found.outcome.remedy.startswith("sudo ip -6 rule del priority 500 ")


@pytest.mark.parametrize("priority", [20000, 32000])
def test_a_rule_after_ours_takes_nothing(planned: tuple[Path, Row], priority: int) -> None:
    file, document = planned
    [found] = look(file, document, RULES, [{"priority": priority, "src": "all", "table": "254"}], "host-stray-rules")
    assert found.outcome.verdict == OK


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"dev": "eno1"}, "the plan has"),
        ({"gateway": "fc00:1:1:1::9", "metric": 1}, "the plan has via"),
        ({"prefsrc": "2001:db8::1"}, "its source 2001:db8::1 is no address of this table's path"),
        ({"metric": 7}, "its metric is 7, the plan has 1024"),
        ({"dst": "fc00:1:2::/48"}, "no route to there is planned in this table"),
        ({"type": "6", "dev": "lo"}, "the plan has"),
        ({"encap": "seg6", "mode": "encap", "segs": ["fc00::1"]}, "it wraps packets"),
        ({"nexthops": [{"gateway": "fc00:1:1:1::1", "dev": "eth1", "weight": 1, "flags": []}], "dev": ""}, "the plan has"),
    ],
)  # fmt: skip
def test_a_route_in_our_tables(planned: tuple[Path, Row], change: Row, why: str) -> None:
    file, document = planned
    rows = json.loads(healthy(document).commands[ROUTES].out)
    ours = next(one for one in rows if one.get("table") not in {None, "254", "255"} and one["dst"] == "default")
    [found] = look(file, document, ROUTES, [{**ours, **change}], "host-stray-routes")
    assert found.outcome.verdict == (WARNING if "metric is" in why else FAILED)
    assert "stray route to " in found.outcome.seen
    assert why in found.outcome.seen


def test_a_route_that_prefers_the_paths_own_address_is_as_planned(planned: tuple[Path, Row]) -> None:
    file, document = planned
    path = document["nics"][0]["addresses"][0]
    rows = json.loads(healthy(document).commands[ROUTES].out)
    ours = next(one for one in rows if one.get("table") == str(path["table"]) and one["dst"] == "default")
    row = {**ours, "prefsrc": path["prefix"].replace("::/64", "::1234")}
    [found] = look(file, document, ROUTES, [row], "host-stray-routes")
    assert found.outcome.verdict == OK


def test_permanent_neighbors(planned: tuple[Path, Row]) -> None:
    file, document = planned
    words = ("ip", "-j", "neigh", "show", "nud", "permanent")
    row = {"dst": "fc00:1:1:1::9", "lladdr": "02:00:5e:00:00:09", "state": ["PERMANENT"]}
    [found] = look(file, document, words, [row | {"dev": "docker0"}], "host-stray-neighbors")
    assert found.outcome.verdict == OK
    dev = document["nics"][0]["netdev"]
    [found] = look(file, document, words, [row | {"dev": dev}], "host-stray-neighbors")
    assert found.outcome.verdict == FAILED
    assert found.outcome.remedy == f"sudo ip neigh del fc00:1:1:1::9 dev {dev}"


@pytest.mark.parametrize("slaac", [True, False])
def test_an_address_of_another_server(planned: tuple[Path, Row], tmp_path: Path, slaac: bool) -> None:
    file, document = planned
    if not slaac:
        for nic in document["nics"]:
            nic["slaac"] = False
            for one in nic["addresses"]:
                one |= {"address": one["prefix"].replace("::/64", "::5"), "origin": "static"}
        file = tmp_path / "static.json"
        file.write_text(json.dumps(document))
    parts = healthy(document)
    nic, words = document["nics"][0], ("ip", "-j", "addr", "show")
    net = nic["addresses"][0]["prefix"].removesuffix(":/64")
    links = json.loads(parts.commands[words].out)
    mine = next(one for one in links if one["ifname"] == nic["netdev"])
    own, other = f"{net}1234:5678:9abc:def0", f"{net}0:5eff:fe00:2"  # RFC 7217, and of another MAC address

    def stray(address: str) -> tuple[str, str]:
        mine["addr_info"].append({"family": "inet6", "local": address, "prefixlen": 64, "scope": "global"})
        parts.say(json.dumps(links), *words)
        mine["addr_info"].pop()
        results = running.run(server(Written(parts), host_file.load(file), document), [ALL["host-stray-addresses"]])
        outcome = next(one.outcome for one in results if one.outcome.of == nic["netdev"])
        return outcome.verdict, outcome.seen

    assert stray(other) == (FAILED, f"{other}/64, which is for another server")
    assert stray(own)[0] == (OK if slaac else FAILED)


@pytest.mark.lab
@needs_root
def test_the_remedies_delete_what_was_found() -> None:
    """Every selector, given to the kernel and read back: the remedy is a command that takes exactly that rule away."""
    given = [
        "not from all fwmark 0x5/0xff lookup 100", "from fc00:1::/32 to fc00:2::/32 lookup 77", "from all uidrange 0-1000 lookup 77",
        "from all ipproto 17 dport 4791 lookup 77", "from all sport 1000-2000 lookup 77", "from all iif lo lookup 254 suppress_prefixlength 0",
        "from fc00:1::/32 unreachable", "from all oif lo tos 0x10 lookup 77", "from all goto 32766", "from fc00:1::7 lookup 254",
    ]  # fmt: skip

    def strays(host: Server) -> list[Stray]:
        rules = [rule_of(6, one) for one in json.loads(host.run("ip", "-j", "-6", "-N", "-d", "rule", "show").stdout)]
        return stray_rules([Rule(6, 10000, "", "", 10000)], rules, [])

    with network_server(["gpu0_eth"]) as host:
        for words in given:
            host.run("ip", "-6", "rule", "add", "priority", "500", *words.split())
        found = strays(host)
        assert len(found) == len(given)
        for one in reversed(found):
            host.run(*one.remedy.split()[1:])
        assert strays(host) == []


@pytest.mark.parametrize(
    "damaged",
    [
        Route(6, 1001, "2001:db8::/32", "eth1", "", 1024, rest=("src",)),
        Route(6, 1001, "2001:db8::/32", "eth1", "", 1024, rest=("src", "junk")),
    ],
)
def test_a_damaged_route_is_stray(damaged: Route) -> None:
    planned = replace(damaged, rest=())
    assert [one.place for one in stray_routes([planned], [damaged], {1001: ["2001:db8::/32"]})] == [damaged.place] * (
        len(damaged.rest) - 1
    )


@pytest.mark.parametrize(("mark", "certain"), [("x", False), ("0x", False), ("0", True), ("0x0/0xff", True)])
def test_a_mark_of_any_form(mark: str, certain: bool) -> None:
    planned = Rule(6, 1000, "2001:db8::/64", "", 1001)
    [found] = stray_rules([planned], [Rule(6, 500, "", "", 254, plain=False, more=f"fwmark {mark}")], [])
    assert found.certain is certain
