"""The metrics of a watch: the latest numbers of every device, and the designed numbers.

They are served as ``/metrics`` in the Prometheus text format (version 0.0.4), and sent by ``--otlp`` (``railweave.operations.watch.otlp``).
Each series belongs to a device and its port, queue, priority, lane or neighbor, never to a queue pair. Series of queues and priorities are
left out while their value is zero. 192 switches with 64 ports and two busy queues make about 160,000 series (docs/watch.md).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.model.state.telemetry import METRICS, Metric, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.expect import Expected
    from railweave.operations.watch.collector import WatchedDevice
    from railweave.operations.watch.inspector.instruments import CommunicatorRate, JobInstruments
    from railweave.operations.watch.syslog import Syslog
    from railweave.operations.watch.watching import NetworkStanding, WatchedNetwork


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Kind = Literal["counter", "gauge"]
Labels = tuple[tuple[str, str], ...]
"""The names and values of labels, in the order in which they are written."""


class Point(NamedTuple):
    """The number of one series. NaN means that the number is not known."""

    labels: Labels
    number: float


class Family(NamedTuple):
    """A metric with its series.

    ``counted_here`` is True for counters that began at zero when the watch began. Counters of devices began earlier.
    """

    name: str
    kind: Kind
    help: str
    points: Sequence[Point]
    counted_here: bool = False


_OF_TARGET: Mapping[str, tuple[Kind, str]] = {
    "up": ("gauge", "Whether numbers of the device come."),
    "known": ("gauge", "Whether numbers of the device ever came."),
    "age_seconds": ("gauge", "Seconds since a number of the device last came."),
    "reconnects_total": ("counter", "How often the connection to the device was begun again."),
    "updates_total": ("counter", "Updates that came from the device."),
    "clock_behind_seconds": ("gauge", "How far the clock of the device is behind that of the collector."),
}


def families_of(watching: WatchedNetwork, design: Iterable[Family]) -> Iterator[Family]:
    """Yield all metrics of a watched network. ``design`` has those of the design, which do not change."""
    yield from exposed(watching.collector.devices.values(), watching.anomalies.counts())
    yield from whole(watching.standing())
    if watching.syslog is not None:
        yield from received(watching.syslog)
    if watching.inspector is not None:
        yield from communicators(watching.inspector)
    if watching.otlp is not None:
        yield from watching.otlp.families()
    yield from design


def prometheus_text(families: Iterable[Family]) -> str:
    """Return metrics in the Prometheus text format."""
    lines: list[str] = []
    for family in families:
        name = family.name
        lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
        for labels, number in family.points:
            written = "NaN" if number != number else number
            if labels:
                pairs = ",".join([f'{key}="{escaped(value)}"' for key, value in labels])
                lines.append(f"{name}{{{pairs}}} {written}")
            else:
                lines.append(f"{name} {written}")
    return "\n".join(lines) + "\n"


def exposed(
    devices: Iterable[WatchedDevice], anomalies: Mapping[tuple[str, str], int] | None = None
) -> Iterator[Family]:
    """Yield the metrics of devices. ``anomalies`` holds the number of open anomalies by (rule, severity)."""
    devices = list(devices)
    yield from _of_targets(devices)
    for name, metric in METRICS.items():
        points = [point for device in devices for point in _of(device, name, metric)]
        if points:
            yield Family(metric.exported, "counter" if metric.kind == "counter" else "gauge", metric.help, points)
    counts = sorted((anomalies or {}).items())
    points = [Point((("rule", rule), ("severity", severity)), count) for (rule, severity), count in counts]
    yield Family("railweave_anomalies", "gauge", "What is not as designed.", points)


def whole(standing: NetworkStanding) -> Iterator[Family]:
    """Yield two metrics of the whole network.

    The first is 1 if the network is as designed, 0 if not, and NaN if the state is unknown. The second is the number of
    devices that were not compared with the design.
    """
    state = {"as designed": 1, "not as designed": 0, "not known": math.nan}[standing.state]
    described = "Whether the network is as designed; NaN while that is not known."
    yield Family("railweave_network_as_designed", "gauge", described, [Point((), state)])
    described = "Devices that were not compared with the design at the last look."
    yield Family("railweave_network_devices_not_known", "gauge", described, [Point((), len(standing.not_known))])


def received(syslog: Syslog) -> Iterator[Family]:
    """Yield the numbers of received syslog messages."""
    points = [
        Point((("device", device), ("kind", kind or "other")), count)
        for (device, kind), count in sorted(syslog.counts.items())
    ]
    described = "Messages of syslog that came from a device, by what they are about."
    yield Family("railweave_syslog_messages_total", "counter", described, points, counted_here=True)
    described = "Messages of syslog from senders that are no device."
    points = [Point((), syslog.unknown)]
    yield Family("railweave_syslog_unknown_senders_total", "counter", described, points, counted_here=True)


MOST_COMMUNICATORS = 2000
"""The largest number of collectives of communicators with series of their own, the slow ones first."""
_RATES: Mapping[str, tuple[str, str]] = {
    "bus_bandwidth": ("busbw", "Bus bandwidth of a communicator's collective."),
    "predicted_bus_bandwidth": ("predicted", "Predicted bus bandwidth of a communicator's collective."),
    "least_predicted_bus_bandwidth": ("low", "Lower end of the band of a predicted bus bandwidth."),
}
"""The metrics of communicators: for each, the attribute of ``CommunicatorRate`` in GB/s, and the help."""
_FOLLOWED: Mapping[str, str] = {
    "read_bytes": "Bytes read of NCCL Inspector's records.",
    "skipped_bytes": "Bytes of NCCL Inspector's records skipped because files grew faster than they are read.",
    "records": "Records read of NCCL Inspector.",
    "not_understood": "Lines, fields and labels of NCCL Inspector's records that are not known.",
}


def communicators(inspector: JobInstruments) -> Iterator[Family]:
    """Yield the metrics of the communicators of running jobs, and of the files that are followed."""
    labels: list[tuple[Labels, CommunicatorRate]] = []
    for row in inspector.rows[:MOST_COMMUNICATORS]:
        places = row.named_places
        texts = {"job": row.job, "communicator": row.communicator, "name": row.name, "collective": row.operation}
        texts |= {"size": row.size, "ranks": str(row.ranks)}
        texts |= {"rails": places.get("rails", ""), "planes": places.get("planes", "")}
        labels.append((tuple(texts.items()), row))
    for name, (attribute, help_) in _RATES.items():
        numbers = [
            (each, getattr(row, attribute))
            for each, row in labels
            if row.outcome != "not-seen" or name != "bus_bandwidth"
        ]
        points = [Point(each, 1e9 * number) for each, number in numbers if number is not None]
        yield Family(f"railweave_nccl_{name}_bytes_per_second", "gauge", help_, points)
    outcomes = Counter(row.outcome for row in inspector.rows)
    points = [Point((("outcome", outcome),), outcomes[outcome]) for outcome in ("right", "wrong", "not-seen")]
    yield Family("railweave_nccl_collectives", "gauge", "Collectives of communicators, by outcome.", points)
    points = [Point((), len(inspector.follower.files))]
    yield Family("railweave_nccl_inspector_files", "gauge", "Files of NCCL Inspector that are followed.", points)
    for name, help_ in _FOLLOWED.items():
        points = [Point((), getattr(inspector.follower.counts, name))]
        yield Family(f"railweave_nccl_inspector_{name}_total", "counter", help_, points, counted_here=True)


def _of_targets(devices: Sequence[WatchedDevice]) -> Iterator[Family]:
    for name, (kind, help_) in _OF_TARGET.items():
        numbers = [(device, _about(device, name)) for device in devices]
        points = [Point(_device(device), number) for device, number in numbers if number is not None]
        yield Family(f"railweave_target_{name}", kind, help_, points, counted_here=True)


def _about(device: WatchedDevice, name: str) -> float | None:
    reached = device.reached
    if name == "up":
        return int(reached.up)
    if name == "known":
        return int(reached.known)
    if name == "age_seconds":
        return None if reached.age_s is None else round(reached.age_s, 1)
    if name == "reconnects_total":
        return reached.tries
    if name == "updates_total":
        return device.stream.updates
    return None if device.stream.behind_s is None else round(device.stream.behind_s, 3)


def _of(device: WatchedDevice, name: str, metric: Metric) -> Iterator[Point]:
    """Yield the numbers of one metric of a device."""
    stream = device.stream
    start = _device(device)
    for place in stream.layout.of_metric(name):
        if place >= len(stream.numbers):
            break
        number = stream.numbers[place]
        if number != number or (metric.sparse and not number):
            continue
        value = int(stream.counts[place]) if metric.kind == "counter" else float(number)
        yield Point(start + _labels(stream.layout.series[place], metric), value)


def _device(device: WatchedDevice) -> Labels:
    return ("device", device.name), ("role", device.role)


def _labels(series: Series, metric: Metric) -> Labels:
    port = (("port", series.port),) if series.port else ()
    return (*port, (metric.index, series.index)) if metric.index else port


def escaped(label: str) -> str:
    """Return a text escaped as a label value."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


