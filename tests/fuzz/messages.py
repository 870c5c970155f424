"""Parsers of what comes over a wire or out of a program: telemetry, NETCONF, syslog, counters, logs, traces; and runs of the engine."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

import railweave
from railweave.errors import InputError
from railweave.host import plugin
from railweave.live.reach.failure import ReachError
from railweave.live.reach.gnmi_messages import message as gnmi
from railweave.live.reach.gnmi_messages import path_message
from railweave.live.reach.netconf import Netconf, output
from railweave.model.state import telemetry
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from railweave.operations.bench.triage.triage import triage
from railweave.operations.watch import syslog
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.otlp.encoding import read_failure, read_success
from railweave.operations.watch.stream import Stream
from railweave.prediction.jobs.traces.chakra_read import framed, messages, read_chakra
from railweave.prediction.jobs.traces.nccl_read import read_nccl
from tests.conftest import EXAMPLES, ROOT
from tests.fuzz.driver import Parser
from tests.fuzz.files import small
from tests.fuzz.mutators import (
    MOST,
    binary,
    encoded,
    json_value,
    lines,
    message,
    odd_text,
    one_of,
    text,
    words_of,
)
from tests.host.test_plugin import page, peer
from tests.operations.bench.said import FIXTURES, NAMES
from tests.prediction.jobs.traces.files import node

INSTRUMENTS = ROOT / "tests" / "operations" / "bench" / "instruments"
STATE = "/interfaces/interface[name=et-0/0/1:0]/state"
NOW = 1_800_000_000.0


# gNMI: notifications, as a device sends them


@cache
def _notifications() -> list[bytes]:
    made = gnmi("SubscribeResponse")()
    made.update.timestamp = int(NOW * 1e9)
    made.update.prefix.CopyFrom(path_message("/interfaces", target="a-leaf"))
    typed = gnmi("TypedValue")
    values: dict[str, Any] = {
        f"{STATE}/counters/in-octets": typed(uint_val=1 << 40),
        f"{STATE}/counters/out-octets": typed(int_val=-5),
        f"{STATE}/oper-status": typed(string_val="UP"),
        "/components/component[name=c]/state/temperature/instant": typed(
            decimal_val=gnmi("Decimal64")(digits=415, precision=1)
        ),
        "/components/component[name=d]/state/temperature/instant": typed(double_val=41.5),
        "/components/component[name=e]/state/temperature/instant": typed(json_ietf_val=b'"41.5"'),
    }
    for path, value in values.items():
        made.update.update.add(path=path_message(path)).val.CopyFrom(value)
    table = {"interface": [{"name": "et-0/0/2", "state": {"counters": {"in-octets": "7", "out-octets": 8}}}]}
    made.update.update.add(path=path_message("/interfaces")).val.CopyFrom(
        typed(json_ietf_val=json.dumps(table).encode())
    )
    made.update.delete.append(path_message(f"{STATE}/counters"))
    return [made.SerializeToString()]


def _notified(data: bytes, _file: Path) -> None:
    """Take a notification twice, with other numbers between."""
    stream = Stream("a-leaf", Layout(telemetry.series))
    for seconds, part in enumerate((data, _notifications()[0], data)):
        try:
            stream.take(gnmi("RawSubscribeResponse").FromString(part).update, NOW + seconds)
        except DecodeError:  # gRPC refuses what is no message
            return
        stream.rounds(NOW + seconds + 0.5)


def _is_notification(data: bytes) -> bool:
    try:
        return bool(gnmi("RawSubscribeResponse").FromString(data).update.update)
    except DecodeError:
        return False


def _odd_notification(seed: bytes, dice: Random) -> bytes:
    """A notification with other fields, whose JSON values are changed as JSON."""
    made = gnmi("SubscribeResponse").FromString(seed)
    message(made.update, dice)
    for update in made.update.update:
        if update.val.WhichOneof("held") == "json_ietf_val" and dice.random() < 0.7:
            with suppress(ValueError):  # no JSON any more
                update.val.json_ietf_val = json_value(update.val.json_ietf_val, dice)
    return made.SerializeToString()


# NETCONF: framed replies

REPLY = b"""<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="1">
<rpc-error><error-severity>warning</error-severity><error-message>a &lt;b&gt;</error-message></rpc-error>
<output>
et-0/0/0 up &amp; running
</output></rpc-reply>"""


def _replies() -> list[bytes]:
    parts = [REPLY[:50], REPLY[50:]]
    chunked = b"".join(b"\n#%d\n%b" % (len(part), part) for part in parts) + b"\n##\n"
    return [b"1" + chunked, b"0" + REPLY + b"]]>]]>"]


class _Output:
    """A device's output, in pieces of different length."""

    def __init__(self, data: bytes) -> None:
        self.left, self.length = data, 1

    async def read(self, _most: int) -> bytes:
        self.length = self.length * 3 % 4099
        part, self.left = self.left[: self.length], self.left[self.length :]
        return part


