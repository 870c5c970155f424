"""One fault is one anomaly, over a restart, with silences, and with who may write."""

from __future__ import annotations

import asyncio
import json
import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from railweave.api.output_schemas import output_schema
from railweave.cli.app import app as cli
from railweave.errors import InputError, OutputError, RailweaveError
from railweave.live.check.flapping import Flapping
from railweave.model.findings import Finding
from railweave.model.state.device_state import DeviceState
from railweave.operations.watch.anomalies import KINDS, Anomalies, Anomaly, kind_of
from railweave.operations.watch.app import app
from railweave.operations.watch.notify import Notifier
from railweave.operations.watch.silences import TOKEN, Note, Silence, by_alertmanager, devices_of, seconds_of
from railweave.operations.watch.store import Event, Store
from tests.conftest import example
from tests.operations.watch.test_anomalies import at, bad, fresh, validator_and_states
from tests.operations.watch.test_app import watching

DOWN = Finding("port-down", "error", "leaf1 et-0/0/1", "et-0/0/1 is down", "why", "fix")
SESSION = Finding("session-not-established", "error", "leaf1 et-0/0/1", "session with spine1: idle, Hold Timer Expired")
ROUTES = Finding("route-ports-differ", "error", "leaf1", "7 prefixes of leaf2 leave by et-0/0/2")

SECRET = "token"  # noqa: S105 - no secret


def follows(finding: Finding, cause: Finding) -> Finding:
    return replace(finding, severity="info", why=f"it follows from {cause.id} at {cause.where}")


def known(**more: Any) -> Anomalies:
    return Anomalies(frozenset({"leaf1", "spine1"}), quiet_s=6, **more)


def causes(changes: list[tuple[Any, Anomaly]]) -> list[tuple[str, str]]:
    return [(change, one.finding.id) for change, one in changes if not one.follows]


def test_every_rule_has_one_kind_and_the_last_takes_the_rest() -> None:
    assert not KINDS[-1].rules
    assert kind_of("port-down").moves
    assert kind_of("communicator-below-prediction") is KINDS[-1]
    assert kind_of("link-flaps").echo, "the first kind with the rule counts"
    assert kind_of("route-drops").merged


def test_a_session_is_one_anomaly_in_whatever_state_it_is() -> None:
    anomalies = known()
    anomalies.see([SESSION], 97)
    assert causes(anomalies.see([SESSION], 100)) == [("opened", SESSION.id)]
    waiting = replace(SESSION, what="session with spine1: opensent, Waiting for peer OPEN")
    assert anomalies.see([waiting], 102) == []
    assert len(anomalies.listed()) == 1


def test_routes_that_differ_are_told_after_two_rounds_and_not_while_the_network_converges() -> None:
    anomalies = known()
    assert anomalies.see([ROUTES], 100) == []
    assert causes(anomalies.see([ROUTES], 102)) == [("opened", ROUTES.id)]
    anomalies = known()
    anomalies.see([], 90)
    anomalies.see([DOWN], 100)
    for now in range(102, 160, 2):
        assert causes(anomalies.see([DOWN, ROUTES], now)) == ([("opened", ROUTES.id)] if now == 130 else []), now
    anomalies = known()
    for now in range(100, 160, 2):  # a port that never rests
        listed = [ROUTES, DOWN] if now // 2 % 3 else [ROUTES]
        assert not any(one.finding.id == ROUTES.id for _, one in anomalies.see(listed, now)), now
    assert causes(anomalies.see([ROUTES], 160)) == [("opened", ROUTES.id)], "a minute is long enough"


def test_what_has_followed_from_a_cause_stays_with_it_until_the_network_has_settled() -> None:
    anomalies = known()
    anomalies.see([DOWN, follows(ROUTES, DOWN)], 100)
    for now in range(102, 130, 2):
        assert ("changed", ROUTES.id) not in causes(anomalies.see([ROUTES], now)), now
    [one] = [one for one in anomalies.listed() if one.finding.id == ROUTES.id]
    assert (one.follows, one.finding.severity) == ("port-down at leaf1 et-0/0/1", "info")
    assert causes(anomalies.see([ROUTES], 131)) == [("changed", ROUTES.id)], "it has a cause of its own after all"


