"""``railweave host apply`` and ``undo`` against a real kernel, in a namespace with the server's NICs."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.host.plans import Tool, designed, dump, in_place, small
from tests.netns import needs_root, server, until

pytestmark = needs_root

NIC = "gpu0_eth"
ROUTE = f"ip -6 route add default via fc00:1:1:1::1 dev {NIC} table 10000 proto static"


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Tool]:
    """A server with one NIC on two paths."""
    with server([NIC]) as host:
        found = Tool(host, tmp_path)
        found.plan(small(NIC))
        yield found


def test_the_example(tmp_path: Path) -> None:
    """RDMA load-balancing document, tables 8 to 10: 32 tables, a default and a prefix route and a rule for each."""
    plan = designed("h100-rlb", "H100-01")
    nics = {nic["netdev"]: nic for nic in plan["nics"]}
    macs = {netdev: nic["mac"] for netdev, nic in nics.items() if nic["mac"]}
    with server(nics, macs=macs, mtu=9000) as host:
        tool = Tool(host, tmp_path)
        tool.plan(plan)
        for netdev, nic in nics.items():
            host.advertise(netdev, [one["prefix"] for one in nic["addresses"]])
        before = dump(host)

        assert "64 routes and 32 rules planned, 96 changes\n" in tool("plan")
        said = tool("apply")
        assert said == f"H100-01: 64 routes and 32 rules planned, 96 changes made, names in {tool.names}\n"
        in_place(tool, plan)
        assert len(dump(host)) == len(before) + 96
        for nic in plan["nics"]:
            state = next(one for one in json.loads(tool("plan", "--json"))["nics"] if one["netdev"] == nic["netdev"])
            assert len(state["addresses"]) == 4
            assert not state["notes"]
            for own, planned in zip(state["addresses"], nic["addresses"], strict=True):
                assert planned["address"] in {own, None}
                [got] = host.ip("-N", "-6", "route", "get", "fc00:2:1:1::1", "from", own)
                assert (got["dev"], got["gateway"], got["table"]) == (
                    nic["netdev"],
                    planned["gateway"],
                    str(planned["table"]),
                )
        assert tool.names.read_text().splitlines()[2:4] == ["10000\tgpu0_subnet1", "10001\tgpu0_subnet2"]

        there = dump(host), tool.state.read_text()
        assert "nothing changed" in tool("apply")
        assert (dump(host), tool.state.read_text()) == there
        tool("undo")
        assert dump(host) == before
        assert not tool.names.exists()
        assert not tool.state.exists()
        assert tool("undo") == "nothing to undo\n"


@pytest.mark.parametrize("name", ["mi300x-leaf-24", "mi300x-leaf-31"])
def test_ipv4(name: str, tmp_path: Path) -> None:
    """Thor2 guide, sections 2.4.1 (rules without a priority) and 2.4.2 (priorities 0 and 1, a /16 with host bits)."""
    plan = designed(name, "host1")
    with server([nic["netdev"] for nic in plan["nics"]]) as host:
        tool = Tool(host, tmp_path)
        tool.plan(plan)
        refused = tool("apply", code=1)
        assert "eth1: no address" in refused
        assert "nothing was changed" in refused
        for nic in plan["nics"]:
            [one] = nic["addresses"]
            length = one["prefix"].split("/")[1]
            host.run("ip", "addr", "add", f"{one['address']}/{length}", "dev", nic["netdev"])
        before = dump(host)
        tool("apply")
        in_place(tool, plan)
        [got] = host.ip("-N", "route", "get", "10.9.9.9", "from", plan["nics"][7]["addresses"][0]["address"])
        assert (got["dev"], got["table"]) == ("eth8", "108")
        for state in ("down", "up"):  # a link that flaps takes nothing with it
            host.cable("eth8", state)
            in_place(tool, plan)
        assert "nothing changed" in tool("apply")
        tool("undo")
        assert dump(host) == before


def test_rules_without_priority_stand_where_the_kernel_would_put_them(tmp_path: Path) -> None:
    plan = small("eth1", "eth2", "eth3")
    for rule in plan["rules"]:
        del rule["priority"]
    with server(["eth1", "eth2", "eth3"]) as host:
        tool = Tool(host, tmp_path)
        tool.plan(plan)
        tool("apply")
        ours = dump(host)
        tool("undo")
        for route in plan["routes"]:
            via = ["via", route["via"]] if "via" in route else []
            where = ["dev", route["dev"], "table", str(route["table"]), "proto", "static"]
            host.run("ip", "-6", "route", "add", route["to"], *via, *where)
        for rule in plan["rules"]:
            host.run("ip", "-6", "rule", "add", "from", rule["from"], "table", str(rule["table"]), "protocol", "static")
        assert dump(host) == ours


def test_what_was_there_stays(tool: Tool) -> None:
    tool.server.run("ip", "-6", "route", "add", "fc00:1:1:1::/64", "dev", NIC, "table", "10000")
    tool.server.run(*ROUTE.split())
    tool.server.run("ip", "-6", "rule", "add", "from", "fc00:1:1:1::/64", "table", "10000", "priority", "10000")
    before = dump(tool.server)
    assert "3 changes made" in tool("apply")
    tool("undo")
    assert dump(tool.server) == before


def test_what_was_in_the_way_returns(tool: Tool) -> None:
    run = tool.server.run
    run("ip", "-6", "route", "add", "unreachable", "fc00:1:1:2::/64", "table", "10001", "metric", "7")
    run(
        *f"ip -6 route add default table 10000 mtu 1400 nexthop via fe80::1 dev {NIC} nexthop via fe80::2 dev {NIC}".split()
    )
    run(*f"ip -6 route add default via fe80::3 dev {NIC} table 10001 metric 99 proto 77 pref high".split())
    run(
        *[
            "ip",
            "-6",
            "rule",
            "add",
            "from",
            "fc00:1:1:1::/64",
            "table",
            "4711",
            "priority",
            "9000",
            "protocol",
            "static",
        ]
    )
    run(
        *["ip", "-6", "rule", "add", "from", "fc00:1:1:1::/64", "table", "4712", "priority", "10001"]
    )  # has no say before ours
    run(*f"ip -6 rule add from fc00:1:1:1::/64 iif {NIC} table 4713 priority 8".split())  # says more
    before = dump(tool.server)
    tool("apply")
    left = [line for line in dump(tool.server) if "471" in line]
    assert len(left) == 2
    assert "nothing changed" in tool("apply")
    tool("undo")
    assert dump(tool.server) == before


def test_an_ipv4_route_in_the_way_returns(tmp_path: Path) -> None:
    plan = designed("mi300x-leaf-24", "host1")
    plan["nics"], plan["routes"], plan["rules"] = (plan[key][:1] for key in ("nics", "routes", "rules"))
    with server(["eth1"]) as host:
        tool = Tool(host, tmp_path)
        tool.plan(plan)
        host.run("ip", "addr", "add", "192.168.1.1/24", "dev", "eth1")
        host.run(
            *[
                "ip",
                "route",
                "add",
                "default",
                "via",
                "192.168.1.253",
                "dev",
                "eth1",
                "table",
                "101",
                "src",
                "192.168.1.1",
                "metric",
                "5",
            ]
        )
        host.run(*["ip", "route", "add", "blackhole", "default", "table", "101", "metric", "9"])
        before = dump(host)
        tool("apply")
        in_place(tool, plan)
        tool("undo")
        assert dump(host) == before


def test_what_could_not_be_put_back_is_left(tool: Tool) -> None:
    tool.server.run(*f"ip -6 route add default via fe80::1 dev {NIC} table 10000 expires 600".split())
    before = dump(tool.server)
    said = tool("apply", code=1)
    assert "the route to default in table 10000 (expires) conflicts with the plan" in said
    assert dump(tool.server) == before


def test_a_link_that_flapped(tool: Tool) -> None:
    tool("apply")
    there = dump(tool.server)
    tool.server.run("ip", "link", "set", NIC, "down")
    assert f"{NIC}: it is down: ip link set {NIC} up" in tool("apply", code=1)
    tool.server.run("ip", "link", "set", NIC, "up")
    assert "4 changes made" in tool("apply")
    until(lambda: dump(tool.server) == there, "the link-local address is back")
    tool("undo")
    assert not [line for line in dump(tool.server) if "1000" in line]


def test_another_plan(tool: Tool) -> None:
    """Prefixes change; what the first plan had displaced returns, and what the second displaces is remembered."""
    run = tool.server.run
    run(*f"ip -6 route add default via fe80::1 dev {NIC} table 10001".split())
    before = dump(tool.server)
    tool("apply")
    one_path = small(NIC, prefix="fc00:9:{nic}:{path}::/64", paths=1)
    tool.plan(one_path)
    tool("apply")
    shown = [line for line in dump(tool.server) if "1000" in line]
    assert sorted(shown) == [
        "10000:\tfrom fc00:9:1:1::/64 lookup 10000 proto 4",
        f"default via fc00:9:1:1::1 dev {NIC} table 10000 proto 4 metric 1024 pref medium",
        f"default via fe80::1 dev {NIC} table 10001 metric 1024 pref medium",
        f"fc00:9:1:1::/64 dev {NIC} table 10000 proto 4 metric 1024 pref medium",
    ]
    assert tool.names.read_text().splitlines()[2:] == [f"10000\t{NIC}_1"]
    tool("undo")
    assert dump(tool.server) == before


def test_undo_knows_where_the_names_are(tool: Tool) -> None:
    other = replace(tool, names_file=tool.folder / "elsewhere")
    tool("apply")
    refused = other("apply", code=2)
    assert f"--names-file {other.names}: the names are in {tool.names} since an earlier apply" in refused
    assert "nothing changed" in replace(tool, names_file=None)("apply")
    shown = other("undo", "--dry-run").splitlines()
    assert shown[-1] == f"rm {tool.names}"
    assert len(shown) == 7
    other("undo")
    assert not tool.names.exists()
    tool.names.write_text("7 seven\n")
    tool("apply")
    said = replace(tool, names_file=None)("undo", "--dry-run")
    assert said.endswith(f"# {tool.names} gets back what it held before\n")
    replace(tool, names_file=None)("undo")
    assert tool.names.read_text() == "7 seven\n"


def test_names_that_someone_else_has_written(tool: Tool) -> None:
    """The same numbers and names, in other words, are no change; and stay."""
    tool.names.parent.mkdir()
    text = f"# by hand\n10001   {NIC}_2  # the second\n\n0x2710 {NIC}_1\n"
    tool.names.write_text(text)
    assert "names in" not in tool("apply")
    assert "nothing to change" in tool("plan")
    tool("undo")
    assert tool.names.read_text() == text


def test_a_names_file_that_was_there(tool: Tool) -> None:
    tool.names.parent.mkdir()
    tool.names.write_text("7 seven\n")
    tool("apply")
    tool("apply")
    assert "10000" in tool.names.read_text()
    tool("undo")
    assert tool.names.read_text() == "7 seven\n"


def test_after_a_boot(tool: Tool) -> None:
    """The kernel has forgotten: what stands there now is not ours, even where it looks like it."""
    before = dump(tool.server)
    tool("apply")
    journal = json.loads(tool.state.read_text())
    tool.state.write_text(json.dumps({**journal, "boot": "another"}))
    there = dump(tool.server)
    tool("apply")
    tool("undo")
    assert dump(tool.server) == there != before
    assert not tool.names.exists()


@pytest.mark.parametrize("every", ["0.0.0.0/0", "::/0"])
def test_a_rule_for_all_traffic_is_refused(tool: Tool, every: str) -> None:
    plan = small(NIC)
    plan["rules"][0].update({"from": every, "priority": 0})
    tool.plan(plan)
    before = dump(tool.server)
    assert f'rules[0].from: "{every}" is every address' in tool("apply", code=2)
    assert dump(tool.server) == before
    assert not tool.state.exists()


def test_the_kernel_shows_entries_as_they_were_planned(tool: Tool) -> None:
    """In whatever words a plan has them: what is not known again would neither be put back nor undone."""
    plan = small(NIC)
    ends: list[dict[str, Any]] = [
        {"from": "FC00:0:0:1::5"},
        {"to": "fc00:1:1:1::77/64", "priority": 0},
        {"from": "fc00:2::1:0:0:1/80", "to": "::ffff:10.0.0.1", "priority": 4294967295},
        {"from": "::1.2.3.4/128", "priority": 7},
        {"from": "10.1.2.3/8", "to": "192.168.1.0/24"},
        {"to": "10.1.2.3"},
        {"from": "0.0.0.0/1", "priority": 32767},
    ]
    plan["rules"] += [{"table": 10000, "dev": NIC, **one} for one in ends]
    to = ["FC00:0007::/64", "::ffff:0:0/96", "::102:304/128", "::/1", "fc00:7:0:0:1::/80"]
    plan["routes"] += [{"table": 10000, "dev": NIC, "to": one, "via": "fc00:1:1:1:0:0:0:1"} for one in to]
    plan["routes"] += [{"table": 10001, "dev": NIC, "to": one, "via": "fe80:0::ffff:102:304"} for one in to]
    plan["routes"] += [{"table": 10001, "dev": NIC, "to": "fc00:9::/64", "via": "::102:304"}]
    tool.plan(plan)
    tool.server.run("ip", "-6", "route", "add", "::102:304/128", "dev", NIC)
    before = dump(tool.server)
    assert "routes and" in tool("apply")
    assert "nothing changed" in tool("apply")
    tool("undo")
    assert dump(tool.server) == before


def test_a_missing_nic(tool: Tool) -> None:
    plan = small(NIC, "gpu1_eth")
    tool.plan(plan)
    before = dump(tool.server)
    assert "gpu1_eth: there is no such interface" in tool("apply", code=1)
    assert dump(tool.server) == before
    assert "error: gpu1_eth: there is no such interface" in tool("apply", "--partial", code=1)
    assert len(dump(tool.server)) == len(before) + 6


def test_waiting(tool: Tool) -> None:
    said = tool("apply", "--wait", "0.1", code=1)
    assert f"{NIC}: no address in fc00:1:1:1::/64" in said
    assert "6 changes made" in said  # rules and routes go by prefixes: they need no address
    tool("undo")
    waiting = tool.start("apply", "--wait", "30")
    tool.server.advertise(NIC, ["fc00:1:1:1::/64", "fc00:1:1:2::/64"])
    said = waiting.communicate(timeout=30)[0]
    assert waiting.returncode == 0, said
    assert "no address" not in said


@pytest.mark.parametrize("words", [("plan",), ("apply", "--dry-run")])
def test_a_plan_waits_too(tool: Tool, words: tuple[str, ...]) -> None:
    before = dump(tool.server)
    assert "no address in fc00:1:1:1::/64" in tool(*words, "--wait", "0.1", code=1)
    tool(*words)
    waiting = tool.start(*words, "--wait", "30")
    tool.server.advertise(NIC, ["fc00:1:1:1::/64", "fc00:1:1:2::/64"])
    said = waiting.communicate(timeout=30)[0]
    assert waiting.returncode == 0, said
    assert "no address" not in said
    assert "6 changes" in said
    assert not [line for line in dump(tool.server) if "1000" in line and line not in before]


def test_an_address_that_someone_else_has_is_none(tmp_path: Path) -> None:
    with server([NIC], dad=True) as host:
        tool = Tool(host, tmp_path)
        tool.plan(small(NIC, paths=1))
        host.leaf.run("ip", "addr", "add", "fc00:1:1:1::7/64", "dev", NIC)
        host.run("ip", "addr", "add", "fc00:1:1:1::7/64", "dev", NIC)
        until(lambda: "dadfailed" in host.run("ip", "-6", "addr").stdout, "the conflict is found")
        [nic] = json.loads(tool("plan", "--json"))["nics"]
        assert nic["missing"] == ["fc00:1:1:1::7 is tentative and dadfailed (someone else has it)"]


def test_watching(tool: Tool) -> None:
    tool.server.advertise(NIC, ["fc00:1:1:1::/64", "fc00:1:1:2::/64"])
    watching = tool.start("apply", "--watch")
    assert watching.stdout is not None
    assert "6 changes made" in watching.stdout.readline()
    assert "watching" in watching.stdout.readline()
    there = dump(tool.server)
    run = tool.server.run

    def until_said(start: str) -> None:
        assert watching.stdout is not None
        until(lambda: watching.stdout and watching.stdout.readline().startswith(start), start)

    run("sh", "-c", "ip -6 rule del from fc00:1:1:1::/64; ip -6 route flush table 10001")
    until_said("repaired: ")
    until(lambda: sorted(dump(tool.server)) == sorted(there), "all is repaired")

    said = tool("undo", code=1)
    assert f"process {watching.pid}, is at work" in said
    run("ip", "link", "set", NIC, "down")
    until_said(f"{NIC}: it is down: ip link set {NIC} up\n")
    run("ip", "link", "set", NIC, "up")
    until_said(f"{NIC}: is back\n")
    until_said("repaired: ")
    ours = {line for line in there if "1000" in line}  # the addresses are gone until the next advertisement
    until(lambda: ours <= set(dump(tool.server)), "all is repaired after the link was down")

    watching.send_signal(signal.SIGTERM)
    watching.communicate(timeout=10)
    assert watching.returncode == 0
    tool("undo")
