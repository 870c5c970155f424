"""The requests of --otlp, decoded by OpenTelemetry's own messages; answers of receivers; the loop that is not blocked; the end of a watch."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import math
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.proto.logs", reason="opentelemetry-proto is not installed (extra otlp)")

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from railweave.model.findings import Finding
from railweave.model.state.telemetry import METRICS
from railweave.operations.watch.anomalies import Anomaly
from railweave.operations.watch.exposition import Family, Point, families_of, intended, prometheus_text
from railweave.operations.watch.otlp import encoding, exporter, sending
from railweave.operations.watch.otlp.encoding import (
    History,
    anomaly_record,
    log_request,
    metric_requests,
    resource_of,
    syslog_record,
    unit_of,
)
from railweave.operations.watch.otlp.exporter import Backoff, Otlp
from railweave.operations.watch.otlp.sending import wait_of
from railweave.operations.watch.otlp.settings import otlp_of
from railweave.operations.watch.syslog import Event, Syslog
from railweave.operations.watch.watching import WatchedNetwork
from tests.conftest import example
from tests.operations.watch.otlp_receiver import (
    Answering,
    Receiver,
    free_port,
    metrics_of,
    points_of,
    receiving,
    records_of,
)
from tests.operations.watch.traffic import filled, network_watched

RESOURCE = resource_of({"service.name": "railweave"})
SECOND = 10**9
NO_NUMBER = 1
"""The flag of a point without a number (metrics.proto, DataPointFlags)."""


def counter(number: float, name: str = "railweave_x_total", *, here: bool = False) -> Family:
    return Family(name, "counter", "X.", [Point((("device", "leaf1"),), number)], here)


def decoded(
    families: list[Family], history: History | None = None, at: int = 5 * SECOND, *, taken: bool = True
) -> list[Any]:
    """The metrics of one reading as a receiver sees them; ``taken`` is False if it does not take them."""
    history = History(SECOND) if history is None else history
    reading = history.reading(families, at)
    requests = list(metric_requests(reading, RESOURCE))
    history.record(reading, [(count, taken) for _, count in requests])
    return [metric for body, _ in requests for metric in metrics_of(ExportMetricsServiceRequest.FromString(body))]


def watched() -> WatchedNetwork:
    watching = network_watched(example("h100-rlb"), every_s=1)
    watching.syslog = Syslog("127.0.0.1", 0, {"stripe1-leaf1": "192.0.2.1"})
    watching.syslog.take(b"<131>1 - x a - - - PFC Watchdog detected PFC storm on port Ethernet0", "192.0.2.1")
    asyncio.run(filled(watching, 3))
    return watching


def test_everything_of_metrics_is_sent_with_the_same_names_labels_and_numbers() -> None:
    watching = watched()
    families = list(families_of(watching, intended(watching.validator.expected, {"stripe1-leaf1": "leaf"})))
    served: dict[str, float] = {}
    for line in prometheus_text(families).splitlines():
        if not line.startswith("#"):
            series, _, number = line.rpartition(" ")
            served[series] = float(number)
    sent: dict[str, float] = {}
    for metric in decoded(families):
        for point in points_of(metric):
            labels = ",".join(f'{each.key}="{each.value.string_value}"' for each in point.attributes)
            number = point.as_int if point.WhichOneof("value") == "as_int" else point.as_double
            sent[f"{metric.name}{{{labels}}}" if labels else metric.name] = number
            assert point.time_unix_nano == 5 * SECOND
        assert metric.HasField("sum") == metric.name.endswith("_total")
    unknown = {series for series, number in served.items() if math.isnan(number)}
    assert unknown == {"railweave_network_as_designed"}, "nothing was compared yet"
    assert sent == {series: number for series, number in served.items() if series not in unknown}
    assert len(sent) > 1000


_MAPPED = {"By": "bytes", "s": "seconds", "Cel": "celsius", "A": "amperes", "1": ""}
_PER = {"s": "second"}


def translated(name: str, unit: str, *, is_counter: bool) -> str:
    """A name as Prometheus 3 stores it by default (its module otlptranslator): it finds a main unit in a name, but never a "per" unit."""
    words = [word for word in re.split(r"[^a-zA-Z0-9:]", name) if word]
    main, _, per = unit.partition("/")
    more = [] if "{" in main else [_MAPPED.get(main, main)]
    words += [word for word in more if word and word not in words]
    words += [] if not per or "}" in per else [f"per_{_PER[per]}"]
    if is_counter:
        words = [*(word for word in words if word != "total"), "total"]
    if unit == "1" and not is_counter:
        words = [*(word for word in words if word != "ratio"), "ratio"]
    return "_".join(words)


def test_prometheus_makes_the_same_names() -> None:
    watching = watched()
    watching.otlp = Otlp(otlp_of("http://127.0.0.1:1", None, {}), "x", 1, print)
    families = list(families_of(watching, intended(watching.validator.expected, {})))
    kinds = {metric.exported: metric.kind == "counter" for metric in METRICS.values()}
    kinds |= {family.name: family.kind == "counter" for family in families}
    assert "railweave_otlp_dropped_log_records_total" in kinds
    for name, is_counter in kinds.items():
        assert translated(name, unit_of(name), is_counter=is_counter) == name
        assert name.endswith("_total") == is_counter, name
    assert unit_of("railweave_port_receive_bytes_total") == "By"
    assert unit_of("railweave_nic_speed_bytes_per_second") == "{By/s}"
    assert unit_of("railweave_port_pre_fec_bit_error_ratio") == "1"
    assert unit_of("railweave_port_up") == ""
    assert translated("a_bytes_per_second", "By/s", is_counter=False) == "a_bytes_per_second_per_second"


def test_start_times_of_counters() -> None:
    history = History(SECOND)
    seen: list[tuple[int, int]] = []
    for at, number in enumerate([2**60 + 1, 2**60 + 1, 2**60 + 9, 3, 4], 5):
        [metric] = decoded([counter(number)], history, at * SECOND)
        assert metric.sum.is_monotonic
        assert metric.sum.aggregation_temporality == 2, "cumulative"
        [point] = metric.sum.data_points
        assert point.as_int == number
        seen.append((point.start_time_unix_nano // SECOND, point.time_unix_nano // SECOND))
    assert seen == [(5, 5), (5, 6), (5, 7), (7, 8), (7, 9)], "unknown at first; after a reset, from the last point on"
    [metric] = decoded([counter(3, here=True)])
    assert metric.sum.data_points[0].start_time_unix_nano == SECOND, "a counter of the watch began with it"
    [metric] = decoded([counter(2**64 - 1)])
    assert metric.sum.data_points[0].as_double == 2.0**64


def test_a_counter_starts_with_the_first_point_that_is_delivered() -> None:
    history = History(SECOND)
    seen: list[int] = []
    for at, (number, taken) in enumerate([(7, False), (8, False), (9, True), (9, False), (12, True)], 5):
        [metric] = decoded([counter(number)], history, at * SECOND, taken=taken)
        seen.append(metric.sum.data_points[0].start_time_unix_nano // SECOND)
    assert seen == [5, 6, 7, 7, 7], "the receiver has no point before second 7"
    history = History(SECOND)
    seen = []
    for at, number in enumerate([7, 3, 4], 5):
        [metric] = decoded([counter(number)], history, at * SECOND, taken=False)
        seen.append(metric.sum.data_points[0].start_time_unix_nano // SECOND)
    assert seen == [5, 5, 5], "after a reset, the start is known"
    history = History(SECOND)
    for at in (5, 6):
        [metric] = decoded([counter(at, here=True)], history, at * SECOND, taken=False)
        assert metric.sum.data_points[0].start_time_unix_nano == SECOND


@pytest.mark.usefixtures("quick")
def test_start_times_of_a_reading_that_is_taken_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MOST_POINTS", 2)
    points = [Point((("device", f"leaf{place}"),), 10 + place) for place in range(5)]
    with receiving() as receiver:
        receiver.answers["metrics"] = [Answering(503), Answering(), Answering(400), Answering(), Answering()]
        sender = Sending(receiver.url, 0.004, OTEL_LOGS_EXPORTER="none")
        sender.otlp.reading(lambda: [Family("railweave_x_total", "counter", "X.", points)])
        sender.run(lambda: sender.ended["metrics"] >= 10)
        came = [point for message in receiver.of("metrics") for metric in metrics_of(message) for point in points_of(metric)]  # fmt: skip
    times: list[int] = sorted({point.time_unix_nano for point in came})
    starts = {
        reading: [times.index(point.start_time_unix_nano) for point in came if point.time_unix_nano == times[reading]]
        for reading in range(4)
    }
    assert starts == {0: [0, 0], 1: [1] * 5, 2: [1, 1, 2, 2, 1], 3: [1, 1, 2, 2, 1]}


def test_what_is_not_known_is_no_number_and_vanishes_once() -> None:
    history = History(SECOND)
    [metric] = decoded(gauges(1.5, math.nan), history)
    assert [(point.as_double, point.flags) for point in metric.gauge.data_points] == [(1.5, 0)]
    [metric] = decoded(gauges(math.nan, math.nan), history)
    [point] = metric.gauge.data_points
    assert (point.flags, point.WhichOneof("value"), point.attributes[0].value.string_value) == (
        NO_NUMBER,
        None,
        "leaf0",
    )
    assert decoded(gauges(math.nan, math.nan), history) == []


def test_what_vanished_is_said_again_until_it_is_delivered() -> None:
    history = History(SECOND)
    decoded([counter(1)], history, 2 * SECOND)
    flags: list[list[int]] = []
    for delivered in (False, True, True):
        metrics = decoded([], history, 3 * SECOND, taken=delivered)
        flags.append([point.flags for metric in metrics for point in points_of(metric)])
    assert flags == [[NO_NUMBER], [NO_NUMBER], []]


def test_requests_are_bounded_and_hold_each_point_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MOST_POINTS", 7)
    families = [
        Family(
            f"railweave_g{number}", "gauge", "", [Point((("device", str(place)),), place) for place in range(number)]
        )
        for number in range(20)
    ]
    history = History(SECOND)
    decoded([counter(1)], history, 2 * SECOND)
    requests = list(metric_requests(history.reading(families, 3 * SECOND), RESOURCE))
    assert {count for _, count in requests[:-1]} == {7}
    seen: list[tuple[str, str]] = []
    for body, count in requests:
        metrics = metrics_of(ExportMetricsServiceRequest.FromString(body))
        points = [(metric.name, point) for metric in metrics for point in points_of(metric)]
        assert len(points) == count
        seen += [(name, point.attributes[0].value.string_value) for name, point in points]
    expected = [(f"railweave_g{number}", str(place)) for number in range(20) for place in range(number)]
    assert seen == [*expected, ("railweave_x_total", "leaf1")]


def test_text_that_utf_8_cannot_hold_does_not_end_the_watch() -> None:
    points = [Point((("device", "leaf1"), ("port", "\ud800x")), 1)]
    [metric] = decoded([Family("railweave_g", "gauge", "", points)])
    assert metric.gauge.data_points[0].attributes[1].value.string_value == "?x"
    record = syslog_record(Event(1.0, "leaf1", 3, "", "\udfff", "", "a\ud800"))
    [made] = records_of(ExportLogsServiceRequest.FromString(log_request([record], RESOURCE)))
    assert made.body.string_value == "a?"


def anomaly(text: str = "it is down", number: int = 1, **more: Any) -> Anomaly:
    finding = Finding("port-down", "error", "leaf1 p1", text, fix="mend it", file="f.yaml", line=3, field="links")
    return Anomaly(number, finding, "leaf1", "p1", 100.0, 101.5, "it is down", **more)


def test_log_records_of_anomalies_and_syslog() -> None:
    syslog = Event(103.0, "leaf2", 2, "bgp", "", "fe80::1", "x")
    records = [
        anomaly_record("opened", anomaly(follows="leaf9: device-silent"), 102.0),
        anomaly_record("closed", anomaly(closed=110.0, times=2), 111.0),
        syslog_record(syslog),
    ]
    message = ExportLogsServiceRequest.FromString(log_request(records, RESOURCE))
    scopes = message.resource_logs[0].scope_logs
    assert [scope.scope.name for scope in scopes] == ["railweave.anomalies", "railweave.syslog"]
    opened, closed, line = records_of(message)
    assert (opened.severity_number, opened.severity_text, opened.body.string_value) == (17, "error", "it is down")
    assert opened.time_unix_nano == int(101.5 * SECOND)
    assert opened.observed_time_unix_nano == 102 * SECOND
    assert opened.event_name == "railweave.anomaly"
    attributes = {each.key: each.value for each in opened.attributes}
    assert {key: attributes[key].string_value for key in ("change", "rule", "device", "port", "cause", "fix", "intention")} == {
        "change": "opened", "rule": "port-down", "device": "leaf1", "port": "p1", "cause": "leaf9: device-silent", "fix": "mend it", "intention": "f.yaml:3 links",
    }  # fmt: skip
    assert (attributes["number"].int_value, attributes["deploy"].WhichOneof("value")) == (1, "bool_value")
    assert (closed.severity_number, closed.severity_text, closed.time_unix_nano) == (9, "info", 110 * SECOND)
    attributes = {each.key: each.value for each in closed.attributes}
    assert (attributes["severity"].string_value, attributes["times"].int_value) == ("error", 2)
    assert "cause" not in attributes
    assert (line.severity_number, line.severity_text, line.event_name) == (18, "critical", "")
    assert {each.key: each.value.string_value for each in line.attributes} == {"device": "leaf2", "kind": "bgp", "neighbor": "fe80::1"}  # fmt: skip


class Sending:
    """An exporter with what it said; ``until`` lets it run until something is true."""

    def __init__(self, url: str, every_s: float = 3600, authorities: Path | None = None, **environment: str) -> None:
        self.said: list[str] = []
        self.otlp = Otlp(otlp_of(url, authorities, environment), "lab", every_s, self.said.append)
        self.ended: dict[str, int] = {"metrics": 0, "logs": 0}
        """The number of requests whose outcome is known to the exporter."""
        send = self.otlp._sent

        async def sent(client: Any, receiver: Any, body: bytes, count: int) -> sending.Outcome:
            outcome = await send(client, receiver, body, count)
            self.ended[receiver.signal] += 1
            return outcome

        self.otlp._sent = sent  # type: ignore[method-assign]

    def tell(self, *numbers: int) -> None:
        self.otlp.tell([("opened", anomaly(f"anomaly {number}", number)) for number in numbers])

    def run(self, *steps: Callable[[], bool] | Callable[[], None]) -> float:
        """Run until the first step is true, then until the next one is, and end. Give the seconds that the end took."""

        async def running() -> float:
            task = asyncio.create_task(self.otlp.run())
            try:
                async with asyncio.timeout(20):
                    for step in steps:
                        while step() is False:
                            assert not task.done(), task
                            await asyncio.sleep(0.002)
            finally:
                begun = time.monotonic()
                task.cancel()
                await asyncio.wait([task])
            assert task.cancelled(), task
            return time.monotonic() - begun

        return asyncio.run(running())

    def problems(self) -> list[str]:
        """The lines after those about where it sends."""
        return [line.partition(" ")[2] for line in self.said if not line.startswith("sending ")]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries that follow each other within milliseconds."""
    monkeypatch.setattr(exporter, "FIRST_WAIT_S", 0.004)
    monkeypatch.setattr(exporter, "LONGEST_WAIT_S", 0.02)