def test_a_change_of_a_link_repeats_what_its_port_has_told() -> None:
    anomalies = known()
    anomalies.see([DOWN], 100)
    flaps = Finding("link-flaps", "warning", DOWN.where, "et-0/0/1: changed 2 times between up and down")
    anomalies.see([flaps], 104)
    assert [one.follows for one in anomalies.listed() if one.finding.id == "link-flaps"] == [
        "port-down at leaf1 et-0/0/1"
    ]
    assert causes(known().see([flaps], 100)) == [("opened", "link-flaps")], "a link that changed between two readings"


def spine_lost(states: dict[str, DeviceState], spine: str) -> None:
    """All neighbors have lost their session with a spine, over links that are up."""
    validator = validator_and_states()[0]
    for name, wanted in validator.expected.items():
        ends = {each.session.interface for each in wanted.sessions if each.session.peer == spine}
        bgp = tuple(
            replace(one, state="idle")
            if (one.interface or "").removesuffix(".0") in ends or one.interface in ends
            else one
            for one in states[name].bgp or ()
        )
        states[name] = replace(states[name], bgp=bgp)


def test_a_spine_that_all_neighbors_have_lost_is_named_at_itself() -> None:
    validator, states = fresh()
    spine = next(name for name, one in validator.expected.items() if "spine" in name and one.sessions)
    spine_lost(states, spine)
    assert bad(validator.findings(at(1000, states))) == [("sessions-lost", spine)]


def test_a_device_without_power_is_one_finding() -> None:
    """Its links are down at the other ends, and nothing comes from it yet."""
    validator, states = fresh()
    spine = next(name for name in validator.expected if "spine" in name)
    for name, wanted in validator.expected.items():
        ports = {port.name for port in wanted.ports if port.peer == spine}
        interfaces = {
            port: replace(one, oper_up=False) if port in ports else one
            for port, one in (states[name].interfaces or {}).items()
        }
        states[name] = replace(states[name], interfaces=interfaces)
    del states[spine]
    found = bad(validator.findings(at(1000, states)))
    assert ("links-lost", spine) in found
    assert not [each for each in found if each[0] in {"port-down", "sessions-lost", "session-not-established"}]
    silent = bad(validator.findings(at(1002, states, silent={spine: "no answer"})))
    assert silent == [("device-silent", spine)]


@pytest.mark.parametrize("counted", [True, False], ids=["by the device's counter", "by readings"])
def test_a_port_that_flaps_is_named_so_until_it_rests(counted: bool) -> None:
    validator, states = fresh()
    name, wanted = next((name, one) for name, one in validator.expected.items() if one.ports)
    port = wanted.ports[0]

    def seen(now: float, up: bool, losses: int) -> list[str]:
        one = (states[name].interfaces or {})[port.name]
        changed = replace(one, oper_up=up, flaps=2 * losses if counted else None)
        state = replace(states[name], interfaces={**(states[name].interfaces or {}), port.name: changed})
        return [each.rule.id for each in history.seen(now, validator.expected, {name: state})]

    history = Flapping()
    now, losses = 1000.0, 0
    assert seen(now, True, losses) == []
    for number in range(1, 5):
        losses += 1
        found = seen(now := now + 10, counted, losses)  # a counter rises though every reading shows the port up
        assert (found == ["port-flapping"]) == (number >= 3), number
        seen(now := now + 10, True, losses)
    assert seen(now + 99, True, losses) == ["port-flapping"]
    assert seen(now + 111, True, losses) == [], "it has rested for two minutes"


def test_two_restarts_are_no_flapping() -> None:
    validator, states = fresh()
    history = Flapping()
    name = next(iter(validator.expected))
    down = replace(states[name], bgp=tuple(replace(one, state="idle") for one in states[name].bgp or ()))
    for number, state in enumerate((states[name], down, states[name], down, states[name])):
        assert list(history.seen(1000 + 10 * number, validator.expected, {name: state})) == []
    assert list(history.seen(1100, validator.expected, {})) == [], "a device that does not answer has lost nothing"


