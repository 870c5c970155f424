"""Every subject of ``check`` in a watch: what is compared, counted, and listed as not asked."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railweave.live.check.identity import changed_lines
from railweave.live.check.subjects import SERVER
from railweave.live.collect.plan import CollectTarget
from railweave.live.collect.queries import Outcome
from railweave.live.lab import names
from railweave.live.lab.check import IN_A_LAB
from railweave.model.device.build import device_config
from railweave.model.state.device_state import DeviceState
from railweave.model.state.question import Question
from railweave.model.state.telemetry import Series
from railweave.operations.watch import setting_up
from railweave.operations.watch.app import shown
from railweave.operations.watch.collector import WatchedDevice
from railweave.operations.watch.console.state import Console
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import Poller
from railweave.operations.watch.stream import Stream
from railweave.operations.watch.validator import Validator
from railweave.systems.reading import read_state
from tests.conftest import EXAMPLES, example
from tests.live.lab.machine import lab, needs_lab, needs_nft
from tests.operations.watch.test_anomalies import at, bad, designed, fresh
from tests.operations.watch.traffic import network_watched

LIMIT_S = 40
LEAF, OTHER = "stripe1-leaf1", "stripe2-leaf1"


def kernel_of(entry: dict[str, Any] | None, *others: dict[str, Any]) -> DeviceState:
    """A router with one route by zebra, whose kernel has ``entry`` for its prefix, and other entries."""
    hop = {"ip": "fe80::1", "interfaceName": "et-0-0", "fib": True}
    route = {"protocol": "bgp", "selected": True, "installed": True, "nexthops": [hop]}
    texts = {
        "routes-ipv6@default": json.dumps({"2001:db8::/64": [route]}),
        "fib-ipv6@default": json.dumps([*([entry] if entry else []), *others]),
    }
    return read_state("leaf1", "frr", texts)


ENTRY = {"dst": "2001:db8::/64", "gateway": "fe80::1", "dev": "et-0-0", "protocol": "bgp", "metric": 20, "flags": []}


@pytest.mark.parametrize(
    ("entry", "others", "wanted"),
    [
        (ENTRY, [], (True, ["et-0-0"], None)),
        (None, [], (False, ["et-0-0"], None)),
        (ENTRY | {"dev": "et-1-0"}, [], (True, ["et-1-0"], None)),
        (ENTRY, [ENTRY | {"dev": "et-1-0"}], (True, ["et-0-0", "et-1-0"], None)),
        (ENTRY, [ENTRY | {"dev": "et-1-0", "metric": 1024}], (True, ["et-0-0"], None)),
        (ENTRY, [{"type": "blackhole", "dst": "2001:db8::/64", "metric": 1}], (True, [], "blackhole")),
        (ENTRY, [ENTRY | {"dev": "et-1-0", "flags": ["dead", "linkdown"]}], (True, ["et-0-0"], None)),
    ],
)
def test_a_route_is_what_the_kernel_does(entry: Any, others: list[Any], wanted: tuple[Any, ...]) -> None:
    [route] = list(kernel_of(entry, *others).routes or ())
    assert (route.installed, [hop.interface for hop in route.next_hops], route.drops) == wanted


def test_prefixes_that_only_the_kernel_has_are_routes_of_the_kernel() -> None:
    hidden = {"type": "blackhole", "dst": "2001:db8::5", "dev": "lo", "protocol": "bgp", "metric": 1024}
    own = {"dst": "fe80::/64", "dev": "et-0-0", "protocol": "kernel", "metric": 256}
    _, extra = list(kernel_of(ENTRY, hidden, own).routes or ())
    assert (extra.prefix, extra.protocol, extra.drops) == ("2001:db8::5/128", "kernel", "blackhole")


def drifted(device: str) -> dict[str, dict[str, str]]:
    """The configurations with a policy on one device that accepts nothing, which no route uses."""
    texts = designed()
    more = "set policy-options policy-statement spare term 1 then reject\n"
    return texts | {device: {name: text + more for name, text in texts[device].items()}}


def test_a_wrong_route_is_an_alarm_though_a_configuration_differs() -> None:
    validator, states = fresh()
    routes = states[LEAF].routes or ()
    first = next(route for route in routes if len(route.next_hops) == 1)
    place = routes.index(first)
    port = next(each.name for each in validator.expected[LEAF].ports if each.name != first.next_hops[0].interface)
    wrong = replace(first, next_hops=(replace(first.next_hops[0], interface=port),))
    states[LEAF] = replace(states[LEAF], routes=(*routes[:place], wrong, *routes[place + 1 :]))
    found = bad(validator.findings(at(0, states, configurations=drifted(OTHER))))
    assert ("route-ports-differ", LEAF) in found
    assert ("configuration-differs", OTHER) in found


def test_a_configuration_that_moved_is_shown_by_its_lines_and_a_repair_is_not() -> None:
    validator, states = fresh()
    comment = {LEAF: {name: text + "# set by hand\n" for name, text in designed()[LEAF].items()}}
    assert bad(validator.findings(at(0, states))) == []
    [moved] = [
        each
        for each in validator.findings(at(10, states, configurations=designed() | comment))
        if each.severity != "info"
    ]
    assert (moved.id, moved.where, "+# set by hand" in moved.what) == ("configuration-moved", LEAF, True)
    validator, states = fresh()
    assert bad(validator.findings(at(0, states, configurations=drifted(LEAF)))) == [("configuration-differs", LEAF)]
    assert bad(validator.findings(at(10, states))) == []
    assert changed_lines("a\n", "b\n") == ("-a", "+b")


def rows(validator: Validator) -> dict[str, dict[str, Any]]:
    return {str(row["subject"]): row for row in validator.seen.to_json()}


def test_configurations_count_and_one_that_is_not_read_is_not_seen() -> None:
    validator, states = fresh()
    validator.findings(at(0, states))
    count = len(states)
    assert (rows(validator)["configurations"]["right"], rows(validator)["configurations"]["not_asked"]) == (count, "")
    texts = {name: text for name, text in designed().items() if name != LEAF}
    found = validator.findings(at(10, states, configurations=texts))
    assert ("not-seen", LEAF) in bad(found)
    row = rows(validator)["configurations"]
    assert (row["expected"], row["right"], row["not_seen"]) == (count, count - 1, 1)


def test_a_subject_that_is_not_asked_is_listed_with_the_reason() -> None:
    validator, _ = fresh()
    of_servers = {subject.name for subject in SERVER}
    assert of_servers <= rows(validator).keys()
    assert all("--no-servers" in rows(validator)[name]["not_asked"] for name in of_servers)
    network = example("h100-rlb")
    configs = {one.name: device_config(network, one.name, "frr") for one in network.switches}
    asked = Validator(network, configs, window_s=30, servers=[network.servers[0].name], visible=IN_A_LAB)
    listed = rows(asked)
    assert listed["port-speeds"]["not_asked"] == "links of a lab have no speed"
    assert "no packet buffer" in listed["counters-resource-errors"]["not_asked"]
    assert "nics" not in listed, "it is asked, and nothing was compared yet"


def test_devices_that_were_not_tried_yet_are_no_finding() -> None:
    validator, states = fresh()
    assert bad(validator.findings(at(0, {LEAF: states[LEAF]}))) == []
    assert not [each for each in validator.findings(at(1, {LEAF: states[LEAF]})) if each.id == "device-silent"]


def test_the_page_of_a_switch_shows_the_counters_of_nics() -> None:
    watching = network_watched(example("h100-rlb"))
    console = Console(watching)
    page = shown(console, f"/devices/{LEAF}", {})
    assert page is not None
    assert "No server is asked" in "".join(page.main)
    port = next(each for each in console.expected[LEAF].ports if each.kind == "server")
    [server] = [each for each in console.network.servers if each.name == port.peer]
    netdev = next(nic.netdev for nic in server.nics if nic.name == port.peer_port)
    stream = Stream(server.name, Layout(lambda _: None))
    asked = WatchedDevice(server.name, "", "server", stream)
    nothing: Any = SimpleNamespace(questions=())
    asked.sources.append(Poller(nothing, stream, lambda _: (), quick=frozenset(), every_s=1, rarely_s=60))
    stream.offer([(Series("nic_resends", netdev), 4321.0)], int(time.time() * 1e9), time.time())
    stream.end_round(time.time())
    watching.collector.devices[server.name] = asked
    for where in (f"/devices/{LEAF}", f"/devices/{server.name}"):
        page = shown(console, where, {})
        assert page is not None
        markup = "".join(page.main)
        assert f"{server.name}/{port.peer_port}/nic_resends" in markup
        assert "4,321" in markup
        assert "every minute" in markup


def test_a_question_that_was_refused_stays_refused_until_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = tuple(Question(name, "text", {"ssh": name}) for name in ("quick", "rare"))
    target: Any = SimpleNamespace(name="leaf1", way=SimpleNamespace())
    stream = Stream("leaf1", Layout(lambda _: None))
    poller = Poller(
        CollectTarget(target, "frr", questions),
        stream,
        lambda _: (),
        quick=frozenset({"quick"}),
        every_s=1,
        rarely_s=60,
    )
    refusing: Mapping[str, str] = {"rare": "permission denied"}

    async def answer(asked: CollectTarget, kept: Any, **_: Any) -> Outcome:
        outcome = Outcome("leaf1", "frr", "", len(asked.questions))
        for question in asked.questions:
            if question.name in refusing:
                outcome.failed[question.name] = refusing[question.name]
            else:
                outcome.answered += 1
                kept("leaf1", question, "")
        return outcome

    monkeypatch.setattr(setting_up, "query_device", answer)

    async def run() -> None:
        await poller._once(questions)
        await poller._once(questions[:1])

    asyncio.run(run())
    assert poller.reached.refused == {"rare": "permission denied"}
    refusing = {}
    asyncio.run(poller._once(questions))
    assert poller.reached.refused == {}


@needs_lab
@needs_nft
def test_a_route_that_only_the_kernel_has_is_an_anomaly(tmp_path: Path) -> None:
    fabric = tmp_path / "slice.yaml"
    shutil.copy(EXAMPLES / "h100-rlb.yaml", fabric)
    with lab(fabric, example("h100-rlb"), "rails=1,spines=1,servers=1") as (_, running):
        space = names.namespace(running.place.lab, LEAF)
        own = running.plan.network.segments[0].subnets[0].prefix
        hidden = f"{own.partition('/')[0]}dead/128"
        words = [sys.executable, "-m", "railweave", "watch", str(fabric), "--lab", "--json", "--interval", "1"]
        log = tmp_path / "watch.jsonl"
        with log.open("w") as out:
            watch = subprocess.Popen([*words, "--listen", "none", "--no-servers"], stdout=out)
        try:
            told_of(log, "network", state="as designed")
            add = ["ip", "-n", space, "-6", "route", "add", "blackhole", hidden, "proto", "bgp"]
            subprocess.run(add, check=True)
            change = told_of(log, "opened", id="route-drops")
        finally:
            watch.terminate()
            watch.wait(20)
    assert (change["where"], hidden in change["what"]) == (LEAF, True)


def told_of(log: Path, change: str, **wanted: str) -> dict[str, Any]:
    """Wait for a line of ``watch --json`` with these values."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
        for line in lines:
            if line["change"] == change and wanted.items() <= line.items():
                return line
        time.sleep(0.2)
    raise AssertionError(log.read_text(encoding="utf-8")[-2000:])
