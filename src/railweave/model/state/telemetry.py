"""Streaming telemetry: metrics, their series, subscriptions, and the fields (leaves) of the OpenConfig models that hold metrics.

A series is one metric of one part of a device, such as a port, a queue of a port, or a session. Values are integers or floats.
States are numbers too: 1 is up and 0 is down. For a BGP session, the value is the number of its state (BGP4-MIB: 1 idle to 6
established).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


Elements = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""A decoded telemetry path: for each element, (name, pairs of key name and key value)."""
Kind = Literal["counter", "gauge", "state"]
Fold = Literal["mean", "max", "min"]
"""The function that combines several values of a series into one for long-term storage. For example, ``max`` keeps the highest value."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric.

    - ``exported``: its name in Prometheus, in base units.
    - ``index``: the Prometheus label for the queue, priority, lane or neighbor of a series; empty without one.
    - ``scale``: the factor that converts values to the base unit.
    """

    name: str
    exported: str
    kind: Kind
    help: str
    index: str = ""
    fold: Fold = "mean"
    scale: float = 1.0

    @property
    def sparse(self) -> bool:
        """True for metrics of queues and priorities. Most queues are unused, so a series of such a metric is left out if it is always zero."""
        return self.index in {"queue", "priority"}


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """A series of one device: one metric of one port, queue, session or other part of the device.

    ``port`` is the device's name for the port, or empty if the series has no port. ``index`` is the queue, priority, lane
    or neighbor.
    """

    metric: str
    port: str = ""
    index: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a series of one device.

    ``time`` is in seconds since 1970 by the device's clock. For a counter, ``number`` is the increase per second.
    """

    device: str
    series: Series
    time: float
    number: float


@dataclass(frozen=True, slots=True)
class Subscription:
    """A telemetry path to subscribe to.

    - ``by``: the mode: ``on_change`` sends each change, ``sample`` sends at intervals.
    - ``least_s``: the system's shortest sample interval, in seconds.
    - ``origin``: the origin of the gNMI path, which selects the schema of the path; empty for the device's default.
    """

    path: str
    by: Literal["on_change", "sample"] = "sample"
    least_s: float = 0
    origin: str = ""
    target: str = ""
    """The ``target`` of the path prefix in the subscription, for systems that select a database by it."""
    of: str = ""
    """The purpose of the subscription, as text for people."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an SNMP table that provides a metric. The table is indexed by ifIndex, then by the metric's index if it has one.

    ``words`` maps the numbers in the column to values of the metric, if they differ.
    """

    oid: str
    metric: str
    mib: str
    words: Mapping[int, float] | None = None


PORT_NAMES = "1.3.6.1.2.1.31.1.1.1.1"
"""The OID of ``ifName`` (RFC 2863), the name of each port by ifIndex."""
PORTS_BY_SNMP = (
    Column("1.3.6.1.2.1.2.2.1.8", "port_up", "IF-MIB", {1: 1, 2: 0, 3: 0, 5: 0, 6: 0, 7: 0}),
    Column("1.3.6.1.2.1.31.1.1.1.6", "in_octets", "IF-MIB"),
    Column("1.3.6.1.2.1.31.1.1.1.10", "out_octets", "IF-MIB"),
    Column("1.3.6.1.2.1.2.2.1.13", "in_discards", "IF-MIB"),
    Column("1.3.6.1.2.1.2.2.1.14", "in_errors", "IF-MIB"),
    Column("1.3.6.1.2.1.2.2.1.19", "out_discards", "IF-MIB"),
    Column("1.3.6.1.2.1.2.2.1.20", "out_errors", "IF-MIB"),
)
"""The values of ports that every system offers by SNMP (RFC 2863: `ifOperStatus`, `ifHCInOctets` …).

