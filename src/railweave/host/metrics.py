"""The command ``metrics``: counters of planned NICs and the net plugin, for node_exporter's textfile collector or as JSON.

A metric has the same name for every driver: counters with the same meaning are added up, as in the checks of counters. A series
belongs to a NIC or, for the plugin, to a direction, NIC, path color and leaf; never to a queue pair.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from . import __version__, plugin
from .checks import counters
from .machine import CannotTellError

if TYPE_CHECKING:
    from .checks.server import Server, WantedNic
    from .plugin import Page

SCHEMA = 1
"""The version of the JSON document; it increases when a key changes its meaning or is removed."""
NOTIFICATION = "counters-notification"
_MARKS = {
    "ecn_marked_packets": "Packets received with an ECN congestion mark.",
    "congestion_notifications_sent": "Congestion notification packets sent.",
    "congestion_notifications_handled": "Congestion notification packets that slowed a sender here.",
}
"""The names and descriptions of three metrics, in the order in which the check ``counters-notification`` has their counters."""
COUNTED = {
    "counters-lossless-drops": ("lossless_drops", "Packets of the lossless class that the NIC dropped."),
    "counters-resends": ("resends", "Packets that were sent again or arrived out of order."),
    "counters-timeouts": ("timeouts", "Timeouts of queue pairs that waited for an acknowledgement."),
    "counters-receiver": ("receiver_not_ready", "Times that data arrived before the receiver was ready."),
    "counters-link-pause": ("link_pauses", "Pause frames for the whole link, sent and received."),
    "counters-pause-sent": ("pauses_sent", "PFC frames or transitions of the priority of RDMA data sent to the switch."),
    "counters-pause-received": ("pauses_received", "PFC frames for the priority of RDMA data that a NIC received from its switch."),
    "counters-pause-other": ("pauses_of_other_priorities", "PFC frames for all other priorities, sent and received."),
    "counters-pause-storm": ("pause_storms", "Times that the NIC paused its switch for so long that it counts as a storm."),
    "counters-link-errors": ("link_errors", "Errors that FEC did not correct, and times that the link went down."),
    "counters-send-drops": ("send_drops", "Packets that the NIC dropped before they were on the cable."),
    "counters-completions": ("failed_requests", "Work requests that ended with an error."),
    "counters-congestion-ignored": ("congestion_notifications_ignored", "Congestion notification packets that slowed no sender."),
}  # fmt: skip
"""For each check of counters, by the check's ID: the name and the description of a metric with the same counters."""
_BYTES = {"receive_bytes": "port_rcv_data", "transmit_bytes": "port_xmit_data"}
_UNIT = 4
"""The bytes per unit of ``port_rcv_data`` and ``port_xmit_data`` (Linux, Documentation/ABI/stable/sysfs-class-infiniband)."""
_GAUGES = {
    "up": "Whether the NIC has a carrier.",
    "speed_bytes_per_second": "Speed of the NIC's link.",
    "planned_speed_bytes_per_second": "Speed that the design gives the NIC's link.",
}


def document(server: Server, pages: list[Page]) -> dict[str, Any]:
    """Return the metrics of a server's NICs and of the net plugin as data for JSON. Counters that cannot be read are left out.

    ``pages`` has the counters that processes with the net plugin have written, one page for each process.
    """
    return {
        "schema": SCHEMA,
        "version": __version__,
        "host": server.plan.host,
        "time": int(time.time()),
        "nics": [_nic(server, nic) for nic in server.nics],
        "net": [
            {"direction": way.direction, "device": way.device, "color": way.color, "peer_leaf": way.peer_leaf, "bytes": way.bytes,
             "resent": way.resent, "errors": way.errors, "live": way.live, "queue_pairs": way.queue_pairs}
            for way in plugin.total(pages)
        ],
    }  # fmt: skip


def _nic(server: Server, nic: WantedNic) -> dict[str, Any]:
    port = nic.plan.rdma_port
    speed = _number(server, f"/sys/class/net/{nic.netdev}/speed")
    numbers: dict[str, int | None] = {
        "up": _up(server, nic),
        "speed_bytes_per_second": None if speed is None or speed <= 0 else speed * 125_000,
        "planned_speed_bytes_per_second": nic.speed_gbps * 125_000_000,
    }
    folder = f"/sys/class/infiniband/{nic.rdma}/ports/{port}/counters"
    counts: dict[str, int] = {}
    for name, file in _BYTES.items():
        data = _number(server, f"{folder}/{file}")
        if data is not None:
            counts[name] = data * _UNIT
    try:
        read = counters.read(server, nic)
    except CannotTellError:
        read = {}
    for check, (name, _) in COUNTED.items():
        there = [read[name] for name in counters.KNOWN[check].names(server, nic) if name in read]
        if there:
            counts[name] = sum(there)
    marks = zip(_MARKS, counters.KNOWN[NOTIFICATION].names(server, nic))
    counts.update({name: read[counter] for name, counter in marks if counter in read})
    return {
        "netdev": nic.netdev,
        "rdma": nic.rdma,
        "rdma_port": port,
        "rail": nic.rail,
        "leaf": nic.leaf,
        "leaf_port": nic.leaf_port,
        **{name: number for name, number in numbers.items() if number is not None},
        "counters": counts,
    }


def _up(server: Server, nic: WantedNic) -> int | None:
    """Return 1 if the NIC has a carrier, and 0 if it has none or does not exist. Return None if ``ip`` failed."""
    try:
        links = server.machine.rows("ip", "-j", "addr", "show")
    except CannotTellError:
        return None
    flags = next((link.get("flags", ()) for link in links if link.get("ifname") == nic.netdev), ())
    return int("LOWER_UP" in flags)


def _number(server: Server, path: str) -> int | None:
    try:
        return server.machine.number(path)
    except CannotTellError:  # the kernel refuses the speed and the carrier of a link that is down
        return None


def helps() -> dict[str, str]:
    """Return the meaning of each counter of a NIC, by the counter's name."""
    return {
        "receive_bytes": "Bytes received by RDMA.",
        "transmit_bytes": "Bytes sent by RDMA.",
        **dict(COUNTED.values()),
        **_MARKS,
    }


def text(shown: dict[str, Any], pages: list[Page]) -> str:
    """Return metrics in Prometheus' text format (version 0.0.4), followed by the counters of the net plugin.

    ``shown`` is the result of ``document``; ``pages`` has the plugin's counters, one page for each process.
    """
    nics: list[dict[str, Any]] = shown["nics"]
    lines: list[str] = []
    for name, help_text in _GAUGES.items():
        lines += _family(f"railweave_nic_{name}", "gauge", help_text, [(nic, nic[name]) for nic in nics if name in nic])
    for name, help_text in helps().items():
        values = [(nic, nic["counters"][name]) for nic in nics if name in nic["counters"]]
        lines += _family(f"railweave_nic_{name}_total", "counter", help_text, values)
    lines += ["# HELP railweave_host_metrics_time_seconds When these numbers were read.", "# TYPE railweave_host_metrics_time_seconds gauge"]  # fmt: skip
    lines.append(f"railweave_host_metrics_time_seconds {shown['time']}")
    return "\n".join(lines) + "\n" + (plugin.prometheus(plugin.total(pages)) if pages else "")


def _family(name: str, kind: str, help_text: str, values: list[tuple[dict[str, Any], int]]) -> list[str]:
    lines = [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"] if values else []
    for nic, value in values:
        labels = {key: str(nic[key]) for key in ("netdev", "rdma", "rail", "leaf", "leaf_port")}
        pairs = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        lines.append(f"{name}{{{pairs}}} {value}")
    return lines


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