def test_anomalies_go_on_after_a_kill_and_no_receiver_is_told_twice(tmp_path: Path) -> None:
    store, anomalies = Store(tmp_path / "s"), known()
    notifier = Notifier("http://127.0.0.1:9/hook", None, print, store)
    first = store.keep([*anomalies.see([DOWN, SESSION], 97), *anomalies.see([DOWN, SESSION], 100)], 100)
    notifier.tell(first)
    store.keep_sent("webhook", first[0].id)  # the second was not sent yet: the process is killed
    store.keep_silence(Silence(1, "device leaf1", 90, 500, "me", "works", devices=("leaf1",)))

    again, other = Store(tmp_path / "s"), known()
    other.restore(again.anomalies(100), again.silences(), 105)
    assert [(one.number, one.first) for one in other.listed()] == [(1, 97), (2, 97)]
    assert [one.scope for one in other.silences.values()] == ["device leaf1"]
    waiting = Notifier("http://127.0.0.1:9/hook", None, print, again)._waiting["webhook"]
    assert [(each.id, each.anomaly.number) for each in waiting] == [(first[1].id, 2)]
    changes = other.see([DOWN, SESSION], 110)
    assert [(change, one.number, one.silenced) for change, one in changes] == [
        ("changed", 1, "device leaf1: works (me)"),
        ("changed", 2, "device leaf1: works (me)"),
    ]
    new = replace(DOWN, where="spine1 et-0/0/9", what="et-0/0/9 is down")
    assert [one.number for _, one in other.see([DOWN, SESSION, new], 112)] == [3], "numbers go on"
    [(change, closed)] = [each for each in other.see([new], 125) if each[1].number == 1]
    again.keep([(change, closed)], 125)
    assert [(each.change, each.anomaly.number) for each in again.events(0, 200, number=1)] == [
        ("opened", 1),
        ("closed", 1),
    ]
    assert [one.closed for one in again.anomalies(100)] == [125, None]


def test_a_store_of_the_version_before_is_taken_over(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    for table in ("anomaly", "event", "silence", "sent"):
        store._db.execute(f"DROP TABLE {table}")
    store._db.execute("PRAGMA user_version=1")
    store.close()
    assert Store(tmp_path / "s").keep(known().see([DOWN], 100), 100)[0].anomaly.finding == DOWN


def test_a_deploy_silences_what_it_causes_at_both_ends_and_only_as_long() -> None:
    anomalies = known(ends={("leaf1", "et-0/0/1"): "spine1"})
    [(_, one)] = anomalies.see([DOWN], 100, deployed={"spine1"})
    assert one.deploy
    assert one.quiet
    [(change, one)] = anomalies.see([DOWN], 102)
    assert (change, one.quiet) == ("changed", False)


def silence(**more: Any) -> Silence:
    return Silence(**{"number": 1, "scope": "x", "begin": 0, "until": 200, "by": "me", "why": "works", **more})


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True),
        ({"until": 100}, False),
        ({"begin": 101}, False),
        ({"rule": "port-down"}, True),
        ({"rule": "port-shut"}, False),
        ({"devices": ("leaf1",)}, True),
        ({"devices": ("leaf2",)}, False),
        ({"anomaly": 1}, True),
        ({"anomaly": 2}, False),
    ],
)
def test_a_silence_holds_for_what_fits_all_of_it(given: dict[str, Any], fits: bool) -> None:
    anomalies = known(silences={1: silence(**given)})
    effect = follows(SESSION, DOWN)
    listed = [one for _, one in anomalies.see([DOWN, effect], 100)]
    assert listed[0].quiet == fits
    if fits and given:
        assert listed[1].silenced, "what follows from a silenced anomaly is silenced too"
    assert len(anomalies.listed()) == 2, "a silenced anomaly stays in the list"


