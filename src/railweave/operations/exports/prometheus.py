"""The design as configuration files for Prometheus, Grafana and gnmic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from railweave.live.check.counters import COLORS, DROPS, ERRORS, FLAPS, RESOURCE, SERVER, STORM, UNEQUAL
from railweave.live.check.identity import SILENT
from railweave.live.check.ports import DOWN
from railweave.live.check.sessions import DOWN as SESSION_DOWN
from railweave.model.device.build import device_config
from railweave.operations.watch.exposition import LOSSLESS, SESSIONS, SPEED
from railweave.operations.watch.storms import HEAD, LEAST_PER_S
from railweave.operations.watch.validator import BEHIND_S, CLOCK
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings.registry import Rule
    from railweave.model.network.model import Network


_PORT = "device, port"
_ON_PORT = f"on ({_PORT}) group_left (kind, peer, color)"
INTERVAL_S = 10
"""The seconds between samples: the default of ``railweave watch``. Rates are computed over six samples."""
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
    """Return a Prometheus alert for a fault that one of railweave's checks also reports. ``summary`` is the alert's one-line description.

    The alert has the texts of the check's ``rule``, and the rule's id as its label ``rule``. Alertmanager recognizes by this label that
    the alert and railweave's finding report the same fault. ``wait`` is the time for which the expression must hold before the alert
    fires.
    """
    return {
        "alert": name,
        "expr": expression,
        "for": wait,
        "labels": {"severity": rule.severity, "rule": rule.id},
        "annotations": {
            "summary": summary,
            "description": f"{rule.fault} {rule.why.capitalize()}. {rule.fix.capitalize()}.",
        },
    }


def rules(configs: Mapping[str, DeviceConfig]) -> dict[str, Any]:
    """Return the content of the Prometheus rule file. ``configs`` are the designed configurations of the switches."""
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
    """Return the longest time in ms that the design lets a queue stay paused, or None if no switch has a watchdog."""
    dogs = [
        config.qos.watchdog for config in configs.values() if config.qos is not None and config.qos.watchdog is not None
    ]
    return max((watchdog.poll_interval * watchdog.detection for watchdog in dogs), default=None)


NODE_EXPORTER = 9100


def scrape(network: Network, watch: str, alertmanager: str | None, rules: str) -> dict[str, Any]:
    """Return the content of ``prometheus.yml``.

    - ``watch``: the address where ``railweave watch`` listens.
    - ``alertmanager``: the address of Alertmanager, if any.
    - ``rules``: the name of the rule file.
    """
    config: dict[str, Any] = {
        "global": {"scrape_interval": f"{INTERVAL_S}s", "evaluation_interval": f"{INTERVAL_S}s"},
        "rule_files": [rules],
        "scrape_configs": [
            {"job_name": "railweave", "honor_timestamps": False, "static_configs": [{"targets": [watch]}]}
        ],
    }
    servers = [server.name for server in network.servers if server.name not in network.absent]
    if servers:
        targets = [f"{name}:{NODE_EXPORTER}" for name in servers]
        labels = {"network": network.name, "role": "server"}
        config["scrape_configs"].append(
            {"job_name": "servers", "static_configs": [{"targets": targets, "labels": labels}]}
        )
    if alertmanager:
        config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
    return config


def gnmic(network: Network, *, ca: str = "ca.pem") -> dict[str, Any]:
    """Return the content of ``gnmic.yaml``. ``ca`` is the certificate file of the authority that signed the switches' certificates."""
    targets: dict[str, Any] = {}
    subscriptions: dict[str, Any] = {}
    for switch in network.switches:
        telemetry = system(switch.nos).telemetry
        if switch.name in network.absent or telemetry is None or not telemetry.SUBSCRIPTIONS:
            continue
        names: list[str] = []
        for number, path in enumerate(telemetry.SUBSCRIPTIONS):
            name = f"{switch.nos}-{number}"
            names.append(name)
            subscription: dict[str, Any] = {
                "paths": [path.path],
                "mode": "stream",
                "stream-mode": path.by.replace("_", "-"),
            }
            if path.by == "sample":
                subscription["sample-interval"] = f"{max(INTERVAL_S, path.least_s):g}s"
            if path.target:
                subscription["prefix"] = ""
                subscription["set-target"] = False
                subscription["target"] = path.target
            subscriptions[name] = {**subscription, "encoding": telemetry.ENCODING}
        address = switch.management_address.partition("/")[0]
        host = f"[{address}]" if ":" in address else address
        targets[f"{host}:{telemetry.PORT}"] = {
            "name": switch.name,
            "subscriptions": names,
            "tls-ca": ca,
            "event-tags": {"device": switch.name, "role": switch.role},
        }
    return {
        "targets": targets,
        "subscriptions": subscriptions,
        "outputs": {
            "prometheus": {"type": "prometheus", "listen": "127.0.0.1:9804", "path": "/metrics", "expiration": "60s"}
        },
    }


_SOURCE = {"type": "prometheus", "uid": "${source}"}
_WIDTH = 24


def _panel(
    title: str, expression: str, legend: str, unit: str, *, kind: str = "timeseries", width: int = 12
) -> dict[str, Any]:
    panel: dict[str, Any] = {
        "type": kind,
        "title": title,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "datasource": _SOURCE, "expr": expression, "legendFormat": legend}],
        "gridPos": {"w": width, "h": 8},
    }
    if kind == "table":
        panel["targets"][0] |= {"instant": True, "format": "table"}
    return panel


