"""gNMI telemetry of Enterprise SONiC by Dell: the OpenConfig paths to which publicly available programs subscribe."""

from __future__ import annotations

from railweave.model.state.telemetry import Column, Subscription

PORT = 8080
ENCODING = "json_ietf"
QUICK = frozenset[str]()
NOT_STREAMED = {
    "pfc": "no public document shows where PFC frames are counted",
    "watchdog": "no public document shows where it is counted",
    "pools": "no public document shows where they are counted",
    "optics": "their leaves are in no public document",
}
SNMP: tuple[Column, ...] = ()
SUBSCRIPTIONS = (
    Subscription("/interfaces/interface/state/oper-status", "on_change", least_s=1, of="ports that go down"),
    Subscription("/interfaces/interface/state/counters", least_s=1, of="bytes, errors and drops of ports"),
    Subscription("/qos/interfaces/interface/output/queues/queue/state", least_s=1, of="queues"),
    Subscription(
        "/network-instances/network-instance/protocols/protocol/bgp/neighbors/neighbor/state/session-state",
        "on_change",
        least_s=1,
        of="BGP sessions",
    ),
)
