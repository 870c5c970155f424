"""What is served: /metrics as promtool takes it, JSON, a password; and the verb's options."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app as cli
from railweave.cli.watch import _whole
from railweave.errors import InputError
from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened
from railweave.live.reach.target import MachineLogin, Target
from railweave.model.findings import Finding
from railweave.model.state.device_state import DeviceState
from railweave.model.state.host_state import read_host
from railweave.model.state.telemetry import Series
from railweave.operations.watch.anomalies import Anomalies
from railweave.operations.watch.app import app
from railweave.operations.watch.collector import Collector, WatchedDevice
from railweave.operations.watch.exposition import exposed, prometheus_text
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.measured import measurements, state_of
from railweave.operations.watch.setting_up import Poller, Subscriber, SubscriptionState, watched
from railweave.operations.watch.store import Store
from railweave.operations.watch.stream import Stream
from railweave.operations.watch.syslog import Syslog
from railweave.operations.watch.watching import WatchedNetwork
from tests.conftest import EXAMPLES, example
from tests.operations.watch.test_anomalies import validator_and_states
from tests.operations.watch.traffic import network_watched


class Nothing:
    def __init__(self) -> None:
        self.reached = SubscriptionState()

    async def run(self) -> None:
        await asyncio.sleep(3600)


def device(name: str = "leaf1") -> WatchedDevice:
    stream = Stream(name, Layout(lambda _: None))
    source = Nothing()
    source.reached.turn(up=True)
    numbers = {
        Series("in_octets", "et-0/0/1:0"): 2**60 + 1,
        Series("port_up", "et-0/0/1:0"): 1,
        Series("queue_dropped", "et-0/0/1:0", "3"): 5,
        Series("queue_dropped", "et-0/0/1:0", "4"): 0,
        Series("pfc_received", "et-0/0/1:0", "3"): 17,
        Series("bias", "et-0/0/1:0", "0"): 75.0,
        Series("bgp_state", "", 'fe80::1%et-0/0/1.0 "odd\\'): 6,
    }
    for number in range(2):
        stream.offer(
            [
                (one, value + 100 * number) if one.metric == "in_octets" else (one, value)
                for one, value in numbers.items()
            ],
            int(time.time() * 1e9),
            time.time(),
        )
        stream.end_round(time.time())
    return WatchedDevice(name, "junos", "leaf", stream, [source])


def watching(tmp_path: Path) -> WatchedNetwork:
    one, validator = device(), validator_and_states()[0]
    known = Anomalies(frozenset({"leaf1"}), 30)
    known.see([Finding("port-down", "error", "leaf1 et-0/0/1:0", "it is down")], 100)
    store = Store(tmp_path / "samples")
    store.write([(one.stream.layout, each) for each in one.stream.rounds(time.time())])
    return WatchedNetwork(Collector([one], store, every_s=10), validator, known, store, 10)


def asked(application: Any, path: str, password: str | None = None) -> tuple[int, str]:
    """The status and the body of a GET, by ASGI itself."""
    sent: list[dict[str, Any]] = []
    where, _, query = path.partition("?")
    headers = [(b"host", b"127.0.0.1:8484")]
    if password is not None:
        headers.append((b"authorization", b"Basic " + base64.b64encode(f"anyone:{password}".encode())))
    scope = {"type": "http", "method": "GET", "path": where, "raw_path": where.encode(), "query_string": query.encode(), "headers": headers, "root_path": "", "scheme": "http", "server": ("x", 80), "http_version": "1.1"}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(one: dict[str, Any]) -> None:
        sent.append(one)

    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent).decode()


def test_metrics_are_what_prometheus_reads() -> None:
    text = prometheus_text(exposed([device("leaf1"), device("leaf2")], {("port-down", "error"): 2}))
    lines = text.splitlines()
    labels = 'device="leaf1",role="leaf",port="et-0/0/1:0"'
    assert f"railweave_port_receive_bytes_total{{{labels}}} {2**60 + 101}" in lines, "counters are whole, not floats"
    assert f'railweave_queue_dropped_packets_total{{{labels},queue="3"}} 5' in lines
    assert not any('queue="4"' in one for one in lines), "a queue that has always been zero is left out"
    assert f'railweave_optic_bias_amperes{{{labels},lane="0"}} 0.075' in lines
    assert 'railweave_target_up{device="leaf2",role="leaf"} 1' in lines
    assert 'railweave_anomalies{rule="port-down",severity="error"} 2' in lines
    assert (
        'railweave_bgp_session_state{device="leaf1",role="leaf",neighbor="fe80::1%et-0/0/1.0 \\"odd\\\\"} 6.0' in lines
    )
    names = [one.split()[2] for one in lines if one.startswith("# TYPE")]
    assert len(set(names)) == len(names), "all series of a metric stand together"
    if (promtool := shutil.which("promtool")) is not None:
        done = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_device_that_is_down_has_no_numbers_but_its_own() -> None:
    one = device()
    one.reached.turn(up=False, why="nothing came")
    one.stream.forget()
    lines = [line for line in prometheus_text(exposed([one])).splitlines() if not line.startswith("#")]
    assert 'railweave_target_up{device="leaf1",role="leaf"} 0' in lines
    assert all(line.startswith("railweave_target_") for line in lines)


def named(text: str, name: str) -> str:
    return next(line.split()[1] for line in text.splitlines() if line.startswith(f"{name} "))


def test_what_was_not_compared_is_not_known(tmp_path: Path) -> None:
    """Before the first look, of a device that was never reached, and where only a part of what it says comes."""
    own = network_watched(example("h100-rlb"))
    served, devices = app(own), own.collector.devices
    leaf, spine = devices["stripe1-leaf1"], devices["spine1"]

    def measurements() -> tuple[str, list[str], str, str]:
        whole, text = json.loads(asked(served, "/api/network")[1]), asked(served, "/metrics")[1]
        assert int(named(text, "railweave_network_devices_not_known")) == len(whole["not_known"])
        page = asked(served, "/")[1]
        assert ("as designed</span>" in page) == (whole["state"] == "as designed")
        return whole["state"], whole["not_known"], named(text, "railweave_network_as_designed"), str(own.standing())

    assert measurements() == ("not known", list(devices), "NaN", "not known: 0 of 20 devices compared, not stripe1-leaf1, stripe1-leaf2, stripe1-leaf3 and 17 more")  # fmt: skip
    own.validator.findings = lambda *_, **__: []  # type: ignore[method-assign,assignment] - what is wrong is not the subject here
    asyncio.run(own.look())
    assert measurements() == ("as designed", [], "1", "as designed: 20 of 20 devices compared")
    leaf.sources[0] = Nothing()  # never reached
    spine.sources.append(Nothing())  # it streams, and nothing that it is asked came yet
    asyncio.run(own.look())
    assert measurements()[:3] == ("not known", ["stripe1-leaf1", "spine1"], "NaN")
    api = json.loads(asked(served, "/api/devices")[1])
    assert [(api[one]["state"], api[one]["compared"]) for one in ("stripe1-leaf1", "spine1", "spine2")] == [("not known", False), ("up", False), ("up", True)]  # fmt: skip
    assert 'railweave_target_known{device="stripe1-leaf1",role="leaf"} 0' in asked(served, "/metrics")[1]
    page = asked(served, "/devices")[1]
    assert page.count("not known</span> not reached yet") == 1
    assert "not known: 2 of 20 devices" in page
    devices["spine2"].sources[0].reached.turn(up=False, why="gone")
    own.anomalies.see([Finding("device-silent", "error", "spine2", "gone")], time.time())
    asyncio.run(own.look())
    assert measurements()[:3] == ("not as designed", ["stripe1-leaf1", "spine1", "spine2"], "0")
    page = asked(served, "/devices")[1]
    assert "down</span> gone" in page
    assert "not known: 3 of 20 devices" in page


def test_how_the_whole_stands_is_printed_when_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    own = network_watched(example("h100-rlb"))
    own.validator.findings = lambda *_, **__: []  # type: ignore[method-assign,assignment]
    own.heard += [_whole(own, as_json=False), _whole(own, as_json=True)]
    own.collector.devices["spine1"].sources[0] = Nothing()
    own.collector.devices["spine1"].sources[0].reached.tries = 1
    for _ in range(2):
        asyncio.run(own.look())
    own.collector.devices["spine1"].sources[0].reached.turn(up=True)
    asyncio.run(own.look())
    first, second, third, fourth = capsys.readouterr().out.splitlines()
    assert first.endswith("not known: 19 of 20 devices compared, not spine1")
    assert json.loads(second) == {"change": "network", "state": "not known", "devices": 20, "errors": 0, "warnings": 0, "not_known": ["spine1"]}  # fmt: skip
    assert third.endswith("as designed: 20 of 20 devices compared")
    assert json.loads(fourth)["state"] == "as designed"


def test_json(tmp_path: Path) -> None:
    own = watching(tmp_path)
    served = app(own)
    assert asked(served, "/metrics")[0] == 200
    assert asked(served, "/metrics/leaf1")[0] == 200
    assert asked(served, "/metrics/leaf9")[0] == 404
    devices = json.loads(asked(served, "/api/devices")[1])
    assert (devices["leaf1"]["up"], devices["leaf1"]["system"]) == (True, "junos")
    [anomaly] = json.loads(asked(served, "/api/anomalies")[1])
    assert (anomaly["id"], anomaly["device"], anomaly["closed"]) == ("port-down", "leaf1", None)
    assert json.loads(asked(served, "/api/anomalies?closed=1")[1]) == []
    assert json.loads(asked(served, "/api/subjects")[1]) == own.validator.seen.to_json()
    found = json.loads(asked(served, "/api/samples?device=leaf1&metric=pfc_received")[1])
    assert found["columns"] == ["time", "metric", "port", "index", "number"]
    assert json.loads(asked(served, "/api/samples?device=leaf1&metric=port_up")[1])["samples"][0][1:] == [
        "port_up",
        "et-0/0/1:0",
        "",
        1.0,
    ]
    for path, status in {
        "/api/samples": 404,
        "/api/samples?device=leaf1&metric=x": 400,
        "/api/samples?device=leaf1&since=x": 400,
    }.items():
        code, text = asked(served, path)
        assert code == status
        assert json.loads(text)["error"]


def test_messages_of_syslog(tmp_path: Path) -> None:
    own = watching(tmp_path)
    assert asked(app(own), "/api/events")[0] == 404
    own.syslog = Syslog("127.0.0.1", 514, {"leaf1": "192.0.2.1"})
    own.syslog.take(
        b"<189>Nov 23 10:00:00 leaf1 %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1/1, changed state to down",
        "192.0.2.1",
    )
    own.syslog.take(b"<189>Nov 23 10:00:00 x y", "192.0.2.9")
    served = app(own)
    [event] = json.loads(asked(served, "/api/events?device=leaf1&kind=link")[1])
    assert (event["device"], event["port"]) == ("leaf1", "Ethernet1/1")
    assert json.loads(asked(served, "/api/events?device=leaf2")[1]) == []
    text = asked(served, "/metrics")[1]
    assert 'railweave_syslog_messages_total{device="leaf1",kind="link"} 1' in text
    assert "railweave_syslog_unknown_senders_total 1" in text


def test_a_password_where_there_is_one(tmp_path: Path) -> None:
    served = app(watching(tmp_path), "a good one")
    assert asked(served, "/metrics")[0] == 401
    assert asked(served, "/metrics", "a bad one")[0] == 401
    assert asked(served, "/metrics", "a good one")[0] == 200


def test_a_state_is_its_numbers_and_back() -> None:
    _, states = validator_and_states()
    for one in states.values():
        assert state_of(one, dict(measurements(one))) == one
    empty = state_of(
        DeviceState("leaf1", "junos"),
        {Series("port_up", "a"): 0, Series("queue_dropped", "a", "3"): 4, Series("bgp_state", "", "fe80::1%b"): 1},
    )
    assert empty.interfaces is not None
    assert empty.interfaces["a"].oper_up is False
    assert empty.interfaces["a"].errors.in_errors is None, "what was not said is not zero"
    assert empty.queues is not None
    assert (empty.queues["a"].egress[3].dropped, empty.queues["a"].egress[3].sent) == (4, None)
    assert [(one.peer, one.interface, one.state) for one in empty.bgp or ()] == [("fe80::1", "b", "idle")]


def test_who_is_subscribed_to_and_who_is_asked() -> None:
    from railweave.live.collect.plan import CollectTarget

    own = MachineLogin("192.0.2.1", "x")
    asked_ = [
        CollectTarget(Target("a", ("ssh",), own), "junos", ()),
        CollectTarget(Target("b", ("ssh",), own), "frr", ()),
        CollectTarget(Target("c", ("eapi",), MachineLogin("192.0.2.1", "x", gnmi=False)), "eos", ()),
    ]
    found = watched(asked_, {"a": "leaf"}, every_s=10, rarely_s=60, open_by=opened)
    assert [[type(each) for each in one.sources] for one in found] == [[Subscriber, Poller], [Poller], [Poller]]
    assert [one.streams for one in found] == [True, False, False]
    assert found[0].role == "leaf"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--listen", "8484"], "not an address with a port"),
        (["--listen", "127.0.0.1:99999"], "not an address with a port"),
        (["--listen", "0.0.0.0:8484"], "others could read it without a password"),
        (["--password", "geheim"], "is neither env:NAME nor file:PATH"),
        (["--only", "leaf-of-nobody", "--listen", "none"], "the network has no such device"),
        (["--syslog", "514"], "not an address with a port"),
        (["--webhook", "notaurl", "--listen", "none"], "--webhook notaurl: it is not a URL to send to"),
        (["--webhook", "ftp://x/", "--listen", "none"], "it is not a URL to send to"),
        (["--alertmanager", "http://x:70000", "--listen", "none"], "--alertmanager http://x:70000: it is not a URL"),
        (["--interval", "0"], "greater than or equal to 1"),
    ],
)
def test_options_that_are_wrong(options: list[str], what: str) -> None:
    done = CliRunner().invoke(cli, ["watch", str(EXAMPLES / "h100-rlb.yaml"), *options])
    assert done.exit_code != 0
    assert what in f"{done.exception} {done.stderr}"


def test_a_port_that_is_in_use_is_refused_before_anything_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        listen = f"127.0.0.1:{server.getsockname()[1]}"
        done = CliRunner().invoke(cli, ["watch", str(EXAMPLES / "h100-rlb.yaml"), "--listen", listen])
    assert isinstance(done.exception, InputError)
    assert str(done.exception).startswith(f"--listen {listen}: nothing can be served there: Address already in use\n")
    assert done.stdout == ""


def test_a_store_that_cannot_be_used(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["watch", str(EXAMPLES / "h100-rlb.yaml"), "--listen", "none", "--store", str(tmp_path)]
    )
    assert done.exit_code != 0
    assert "cannot be used as a store" in str(done.exception)


def test_nothing_of_it_is_imported_before_it_is_used() -> None:
    words = "import sys, railweave.cli.app; print([one for one in ('grpc', 'starlette', 'uvicorn', 'google.protobuf') if one in sys.modules])"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_servers_are_asked_for_their_state_and_their_numbers() -> None:
    """An answer of `railweave-host` becomes series of NICs and of path colors, and what is wrong at a server an anomaly."""
    from railweave.model.state.host_metrics import HOST_METRICS, host_numbers
    from railweave.model.state.host_state import HOST

    network = example("h100-rlb")
    server = network.servers[0]
    way = {"direction": "send", "device": "mlx5_0", "color": 1, "live": 2, "queue_pairs": 2, "resent": 0, "errors": 0}
    answer = {
        "schema": 1,
        "nics": [{"netdev": "gpu0_eth", "up": 1, "counters": {"pauses_sent": 40, "of_another_release": 1}}],
        "net": [{**way, "peer_leaf": "a", "bytes": 100}, {**way, "peer_leaf": "b", "bytes": 11}],
    }
    found = dict(host_numbers(server.name, {HOST_METRICS.name: json.dumps(answer)}))
    assert found[Series("nic_pauses_sent", "gpu0_eth")] == 40
    assert found[Series("net_sent_bytes", "mlx5_0", "1")] == 111, "leaves of the other end are not told apart"
    assert {one.metric for one in found} == {
        "nic_up",
        "nic_pauses_sent",
        "net_sent_bytes",
        "net_sent_resent",
        "net_sent_errors",
    }
    assert dict(host_numbers("a", {HOST_METRICS.name: "no JSON"})) == {}

    from railweave.live.collect.plan import CollectTarget
    from railweave.operations.watch.validator import Validator, look

    asked = [CollectTarget(Target(server.name, ("ssh",), MachineLogin("192.0.2.1", "x")), "", (HOST, HOST_METRICS))]
    [one] = watched(asked, {}, every_s=10, rarely_s=60, open_by=opened)
    assert [type(each) for each in one.sources] == [Poller]
    links = [
        {"name": nic.netdev, "up": True, "carrier": nic is not server.nics[0], "counters": {}} for nic in server.nics
    ]
    one.host = read_host(server.name, {HOST.name: json.dumps({"links": links})})
    one.reached.turn(up=True)
    validator = Validator(network, {}, window_s=30, servers=[server.name])
    [down] = [
        each for each in validator.findings(look([one], {}, 0)) if each.severity == "error" and each.id == "nic-down"
    ]
    assert down.where == f"{server.name} {server.nics[0].name}"
    one.reached.turn(up=False, why="it does not answer")
    one.reached.tries = 1
    assert [each.id for each in validator.findings(look([one], {}, 1))] == ["device-silent"]


def test_an_empty_password_does_not_open_the_console(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EMPTY", "")
    words = ["watch", str(EXAMPLES / "h100-rlb.yaml"), "--listen", "0.0.0.0:8484", "--password", "env:EMPTY"]
    with pytest.raises(ReachError, match="EMPTY is empty"):
        CliRunner().invoke(cli, words, catch_exceptions=False)
    with pytest.raises(ValueError, match="empty"):
        app(watching(tmp_path), "")
