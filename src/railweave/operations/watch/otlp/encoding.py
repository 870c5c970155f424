"""Requests of OTLP in protobuf: the metrics and the log records of a watch (OTLP 1.x; messages of ``opentelemetry-proto``).

- Metrics have the names of ``/metrics``, with their suffixes. Receivers that append the unit and ``_total`` to a name (the specification
  "Prometheus and OpenMetrics Compatibility") find both there, and other receivers have the same names too.
- Counters are cumulative sums. The start time of a counter that began before the watch is unknown, so its first point has its own time as
  the start. So has each point after it until the receiver took one: to a receiver without that first point, its whole number would be an
  increase since the start. After a reset, the series starts at the time of the last point before the reset (metrics data model, "Resets
  and Gaps").
- A series that is no longer known gets one point with the flag "no recorded value", so that receivers do not show its last number.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, DataPointFlags, NumberDataPoint
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

import railweave

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.operations.watch.anomalies import Anomaly, Change
    from railweave.operations.watch.exposition import Family, Labels
    from railweave.operations.watch.otlp.settings import Signal
    from railweave.operations.watch.syslog import Event

MOST_POINTS = 10_000
"""The largest number of data points of a request. A request has about 1.2 MB then; receivers commonly take 20 MB."""
_UNITS = {
    "bytes_per_second": "{By/s}",
    "bits_per_second": "{bit/s}",
    "bytes": "By",
    "seconds": "s",
    "celsius": "Cel",
    "amperes": "A",
    "ratio": "1",
    "dbm": "{dBm}",
    "packets": "{packet}",
    "frames": "{frame}",
    "codewords": "{codeword}",
    "errors": "{error}",
}
"""The unit of a metric in UCUM, by the end of its name without ``_total``.