SPEED = "railweave_design_port_speed_bits_per_second"
SESSIONS = "railweave_design_bgp_sessions"
LOSSLESS = "railweave_design_lossless_priority"


def intended(expected: Mapping[str, Expected], roles: Mapping[str, str]) -> Iterator[Family]:
    """Yield the metrics of the design.

    - a metric with the speed of each port in bit/s, whose labels name the port's far end and path color;
    - a metric with the number of BGP sessions of each device;
    - a metric with the constant 1 for each lossless queue, whose labels are the queue and its PFC priority.

    ``expected`` has the designed state by device. ``roles`` has the role of each device, for the label ``role``.
    """
    speeds: list[Point] = []
    sessions: list[Point] = []
    lossless: list[Point] = []
    for device, expectation in expected.items():
        labels = ("device", device), ("role", roles.get(device, ""))
        colors = {each.session.interface: each.color for each in expectation.sessions}
        for port in expectation.ports:
            color = str(colors.get(port.name, ""))
            far = ("port", port.name), ("kind", port.kind), ("peer", port.peer), ("color", color)
            speeds.append(Point((*labels, *far), port.speed_gbps * 10**9))
        sessions.append(Point(labels, len(expectation.sessions) + len(expectation.overlay_sessions)))
        pairs = sorted({pair for each in expectation.queues for pair in each.lossless.items()})
        lossless += [
            Point((*labels, ("queue", str(queue)), ("priority", str(priority))), 1) for queue, priority in pairs
        ]
    yield Family(SPEED, "gauge", "Speed of a port of the design that must be up.", speeds)
    yield Family(SESSIONS, "gauge", "BGP sessions that a switch must have established.", sessions)
    if lossless:
        yield Family(LOSSLESS, "gauge", "Queue and PFC priority of a class that must lose nothing.", lossless)
