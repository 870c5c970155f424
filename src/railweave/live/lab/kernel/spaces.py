"""Where a switch's interfaces live: in its network namespace, or in that of a tenant's VRF, nested in FRR's view.

FRR takes a network namespace as a VRF (``--vrfwnetns``) as well as a VRF device, and namespaces are what every kernel
that runs a lab has: VRF devices are often missing (``CONFIG_NET_VRF``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Gateway


def vrf_space(device: str, vrf: str) -> str:
    """The space of a device's VRF; the device's own where ``vrf`` is empty."""
    return f"{device}@{vrf}" if vrf else device


def spaces_of(config: DeviceConfig) -> list[str]:
    """The spaces of a switch: its own, and one for each VRF."""
    return [config.name, *(vrf_space(config.name, vrf.name) for vrf in config.vrfs)]


def gateway_interface(gateway: Gateway) -> str:
    """The interface of a server-facing gateway."""
    return gateway.name


def vrf_by_interface(config: DeviceConfig) -> dict[str, str]:
    """The VRF of each interface of a switch that is in one: gateways, and the ports of their VLANs."""
    found = {gateway_interface(one): one.vrf for one in config.gateways if one.vrf}
    by_vlan = {one.vlan_name: one.vrf for one in config.gateways if one.vlan is not None and one.vrf}
    found.update({port.name: by_vlan[port.vlan] for port in config.interfaces if port.vlan in by_vlan})
    return found