def _reply(data: bytes, _file: Path) -> None:
    """The first byte says whether both ends have agreed on chunks."""
    stdin = SimpleNamespace(write=len)
    session = Netconf([], SimpleNamespace(stdin=stdin, stdout=_Output(data[1:])), 600.0)  # type: ignore[arg-type]
    session._chunked = data[:1] != b"0"
    output(asyncio.run(session.called("<command/>", "show interfaces")))


def _is_framed(data: bytes) -> bool:
    return b"rpc-reply" in data


# Syslog, OTLP, the plugin's page of counters

SYSLOG = (
    b'<189>1 2026-11-28T12:00:00.000Z leaf1 rpd 1234 RPD_BGP_NEIGHBOR_STATE_CHANGED [junos@2636 a="b]"] BGP peer fc00::1 (External AS 65001) changed state',
    b"<190>Nov 28 12:00:00 leaf1 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1/1, changed state to down",
    b"<12>Nov 28 12:00:00.123 leaf2 syncd#orchagent: PFC Watchdog detected PFC storm on port Ethernet8, queue index 3",
    b"<5>bgpd[12]: [ABC] %ADJCHANGE: neighbor 10.0.0.1(x) in vrf default Down",
)


def _syslog(data: bytes, _file: Path) -> None:
    receiver = syslog.Syslog("::1", 0, {"leaf1": "192.0.2.1", "leaf2.example.net": "fc00::2"})
    receiver.take(data, "::ffff:192.0.2.1")
    receiver.take(data, "192.0.2.77")
    json.dumps([event.to_json() for event in receiver.events("leaf1")])


def _has_header(data: bytes) -> bool:
    return re.match(rb"<\d{1,3}>", data) is not None


def _otlp(data: bytes, _file: Path) -> None:
    hash((read_success("metrics", data), read_success("logs", data), read_failure(data)))


@cache
def _otlp_answers() -> list[bytes]:
    metrics, logs = ExportMetricsServiceResponse(), ExportLogsServiceResponse()
    metrics.partial_success.rejected_data_points, metrics.partial_success.error_message = 3, "too old"
    logs.partial_success.rejected_log_records, logs.partial_success.error_message = 1, "é"
    return [metrics.SerializeToString(), logs.SerializeToString(), metrics.partial_success.SerializeToString()]


def _odd_otlp(seed: bytes, dice: Random) -> bytes:
    made = ExportMetricsServiceResponse.FromString(seed)
    message(made, dice)
    return made.SerializeToString()


def _is_otlp(data: bytes) -> bool:
    try:
        return ExportMetricsServiceResponse.FromString(data).ByteSize() > 0
    except DecodeError:
        return False


def _page(data: bytes, _file: Path) -> None:
    counted = plugin.parse(data)
    if counted is None:
        return
    sums = plugin.total([counted, counted])
    speed = plugin.rates([counted], [counted])
    hash((plugin.table(sums, speed), plugin.peer_table([counted], everyone=True), plugin.prometheus(sums)))
    json.dumps(plugin.document([counted], speed))


def _is_page(data: bytes) -> bool:
    return plugin.parse(data) is not None


def _pages() -> list[bytes]:
    peers = (peer(b"H100-02", 8, 0), peer(b"H100-03", 6, 2, b"probes the path"))
    return [page(7, 1, [100, 0, 1 << 60], peers=peers), page(8, 2, [])]


# Traces


@cache
def _chakra() -> list[bytes]:
    nodes = [
        node(1, "COMP", 100),
        node(2, "COMM_COLL", 50, [1], comm="ALL_REDUCE", comm_size=1 << 20, pg_name="all"),
        node(3, "COMM_SEND", 5, [2], comm_src=0, comm_dst=1, comm_tag=3, comm_size=4096),
        node(4, "COMM_RECV", 5, [2], comm_src=1, comm_dst=0, comm_tag=4, comm_size=4096),
        node(5, "METADATA", pg_groups='[{"pg_name": "a", "ranks": [0, 1]}]'),
        node(6, "MEM_LOAD", 3, [3, 4]),
    ]
    head = messages().metadata(version="0.0.4").SerializeToString()
    return [b"".join(framed(part) for part in (head, *(made.SerializeToString() for made in nodes)))]


