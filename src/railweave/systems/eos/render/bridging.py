"""VLANs that EVPN stretches over leaves (type-2 routes): an instance for each, and gateways that all leaves share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import BridgedVlan, DeviceConfig

FIRST_BRIDGED = 60000
"""Second half of the route distinguishers of bridged VLANs, less the VLAN: tenants' own count from 1. As in FRR."""


def virtual_mac(config: DeviceConfig) -> str:
    """The MAC address of shared gateways: EOS has one for all of them, and a fabric has one too. Empty: there are none."""
    return next((one.mac for one in config.gateways if one.mac), "")


def bridged(config: DeviceConfig) -> tuple[BridgedVlan, ...]:
    """The VLANs that are stretched."""
    return config.mac_vrf.vlans if config.mac_vrf else ()


def distinguisher(config: DeviceConfig, vlan: int) -> str:
    """The route distinguisher of a bridged VLAN."""
    own = config.mac_vrf.route_distinguisher if config.mac_vrf else ""
    return f"{own.rpartition(':')[0]}:{FIRST_BRIDGED + vlan}"


def shared_gateways(config: DeviceConfig) -> list[Section]:
    """The MAC address that gateways of stretched VLANs answer with."""
    mac = virtual_mac(config)
    return [line(f"ip virtual-router mac-address {mac}")] if mac else []


def vxlan_lines(config: DeviceConfig) -> list[str]:
    """Lines of ``interface Vxlan1``."""
    return [f"vxlan vlan {one.vlan} vni {one.vni}" for one in bridged(config)]


def vlan_instances(config: DeviceConfig) -> Iterator[Section]:
    """Sections of ``router bgp``: what the switch learns on a VLAN goes out with the VLAN's route target."""
    for one in bridged(config):
        target = one.route_target.removeprefix("target:")
        yield section(
            f"vlan {one.vlan}",
            f"rd {distinguisher(config, one.vlan)}",
            f"route-target both {target}",
            "redistribute learned",
        )