def test_durations_and_scopes_are_read_and_refused() -> None:
    assert [seconds_of(text) for text in ("90s", "30m", "2h", "1.5d")] == [90, 1800, 7200, 129_600]
    for text in ("", "2", "0h", "-1h", "31d", "1h2m", "nan s", "9" * 99 + "s"):
        with pytest.raises(InputError, match="is not a duration"):
            seconds_of(text)
    network = example("evpn-gpu-isolation")
    tenant = next(nic.tenant for server in network.servers for nic in server.nics if nic.tenant)
    servers = devices_of(network, {"tenant": tenant})
    assert servers
    assert devices_of(network, {"tenant": tenant, "device": servers[0]}) == servers[:1]
    for kind in ("device", "rack", "tenant"):
        with pytest.raises(InputError, match=f"the network has no {kind} 'nothing'"):
            devices_of(network, {kind: "nothing"})


def test_silences_of_alertmanager_hold_here_too() -> None:
    def by(*matchers: dict[str, Any], state: str = "active") -> list[dict[str, Any]]:
        return [{"status": {"state": state}, "matchers": list(matchers), "comment": "works", "createdBy": "me"}]

    labels = {"alertname": "port-down", "device": "leaf1"}
    device = {"name": "device", "value": "leaf1", "isRegex": False, "isEqual": True}
    assert by_alertmanager(by(device), labels) == "Alertmanager: works (me)"
    assert by_alertmanager(by({**device, "value": "leaf.*", "isRegex": True}), labels)
    for silences in (
        by({**device, "value": "leaf2"}),
        by({**device, "isEqual": False}),
        by({**device, "value": "(", "isRegex": True}),
        by(device, state="expired"),
        [1, {}, {"status": {"state": "active"}, "matchers": [3]}],
        "nonsense",
        None,
    ):
        assert by_alertmanager(silences, labels) == ""


def posted(
    application: Any, path: str, body: bytes, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], Any]:
    """The status, the headers and the JSON of a POST, by ASGI itself."""
    sent: list[dict[str, Any]] = []
    given = {"host": "127.0.0.1:8484", "content-type": "application/json", TOKEN: SECRET, **(headers or {})}
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [(key.encode(), value.encode()) for key, value in given.items() if value], "root_path": "", "scheme": "http", "server": ("x", 80), "http_version": "1.1"}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(one: dict[str, Any]) -> None:
        sent.append(one)

    asyncio.run(application(scope, receive, send))
    text = b"".join(one.get("body", b"") for one in sent)
    answer = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], answer, json.loads(text) if text.startswith((b"{", b"[")) else text.decode()


WHO = {"by": "ann", "why": "moving the rack"}


def test_who_has_the_token_acknowledges_and_silences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watching(tmp_path)
    served = app(watched, token=SECRET)
    status, _, one = posted(served, "/api/anomalies/1/acknowledge", json.dumps(WHO).encode())
    assert (status, one["acknowledged"]["by"], one["acknowledged"]["why"]) == (200, "ann", "moving the rack")
    assert watched.anomalies.listed()[0].acknowledged is not None
    status, _, made = posted(served, "/api/silences", json.dumps({**WHO, "for": "2h", "anomaly": 1}).encode())
    assert (status, made["number"], made["scope"]) == (200, 1, "anomaly 1")
    assert abs(made["until"] - time.time() - 7200) < 60
    form = b"by=ann&why=over&token=token&back=%2Fanomalies%2F1"
    kind = {"content-type": "application/x-www-form-urlencoded", TOKEN: "", "origin": "http://127.0.0.1:8484"}
    status, headers, _ = posted(served, "/api/silences/1/end", form, kind)
    assert (status, headers["location"]) == (303, "/anomalies/1")
    assert watched.anomalies.silences[1].until <= time.time()
    status, headers, _ = posted(
        served, "/api/silences/1/end", form.replace(b"%2Fanomalies", b"%2F%2Fevil.example"), kind
    )
    assert status == 200, "nobody is led to another server"
    assert watched.store is not None
    assert [each.scope for each in watched.store.silences()] == ["anomaly 1"]
    assert [each.change for each in watched.store.events(0, time.time() + 1)] == ["changed"]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/api/anomalies/1/acknowledge", WHO, {TOKEN: "wrong"}, 403),
        ("/api/anomalies/1/acknowledge", WHO, {TOKEN: ""}, 403),
        ("/api/anomalies/1/acknowledge", WHO, {"origin": "http://evil.example"}, 403),
        ("/api/anomalies/1/acknowledge", WHO, {"origin": "null"}, 403),
        ("/api/anomalies/1/acknowledge", WHO, {"sec-fetch-site": "cross-site"}, 403),
        ("/api/anomalies/1/acknowledge", WHO, {"host": "evil.example"}, 421),
        ("/api/anomalies/1/acknowledge", WHO, {"content-type": "text/plain"}, 415),
        ("/api/anomalies/9/acknowledge", WHO, {}, 404),
        ("/api/anomalies/1/acknowledge", {"why": "x"}, {}, 400),
        ("/api/anomalies/1/acknowledge", {"by": "x", "why": " "}, {}, 400),
        ("/api/silences", {**WHO, "for": "2h"}, {}, 400),
        ("/api/silences", {**WHO, "for": "never", "rule": "x"}, {}, 400),
        ("/api/silences", {**WHO, "for": "2h", "device": "nothing"}, {}, 400),
        ("/api/silences", {**WHO, "for": "2h", "anomaly": "7"}, {}, 404),
        ("/api/silences", {**WHO, "for": "2h", "anomaly": "1e9"}, {}, 400),
        ("/api/silences/4/end", WHO, {}, 404),
    ],
)
def test_writes_without_right_or_sense_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    body: dict[str, str],
    headers: dict[str, str],
    status: int,
) -> None:
    monkeypatch.setattr("railweave.operations.watch.console.writes.WRONG_S", 0)
    watched = watching(tmp_path)
    assert posted(app(watched, token=SECRET), path, json.dumps(body).encode(), headers)[0] == status
    assert watched.anomalies.listed()[0].acknowledged is None
    assert not watched.anomalies.silences