def _other_rank() -> bytes:
    """The file of a rank that only computes."""
    return b"".join(map(framed, _split(_chakra()[0])[:2]))


def _split(data: bytes) -> list[bytes]:
    """The messages of a good trace; each is shorter than 128 bytes times 128."""
    parts: list[bytes] = []
    while data:
        length, begin = (data[0], 1) if data[0] < 0x80 else (data[0] & 0x7F | data[1] << 7, 2)
        parts.append(data[begin : begin + length])
        data = data[begin + length :]
    return parts


def _odd_trace(seed: bytes, dice: Random) -> bytes:
    parts = _split(seed)
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(1, len(parts))
        made = messages().node.FromString(parts[at])
        if dice.random() < 0.2:
            parts.insert(dice.randrange(1, len(parts)), parts[at])
            continue
        message(made, dice)
        parts[at] = made.SerializeToString()
    data = b"".join(map(framed, parts))
    return binary()(data, dice) if dice.random() < 0.2 else data


def _trace(_data: bytes, file: Path) -> object:
    file.with_name("comm_group.json").write_text('{"all": [0, 1]}', encoding="utf-8")
    file.with_name("trace.1.et").write_bytes(_other_rank())
    return read_chakra(file.parent)


def _groups(_: bytes, file: Path) -> object:
    for rank, data in enumerate((_chakra()[0], _other_rank())):
        (file.parent / f"trace.{rank}.et").write_bytes(data)
    return read_chakra(file.parent, file)


def _is_trace(data: bytes) -> bool:
    return data[:1] == framed(_split(_chakra()[0])[0])[:1]


