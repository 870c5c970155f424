"""Messages of gNMI on the wire, values as numbers, and rounds that lose nothing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.live.reach.gnmi import request
from railweave.live.reach.gnmi_messages import elements, message, path_message, read_path
from railweave.model.state import telemetry as openconfig
from railweave.model.state.telemetry import METRICS, Series, Subscription, number_of
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.stream import Stream, numbers
from railweave.systems import system, systems
from tests.operations.watch.gnmi_target import Leaf, Target

PORT = "et-0/0/1:0"
COUNTERS = f"/interfaces/interface[name={PORT}]/state/counters"
NOW = 1_800_000_000.0


def told(leaves: list[tuple[str, Any]], at: float, *, prefix: str = "", delete: str = "") -> Any:
    """A notification as it comes from the wire."""
    made = message("SubscribeResponse")()
    made.update.timestamp = int(at * 1e9)
    if prefix:
        made.update.prefix.CopyFrom(path_message(prefix, target="a-leaf"))
    for path, value in leaves:
        update = made.update.update.add(path=path_message(path))
        update.val.CopyFrom(value if not isinstance(value, int) else message("TypedValue")(uint_val=value))
    if delete:
        made.update.delete.append(path_message(delete))
    return message("RawSubscribeResponse").FromString(made.SerializeToString()).update


def stream() -> Stream:
    return Stream("a-leaf", Layout(openconfig.series))


def test_a_path_is_the_bytes_of_the_specification() -> None:
    """By hand, from the field numbers of gnmi.proto: elem 3 with name 1 and key 2, which is a map of 1 to 2; target 4."""
    data = path_message("/interfaces/interface[name=et-0/0/1:0]", target="x").SerializeToString()
    name = b"\x0a\x09interface" + b"\x12\x12" + b"\x0a\x04name" + b"\x12\x0aet-0/0/1:0"
    assert data == b"\x1a\x0c\x0a\x0ainterfaces" + b"\x1a" + bytes([len(name)]) + name + b"\x22\x01x"
    assert read_path(data) == ("", "x", (("interfaces", ()), ("interface", (("name", "et-0/0/1:0"),))))


def test_a_subscription_is_the_bytes_of_the_specification() -> None:
    data = request([Subscription("/a", least_s=20)], "proto", 10)
    subscription = b"\x0a\x05\x1a\x03\x0a\x01a" + b"\x10\x02" + b"\x18" + varint(20 * 10**9)
    wanted = b"\x12" + bytes([len(subscription)]) + subscription + b"\x40\x02"
    assert data == b"\x0a" + bytes([len(wanted)]) + wanted, "never more often than the system takes"


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("/", []),
        ("/a/b", [("a", {}), ("b", {})]),
        ("/a[x=1][y=2]/b", [("a", {"x": "1", "y": "2"}), ("b", {})]),
        (r"/a[x=et-0/0/1.0]/b[y=\]\\]", [("a", {"x": "et-0/0/1.0"}), ("b", {"y": "]\\"})]),
    ],
)
def test_written_paths(text: str, read: list[tuple[str, dict[str, str]]]) -> None:
    assert elements(text) == read


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_as_protobuf_reads_it(unsigned: int, signed: int, real: float) -> None:
    typed = message("TypedValue")
    values = [
        typed(uint_val=unsigned),
        typed(int_val=signed),
        typed(double_val=real),
        typed(json_ietf_val=b'"%d"' % unsigned),
    ]
    counts, floats = numbers(["in_octets"] * 4, [one.SerializeToString() for one in values])
    assert int(counts[0]) == unsigned
    assert int(counts[3]) == unsigned
    assert floats.tolist() == [float(unsigned), float(signed), real, float(unsigned)]


def test_words_decimals_and_what_is_no_number() -> None:
    typed = message("TypedValue")
    cases: list[tuple[str, Any, float | None]] = [
        ("port_up", typed(string_val="UP"), 1),
        ("port_up", typed(json_ietf_val=b'"DOWN"'), 0),
        ("port_up", typed(json_val=b'"openconfig-interfaces:LOWER_LAYER_DOWN"'), 0),
        ("port_up", typed(bool_val=True), 1),
        ("bgp_state", typed(string_val="ESTABLISHED"), 6),
        ("rx_power", typed(decimal_val=message("Decimal64")(digits=-231, precision=2)), -2.31),
        ("rx_power", typed(json_ietf_val=b'"-1.5"'), -1.5),
        ("rx_power", typed(float_val=-2.5), -2.5),
        ("rx_power", typed(string_val="N/A"), None),
        ("rx_power", typed(string_val="-inf"), None),
        ("in_octets", typed(json_val=b"12345678901"), 12345678901),
        ("in_octets", typed(leaflist_val=message("ScalarArray")()), None),
    ]
    _, floats = numbers([one for one, _, _ in cases], [one.SerializeToString() for _, one, _ in cases])
    assert [None if np.isnan(one) else one for one in floats.tolist()] == [pytest.approx(one) for _, _, one in cases]
    assert np.isnan(numbers(["in_octets"], [b"\xff\xff\xff"])[1][0]), "bytes that are no value"
    for number in (float("inf"), float("-inf"), float("nan")):
        assert np.isnan(numbers(["in_octets"], [message("TypedValue")(float_val=number).SerializeToString()])[1][0])


def test_rates_and_counters_that_fall() -> None:
    one = stream()
    counts = [2**63, 2**63 + 5000, 1000, 4000]
    found = []
    for number, count in enumerate(counts):
        one.take(told([(f"{COUNTERS}/in-octets", count)], NOW + 10 * number), NOW)
        found += one.rounds(NOW + 10 * number)
    assert [each.numbers.tolist()[0] for each in found[1:2] + found[3:]] == [500.0, 300.0]
    assert np.isnan(found[0].numbers[0]), "the first has nothing before it"
    assert np.isnan(found[2].numbers[0]), "it was cleared"
    assert one.last() == {Series("in_octets", PORT): 4000}


def test_samples_faster_than_rounds_are_all_kept() -> None:
    one = stream()
    for number in range(7):
        one.take(told([(f"{COUNTERS}/in-octets", 100 * number)], NOW + number), NOW + number)
    rounds = one.rounds(NOW + 7)
    assert [each.numbers.tolist()[0] for each in rounds[1:]] == [100.0] * 6
    assert one.updates == 7


def test_a_prefix_is_part_of_the_path() -> None:
    one = stream()
    one.take(told([("in-octets", 7)], NOW, prefix=COUNTERS), NOW)
    one.take(told([(f"{COUNTERS}/out-octets", 8), (f"{COUNTERS}/never-heard-of", 9)], NOW), NOW)
    one.end_round(NOW)
    assert one.last() == {Series("in_octets", PORT): 7, Series("out_octets", PORT): 8}
    assert one.unread == 1


def test_what_a_device_deletes_is_forgotten() -> None:
    one = stream()
    one.take(told([(f"{COUNTERS}/in-octets", 7), (COUNTERS.replace("1:0", "2:0") + "/in-octets", 8)], NOW), NOW)
    one.take(told([], NOW + 1, delete=f"/interfaces/interface[name={PORT}]"), NOW + 1)
    assert one.last() == {Series("in_octets", "et-0/0/2:0"): 8}


def test_tables_in_json() -> None:
    """SONiC tells rows of its database; OpenConfig in JSON names modules and makes lists of entries with their keys."""
    queues = {
        "Ethernet0:3": {"SAI_QUEUE_STAT_PACKETS": "12", "PFC_WD_STATUS": "stormed"},
        "Ethernet4:0": {"SAI_QUEUE_STAT_PACKETS": "0"},
    }
    sonic = Stream("a-leaf", Layout(telemetry("sonic").series))
    typed = message("TypedValue")
    for _ in range(2):
        sonic.take(told([("/COUNTERS/Ethernet*/Queues", typed(json_ietf_val=json.dumps(queues).encode()))], NOW), NOW)
    ports = {
        "Ethernet0": {"SAI_PORT_STAT_PFC_3_RX_PKTS": "5", "SAI_PORT_STAT_IF_IN_OCTETS": "77", "SAI_OF_NO_USE": "1"}
    }
    sonic.take(told([("/COUNTERS/Ethernet*", typed(json_ietf_val=json.dumps(ports).encode()))], NOW), NOW)
    sonic.end_round(NOW)
    assert sonic.last() == {
        Series("queue_sent", "Ethernet0", "3"): 12,
        Series("storming", "Ethernet0", "3"): 1,
        Series("queue_sent", "Ethernet4", "0"): 0,
        Series("pfc_received", "Ethernet0", "3"): 5,
        Series("in_octets", "Ethernet0"): 77,
    }
    entry = {"name": PORT, "state": {"oper-status": "UP", "counters": {"in-octets": "42", "x:out-octets": 43}}}
    other = stream()
    table = json.dumps({"openconfig-interfaces:interface": [entry, "no entry", {"nameless": {}}]}).encode()
    other.take(told([("/interfaces", typed(json_ietf_val=table))], NOW), NOW)
    other.take(told([("/interfaces", typed(json_ietf_val=b"{broken"))], NOW), NOW)
    other.end_round(NOW)
    assert other.last() == {Series("port_up", PORT): 1, Series("in_octets", PORT): 42, Series("out_octets", PORT): 43}


@given(st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=40)), max_size=8))
def test_garbage_from_a_device_raises_nothing(updates: list[tuple[bytes, bytes]]) -> None:
    one = stream()
    made = message("RawSubscribeResponse")()
    for path, value in updates:
        made.update.update.add(path=path, val=value)
    made.update.prefix = updates[0][0] if updates else b""
    one.take(made.update, NOW)
    one.rounds(NOW)
    assert len(one.layout) == 0


def test_the_clock_of_a_device_is_that_of_its_newest_notification() -> None:
    """What is told on change may carry the time of the change, hours ago."""
    one = stream()
    one.take(told([(f"{COUNTERS}/in-octets", 7)], NOW - 2), NOW)
    one.take(told([(f"{COUNTERS}/out-octets", 7)], NOW - 9000), NOW)
    one.end_round(NOW)
    assert one.behind_s == pytest.approx(2)


def telemetry(nos: str) -> Any:
    found = system(nos).telemetry
    assert found is not None
    return found


def test_every_system_says_what_is_subscribed_to_and_what_is_not() -> None:
    for nos in systems():
        found = telemetry(nos)
        assert found.NOT_STREAMED, nos
        for one in found.SUBSCRIPTIONS:
            assert request([one], found.ENCODING, 10), nos
            assert one.of, nos


JUNOS = {
    f"/interfaces/interface[name={PORT}]/ethernet/state/counters/jnx-pfc-statistics[priority=3]/in-mac-pause-frames": Series(
        "pfc_received", PORT, "3"
    ),
    f"/state/interfaces/interface[name={PORT}]/counters/errors/in-resource-drops": Series("in_resource", PORT),
    f"/state/interfaces/interface[name={PORT}]/counters/errors/out-ecn-ce-marked-pkts": Series("ecn_marked", PORT),
    f"/qos/interfaces/interface[interface-id={PORT}]/output/queues/queue[name=4]/state/dropped-pkts": Series(
        "queue_dropped", PORT, "4"
    ),
    "/network-instances/network-instance[name=default]/protocols/protocol[identifier=BGP][name=bgp]/bgp/neighbors/neighbor[neighbor-address=fe80::1%et-0/0/1.0]/state/session-state": Series(
        "bgp_state", "", "fe80::1%et-0/0/1.0"
    ),
}
EOS = {
    "/interfaces/interface[name=Ethernet1/1]/ethernet/pfc/priorities/priority[index=3]/state/out-frames": Series("pfc_sent", "Ethernet1/1", "3"),
    "/interfaces/interface[name=Ethernet1/1]/ethernet/pfc/watchdog/tx-queues/tx-queue[index=3]/state/stuck-count": Series("storms", "Ethernet1/1", "3"),
    "/qos/interfaces/interface[interface-id=Ethernet1/1]/output/queues/queue[name=Ethernet1/1-UC3]/state/ecn-marked-pkts": Series("queue_marked", "Ethernet1/1", "3"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("nos", "path", "series"), [*(("junos", *one) for one in JUNOS.items()), *(("eos", *one) for one in EOS.items())]
)
def test_leaves_of_systems(nos: str, path: str, series: Series) -> None:
    assert telemetry(nos).series(read_path(path_message(path).SerializeToString())[2]) == series
    covering = [one for one in telemetry(nos).SUBSCRIPTIONS if Leaf(path, 0).within(elements(one.path))]
    assert len(covering) == 1, "it is subscribed to, once"


def test_every_metric_has_a_name_of_prometheus() -> None:
    names = [one.exported for one in METRICS.values()]
    assert len(set(names)) == len(names)
    for one in METRICS.values():
        assert one.exported.endswith("_total") == (one.kind == "counter"), one.name
    assert number_of("storming", "operational") == 0


def test_the_target_sends_what_the_full_messages_read() -> None:
    target = Target("x", [[Leaf(f"{COUNTERS}/in-octets", 300), Leaf("/a", "word"), Leaf("/b", 1.5), Leaf("/c", True)]])
    read = message("SubscribeResponse").FromString(target.notification(target.groups[0])).update
    assert [one.val.WhichOneof("held") for one in read.update] == ["uint_val", "string_val", "double_val", "bool_val"]
    assert read.update[0].val.uint_val == 300
    assert read.prefix.target == "x"