def test_large_and_broken_bodies_are_refused(tmp_path: Path) -> None:
    served = app(watching(tmp_path), token=SECRET)
    for body, status in ((b"x" * 20_000, 413), (b"{", 400), (b"[" * 5000, 400), (b"[1]", 400), (b"\xff", 400)):
        assert posted(served, "/api/silences", body)[0] == status


def test_nothing_is_written_without_a_token(tmp_path: Path) -> None:
    status, headers, _ = posted(app(watching(tmp_path)), "/api/anomalies/1/acknowledge", json.dumps(WHO).encode())
    assert (status, headers["allow"]) == (405, "GET, HEAD")


def test_the_page_of_an_anomaly_says_what_to_look_at(tmp_path: Path) -> None:
    from tests.operations.watch.test_app import asked

    watched = watching(tmp_path)
    assert watched.store is not None
    watched.store.keep([("opened", watched.anomalies.listed()[0])], time.time())
    status, page = asked(app(watched, token=SECRET), "/anomalies/1")
    assert status == 200
    for part in (
        "railweave check FABRIC --live --only port-down",
        "/history?span=",
        'action="/api/silences"',
        "opened",
    ):
        assert part in page, part
    assert "Read only" in asked(app(watched), "/anomalies/1")[1]
    assert asked(app(watched), "/anomalies/77")[0] == 404
    assert asked(app(watched), "/anomalies/x")[0] == 404
    assert json.loads(asked(app(watched), "/api/changes?since=0")[1])[0]["change"] == "opened"
    assert json.loads(asked(app(watched), "/api/anomalies/1")[1])["id"] == "port-down"


def test_a_store_that_cannot_be_written_is_an_anomaly_and_the_watch_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watching(tmp_path)

    def full(*_: object) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr(Store, "write", full)
    asyncio.run(watched.collector.step(time.time()))
    assert [(one.id, one.what) for one in watched._store_findings()] == [("store-not-written", "the disk is full")]
    monkeypatch.undo()
    asyncio.run(watched.collector.step(time.time()))
    assert list(watched._store_findings()) == []


