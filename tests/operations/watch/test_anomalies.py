"""Anomalies: their life, what is told of them, and storms with their head; on the states of an example's network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from railweave.model.device.build import device_config
from railweave.model.findings import Finding
from railweave.model.intent.reading.source import FieldSource
from railweave.model.state.device_state import Commit, DeviceState
from railweave.operations.deploy import journal
from railweave.operations.watch.anomalies import Anomalies, Anomaly
from railweave.operations.watch.notify import Notifier, alerts
from railweave.operations.watch.store import Event
from railweave.operations.watch.storms import storms
from railweave.operations.watch.validator import NetworkSnapshot, Validator
from railweave.operations.watch.watching import deploying
from tests.conftest import example
from tests.live.check.captures import running
from tests.live.check.perfect import perfect

DOWN = Finding(
    "port-down", "error", "leaf1 et-0/0/1", "et-0/0/1 is down, 3 neighbors gone", "why", "fix", "fabric.yaml", 12
)


def anomalies() -> Anomalies:
    return Anomalies(frozenset({"leaf1"}), quiet_s=30)


def told(changes: list[tuple[Any, Anomaly]]) -> list[tuple[str, int, int]]:
    return [(change, one.number, one.times) for change, one in changes]


def test_a_finding_that_stays_is_one_anomaly() -> None:
    known = anomalies()
    assert told(known.see([DOWN], 100)) == [("opened", 1, 1)]
    assert known.see([replace(DOWN, what="et-0/0/1 is down, 4 neighbors gone")], 110) == []
    [one] = known.listed()
    assert (one.first, one.last, one.device, one.port) == (100, 110, "leaf1", "et-0/0/1")
    assert one.evidence == DOWN.what
    assert one.finding.what == "et-0/0/1 is down, 4 neighbors gone"
    assert one.to_json()["line"] == 12


def test_it_is_over_when_it_was_not_seen_for_a_while_and_comes_back_as_the_same() -> None:
    known = anomalies()
    known.see([DOWN], 100)
    assert known.see([], 120) == []
    assert known.see([DOWN], 125) == [], "it was not over yet"
    assert known.see([], 150) == []
    [(change, one)] = known.see([], 155)
    assert (change, one.closed, one.last) == ("closed", 155, 125)
    assert known.listed() == []
    assert [each.number for each in known.listed(closed=True)] == [1]
    assert told(known.see([DOWN], 200)) == [("opened", 1, 2)], "it flaps"
    known.see([], 300)
    assert told(known.see([DOWN], 3000)) == [("opened", 2, 1)], "long afterwards it is another"


def test_queues_of_a_port_are_told_apart_and_a_change_of_cause_is_told() -> None:
    known = anomalies()
    drops = [
        Finding("lossless-drops", "error", "leaf1 et-0/0/1", f"et-0/0/1: queue {queue} dropped {queue * 7} packets")
        for queue in (3, 4)
    ]
    assert [change for change, _ in known.see(drops, 100)] == ["opened", "opened"]
    assert known.see([replace(one, what=one.what.replace("dropped", "dropped 1")) for one in drops], 110) == []
    follows = replace(DOWN, severity="info", why="it follows from device-silent at spine1")
    known.see([DOWN], 120)
    [(change, one)] = known.see([follows], 130)
    assert (change, one.follows) == ("changed", "device-silent at spine1")
    assert known.listed()[-1].finding.id == "port-down", "causes come before what they explain"
    [(change, one)] = known.see([follows], 135, deployed={"leaf1"})
    assert (change, one.deploy) == ("changed", True)


def test_neighbors_are_told_apart_by_name_and_address() -> None:
    known = anomalies()
    for number, peer in enumerate(("spine1", "spine2", "10.0.0.1", "10.0.0.2", "fe80::1", "fe80::2", "et-0/0/1:0"), 1):
        changes = known.see([Finding("x", "error", "leaf1", f"session with {peer} is down for {number * 1300} s")], 100)
        assert told(changes) == [("opened", number, 1)]


@lru_cache
def validator_and_states() -> tuple[Validator, dict[str, DeviceState]]:
    network = example("h100-rlb")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    validator = Validator(network, configs, window_s=30, line=lambda fields: FieldSource("h100-rlb.yaml", len(fields)))
    asked = validator._questions
    return validator, {
        name: replace(perfect(one), answered=frozenset(question.name for question in asked[name]))
        for name, one in validator.expected.items()
    }


@lru_cache
def designed() -> dict[str, dict[str, str]]:
    """The configurations of the network as designed, by device and question."""
    return {name: running(config) for name, config in validator_and_states()[0]._configs.items()}


def at(time: float, states: Mapping[str, DeviceState], **more: Any) -> NetworkSnapshot:
    nothing: dict[str, Any] = {"silent": {}, "unanswered": {}, "pauses": {}, "behind": {}}
    nothing["configurations"] = {name: text for name, text in designed().items() if name in states}
    return NetworkSnapshot(time, states, **(nothing | more))


def fresh() -> tuple[Validator, dict[str, DeviceState]]:
    validator, states = validator_and_states()
    validator._earlier.clear()
    validator._commits.clear()
    validator._running.clear()
    return validator, dict(states)


def bad(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(one.id, one.where) for one in findings if one.severity != "info"]


def test_nothing_is_wrong_where_all_is_as_designed() -> None:
    validator, states = fresh()
    assert bad(validator.findings(at(0, states))) == []
    assert bad(validator.findings(at(10, states))) == []


def test_the_counts_of_each_subject_are_those_of_the_last_comparison() -> None:
    validator, states = fresh()
    validator.findings(at(0, states))
    whole = {row["subject"]: row for row in validator.seen.to_json()}
    assert all(row["right"] == row["expected"] for row in whole.values())
    assert all(bool(row["expected"]) != bool(row["not_asked"]) for row in whole.values() if not row["not_asked"])
    interfaces = states["spine1"].interfaces or {}
    port = next(iter(validator.expected["spine1"].ports)).name
    changed = {**interfaces, port: replace(interfaces[port], mtu=1500)}
    states["spine1"] = replace(states["spine1"], interfaces=changed, bfd=None)
    validator.findings(at(10, states))
    now = {row["subject"]: row for row in validator.seen.to_json()}
    assert (now["port-mtus"]["wrong"], now["ports"]["wrong"]) == (1, 0)
    assert now["bfd-sessions"]["not_seen"] == len(validator.expected["spine1"].sessions)


def test_a_silent_switch_explains_what_its_neighbors_say() -> None:
    validator, states = fresh()
    validator.findings(at(0, states))
    gone = dict(states)
    del gone["spine1"]
    found = validator.findings(at(10, gone, silent={"spine1": "nothing came for 13 s"}))
    assert found[0].id == "device-silent"
    assert "nothing came for 13 s" in found[0].what
    assert (found[0].file, found[0].line > 0) == ("h100-rlb.yaml", True)
    assert bad(found) == [("device-silent", "spine1")]


def test_counters_are_compared_over_the_window() -> None:
    validator, states = fresh()
    name, state = "stripe1-leaf1", states["stripe1-leaf1"]
    wanted = next(one for one in validator.expected[name].queues if one.lossless)
    number = next(iter(wanted.lossless))
    assert state.queues is not None
    port = state.queues[wanted.port]
    dropped = replace(port, egress={**port.egress, number: replace(port.egress[number], dropped=5)})
    later = states | {name: replace(state, queues={**state.queues, wanted.port: dropped})}
    validator.findings(at(0, states))
    for time in (10, 20, 30):
        assert ("lossless-drops", f"{name} {wanted.port}") in bad(validator.findings(at(time, later))), time
    assert bad(validator.findings(at(50, later))) == [], "what rose before the window is over"


def test_a_change_that_no_deploy_made() -> None:
    validator, states = fresh()
    name = "stripe1-leaf1"

    def committed(time: float) -> dict[str, DeviceState]:
        return states | {name: replace(states[name], commit=Commit(time, "alice"))}

    def moved(time: float, commit: float, deployed: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
        found = validator.findings(at(time, committed(commit), configurations={}), deployed=deployed)
        return [each for each in bad(found) if each[0] != "not-seen"]

    assert moved(0, 5) == []
    assert moved(10, 15, frozenset({name})) == []
    assert moved(20, 15) == []
    assert moved(30, 25) == [("configuration-moved", name)]


def test_a_clock_that_differs() -> None:
    validator, states = fresh()
    found = validator.findings(at(0, states, behind={"spine1": -61.0, "spine2": 0.4}))
    assert [(one.id, one.where, one.what) for one in found if one.severity != "info"] == [
        ("clock-differs", "spine1", "its clock is 61 s ahead")
    ]


def between(validator: Validator, device: str, peer: str) -> str:
    return next(one.name for one in validator.expected[device].ports if one.peer == peer)


def storm_of_a_server(validator: Validator) -> tuple[str, dict[tuple[str, str], float]]:
    """A server pauses its leaf, the leaf its spines, and these the other leaf."""
    port = next(one for one in validator.expected["stripe1-leaf1"].ports if one.kind == "server")
    pauses = {("stripe1-leaf1", port.name): 9000.0}
    for spine in ("spine1", "spine2"):
        pauses[spine, between(validator, spine, "stripe1-leaf1")] = 4000.0
        pauses["stripe2-leaf1", between(validator, "stripe2-leaf1", spine)] = 1000.0
    return port.peer, pauses


def test_the_head_of_a_storm_is_walked_to() -> None:
    validator, states = fresh()
    server, pauses = storm_of_a_server(validator)
    [storm] = storms(validator.expected, pauses)
    assert (storm.head, storm.server) == (server, True)
    assert [device for device, _, _ in storm.hops] == [
        "stripe1-leaf1",
        "spine1",
        "spine2",
        "stripe2-leaf1",
        "stripe2-leaf1",
    ]
    found = [one for one in validator.findings(at(0, states, pauses=pauses)) if one.id == "pfc-storm-head"]
    assert [one.where for one in found] == [server]
    assert f"{server} is the head of a PFC storm: it pauses stripe1-leaf1" in found[0].what
    assert "4 more ports of 4 switches" in found[0].what


def test_an_incast_at_a_switch_is_its_own_head_and_two_storms_have_two() -> None:
    validator, _ = fresh()
    _, pauses = storm_of_a_server(validator)
    del pauses[next(iter(pauses))]  # the server takes what it gets
    [storm] = storms(validator.expected, pauses)
    assert (storm.head, storm.server) == ("stripe1-leaf1", False)
    other = next(one for one in validator.expected["stripe2-leaf2"].ports if one.kind == "server")
    two = storms(validator.expected, pauses | {("stripe2-leaf2", other.name): 50.0})
    assert [one.head for one in two] == ["stripe1-leaf1", other.peer]


def test_few_pauses_are_no_storm_and_a_circle_has_a_head_too() -> None:
    validator, _ = fresh()
    _, pauses = storm_of_a_server(validator)
    assert storms(validator.expected, dict.fromkeys(pauses, 2.0)) == []
    circle = {
        ("spine1", between(validator, "spine1", "stripe1-leaf1")): 99.0,
        ("stripe1-leaf1", between(validator, "stripe1-leaf1", "spine1")): 99.0,
    }
    [storm] = storms(validator.expected, circle)
    assert storm.head == "spine1"
    assert len(storm.hops) == 2


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it is sent; refuses the first of each."""

    got: list[tuple[str, Any]]
    refuse: int

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if type(self).refuse:
            type(self).refuse -= 1
            self.send_response(503)
        else:
            type(self).got.append((self.path, body))
            self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_anomalies_are_told_and_told_again_where_nobody_took_them(monkeypatch: pytest.MonkeyPatch) -> None:
    Receiver.got, Receiver.refuse = [], 1
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    said: list[str] = []
    where = f"http://127.0.0.1:{server.server_port}"
    known = anomalies()
    real = asyncio.sleep

    async def soon(_: float) -> None:
        await real(0.01)

    monkeypatch.setattr("railweave.operations.watch.notify.asyncio.sleep", soon)

    async def run() -> None:
        notifier = Notifier(f"{where}/hook", f"{where}/api/v2/alerts", said.append)
        task = asyncio.create_task(notifier.run())
        for number, changes in enumerate((known.see([DOWN], 100), known.see([], 200)), 1):
            notifier.tell([Event(number, 100.0 * number, change, one) for change, one in changes])
        async with asyncio.timeout(10):
            while len({path for path, _ in Receiver.got}) < 2 or not said or not said[-1].endswith("again"):
                await real(0.01)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(run())
    server.shutdown()
    server.server_close()
    hooks = [body for path, body in Receiver.got if path == "/hook"]
    assert [(one["change"], one["id"], one["device"]) for one in hooks[0]] == [
        ("opened", "port-down", "leaf1"),
        ("closed", "port-down", "leaf1"),
    ]
    assert said[0].endswith("does not take anomalies: HTTP 503")
    assert said[-1].endswith("takes anomalies again")
    assert any(path == "/api/v2/alerts" for path, _ in Receiver.got)