railweave reads them from systems without streaming telemetry.
"""


def _of_port(name: str, exported: str, help_: str, kind: Kind = "counter", *, fold: Fold = "mean") -> Metric:
    return Metric(name, f"railweave_port_{exported}", kind, help_, fold=fold)


def _of_queue(name: str, exported: str, help_: str, kind: Kind = "counter", *, fold: Fold = "mean") -> Metric:
    return Metric(name, f"railweave_queue_{exported}", kind, help_, "queue", fold)


def _of_nic(name: str, help_: str, kind: Kind = "counter", *, exported: str = "", fold: Fold = "mean") -> Metric:
    return Metric(
        f"nic_{name}",
        f"railweave_nic_{exported or name}" + ("_total" if kind == "counter" else ""),
        kind,
        help_,
        fold=fold,
    )


def _of_plugin(name: str, exported: str, help_: str) -> Metric:
    return Metric(f"net_{name}", f"railweave_net_{exported}_total", "counter", help_, "color")


_ALL = (
    _of_port("port_up", "up", "Whether the port is up.", "state", fold="min"),
    _of_port("in_octets", "receive_bytes_total", "Bytes received."),
    _of_port("out_octets", "transmit_bytes_total", "Bytes sent."),
    _of_port("in_errors", "receive_errors_total", "Packets received with errors."),
    _of_port("out_errors", "transmit_errors_total", "Packets not sent because of errors."),
    _of_port("in_discards", "receive_discards_total", "Good packets received and dropped."),
    _of_port("out_discards", "transmit_discards_total", "Good packets dropped instead of sent."),
    _of_port("in_crc", "receive_crc_errors_total", "Packets received with a wrong checksum."),
    _of_port("in_resource", "receive_resource_errors_total", "Received packets for which no buffer was free."),
    _of_port("out_mtu", "transmit_mtu_errors_total", "Packets longer than the MTU of their egress port."),
    _of_port("ecn_marked", "ecn_marked_packets_total", "Packets sent with an ECN congestion mark."),
    _of_port("flaps", "carrier_transitions_total", "Changes of the link between up and down."),
    _of_port("fec_corrected", "fec_corrected_codewords_total", "Codewords that FEC corrected."),
    _of_port("fec_uncorrected", "fec_uncorrected_codewords_total", "Codewords that FEC could not correct."),
    _of_port("pre_fec_ber", "pre_fec_bit_error_ratio", "Bit error ratio before FEC.", "gauge", fold="max"),
    _of_queue("queue_out_octets", "transmit_bytes_total", "Bytes sent from a queue."),
    _of_queue("queue_sent", "transmit_packets_total", "Packets sent from a queue."),
    _of_queue("queue_dropped", "dropped_packets_total", "Packets dropped by a queue."),
    _of_queue("queue_marked", "ecn_marked_packets_total", "Packets of a queue sent with an ECN congestion mark."),
    _of_queue("queue_peak", "peak_bytes", "Largest fill of a queue, in bytes.", "gauge", fold="max"),
    _of_queue("storms", "pfc_watchdog_storms_total", "Storms that the PFC watchdog detected."),
    _of_queue("storms_over", "pfc_watchdog_recovered_total", "Storms whose end the PFC watchdog detected."),
    _of_queue("storming", "pfc_watchdog_storming", "Whether the PFC watchdog currently detects a storm.", "state", fold="max"),
    Metric("pfc_received", "railweave_pfc_receive_frames_total", "counter", "PFC frames received.", "priority"),
    Metric("pfc_sent", "railweave_pfc_transmit_frames_total", "counter", "PFC frames sent.", "priority"),
    Metric("group_dropped", "railweave_ingress_dropped_packets_total", "counter", "Packets of a priority that were dropped at ingress because no buffer was free.", "priority"),
    Metric("group_peak", "railweave_ingress_peak_bytes", "gauge", "Largest ingress buffer use of a priority, in bytes.", "priority", "max"),
    Metric("group_headroom_peak", "railweave_ingress_headroom_peak_bytes", "gauge", "Largest headroom use of a priority, in bytes.", "priority", "max"),
    Metric("pool_used", "railweave_buffer_pool_used_bytes", "gauge", "Used bytes of a packet-buffer pool.", "pool"),
    Metric("pool_peak", "railweave_buffer_pool_peak_bytes", "gauge", "Largest use of a packet-buffer pool, in bytes.", "pool", "max"),
    Metric("bgp_state", "railweave_bgp_session_state", "state", "State of a BGP session, from 1 (idle) to 6 (established).", "neighbor", "min"),
    Metric("bgp_flaps", "railweave_bgp_session_flaps_total", "counter", "How often a BGP session left the established state.", "neighbor"),
    Metric("bgp_received", "railweave_bgp_received_prefixes", "gauge", "Prefixes received on a BGP session.", "neighbor"),
    Metric("bfd_up", "railweave_bfd_session_up", "state", "Whether a BFD session is up.", "neighbor", "min"),
    Metric("rx_power", "railweave_optic_receive_power_dbm", "gauge", "Light power received on a lane, in dBm.", "lane"),
    Metric("tx_power", "railweave_optic_transmit_power_dbm", "gauge", "Light power sent on a lane, in dBm.", "lane"),
    Metric("bias", "railweave_optic_bias_amperes", "gauge", "Current of a lane's laser.", "lane", scale=0.001),
    Metric("optic_temperature", "railweave_optic_temperature_celsius", "gauge", "Temperature of an optic.", fold="max"),
    _of_nic("up", "Whether a server's NIC has a carrier.", "state", fold="min"),
    _of_nic("speed", "Speed of a NIC's link.", "gauge", exported="speed_bytes_per_second", fold="min"),
    _of_nic("planned_speed", "Speed that the design gives a NIC's link.", "gauge", exported="planned_speed_bytes_per_second", fold="min"),
    _of_nic("receive_bytes", "Bytes received by RDMA."),
    _of_nic("transmit_bytes", "Bytes sent by RDMA."),
    _of_nic("lossless_drops", "Packets of the lossless class that a NIC dropped."),
    _of_nic("resends", "Packets that were sent again or arrived out of order."),
    _of_nic("timeouts", "Timeouts of queue pairs that waited for an acknowledgement."),
    _of_nic("receiver_not_ready", "Times that data arrived before the receiver was ready."),
    _of_nic("link_pauses", "Pause frames for the whole link, sent and received."),
    _of_nic("pauses_sent", "PFC frames (or transitions to pause) for the priority of RDMA data that a NIC sent to its switch."),
    _of_nic("pauses_received", "PFC frames for the priority of RDMA data that a NIC received from its switch."),
    _of_nic("pauses_of_other_priorities", "PFC frames for all other priorities, sent and received."),
    _of_nic("pause_storms", "Times that a NIC paused its switch for so long that it counts as a storm."),
    _of_nic("link_errors", "Errors that FEC did not correct, and times that the link went down."),
    _of_nic("send_drops", "Packets that a NIC dropped before they were on the cable."),
    _of_nic("failed_requests", "Work requests that ended with an error."),
    _of_nic("congestion_notifications_ignored", "Congestion notification packets that slowed no sender."),
    _of_nic("ecn_marked_packets", "Packets received with an ECN congestion mark."),
    _of_nic("congestion_notifications_sent", "Congestion notification packets sent."),
    _of_nic("congestion_notifications_handled", "Congestion notification packets that slowed a sender."),
    _of_plugin("sent_bytes", "send_bytes", "Bytes that the NCCL plugin sent, by NIC and path color."),
    _of_plugin("sent_resent", "send_resent", "Pieces that the NCCL plugin sent again on another path."),
    _of_plugin("sent_errors", "send_errors", "Work requests of the NCCL plugin's senders that ended with an error."),
    _of_plugin("received_bytes", "receive_bytes", "Bytes that the NCCL plugin received, by NIC and path color."),
    _of_plugin("received_resent", "receive_resent", "Pieces that came to the NCCL plugin again on another path."),
    _of_plugin("received_errors", "receive_errors", "Work requests of the NCCL plugin's receivers that ended with an error."),
)  # fmt: skip
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}

_BGP = {"idle": 1, "connect": 2, "active": 3, "opensent": 4, "openconfirm": 5, "established": 6}
_UP = {"up": 1, "admin_up": 1, "true": 1, "lower_layer_down": 0, "down": 0, "false": 0, "dormant": 0, "not_present": 0, "unknown": 0, "testing": 0, "admin_down": 0}  # fmt: skip
_WORDS: Mapping[str, Mapping[str, int]] = {"bgp_state": _BGP, "storming": {"stormed": 1, "operational": 0}}


def number_of(metric: str, word: str) -> float | None:
    """Return the value of a metric as a number, from ``word``, the device's text such as ``-3.2dBm`` or ``UP``. Return None for ``N/A``."""
    word = word.strip()
    try:
        number = float(word.removesuffix("dBm").removesuffix("%"))
    except ValueError:
        code = _WORDS.get(metric, _UP).get(word.rpartition(":")[2].lower().replace("-", "_"))
        return None if code is None else float(code)
    return None if number != number or number in {float("inf"), float("-inf")} else number