def test_a_store_keeps_to_its_size(tmp_path: Path) -> None:
    from tests.operations.watch.test_store import NOW, layout, rounds

    store, made = Store(tmp_path / "s", 1 << 20), layout()
    store._shrink()
    for number in range(400):
        for _, each in rounds(made, NOW + number / 10, *range(4)):
            blob = bytes(8000)  # as large as the numbers of a switch
            store.write([(made, each)], NOW + number / 10)
            store._db.execute("UPDATE block SET data = ? WHERE rowid = last_insert_rowid()", (blob,))
    assert store.bytes < 8 << 20
    pages, free = (store._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    assert (pages - free) * 4096 <= 1.1 * (1 << 20)
    first, last = store._db.execute("SELECT min(time), max(time) FROM block WHERE tier = 0").fetchone()
    assert NOW < first < last == NOW + 39.9, "the oldest have gone"


def test_events_are_read_back_whole(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    [(_, one)] = known().see([DOWN], 100)
    noted = replace(one, acknowledged=Note("ann", 101, "seen"), silenced="x", count=3)
    [event] = store.keep([("changed", noted)], 101)
    assert store.events(0, 200) == [event] == [Event(event.id, 101, "changed", noted)]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a watch that runs in this process, with a token."""
    watched = watching(tmp_path)
    config = uvicorn.Config(app(watched, token=SECRET), host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    monkeypatch.setenv("RAILWEAVE_TOKEN", SECRET)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


def run(words: str, at: str) -> tuple[int, Any]:
    result = CliRunner().invoke(cli, [*shlex.split(words), "--at", at, "--json"])
    verb = " ".join(words.split()[:2])
    if isinstance(result.exception, RailweaveError):
        return result.exception.exit_code, result.exception
    printed = json.loads(result.stdout)
    Draft202012Validator(output_schema(verb)).validate(printed)
    return result.exit_code, printed


def test_the_command_line_lists_acknowledges_and_silences(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code, listed = run("anomalies list", served)
    assert (code, [one["id"] for one in listed]) == (1, ["port-down"]), "an error is open"
    assert run("anomalies ack 1 --why 'optic ordered'", served)[1]["acknowledged"]["why"] == "optic ordered"
    made = run("anomalies silence 1 --for 2h --why works --by ann", served)[1]
    assert (made["scope"], made["by"]) == ("anomaly 1", "ann")
    assert [one["number"] for one in run("anomalies silences", served)[1]] == [1]
    assert run("anomalies unsilence 1 --why done", served)[1]["why"] == "works; ended: done"
    assert run("anomalies list --closed", served) == (0, [])
    text = CliRunner().invoke(cli, ["anomalies", "list", "--at", served]).output
    assert "error: port-down leaf1 et-0/0/1:0: it is down" in text
    assert "optic ordered" in text
    assert text.endswith("1 cause, 0 more anomalies explained by them\n")
    for words, message in (
        ("anomalies ack 7 --why x", "no open anomaly has this number"),
        ("anomalies silence --for 2h --why x", "say what to silence"),
        ("anomalies silence --for 40d --rule x --why x", "is not a duration"),
        ("anomalies silence --for 2h --rack R9 --why x", "has no rack 'R9'"),
    ):
        _, error = run(words, served)
        assert isinstance(error, OutputError)
        assert message in str(error), words
    monkeypatch.setenv("RAILWEAVE_TOKEN", "wrong")
    assert "the token is wrong" in str(run("anomalies ack 1 --why x", served)[1])
    monkeypatch.delenv("RAILWEAVE_TOKEN")
    assert "RAILWEAVE_TOKEN" in str(run("anomalies ack 1 --why x", served)[1])


def test_no_watch_and_no_url_are_said() -> None:
    assert "does `railweave watch` run there?" in str(run("anomalies list", "http://127.0.0.1:9")[1])
    assert isinstance(run("anomalies list", "ftp://x")[1], InputError)
    assert "a watch" not in str(run("anomalies list", "http://u:secret@127.0.0.1:9")[1])


def test_no_finding_follows_from_what_it_explains() -> None:
    anomalies = known()
    address = Finding("port-address-missing", "error", DOWN.where, "et-0/0/1 lacks 10.0.0.1")
    session = follows(replace(SESSION, where=DOWN.where), address)
    for now in range(100, 400, 2):
        anomalies.see([address, session], now)
    [cause] = [one for one in anomalies.listed() if not one.follows]
    assert (cause.finding.id, cause.finding.severity) == ("port-address-missing", "error")


def test_a_new_fault_is_told_though_an_old_one_at_the_same_place_was_explained() -> None:
    """The port stays down for weeks; a route that fails later has another cause."""
    anomalies = known()
    for now in range(100, 200, 2):
        anomalies.see([DOWN, follows(ROUTES, DOWN)], now)
    told = [one for now in range(200, 300, 2) for _, one in anomalies.see([DOWN, ROUTES], now)]
    assert [(one.finding.severity, one.follows) for one in told] == [("error", "")]


def test_a_fault_that_grows_is_told_and_is_silenced_no_longer() -> None:
    anomalies = known()
    routes = [replace(ROUTES, what=f"route {number} is missing", id="route-missing") for number in range(40)]
    for now in (100, 102):
        anomalies.see(routes[:1], now)
    [one] = anomalies.listed()
    anomalies.silences = {1: silence(anomaly=one.number, count=one.count, until=9999)}
    assert [each.silenced != "" for _, each in anomalies.see(routes[:2], 104)] == [True]
    assert [(change, each.count, each.silenced) for change, each in anomalies.see(routes, 106)] == [("changed", 40, "")]


def test_a_repair_closes_the_incident_though_a_deploy_is_at_work(tmp_path: Path) -> None:
    sent: list[Any] = []

    class Taken(Notifier):
        async def _sent(self, client: Any, where: str, body: list[dict[str, Any]]) -> bool:
            sent.extend(body)
            return True

    anomalies = known()
    notifier = Taken("http://127.0.0.1:9/", None, print)
    changes = [*anomalies.see([DOWN], 100), *anomalies.see([DOWN], 102, deployed={"leaf1"}), *anomalies.see([], 200)]
    notifier.tell([Event(number, 100, change, one) for number, (change, one) in enumerate(changes, 1)])
    assert asyncio.run(notifier._all(None))
    assert [each["change"] for each in sent] == ["opened", "closed"]


def test_a_receiver_that_is_new_is_told_what_is_open(tmp_path: Path) -> None:
    store, anomalies = Store(tmp_path / "s"), known()
    store.keep(anomalies.see([DOWN], 100), 100)
    waiting = Notifier("http://127.0.0.1:9/", None, print, store)._waiting["webhook"]
    assert [(each.change, each.anomaly.finding.id) for each in waiting] == [("opened", "port-down")]


def test_what_was_open_before_a_restart_stays_open_until_it_can_be_seen_again() -> None:
    anomalies = known()
    anomalies.see([DOWN], 100)
    again = known()
    again.restore(anomalies.listed(), [], 1000)
    assert again.see([], 1002) == []
    assert again.see([], 1179) == []
    assert [change for change, _ in again.see([], 1181)] == ["closed"]


def test_silences_are_added_while_checks_read_them() -> None:
    anomalies = known()
    ended = False

    def add() -> None:
        number = 0
        while not ended:
            number += 1
            anomalies.silences = {**dict(list(anomalies.silences.items())[-50:]), number: silence(number=number)}

    thread = Thread(target=add)
    thread.start()
    try:
        for now in range(300):
            anomalies.see([DOWN, SESSION, ROUTES], now)
    finally:
        ended = True
        thread.join()


@pytest.mark.parametrize("pattern", ["(a+)+$", "a{99999999999}", ".*.*.*.*.*x", "(?P<", "x" * 400])
def test_patterns_of_alertmanager_that_take_long_or_are_none_fit_nothing(pattern: str) -> None:
    matcher = {"name": "device", "value": pattern, "isRegex": True}
    silences = [{"status": {"state": "active"}, "matchers": [matcher], "comment": "", "createdBy": ""}]
    assert by_alertmanager(silences, {"device": "a" * 60 + "!"}) == ""


def test_a_silence_of_alertmanager_ends_though_alertmanager_does_not_answer() -> None:
    silences = [{"status": {"state": "active"}, "matchers": [], "endsAt": "2026-12-01T10:00:00.000Z", "comment": "x"}]
    assert by_alertmanager(silences, {}, "2026-12-01T09:59:59.000+00:00")
    assert not by_alertmanager(silences, {}, "2026-12-01T10:00:00.000+00:00")
