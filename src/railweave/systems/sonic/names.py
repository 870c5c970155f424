"""SONiC's names of things that have different names in the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Interface

LOOPBACK = "Loopback0"
MANAGEMENT_PORT = "eth0"
MANAGEMENT_VRF = "mgmt"
VRF = "Vrf-"
"""The prefix of the name of a tenant's VRF; the tenant's name follows it (sonic-vrf.yang requires ``Vrf``)."""

_MOST_CHARACTERS = 15
"""The largest number of characters in the name of a Linux interface (IFNAMSIZ of linux/if.h, less the final zero). A VRF is such an interface."""


def vrf_names(config: DeviceConfig) -> dict[str, str]:
    """Return the name of each VRF on the switch, by tenant: ``Vrf-`` and the tenant's name or, if that is too long, ``Vrf-`` and the VNI."""
    vrf_texts = {vrf.name: f"{VRF}{vrf.name}" for vrf in config.vrfs}
    # A configuration that was read may put an interface into a VRF that it does not define.
    used = {user.vrf for user in (*config.gateways, *(part for port in config.interfaces for part in port.parts()))}
    alone = {name: name if name.startswith("Vrf") else f"{VRF}{name}" for name in used - {"", *vrf_texts}}
    return alone | {
        vrf.name: vrf_texts[vrf.name] if len(vrf_texts[vrf.name]) <= _MOST_CHARACTERS else f"{VRF}{vrf.vni}"
        for vrf in config.vrfs
    }


def routed_name(port: Interface) -> str:
    """Return the name of the routed interface to an external router.

    This is the port, or its sub-interface if the link has a VLAN tag. A name that would be too long is shortened
    (sonic-vlan-sub-interface.yang: `Eth504.4000`).
    """
    if port.unit_vlan is None:
        return port.name
    name = f"{port.name}.{port.unit_vlan}"
    return name if len(name) <= _MOST_CHARACTERS else name.replace("Ethernet", "Eth", 1)


def transit_vlan(config: DeviceConfig, vrf: str) -> int:
    """Return the number of the VLAN for a VRF's VNI. SONiC routes between tunnels through this VLAN, which has no ports.

    Numbers are assigned from 4094 downwards, in the order of the VNIs. Numbers of servers' VLANs are skipped.
    """
    taken = {*(gateway.vlan for gateway in config.gateways), *config.bare_vlans()}
    free = (vlan for vlan in range(4094, 1, -1) if vlan not in taken)
    numbers = dict(zip(sorted(config.vrfs, key=lambda each_vrf: each_vrf.vni), free, strict=False))
    return next(number for of_vrf, number in numbers.items() if of_vrf.name == vrf)