def _dashboard(uid: str, title: str, panels: list[dict[str, Any]], variables: tuple[str, ...] = ()) -> dict[str, Any]:
    column = row = 0
    for number, panel in enumerate(panels, 1):
        place = panel["gridPos"]
        if column + place["w"] > _WIDTH:
            column, row = 0, row + place["h"]
        panel["id"] = number
        place |= {"x": column, "y": row}
        column += place["w"]
    listed: list[dict[str, Any]] = [
        {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    ]
    for variable in variables:
        query = f"label_values(railweave_design_port_speed_bits_per_second, {variable})"
        listed.append(
            {
                "name": variable,
                "type": "query",
                "datasource": _SOURCE,
                "query": query,
                "refresh": 1,
                "multi": False,
                "sort": 1,
            }
        )
    return {
        "uid": uid,
        "title": title,
        "tags": ["railweave"],
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": listed},
        "panels": panels,
    }


def dashboards() -> dict[str, dict[str, Any]]:
    """Return the Grafana dashboards by file name."""
    selector = 'device="$device"'
    return {
        "network.json": _dashboard(
            "railweave-network",
            "railweave: network",
            [
                _panel("Switches that answer", "sum(railweave_target_up)", "up", "none", kind="stat", width=6),
                _panel("Switches that do not", "count(railweave_target_up == 0) or vector(0)", "down", "none", kind="stat", width=6),
                _panel("Anomalies", "sum by (severity) (railweave_anomalies)", "{{severity}}", "none", kind="stat", width=12),
                _panel("Load by path color", "sum by (color) (railweave:color_transmit:bits_per_second)", "{{color}}", "bps"),
                _panel("Busiest ports", "topk(10, railweave:port_transmit:ratio)", "{{device}} {{port}} to {{peer}}", "percentunit"),
                _panel("Anomalies by rule", "sum by (rule) (railweave_anomalies)", "{{rule}}", "none"),
                _panel("Ports that are down", "(railweave_design_port_speed_bits_per_second > 0) and on (device, port) (railweave_port_up == 0)", "", "bps", kind="table"),
            ],
        ),
        "switch.json": _dashboard(
            "railweave-switch",
            "railweave: switch",
            [
                _panel("Sent, share of speed", f"railweave:port_transmit:ratio{{{selector}}}", "{{port}} to {{peer}}", "percentunit"),
                _panel("Received, share of speed", f"railweave:port_receive:ratio{{{selector}}}", "{{port}} from {{peer}}", "percentunit"),
                _panel("Queues", f"8 * rate(railweave_queue_transmit_bytes_total{{{selector}}}[60s])", "{{port}} queue {{queue}}", "bps"),
                _panel("Drops", f"rate(railweave_queue_dropped_packets_total{{{selector}}}[60s])", "{{port}} queue {{queue}}", "pps"),
                _panel("BGP sessions", f"railweave:bgp_established:count{{{selector}}}", "established", "none"),
                _panel("Light received", f"railweave_optic_receive_power_dbm{{{selector}}}", "{{port}} lane {{lane}}", "dBm"),
            ],
            ("device",),
        ),
        "congestion.json": _dashboard(
            "railweave-congestion",
            "railweave: congestion",
            [
                _panel("PFC frames received", "topk(20, railweave:pfc_receive:frames_per_second)", "{{device}} {{port}} priority {{priority}}", "pps"),
                _panel("Packets marked, share of those sent", "topk(20, railweave:queue_marked:ratio)", "{{device}} {{port}} queue {{queue}}", "percentunit"),
                _panel("Peaks of queues", "topk(20, railweave_queue_peak_bytes)", "{{device}} {{port}} queue {{queue}}", "bytes"),
                _panel("Drops", "topk(20, rate(railweave_queue_dropped_packets_total[60s]))", "{{device}} {{port}} queue {{queue}}", "pps"),
                _panel("Storms that the watchdog found", "topk(20, increase(railweave_queue_pfc_watchdog_storms_total[60s]))", "{{device}} {{port}} queue {{queue}}", "none"),
                _panel("Resource errors", "topk(20, rate(railweave_port_receive_resource_errors_total[60s]))", "{{device}} {{port}}", "pps"),
            ],
        ),
    }  # fmt: skip


RULES = "railweave.rules.yml"


def prometheus(network: Network, *, watch: str = "127.0.0.1:8484", alertmanager: str | None = None) -> dict[str, str]:
    """Return the texts of the scrape configuration, rules, dashboards and gnmic configuration, by relative file name.

    ``watch`` is the address where ``railweave watch`` listens, and ``alertmanager`` the address that receives alerts.
    """
    configs = {
        switch.name: device_config(network, switch.name)
        for switch in network.switches
        if switch.name not in network.absent
    }
    files = {
        "prometheus.yml": _yaml(scrape(network, watch, alertmanager, RULES)),
        RULES: _yaml(rules(configs)),
    }
    with_gnmi = gnmic(network)
    if with_gnmi["targets"]:
        files["gnmic.yaml"] = _yaml(with_gnmi)
    return files | {
        f"dashboards/{name}": json.dumps(dashboard, indent=1) + "\n" for name, dashboard in dashboards().items()
    }


def _yaml(value: Any) -> str:  # noqa: ANN401
    return yaml.safe_dump(value, sort_keys=False, width=150, allow_unicode=True)
