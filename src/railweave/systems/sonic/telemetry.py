"""gNMI telemetry of SONiC. The virtual paths of sonic-gnmi return rows of COUNTERS_DB, each as a JSON object.

SONiC refuses intervals of less than a second. All values in the rows are texts. The fields are those that `counterpoll`
collects.
"""

from __future__ import annotations

import re

from railweave.model.state.telemetry import Column, Elements, Series, Subscription

PORT = 8080
ENCODING = "json_ietf"
QUICK = frozenset({"ports", "bgp", "bfd"})
NOT_STREAMED = {
    "bgp": "the models of the community's SONiC have no routing: sessions are asked for",
    "bfd": "the same",
    "interfaces.oper_up": "ports' state stands in another database than counters, which takes a second call: it is asked for",
    "optics": "the same",
}
SNMP: tuple[Column, ...] = ()
SUBSCRIPTIONS = (
    Subscription(
        "/COUNTERS/Ethernet*", least_s=1, target="COUNTERS_DB", of="bytes, errors, drops, FEC and PFC frames of ports"
    ),
    Subscription("/COUNTERS/Ethernet*/Queues", least_s=1, target="COUNTERS_DB", of="queues"),
    Subscription("/COUNTERS/Ethernet*/Pfcwd", least_s=1, target="COUNTERS_DB", of="the PFC watchdog"),
)

_PORT = {
    "SAI_PORT_STAT_IF_IN_OCTETS": "in_octets",
    "SAI_PORT_STAT_IF_OUT_OCTETS": "out_octets",
    "SAI_PORT_STAT_IF_IN_ERRORS": "in_errors",
    "SAI_PORT_STAT_IF_OUT_ERRORS": "out_errors",
    "SAI_PORT_STAT_IF_IN_DISCARDS": "in_discards",
    "SAI_PORT_STAT_IF_OUT_DISCARDS": "out_discards",
    "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES": "fec_corrected",
    "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "fec_uncorrected",
}
_QUEUE = {
    "SAI_QUEUE_STAT_BYTES": "queue_out_octets",
    "SAI_QUEUE_STAT_PACKETS": "queue_sent",
    "SAI_QUEUE_STAT_DROPPED_PACKETS": "queue_dropped",
    "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "queue_marked",
    "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "storms",
    "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": "storms_over",
    "PFC_WD_STATUS": "storming",
}
_PFC = re.compile(r"SAI_PORT_STAT_PFC_([0-7])_([RT])X_PKTS")
_NAME = re.compile(r"(Ethernet\d+(?:/\d+)*)(?::(\d{1,2}))?")


def series(elements: Elements) -> Series | None:
    """Return the time series that railweave makes of a field, or None if it does not read the field.

    The path ``elements`` contains the port or queue, then the field.
    """
    if len(elements) < 2:
        return None
    field = elements[-1][0]
    of = next((match for name, _ in reversed(elements[:-1]) if (match := _NAME.fullmatch(name))), None)
    if of is None:
        return None
    port, queue = of[1], of[2]
    if queue is not None:
        return Series(_QUEUE[field], port, queue) if field in _QUEUE else None
    if (pfc := _PFC.fullmatch(field)) is not None:
        return Series("pfc_received" if pfc[2] == "R" else "pfc_sent", port, pfc[1])
    return Series(_PORT[field], port) if field in _PORT else None