@pytest.mark.usefixtures("quick")
def test_log_records_are_sent_again_until_they_are_taken() -> None:
    with receiving() as receiver:
        receiver.answers["logs"] = [Answering(503), Answering(503), Answering(429), Answering(504), Answering(502)]
        sender = Sending(receiver.url)
        sender.tell(1, 2)
        sender.run(lambda: sender.ended["logs"] == 6)
        assert receiver.bodies() == ["anomaly 1", "anomaly 2"] * 6
        assert sender.problems() == [
            "does not take logs: HTTP 503",
            "does not take logs: HTTP 429",
            "does not take logs: HTTP 504",
            "does not take logs: HTTP 502",
            "takes logs again",
        ]
        assert (sender.otlp.failed["logs"], sender.otlp.dropped) == (5, 0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("status", [400, 401, 404, 413, 500, 307])
def test_what_is_refused_for_good_is_dropped_and_counted(status: int) -> None:
    with receiving() as receiver:
        body = b"\x08\x03\x12\x0bnot\x07allowed"  # google.rpc.Status: code 3, message
        receiver.answers["logs"] = [Answering(status, body=body, headers={"Location": "http://127.0.0.1:1/"})]
        sender = Sending(receiver.url)
        sender.tell(1)
        sender.run(lambda: sender.otlp.dropped == 1, lambda: sender.tell(2), lambda: sender.ended["logs"] == 2)
        assert receiver.bodies() == ["anomaly 1", "anomaly 2"]
        assert sender.problems()[0] == f"does not take logs: HTTP {status}: not allowed"
        assert "railweave_otlp_dropped_log_records_total 1" in prometheus_text(sender.otlp.families())


def test_retry_after_is_kept_to(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    def failed(_: Backoff, after_s: float | None) -> float:
        waits.append(after_s)
        return 0

    monkeypatch.setattr(Backoff, "failed", failed)
    with receiving() as receiver:
        receiver.answers["logs"] = [Answering(429, {"Retry-After": "17"}), Answering(503, {"Retry-After": "soon"})]
        sender = Sending(receiver.url)
        sender.tell(1)
        sender.run(lambda: sender.ended["logs"] == 3)
    assert waits == [17, None]


def test_waiting_times() -> None:
    now = dt.datetime(2026, 12, 1, 10, tzinfo=dt.UTC)
    assert wait_of("30", now) == 30
    assert wait_of("Tue, 01 Dec 2026 10:00:20 GMT", now) == 20
    assert wait_of("Tue, 01 Dec 2026 09:00:00 GMT", now) == 0
    assert wait_of("9" * 400, now) == sending.MOST_WAIT_S
    assert [wait_of(text, now) for text in ("", "-1", "soon", "٣")] == [None] * 4
    backoff = Backoff()
    waits = [backoff.failed(None) for _ in range(9)]
    for wait, longest in zip(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60], strict=True):
        assert longest / 2 <= wait <= longest
    assert backoff.failed(70) == 70
    assert backoff.failed(7) >= 30, "a receiver cannot shorten the wait"
    backoff.worked()
    assert backoff.failed(None) <= 1


@pytest.mark.parametrize("after", ["0", "Tue, 01 Dec 2020 09:00:00 GMT"])
def test_a_receiver_that_asks_for_no_wait_is_not_asked_without_a_pause(
    after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "FIRST_WAIT_S", 0.2)
    with receiving() as receiver:
        receiver.answers = {signal: [Answering(503, {"Retry-After": after})] * 100 for signal in ("metrics", "logs")}
        sender = Sending(receiver.url, 0.001)
        sender.otlp.reading(lambda: [counter(1)])
        sender.tell(1)
        begun = time.monotonic()
        sender.run(lambda: min(len(receiver.of("logs")), len(receiver.of("metrics"))) >= 3)
        took = time.monotonic() - begun
        for signal in ("logs", "metrics"):
            waits = len(receiver.of(signal)) - 2  # the last try is at the end, without a wait
            assert waits >= 1
            assert took >= 0.1 * (2**waits - 1), "waits of at least 0.1, 0.2, 0.4 s, and so on"


@pytest.mark.usefixtures("quick")
def test_a_receiver_that_is_down_is_said_once_and_gets_the_newest_numbers() -> None:
    port, number = free_port(), 0

    def families() -> list[Family]:
        nonlocal number
        number += 1
        return [counter(number)]

    sender = Sending(f"http://127.0.0.1:{port}", 0.004, OTEL_LOGS_EXPORTER="none")
    sender.otlp.reading(families)
    with_receiver: list[Receiver] = []
    stack: list[Any] = []

    def start() -> None:
        stack.append(receiving(port))
        with_receiver.append(stack[0].__enter__())

    try:
        sender.run(lambda: sender.otlp.failed["metrics"] >= 5, start, lambda: len(with_receiver[0].came) >= 2)
        sent = [point.as_int for message in with_receiver[0].of("metrics") for metric in metrics_of(message) for point in points_of(metric)]  # fmt: skip
    finally:
        stack[0].__exit__(None, None, None)
    assert sent[0] > 5, "what was not taken is not sent again"
    assert sent[1] == sent[0] + 1
    assert sender.problems() == ["does not take metrics: All connection attempts failed", "takes metrics again"]
    assert sender.otlp.dropped == 0


def gauges(*numbers: float) -> list[Family]:
    points = [Point((("device", f"leaf{place}"),), number) for place, number in enumerate(numbers)]
    return [Family("railweave_g", "gauge", "G.", points)]


@pytest.mark.usefixtures("quick")
def test_a_refused_request_does_not_keep_back_the_rest_of_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MOST_POINTS", 2)
    with receiving() as receiver:
        receiver.answers["metrics"] = [Answering(), Answering(413), Answering()] * 2
        sender = Sending(receiver.url, 0.004, OTEL_LOGS_EXPORTER="none")
        sender.otlp.reading(lambda: gauges(0, 1, 2, 3, 4))
        sender.run(lambda: sender.ended["metrics"] >= 9)
        came = [
            [point.as_int for metric in metrics_of(message) for point in points_of(metric)]
            for message in receiver.of("metrics")
        ]
    assert came[:9] == [[0, 1], [2, 3], [4]] * 3
    assert sender.problems()[0] == "refuses 2 of 5 data points: HTTP 413"
    assert sender.problems()[1:] in (["takes metrics again"], []), "each reading is reported as a whole"
    assert (sender.otlp.failed["metrics"], sender.otlp.rejected["metrics"]) == (2, 4)


@pytest.mark.usefixtures("quick")
def test_a_request_that_may_be_sent_again_keeps_back_the_rest_of_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MOST_POINTS", 2)
    with receiving() as receiver:
        receiver.answers["metrics"] = [Answering(400), Answering(503)]
        sender = Sending(receiver.url, 0.004, OTEL_LOGS_EXPORTER="none")
        sender.otlp.reading(lambda: gauges(0, 1, 2, 3, 4))
        sender.run(lambda: sender.ended["metrics"] >= 6)
        came = [sum(len(points_of(metric)) for metric in metrics_of(message)) for message in receiver.of("metrics")]
    assert came[:5] == [2, 2, 2, 2, 1], "the newest numbers are sent from the first one on"
    assert sender.problems() == ["does not take metrics: HTTP 503", "takes metrics again"]
    assert (sender.otlp.failed["metrics"], sender.otlp.rejected["metrics"]) == (2, 2)


@pytest.mark.usefixtures("quick")
def test_what_a_receiver_refuses_in_part_is_said_once() -> None:
    partial = ExportMetricsServiceResponse()
    partial.partial_success.rejected_data_points = 1
    partial.partial_success.error_message = "out of order\nat 17"
    warning = ExportLogsServiceResponse()
    warning.partial_success.error_message = "old client"
    with receiving() as receiver:
        receiver.answers["metrics"] = [Answering(body=partial.SerializeToString()) for _ in range(3)]
        receiver.answers["logs"] = [Answering(body=warning.SerializeToString())]
        sender = Sending(receiver.url, 0.004)
        sender.otlp.reading(lambda: [counter(1)])
        sender.tell(1)
        sender.run(lambda: sender.ended["metrics"] >= 5 and sender.ended["logs"] == 1)
    assert sorted(sender.problems()) == [
        "refuses 1 of 1 data point: out of order at 17",
        "takes logs and warns: old client",
        "takes metrics again",
    ]
    text = prometheus_text(sender.otlp.families())
    assert 'railweave_otlp_rejected_items_total{signal="metrics"} 3' in text
    assert 'railweave_otlp_failed_requests_total{signal="metrics"} 0' in text


def test_an_answer_that_is_no_protobuf_is_a_success_by_its_status() -> None:
    with receiving() as receiver:
        receiver.answers["logs"] = [Answering(kind="text/html", body=b"\x12\xff"), Answering(body=b"\xff\xff")]
        sender = Sending(receiver.url)
        sender.tell(1)
        sender.run(lambda: sender.ended["logs"] == 1, lambda: sender.tell(2), lambda: sender.ended["logs"] == 2)
        receiver.answers["logs"] = [Answering(400, kind="text/plain; charset=utf-8", body=b"x" * 10**6)]
        again = Sending(receiver.url)
        again.tell(3)
        again.run(lambda: again.otlp.dropped == 1)
    assert sender.problems() == []
    assert again.problems() == [f"does not take logs: HTTP 400: {'x' * 300}"]


def test_a_redirect_to_a_host_name_that_cannot_be_used_does_not_end_the_watch() -> None:
    with receiving() as receiver:
        receiver.answers["logs"] = [Answering(307, {"Location": "http://xn--.com/"})]
        sender = Sending(receiver.url)
        sender.tell(1)
        sender.run(lambda: sender.otlp.dropped == 1, lambda: sender.tell(2), lambda: sender.ended["logs"] == 2)
    assert receiver.bodies() == ["anomaly 1", "anomaly 2"]
    assert sender.problems()[0] == ("does not take logs: its host name, or the address of its redirect, cannot be used")


def test_the_queue_is_bounded_and_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "MOST_WAITING", 10)
    monkeypatch.setattr(exporter, "MOST_RECORDS", 4)
    with receiving() as receiver:
        sender = Sending(receiver.url)
        sender.tell(*range(25))
        assert len(sender.otlp.waiting) == 10
        sender.run(lambda: sender.ended["logs"] == 3)
        assert receiver.bodies() == [f"anomaly {number}" for number in range(15, 25)]
        assert max(len(records_of(message)) for message in receiver.of("logs")) == 4
    assert "railweave_otlp_dropped_log_records_total 15" in prometheus_text(sender.otlp.families())


