"""gNMI telemetry of EOS: OpenConfig with Arista's additions (the published models ``arista-intf-augments`` and ``arista-pfc-*``).

Only OpenConfig paths are requested, because EOS does not accept paths of Arista's own tree (`eos_native`) in the same call.
"""

from __future__ import annotations

from railweave.model.state import telemetry
from railweave.model.state.telemetry import LEAVES, Column, Elements, Series, Subscription, schema

PORT = 6030
ENCODING = "json"
QUICK = frozenset({"bgp", "bfd"})
NOT_STREAMED = {
    "bgp": "EOS takes no address with a zone as a key: neighbors of unnumbered sessions have no path",
    "pools": "the published models have what is configured, not what is used",
    "queues.peak_bytes": "LANZ has a tree of its own, which is not asked for in one call with OpenConfig",
}
SNMP: tuple[Column, ...] = ()
SUBSCRIPTIONS = (
    Subscription("/interfaces/interface/state/oper-status", "on_change", of="ports that go down"),
    Subscription("/interfaces/interface/state/counters", least_s=5, of="bytes, errors and drops of ports"),
    Subscription("/interfaces/interface/ethernet/pfc", least_s=5, of="PFC frames by priority, and the watchdog"),
    Subscription("/qos/interfaces/interface/output/queues/queue/state", least_s=5, of="queues"),
    Subscription("/components/component/transceiver/physical-channels/channel/state", least_s=60, of="optics"),
)

_PFC = "interfaces/interface/ethernet/pfc"
_PRIORITY = f"{_PFC}/priorities/priority/state"
_DOG = f"{_PFC}/watchdog/tx-queues/tx-queue/state"
_OWN = {
    f"{_PRIORITY}/in-frames": ("pfc_received", "interface", "priority"),
    f"{_PRIORITY}/out-frames": ("pfc_sent", "interface", "priority"),
    f"{_DOG}/stuck-count": ("storms", "interface", "tx-queue"),
    f"{_DOG}/recovery-count": ("storms_over", "interface", "tx-queue"),
}


def series(elements: Elements) -> Series | None:
    """Return the time series that railweave makes of the gNMI path ``elements``, or None if it does not read the path."""
    if schema(elements)[0] in _OWN:
        return telemetry.series(elements, _OWN)
    return telemetry.series(elements, LEAVES)