def bgp_word(number: float) -> str | None:
    """Return the name of a BGP session state by its number, or None for an unknown number."""
    return next((word for word, code in _BGP.items() if code == number), None)


_INTERFACE = "interfaces/interface"
_COUNTERS = f"{_INTERFACE}/state/counters"
_ETHERNET = f"{_INTERFACE}/ethernet/state"
_QUEUE = "qos/interfaces/interface/output/queues/queue/state"
_BGP_PATH = "network-instances/network-instance/protocols/protocol/bgp/neighbors/neighbor"
_CHANNEL = "components/component/transceiver/physical-channels/channel/state"
LEAVES: Mapping[str, tuple[str, str, str]] = {
    f"{_INTERFACE}/state/oper-status": ("port_up", "interface", ""),
    f"{_COUNTERS}/in-octets": ("in_octets", "interface", ""),
    f"{_COUNTERS}/out-octets": ("out_octets", "interface", ""),
    f"{_COUNTERS}/in-errors": ("in_errors", "interface", ""),
    f"{_COUNTERS}/out-errors": ("out_errors", "interface", ""),
    f"{_COUNTERS}/in-discards": ("in_discards", "interface", ""),
    f"{_COUNTERS}/out-discards": ("out_discards", "interface", ""),
    f"{_COUNTERS}/in-fcs-errors": ("in_crc", "interface", ""),
    f"{_COUNTERS}/carrier-transitions": ("flaps", "interface", ""),
    f"{_ETHERNET}/fec-corrected-blocks": ("fec_corrected", "interface", ""),
    f"{_ETHERNET}/fec-uncorrectable-blocks": ("fec_uncorrected", "interface", ""),
    f"{_QUEUE}/transmit-octets": ("queue_out_octets", "interface", "queue"),
    f"{_QUEUE}/transmit-pkts": ("queue_sent", "interface", "queue"),
    f"{_QUEUE}/dropped-pkts": ("queue_dropped", "interface", "queue"),
    f"{_QUEUE}/ecn-marked-pkts": ("queue_marked", "interface", "queue"),
    f"{_QUEUE}/max-queue-len": ("queue_peak", "interface", "queue"),
    f"{_BGP_PATH}/state/session-state": ("bgp_state", "", "neighbor"),
    f"{_BGP_PATH}/state/established-transitions": ("bgp_flaps", "", "neighbor"),
    f"{_CHANNEL}/input-power/instant": ("rx_power", "component", "channel"),
    f"{_CHANNEL}/output-power/instant": ("tx_power", "component", "channel"),
    f"{_CHANNEL}/laser-bias-current/instant": ("bias", "component", "channel"),
}
"""The meaning of each leaf (field) of the OpenConfig models, by path.

The meaning is (metric, element whose key is the port, element whose key is the index). An element is empty if the leaf
has no port or no index.
"""

