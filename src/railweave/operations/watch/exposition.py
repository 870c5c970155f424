"""The ``/metrics`` page: the latest numbers of every device, and the designed numbers, in the Prometheus text format (version 0.0.4).

Each series belongs to a device and its port, queue, priority, lane or neighbor, never to a queue pair. Series of queues and priorities are
left out while their value is zero. 192 switches with 64 ports and two busy queues make about 160,000 series (docs/watch.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.telemetry import METRICS, Metric, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.analysis.expect import Expected
    from railweave.operations.watch.collector import WatchedDevice
    from railweave.operations.watch.syslog import Syslog
    from railweave.operations.watch.watching import NetworkStanding


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OWN = {
    "up": ("gauge", "Whether numbers of the device come."),
    "known": ("gauge", "Whether numbers of the device ever came."),
    "age_seconds": ("gauge", "Seconds since a number of the device last came."),
    "reconnects_total": ("counter", "How often the connection to the device was begun again."),
    "updates_total": ("counter", "Updates that came from the device."),
    "clock_behind_seconds": ("gauge", "How far the clock of the device is behind that of the collector."),
}


def exposed(devices: Iterable[WatchedDevice], anomalies: Mapping[tuple[str, str], int] | None = None) -> str:
    """Return the metrics of devices in the Prometheus text format. ``anomalies`` holds the number of open anomalies by (rule, severity)."""
    devices = list(devices)
    lines = _own(devices)
    for name, metric in METRICS.items():
        samples = [line for device in devices for line in _of(device, name, metric)]
        if samples:
            kind = "counter" if metric.kind == "counter" else "gauge"
            lines += [f"# HELP {metric.exported} {metric.help}", f"# TYPE {metric.exported} {kind}", *samples]
    lines += ["# HELP railweave_anomalies What is not as designed.", "# TYPE railweave_anomalies gauge"]
    for (rule, severity), count in sorted((anomalies or {}).items()):
        lines.append(f'railweave_anomalies{{rule="{escaped(rule)}",severity="{severity}"}} {count}')
    return "\n".join(lines) + "\n"


def whole(standing: NetworkStanding) -> str:
    """Return two metrics of the state ``standing`` of the whole network in the Prometheus text format.

    The first is 1 if the network is as designed, 0 if not, and NaN if the state is unknown. The second is the number of
    devices that were not compared with the design.
    """
    state = {"as designed": "1", "not as designed": "0", "not known": "NaN"}[standing.state]
    designed, left = "railweave_network_as_designed", "railweave_network_devices_not_known"
    lines = [
        f"# HELP {designed} Whether the network is as designed; NaN while that is not known.",
        f"# TYPE {designed} gauge",
        f"{designed} {state}",
        f"# HELP {left} Devices that were not compared with the design at the last look.",
        f"# TYPE {left} gauge",
        f"{left} {len(standing.not_known)}",
    ]
    return "\n".join(lines) + "\n"


def received(syslog: Syslog) -> str:
    """Return the numbers of received syslog messages in the Prometheus text format."""
    name = "railweave_syslog_messages_total"
    lines = [
        f"# HELP {name} Messages of syslog that came from a device, by what they are about.",
        f"# TYPE {name} counter",
    ]
    for (device, kind), count in sorted(syslog.counts.items()):
        lines.append(f'{name}{{device="{escaped(device)}",kind="{kind or "other"}"}} {count}')
    unknown = "railweave_syslog_unknown_senders_total"
    lines += [f"# HELP {unknown} Messages of syslog from senders that are no device.", f"# TYPE {unknown} counter"]
    return "\n".join([*lines, f"{unknown} {syslog.unknown}"]) + "\n"


def _own(devices: list[WatchedDevice]) -> list[str]:
    lines: list[str] = []
    for name, (kind, help_) in _OWN.items():
        exported = f"railweave_target_{name}"
        lines += [f"# HELP {exported} {help_}", f"# TYPE {exported} {kind}"]
        for device in devices:
            number = _about(device, name)
            if number is not None:
                lines.append(f"{exported}{{{_device(device)}}} {number}")
    return lines


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


def _of(device: WatchedDevice, name: str, metric: Metric) -> list[str]:
    """Return the lines of one metric of a device."""
    stream = device.stream
    start = f"{metric.exported}{{{_device(device)}"
    lines: list[str] = []
    for place in stream.layout.of_metric(name):
        if place >= len(stream.numbers):
            break
        number = stream.numbers[place]
        if number != number or (metric.sparse and not number):
            continue
        value = int(stream.counts[place]) if metric.kind == "counter" else float(number)
        lines.append(f"{start}{_labels(stream.layout.series[place], metric)}}} {value}")
    return lines


def _device(device: WatchedDevice) -> str:
    return f'device="{escaped(device.name)}",role="{escaped(device.role)}"'


def _labels(series: Series, metric: Metric) -> str:
    port = f',port="{escaped(series.port)}"' if series.port else ""
    return port + (f',{metric.index}="{escaped(series.index)}"' if metric.index else "")


def escaped(text: str) -> str:
    """Return a text, escaped as the value of a Prometheus label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


SPEED = "railweave_design_port_speed_bits_per_second"
SESSIONS = "railweave_design_bgp_sessions"
LOSSLESS = "railweave_design_lossless_priority"


def intended(expected: Mapping[str, Expected], roles: Mapping[str, str]) -> str:
    """Return the numbers of the design as metrics in the Prometheus text format, for comparison with the measured numbers:

    - a metric with the speed of each port in bit/s, whose labels name the port's far end and path color;
    - a metric with the number of BGP sessions of each device;
    - a metric with the constant 1 for each lossless queue, whose labels are the queue and its PFC priority.

    ``expected`` has the designed state by device. ``roles`` has the role of each device, for the label ``role``.
    """
    speeds: list[str] = []
    sessions: list[str] = []
    lossless: list[str] = []
    for device, expectation in expected.items():
        labels = f'device="{escaped(device)}",role="{escaped(roles.get(device, ""))}"'
        colors = {each.session.interface: each.color for each in expectation.sessions}
        for port in expectation.ports:
            far = f'port="{escaped(port.name)}",kind="{port.kind}",peer="{escaped(port.peer)}",color="{escaped(colors.get(port.name, ""))}"'
            speeds.append(f"{SPEED}{{{labels},{far}}} {port.speed_gbps * 10**9}")
        sessions.append(f"{SESSIONS}{{{labels}}} {len(expectation.sessions) + len(expectation.overlay_sessions)}")
        pairs = sorted({pair for each in expectation.queues for pair in each.lossless.items()})
        lossless += [f'{LOSSLESS}{{{labels},queue="{queue}",priority="{priority}"}} 1' for queue, priority in pairs]
    lines = [
        f"# HELP {SPEED} Speed of a port of the design that must be up.",
        f"# TYPE {SPEED} gauge",
        *speeds,
        f"# HELP {SESSIONS} BGP sessions that a switch must have established.",
        f"# TYPE {SESSIONS} gauge",
        *sessions,
    ]
    if lossless:
        lines += [f"# HELP {LOSSLESS} Queue and PFC priority of a class that must lose nothing.", f"# TYPE {LOSSLESS} gauge", *lossless]  # fmt: skip
    return "\n".join(lines) + "\n"
