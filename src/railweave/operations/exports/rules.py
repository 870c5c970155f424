"""Recording and alert rules for Prometheus: what is measured, compared with what the design says of the same port.

``railweave watch`` serves both, so a rule is an expression over two series and no list of ports. Numbers that stand in the rules are those
of the checks of a running network (``railweave.live.check``, ``railweave.operations.watch``), and times that the design has: the PFC watchdog's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.live.check.counters import COLORS, DROPS, ERRORS, FLAPS, RESOURCE, SERVER, STORM, UNEQUAL
from railweave.live.check.identity import SILENT
from railweave.live.check.ports import DOWN
from railweave.live.check.sessions import DOWN as SESSION_DOWN
from railweave.operations.watch.intended import LOSSLESS, SESSIONS, SPEED
from railweave.operations.watch.storms import HEAD, LEAST_PER_S
from railweave.operations.watch.validator import BEHIND_S, CLOCK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings.registry import Rule

_PORT = "device, port"
_ON_PORT = f"on ({_PORT}) group_left (kind, peer, color)"
INTERVAL_S = 10
"""Of samples, as ``railweave watch`` takes them by default; rates are over six of them."""
_OVER = f"{6 * INTERVAL_S}s"


def _rate(metric: str) -> str:
    return f"rate({metric}[{_OVER}])"


_LOSSLESS_QUEUE = f"max by (device, queue) ({LOSSLESS})"
RECORDED = {
    "railweave:port_transmit:ratio": f"8 * {_rate('railweave_port_transmit_bytes_total')} / {_ON_PORT} {SPEED}",
    "railweave:port_receive:ratio": f"8 * {_rate('railweave_port_receive_bytes_total')} / {_ON_PORT} {SPEED}",
    "railweave:color_transmit:bits_per_second": (
        f"sum by (device, color) (8 * {_rate('railweave_port_transmit_bytes_total')} * {_ON_PORT} ({SPEED}{{color!=''}} > bool 0))"
    ),
    "railweave:pfc_receive:frames_per_second": f"sum by ({_PORT}, priority) ({_rate('railweave_pfc_receive_frames_total')})",
    "railweave:queue_marked:ratio": (
        f"{_rate('railweave_queue_ecn_marked_packets_total')} / ({_rate('railweave_queue_transmit_packets_total')} > 0)"
    ),
    "railweave:bgp_established:count": "count by (device) (railweave_bgp_session_state == 6)",
}


def _alert(name: str, expression: str, rule: Rule, summary: str, *, wait: str = "0s") -> dict[str, Any]:
    """An alert that a check of railweave has too: its words, and its id as a label, by which Alertmanager can join the two."""
    return {
        "alert": name,
        "expr": expression,
        "for": wait,
        "labels": {"severity": rule.severity, "rule": rule.id},
        "annotations": {
            "summary": summary,
            "description": f"{rule.says} {rule.why.capitalize()}. {rule.fix.capitalize()}.",
        },
    }


def rules(configs: Mapping[str, DeviceConfig]) -> dict[str, Any]:
    """The rule file as a value. ``configs`` are what the design gives its switches."""
    at = "{{ $labels.device }} {{ $labels.port }}"
    alerts = [
        _alert(
            "RailweaveWatchDown",
            'absent(up{job="railweave"} == 1)',
            SILENT,
            "railweave watch does not answer: nothing of this network is watched",
            wait="30s",
        ),
        _alert(
            "RailweaveTargetDown",
            "railweave_target_up == 0",
            SILENT,
            "{{ $labels.device }} does not answer",
            wait="15s",
        ),
        _alert(
            "RailweavePortDown",
            f"({SPEED} > 0) and on ({_PORT}) (railweave_port_up == 0)",
            DOWN,
            at + " to {{ $labels.peer }} is down",
        ),
        _alert(
            "RailweaveSessionsMissing",
            f"({SESSIONS} - on (device) group_left () railweave:bgp_established:count) > 0",
            SESSION_DOWN,
            "{{ $labels.device }} lacks {{ $value }} of its BGP sessions",
            wait="30s",
        ),
        _alert(
            "RailweaveLosslessDrops",
            f"increase(railweave_queue_dropped_packets_total[{_OVER}]) * on (device, queue) group_left () {_LOSSLESS_QUEUE} > 0",
            DROPS,
            at + " queue {{ $labels.queue }} dropped {{ $value }} packets",
        ),
        _alert(
            "RailweaveResourceErrors",
            f"increase(railweave_port_receive_resource_errors_total[{_OVER}]) > 0",
            RESOURCE,
            at + " found no buffer for {{ $value }} packets",
        ),
        _alert(
            "RailweaveBitErrors",
            f"increase(railweave_port_fec_uncorrected_codewords_total[{_OVER}]) > 0 or increase(railweave_port_receive_crc_errors_total[{_OVER}]) > 0",
            ERRORS,
            at + " has {{ $value }} errors",
        ),
        _alert(
            "RailweaveLinkFlaps",
            f"increase(railweave_port_carrier_transitions_total[{30 * INTERVAL_S}s]) > 1",
            FLAPS,
            at + " flaps",
        ),
        _alert(
            "RailweaveServerPauses",
            f"(railweave:pfc_receive:frames_per_second > {LEAST_PER_S:g}) * on ({_PORT}) group_left (peer) ({SPEED}{{kind='server'}} > bool 0)",
            SERVER,
            "{{ $labels.peer }} pauses " + at,
            wait=f"{2 * INTERVAL_S}s",
        ),
        _alert(
            "RailweavePfcSpreads",
            f"count by (priority) (railweave:pfc_receive:frames_per_second > {LEAST_PER_S:g}) > 4",
            HEAD,
            "{{ $value }} ports are paused in priority {{ $labels.priority }}: railweave_anomalies names the head",
            wait=f"{2 * INTERVAL_S}s",
        ),
        _alert(
            "RailweaveColorsUnequal",
            f"max by (device) (railweave:color_transmit:bits_per_second) > {UNEQUAL:g} * min by (device) (railweave:color_transmit:bits_per_second) > 1e9",
            COLORS,
            "path colors of {{ $labels.device }} carry unequal load",
            wait="5m",
        ),
        _alert(
            "RailweaveClockDiffers",
            f"abs(railweave_target_clock_behind_seconds) > {BEHIND_S:g}",
            CLOCK,
            "the clock of {{ $labels.device }} is {{ $value }} s behind",
            wait="60s",
        ),
    ]
    if (detection_ms := _detection_ms(configs)) is not None:
        alerts.append(
            _alert(
                "RailweaveWatchdogStorm",
                f"increase(railweave_queue_pfc_watchdog_storms_total[{_OVER}]) > 0",
                STORM,
                at + " queue {{ $labels.queue }} was paused for longer than the " + f"{detection_ms} ms of the design",
            )
        )
    groups = [
        {"name": "railweave-recorded", "interval": f"{INTERVAL_S}s", "rules": [{"record": name, "expr": expression} for name, expression in RECORDED.items()]},
        {"name": "railweave-alerts", "interval": f"{INTERVAL_S}s", "rules": alerts},
    ]  # fmt: skip
    return {"groups": groups}


def _detection_ms(configs: Mapping[str, DeviceConfig]) -> int | None:
    """The longest time that a queue may be paused by the design; None: it has no watchdog."""
    dogs = [one.qos.watchdog for one in configs.values() if one.qos is not None and one.qos.watchdog is not None]
    return max((one.poll_interval * one.detection for one in dogs), default=None)
