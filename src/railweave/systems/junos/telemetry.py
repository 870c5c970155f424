"""gNMI telemetry of Junos OS Evolved: OpenConfig paths, Juniper's additions to them, and Juniper's own state tree.

The paths are from Juniper's published models (23.4 and 24.4: ``jnx-aug-openconfig-interfaces``,
``junos-state-interfaces``).
"""

from __future__ import annotations

from railweave.model.state import telemetry
from railweave.model.state.telemetry import LEAVES, Column, Elements, Series, Subscription, schema

PORT = 32767
ENCODING = "proto"
QUICK = frozenset({"bfd"})
NOT_STREAMED = {
    "watchdog": "the published models have no PFC watchdog: it is asked for",
    "queues.ecn_marked": "the published models count marks by port alone: by queue they are asked for",
    "pools": "no published model has the occupancy of the shared buffer",
}
_WATCHDOG = "1.3.6.1.4.1.2636.3.15.12.1"
SNMP = (
    Column(f"{_WATCHDOG}.3", "storms", "JUNIPER-COS-MIB"),
    Column(f"{_WATCHDOG}.4", "storms_over", "JUNIPER-COS-MIB"),
)
"""The SNMP columns that count how often a queue was stuck (``storms``) and how often the queue recovered (``storms_over``).

Both are columns of `jnxCosWatchdogTxQueueTable`, whose index is the ifIndex and the queue.
"""
SUBSCRIPTIONS = (
    Subscription("/interfaces/interface/state/oper-status", "on_change", of="ports that go down"),
    Subscription("/interfaces/interface/state/counters", least_s=10, of="bytes, errors and drops of ports"),
    Subscription("/interfaces/interface/ethernet/state/counters", least_s=10, of="PFC frames by priority"),
    Subscription(
        "/state/interfaces/interface/counters/errors", least_s=10, of="resource errors and ECN marks of ports"
    ),
    Subscription("/state/interfaces/interface/ethernet/counters", least_s=10, of="FEC"),
    Subscription("/qos/interfaces/interface/output/queues/queue/state", least_s=10, of="queues"),
    Subscription(
        "/network-instances/network-instance/protocols/protocol/bgp/neighbors/neighbor/state/session-state",
        "on_change",
        of="BGP sessions",
    ),
    Subscription("/components/component/transceiver/physical-channels/channel/state", least_s=60, of="optics"),
)

_ERRORS = "state/interfaces/interface/counters/errors"
_FEC = "state/interfaces/interface/ethernet/counters"
_PFC = "interfaces/interface/ethernet/state/counters/jnx-pfc-statistics"
_OWN = {
    f"{_ERRORS}/in-resource-drops": ("in_resource", "interface", ""),
    f"{_ERRORS}/out-ecn-ce-marked-pkts": ("ecn_marked", "interface", ""),
    f"{_FEC}/fec-corrected-words": ("fec_corrected", "interface", ""),
    f"{_FEC}/fec-uncorrectable-words": ("fec_uncorrected", "interface", ""),
    f"{_PFC}/in-mac-pause-frames": ("pfc_received", "interface", "jnx-pfc-statistics"),
    f"{_PFC}/out-mac-pause-frames": ("pfc_sent", "interface", "jnx-pfc-statistics"),
    "interfaces/interface/state/counters/out-queue/peak-buffer-occupancy": ("queue_peak", "interface", "out-queue"),
}


def series(elements: Elements) -> Series | None:
    """Return the time series that railweave makes of the gNMI path ``elements``, or None if it does not read the path."""
    if schema(elements)[0] in _OWN:
        return telemetry.series(elements, _OWN)
    return telemetry.series(elements, LEAVES)