@pytest.mark.usefixtures("quick")
def test_a_batch_that_comes_back_to_a_full_queue_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "MOST_WAITING", 3)
    with receiving() as receiver:
        hold = threading.Event()
        receiver.answers["logs"] = [Answering(503, hold=hold)]
        sender = Sending(receiver.url)
        sender.tell(1, 2, 3)
        more = lambda: (sender.tell(4, 5), hold.set())[0]  # noqa: E731
        sender.run(lambda: len(receiver.came) == 1, more, lambda: sender.ended["logs"] == 2)
    assert receiver.bodies() == ["anomaly 1", "anomaly 2", "anomaly 3", "anomaly 3", "anomaly 4", "anomaly 5"]
    assert sender.otlp.dropped == 2


def test_a_receiver_that_does_not_answer_blocks_neither_the_loop_nor_the_other_signal() -> None:
    threads: set[int] = set()

    def families() -> list[Family]:
        threads.add(threading.get_ident())
        return [counter(1)]

    hold = threading.Event()
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += len(receiver.of("logs"))
        return steps > 100

    with receiving() as receiver:
        receiver.answers["metrics"] = [Answering(hold=hold)]
        sender = Sending(receiver.url, 0.001)
        sender.otlp.reading(families)
        sender.run(
            lambda: len(receiver.of("metrics")) == 1,
            lambda: sender.tell(1),
            step,
            hold.set,
        )
    assert threading.get_ident() not in threads
    assert threads


