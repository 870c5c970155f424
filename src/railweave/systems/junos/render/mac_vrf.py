"""The MAC-VRF of a leaf: VLANs that EVPN stretches over leaves (type-2 routes), as Juniper's validated designs have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.render.interfaces import vlan
from railweave.systems.junos.tree import block, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.junos.tree import Statement

RECOVERY_MINUTES = 9
"""How long a MAC address that moves too often stays blocked (Juniper validated designs, storage-leaf1)."""


def mac_vrf(config: DeviceConfig) -> Statement | None:
    """The instance with its VLANs and ports; gateways are anycast, so that none is advertised."""
    found = config.mac_vrf
    if found is None:
        return None
    gateways = {gateway.vlan: gateway for gateway in config.gateways if gateway.mac}
    return block(
        (found.name,),
        leaf("instance-type", "mac-vrf"),
        block(
            "protocols",
            block(
                "evpn",
                leaf("encapsulation", "vxlan"),
                leaf("default-gateway", "do-not-advertise"),
                block("duplicate-mac-detection", leaf("auto-recovery-time", RECOVERY_MINUTES)),
                leaf("extended-vni-list", "all"),
                block(
                    "vni-options",
                    [block(("vni", one.vni), leaf("vrf-target", one.route_target)) for one in found.vlans],
                ),
            ),
        ),
        leaf("vtep-source-interface", "lo0.0"),
        leaf("service-type", "vlan-aware"),
        [entry("interface", f"{port}.0") for port in found.ports],
        leaf("route-distinguisher", found.route_distinguisher),
        leaf("vrf-target", found.route_target),
        block("vlans", [vlan(gateways[one.vlan], one.vni) for one in found.vlans if one.vlan in gateways]),
    )