_NUMBERED = {"queue", "priority", "lane"}
_NUMBER = re.compile(r"(\d+)$")
_MODULE = re.compile(r"[a-z][\w.-]*:")


def schema(elements: Elements) -> tuple[str, dict[str, str]]:
    """Return (path without keys and module names, key values by element name) of a decoded telemetry path.

    For an element with several keys, the value of the first key is given. An element without keys has no value.
    """
    names: list[str] = []
    keys: dict[str, str] = {}
    for name, values in elements:
        plain = _MODULE.sub("", name, count=1)
        names.append(plain)
        if values:
            keys[plain] = values[0][1]
    return "/".join(names), keys


def series(elements: Elements, leaves: Mapping[str, tuple[str, str, str]] = LEAVES) -> Series | None:
    """Return the series for the value at a decoded path (``elements``), or None if railweave does not use this path.

    ``leaves`` gives the meaning of each path, as ``LEAVES`` does.
    """
    path, keys = schema(elements)
    leaf = leaves.get(path)
    if leaf is None:
        return None
    metric, port, index = leaf
    number = keys.get(index, "") if index else ""
    if METRICS[metric].index in _NUMBERED and (digits := _NUMBER.search(number)):  # `3`, `UC3`, `et-0/0/0:3`
        number = digits[1]
    return Series(metric, keys.get(port, "") if port else "", number)
