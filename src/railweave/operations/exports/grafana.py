"""Dashboards for Grafana as JSON: the whole network, one switch, and congestion. They read what ``railweave watch`` exports."""

from __future__ import annotations

from typing import Any

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
    for one in variables:
        query = f"label_values(railweave_design_port_speed_bits_per_second, {one})"
        listed.append(
            {
                "name": one,
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
    """The dashboards by their files' names."""
    own = 'device="$device"'
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
                _panel("Sent, share of speed", f"railweave:port_transmit:ratio{{{own}}}", "{{port}} to {{peer}}", "percentunit"),
                _panel("Received, share of speed", f"railweave:port_receive:ratio{{{own}}}", "{{port}} from {{peer}}", "percentunit"),
                _panel("Queues", f"8 * rate(railweave_queue_transmit_bytes_total{{{own}}}[60s])", "{{port}} queue {{queue}}", "bps"),
                _panel("Drops", f"rate(railweave_queue_dropped_packets_total{{{own}}}[60s])", "{{port}} queue {{queue}}", "pps"),
                _panel("BGP sessions", f"railweave:bgp_established:count{{{own}}}", "established", "none"),
                _panel("Light received", f"railweave_optic_receive_power_dbm{{{own}}}", "{{port}} lane {{lane}}", "dBm"),
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