Braces hold words that are no units of UCUM, and units that Prometheus would append to a name that has them already: it reads ``By/s`` as
``bytes`` and ``per_second``, and finds only the first in a name. Receivers that translate names leave out the words in braces.
"""


def unit_of(name: str) -> str:
    """Return the unit of a metric in UCUM, by its name; empty for a state or a plain number."""
    words = name.removesuffix("_total")
    return next((unit for ending, unit in _UNITS.items() if words.endswith(f"_{ending}")), "")


class Sent(NamedTuple):
    """The last number of a series that was read to be sent.

    - ``start``: the start time of the series in ns since 1970; 0 for a gauge.
    - ``known``: True if later points have the same start: the counter began then, or the receiver took a point with that start.
    - ``turn``: the number of the reading that had the series last.
    """

    start: int
    known: bool
    number: float
    turn: int


class Reading(NamedTuple):
    """All numbers at one time.

    - ``time``: the time in ns since 1970.
    - ``families``: the metrics, each with the start times of its points.
    - ``gone``: the series that were sent before and are no longer known. Their points follow those of ``families``.
    - ``new``: the series whose start is not known, each with the place of its point among all points of the reading.
    """

    time: int
    families: list[tuple[Family, list[int]]]
    gone: list[tuple[Family, Labels]]
    new: list[tuple[int, tuple[str, Labels]]]


class History:
    """The series that were sent, for start times and for series that vanish. ``begun`` is the start of the watch in ns since 1970."""

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self._last = begun
        self._turn = 0
        self._sent: dict[tuple[str, Labels], Sent] = {}
        self._families: dict[str, Family] = {}
        self._lock = Lock()  # a thread may still read when the watch ends

    def reading(self, families: Iterable[Family], time: int) -> Reading:
        """Return the numbers to send at ``time``, without those that are not known."""
        with self._lock:
            self._turn += 1
            read: list[tuple[Family, list[int]]] = []
            new: list[tuple[int, tuple[str, Labels]]] = []
            place = 0
            for family in families:
                read.append(self._read(family, time, place, new))
                place += len(read[-1][1])
            return Reading(time, read, self._gone(), new)

    def _read(
        self, family: Family, time: int, place: int, new: list[tuple[int, tuple[str, Labels]]]
    ) -> tuple[Family, list[int]]:
        """Return the known points of a metric with their start times, and remember them.

        ``place`` is the place of its first point in the reading. The series whose start is not known are added to ``new``.
        """
        name, points = family.name, [point for point in family.points if point.number == point.number]
        self._families[name] = family._replace(points=())
        starts: list[int] = []
        for at, (labels, number) in enumerate(points, place):
            before = self._sent.get((name, labels))
            start, known = time, False
            if family.kind == "gauge":
                start, known = 0, True
            elif before is not None and number < before.number:
                start, known = self._last, True
            elif before is not None and before.known:
                start, known = before.start, True
            elif family.counted_here:
                start, known = self.begun, True
            starts.append(start)
            self._sent[name, labels] = Sent(start, known, number, self._turn)
            if not known:
                new.append((at, (name, labels)))
        return family._replace(points=points), starts

    def ending(self, time: int) -> Reading:
        """Return a reading without numbers: every series is no longer known, because the watch ends."""
        return self.reading((), time)

    def _gone(self) -> list[tuple[Family, Labels]]:
        return [(self._families[name], labels) for (name, labels), sent in self._sent.items() if sent.turn < self._turn]

    def record(self, reading: Reading, parts: Sequence[tuple[int, bool]]) -> None:
        """Remember the time of a reading, and what of it the receiver took.

        ``parts`` are its requests in their order, each with its number of points and with True if it was taken. Requests that are not
        listed were not sent. Series that vanished are sent as vanished again until the request with their point is taken.
        """
        ends = list(accumulate(count for count, _ in parts))

        def taken(place: int) -> bool:
            part = bisect_right(ends, place)
            return part < len(parts) and parts[part][1]

        with self._lock:
            self._last = reading.time
            for place, series in reading.new:
                if taken(place):
                    self._sent[series] = self._sent[series]._replace(known=True)
            first = sum(len(starts) for _, starts in reading.families)
            for place, (family, labels) in enumerate(reading.gone, first):
                if taken(place):
                    self._sent.pop((family.name, labels), None)


def resource_of(attributes: Mapping[str, str]) -> Resource:
    """Return a resource with attributes. The resource is the railweave process that sends."""
    resource = Resource()
    _label(resource.attributes, attributes.items())
    return resource


def metric_requests(reading: Reading, resource: Resource) -> Iterator[tuple[bytes, int]]:
    """Yield the requests that hold a reading, each with its number of data points."""
    request = _Metrics(resource)
    for family, starts in reading.families:
        for (labels, number), start in zip(family.points, starts, strict=True):
            if request.count >= MOST_POINTS:
                yield request.ended()
                request = _Metrics(resource)
            point = request.point(family, labels, reading.time, start)
            if isinstance(number, int) and number < 1 << 63:
                point.as_int = number
            else:
                point.as_double = number
    for family, labels in reading.gone:
        if request.count >= MOST_POINTS:
            yield request.ended()
            request = _Metrics(resource)
        point = request.point(family, labels, reading.time, 0)
        point.flags = DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK
    if request.count:
        yield request.ended()


class _Metrics:
    """A request of metrics that is being filled. ``count`` is its number of data points."""

    def __init__(self, resource: Resource) -> None:
        self.count = 0
        self._request = ExportMetricsServiceRequest()
        self._scope = self._request.resource_metrics.add(resource=resource).scope_metrics.add(scope=_scope(""))
        self._points: dict[str, Any] = {}

    def point(self, family: Family, labels: Labels, time: int, start: int) -> NumberDataPoint:
        """Return a new point of a metric, without a number. ``start`` is 0 for gauges and for points without a number."""
        points = self._points.get(family.name)
        if points is None:
            metric = self._scope.metrics.add(name=family.name, description=family.help, unit=unit_of(family.name))
            if family.kind == "counter":
                metric.sum.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
                metric.sum.is_monotonic = True
                points = metric.sum.data_points
            else:
                points = metric.gauge.data_points
            self._points[family.name] = points
        self.count += 1
        point = points.add(time_unix_nano=time)
        if start:
            point.start_time_unix_nano = start
        _label(point.attributes, labels)
        return point

    def ended(self) -> tuple[bytes, int]:
        """Return the encoded request, and its number of data points."""
        return self._request.SerializeToString(), self.count


def _scope(subject: str) -> InstrumentationScope:
    return InstrumentationScope(name=f"railweave.{subject}" if subject else "railweave", version=railweave.__version__)


def _label(attributes: Any, labels: Iterable[tuple[str, str]]) -> None:  # noqa: ANN401 - a repeated field has no static type
    """Add texts as attributes. Characters that UTF-8 cannot hold (lone surrogates in a device's JSON) become question marks."""
    for key, value in labels:
        attribute: KeyValue = attributes.add(key=key)
        try:
            attribute.value.string_value = value
        except ValueError:
            attribute.value.string_value = _encodable(value)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


class Record(NamedTuple):
    """A log record. ``time`` and ``observed`` are in seconds since 1970. ``number`` and ``severity`` are the severity as number and text."""

    scope: str
    time: float
    observed: float
    number: int
    severity: str
    body: str
    event: str
    attributes: tuple[tuple[str, str | int | bool], ...]


_SEVERITIES = {"info": 9, "warning": 13, "error": 17}
"""The severity numbers INFO, WARN and ERROR (logs data model, "Severity Fields")."""
_OF_SYSLOG = (
    (21, "emergency"),
    (19, "alert"),
    (18, "critical"),
    (17, "error"),
    (13, "warning"),
    (10, "notice"),
    (9, "informational"),
    (5, "debug"),
)
"""The severity numbers of the severities of syslog, from 0 (logs data model, appendix B; RFC 5424, table 2)."""


def anomaly_record(change: Change, anomaly: Anomaly, now: float) -> Record:
    """Return the record of an anomaly that opened, changed or closed. The end of an anomaly has the severity INFO."""
    finding = anomaly.finding
    severity = "info" if change == "closed" else finding.severity
    attributes: dict[str, str | int | bool] = {
        "change": change,
        "rule": finding.id,
        "severity": finding.severity,
        "device": anomaly.device,
        "port": anomaly.port,
        "cause": anomaly.follows,
        "number": anomaly.number,
        "times": anomaly.times,
        "why": finding.why,
        "fix": finding.fix,
        "intention": finding.place,
        "evidence": anomaly.evidence,
        "deploy": anomaly.deploy,
    }
    kept = tuple((key, value) for key, value in attributes.items() if value != "")
    time = anomaly.last if anomaly.closed is None else anomaly.closed
    body = f"over: {finding.what}" if change == "closed" else finding.what
    return Record("anomalies", time, now, _SEVERITIES[severity], severity, body, "railweave.anomaly", kept)


def syslog_record(event: Event) -> Record:
    """Return the record of a syslog message. Syslog does not prove its sender."""
    number, severity = _OF_SYSLOG[event.severity]
    attributes = {"device": event.device, "kind": event.kind, "port": event.port, "neighbor": event.peer}
    kept = tuple((key, value) for key, value in attributes.items() if value)
    return Record("syslog", event.time, event.time, number, severity, event.text, "", kept)


def log_request(records: Sequence[Record], resource: Resource) -> bytes:
    """Return the request that holds log records."""
    request = ExportLogsServiceRequest()
    of_resource = request.resource_logs.add(resource=resource)
    scopes: dict[str, Any] = {}
    for record in records:
        scope = scopes.get(record.scope)
        if scope is None:
            scope = scopes[record.scope] = of_resource.scope_logs.add(scope=_scope(record.scope)).log_records
        made = scope.add(
            time_unix_nano=int(record.time * 1e9),
            observed_time_unix_nano=int(record.observed * 1e9),
            severity_number=record.number,
            severity_text=record.severity,
            event_name=record.event,
        )
        made.body.string_value = _encodable(record.body)
        for key, value in record.attributes:
            attribute = made.attributes.add(key=key)
            if isinstance(value, bool):
                attribute.value.bool_value = value
            elif isinstance(value, int):
                attribute.value.int_value = value
            else:
                attribute.value.string_value = _encodable(value)
    return request.SerializeToString()


class Answer(NamedTuple):
    """The body of a receiver's answer: the number of refused data points or records, and its message."""

    rejected: int = 0
    message: str = ""


def read_success(signal: Signal, body: bytes) -> Answer:
    """Return how much of an accepted request was refused. An answer that is not protobuf counts as full success."""
    try:
        if signal == "metrics":
            partial = ExportMetricsServiceResponse.FromString(body).partial_success
            return Answer(partial.rejected_data_points, partial.error_message)
        records = ExportLogsServiceResponse.FromString(body).partial_success
    except DecodeError:
        return Answer()
    return Answer(records.rejected_log_records, records.error_message)


def read_failure(body: bytes) -> str:
    """Return the message of a refusal, which is a ``google.rpc.Status``; empty if the body is none.

    The message is field 2 of a Status, after a number in field 1, as in a partial success, so that its class reads both.
    """
    try:
        return ExportMetricsPartialSuccess.FromString(body).error_message
    except DecodeError:
        return ""