def test_a_receiver_that_answers_too_slowly_is_given_up() -> None:
    with receiving() as receiver:
        hold = threading.Event()
        receiver.answers["logs"] = [Answering(hold=hold)]
        sender = Sending(receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT="30")
        sender.tell(1)
        sender.run(lambda: sender.otlp.failed["logs"] == 1, hold.set)
    assert sender.problems()[0] == "does not take logs: no answer within 0.03 s"


def test_the_end_sends_what_waits_and_marks_what_is_no_longer_known() -> None:
    with receiving() as receiver:
        sender = Sending(receiver.url, 0.01)
        sender.otlp.reading(lambda: [counter(7)])
        sender.run(lambda: sender.ended["metrics"] >= 1, lambda: sender.tell(*range(600)))
        assert len(receiver.bodies()) == 600
        messages = receiver.of("metrics")
        points = [point for message in messages for metric in metrics_of(message) for point in points_of(metric)]
        assert [point.flags for point in points].count(NO_NUMBER) == 1
        assert all(point.WhichOneof("value") is None for point in points if point.flags == NO_NUMBER)
    assert not sender.otlp.waiting


def test_the_end_does_not_wait_for_a_receiver_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "FLUSH_S", 0.05)
    hold = threading.Event()
    with receiving() as receiver:
        receiver.answers = {signal: [Answering(hold=hold) for _ in range(3)] for signal in ("metrics", "logs")}
        sender = Sending(receiver.url, 0.001)
        sender.otlp.reading(lambda: [counter(7)])
        sender.tell(1, 2)
        took = sender.run(lambda: len(receiver.came) == 2)
        hold.set()
    assert took < 5, "a request may take 10 s"
    assert exporter.FLUSH_S < 2
    assert sender.said[-1] == "2 log records not delivered: the watch ends"


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "receiver.pem"
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file.write_bytes(key.private_bytes(*form) + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.mark.usefixtures("quick")
def test_tls_headers_and_gzip(tmp_path: Path) -> None:
    file = certificate(tmp_path)
    environment = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20geheim", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}  # fmt: skip
    with receiving(certificate=str(file)) as receiver:
        stranger = Sending(receiver.url, **environment)
        stranger.tell(1)
        stranger.run(lambda: stranger.otlp.failed["logs"] == 2)
        assert receiver.came == []
        assert "certificate verify failed" in stranger.problems()[0]
        sender = Sending(receiver.url, authorities=file, **environment)
        sender.tell(1)
        sender.run(lambda: sender.ended["logs"] == 1)
        headers = receiver.came[0].headers
        assert receiver.bodies() == ["anomaly 1"]
        assert (headers["authorization"], headers["content-encoding"]) == ("Bearer geheim", "gzip")
        assert headers["content-type"] == "application/x-protobuf"
        assert headers["user-agent"].startswith("railweave/")
    assert not any("geheim" in line for line in [*stranger.said, *sender.said])


def test_a_watched_network_sends_its_numbers_anomalies_and_syslog() -> None:
    with receiving() as receiver:
        watching = watched()
        watching.otlp = Otlp(otlp_of(receiver.url, None, {}), "lab", 0.01, print)

        def names() -> set[str]:
            return {metric.name for message in receiver.of("metrics") for metric in metrics_of(message)}

        async def run() -> None:
            task = asyncio.create_task(watching.run())
            async with asyncio.timeout(30):
                while not receiver.of("metrics") or not watching.syslog or not watching.syslog.heard:
                    await asyncio.sleep(0.002)
                watching.syslog.take(b"<131>1 - x a - - - one line", "192.0.2.1")
                await watching.look()
                while len(receiver.bodies()) < 2 or "railweave_anomalies" not in names():
                    await asyncio.sleep(0.002)
            task.cancel()
            await asyncio.wait([task])

        asyncio.run(run())
    resource = receiver.of("metrics")[0].resource_metrics[0].resource
    attributes = {each.key: each.value.string_value for each in resource.attributes}
    assert (attributes["service.name"], attributes["railweave.network"]) == ("railweave", "lab")
    assert attributes["service.instance.id"].endswith("/lab")
    assert {"railweave_port_receive_bytes_total", "railweave_syslog_messages_total", "railweave_anomalies"} <= names()
    bodies = receiver.bodies()
    assert "one line" in bodies
    assert len(bodies) >= len(watching.anomalies.listed()) > 0