def _is_groups(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


# Logs of NCCL and outputs of benchmarks


@cache
def _nccl() -> list[bytes]:
    """A log of few calls, which a changed line does not always make useless."""
    whole = (EXAMPLES / "jobs" / "nccl.log").read_text().splitlines()
    return ["\n".join(whole[:80]).encode()]


@cache
def _log_words() -> list[str]:
    return [
        *words_of(_nccl())[:300],
        "opCount",
        "0x0",
        "(nil)",
        "[nranks=2]",
        "[nranks=999999999]",
        "count",
        "999999999999999999",
    ]


def _odd_log(seed: bytes, dice: Random) -> bytes:
    return lines(_log_words, window=1 << 20)(seed, dice)


@cache
def _outputs() -> list[bytes]:
    found = [(FIXTURES / name).read_bytes() for name in NAMES]
    found += [
        file.read_bytes()
        for file in sorted((*INSTRUMENTS.glob("*.*"), *(INSTRUMENTS / "job").iterdir()))
        if file.suffix != ".md"
    ]
    return [data[:MOST] if data[:1] not in b"{[" else data for data in found]


def _odd_output(seed: bytes, dice: Random) -> bytes:
    shown = seed.decode()
    if shown[:1] in {"{", "["} and dice.random() < 0.6:
        try:
            return json_value(seed, dice)
        except ValueError:  # JSON lines, or a document that was cut off
            pass
    if dice.random() < 0.3:
        shown = dice.choice(shown.splitlines(keepends=True) or [""]) * dice.choice((1, 3)) + shown
    if len(shown) > 4096:
        begin = dice.randrange(len(shown) - 4096) if dice.random() < 0.3 else 0
        shown = shown[begin : begin + 4096]
    shown = odd_text(shown, dice)
    if dice.random() < 0.1:
        shown += odd_text(dice.choice(_outputs()).decode()[:4096], dice)
    return encoded(shown)


def _benchmark(data: bytes, _file: Path) -> None:
    found = triage(data.decode("utf-8", "replace"), "a/b.txt")
    runs = runs_of(found.read, "digest", "now")
    hash(found.read.notes)
    json.dumps([run.to_json() for run in runs])
    json.dumps([diagnosis.to_json() for diagnosis in found.diagnoses])


def _holds_something(data: bytes) -> bool:
    return not read(data.decode("utf-8", "replace"), "a/b.txt").empty


# Runs of the engine

SIZES = ("1", "4K", "64K", "100000", "1M")
TIMES = ("0s", "1ns", "20us", "100us", "1ms")
LINKS = (
    "stripe1-leaf1--spine1",
    "stripe1-leaf2--spine2",
    "gpu-2:gpu0_eth--stripe1-leaf1:et-0/0/32:0",
    "spine1--spine2",
)
NICS = ("gpu-1:gpu0_eth", "gpu-2:gpu1_eth", "gpu-3:gpu0_eth")


def _fault(dice: Random) -> dict[str, Any]:
    kind = dice.choice(
        (
            "link-down",
            "link-flap",
            "link-slow",
            "link-lossy",
            "nic-down",
            "device-down",
            "device-reboot",
            "blackhole",
            "slow-receiver",
            "pfc-storm",
        )
    )
    fault: dict[str, Any] = {"at": dice.choice(TIMES), "kind": kind}
    if kind.startswith("link"):
        fault["link"] = dice.choice(LINKS[:-1]) if dice.random() < 0.97 else LINKS[-1]
    elif kind in {"nic-down", "slow-receiver", "pfc-storm"}:
        fault["nic"] = dice.choice(NICS[:-1]) if dice.random() < 0.97 else NICS[-1]
    else:
        fault["device"] = dice.choice(
            ("spine1", "spine2", "stripe1-leaf1", "gpu-2")[: 4 if kind == "device-down" else 3]
        )
    more = {
        "link-flap": {"period": "10us", "count": dice.choice((1, 5))},
        "link-slow": {"rate": "10G"},
        "link-lossy": {"loss": dice.choice((1e-9, 0.01, 1))},
        "slow-receiver": {"rate": dice.choice(("1G", "400G"))},
    }
    if kind != "link-flap" and dice.random() < 0.6:
        fault["for"] = dice.choice(TIMES[1:])
    return fault | more.get(kind, {})


def _scenario(_seed: bytes, dice: Random) -> bytes:
    """A scenario for the small network, whose every value may be right; some of them are odd."""
    traffic = [
        {
            "collective": dice.choice(
                ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-recv")
            )
        }
        | {"size": dice.choice(SIZES), "qps": dice.choice((1, 2, 3, 128)), "compute": dice.choice(TIMES)}
        for _ in range(dice.randrange(1, 4))
    ]
    made: dict[str, Any] = {"traffic": traffic, "reroute": dice.choice(TIMES), "iterations": dice.choice((1, 1, 2))}
    made["faults"] = [_fault(dice) for _ in range(dice.choice((0, 1, 1, 2, 5)))]
    if dice.random() < 0.3 and all("for" in fault for fault in made["faults"]):
        # What others send goes on until a stuck job is given up, a second later, which takes minutes: no job of these is stuck.
        made["background"] = {
            "share": dice.choice(("1%", "10%")),
            "ports": dice.choice(("*:gpu0_eth", "*")),
            "packet": 9000,
        }
    if dice.random() < 0.3:
        made["hosts"] = dice.choice((["gpu-2", "gpu-1"], 1, 2, "gpu-[1-2]", "stripes-alternate"))
    if dice.random() < 0.3:
        made["overrides"] = {"lb": dice.choice(("ecmp", "rlb", "dlb-flowlet", "dlb-per-packet"))}
    return json.dumps(made).encode()


def _simulated(_data: bytes, file: Path) -> None:
    found = railweave.simulate(small(), scenario=file, engine="packet", watch=False)
    json.dumps(found.to_json())


def _refused_before(_data: bytes) -> bool:
    """A refused scenario has not reached the engine."""
    return False


MESSAGES = (
    Parser(
        "gnmi",
        _notified,
        _is_notification,
        _notifications,
        one_of((4, _odd_notification), (1, binary())),
        300,
        errors=(),
    ),
    Parser("netconf", _reply, _is_framed, _replies, one_of((3, text), (2, binary(1))), 300, errors=(ReachError,)),
    Parser("syslog", _syslog, _has_header, lambda: list(SYSLOG), one_of((3, text), (1, binary())), 1000, errors=()),
    Parser("otlp", _otlp, _is_otlp, _otlp_answers, one_of((2, _odd_otlp), (1, binary())), 1000, errors=()),
    Parser("plugin page", _page, _is_page, _pages, binary(28, most=1 << 20), 200, errors=()),
    Parser("chakra", _trace, _is_trace, _chakra, _odd_trace, 300, "trace.0.et"),
    Parser(
        "chakra groups", _groups, _is_groups, lambda: [b'{"all": [0, 1], "a": [1]}'], json_value, 300, "fuzzed.json"
    ),
    Parser(
        "nccl trace",
        lambda _, file: read_nccl([file], file),
        lambda data: b"opCount" in data,
        _nccl,
        _odd_log,
        200,
        "fuzzed.log",
    ),
    Parser("benchmark", _benchmark, _holds_something, _outputs, _odd_output, 150, errors=()),
    Parser(
        "engine",
        _simulated,
        _refused_before,
        lambda: [b"{traffic: [{collective: all-reduce, size: 64K, qps: 2}]}"],
        _scenario,
        40,
        "fuzzed.yaml",
        (InputError,),
    ),
)