def test_alerts_are_as_alertmanager_takes_them() -> None:
    known = anomalies()
    opened = known.see([DOWN], 1_800_000_000)
    closed = known.see([], 1_800_000_100)
    first, last = alerts(opened + closed)
    assert first["labels"] == {"alertname": "port-down", "severity": "error", "device": "leaf1", "port": "et-0/0/1"}
    assert first["annotations"]["intention"] == "fabric.yaml:12"
    assert (first["startsAt"], first.get("endsAt")) == ("2027-01-15T08:00:00.000+00:00", None)
    assert last["labels"] == first["labels"], "it is the same alert"
    assert last["endsAt"] == "2027-01-15T08:01:40.000+00:00"


def test_devices_that_a_deploy_works_on(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.yaml"
    assert deploying(fabric, 0) == frozenset()
    with journal.at_work(fabric) as written:
        rows: Any = written._database
        rows.execute("INSERT INTO revisions VALUES (1, 'r1', '{}', '', 'me', 1000, NULL, 'running', '', NULL)")
        for device, began, ended in (("leaf1", 1000, 1010), ("leaf2", 1000, None), ("leaf3", 900, 905)):
            rows.execute(
                "INSERT INTO steps (revision, wave, device, verb, began, ended) VALUES (1, 1, ?, 'commit', ?, ?)",
                (device, began, ended),
            )
        rows.commit()
    assert deploying(fabric, 1020) == {"leaf1", "leaf2"}
    assert deploying(fabric, 1100) == {"leaf2"}
    assert deploying(fabric, 1000 + 3700) == frozenset(), "a deploy that was killed in a step silences nothing for ever"
