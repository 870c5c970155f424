"""Which protocol families a port between switches has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family
    from railweave.model.device.model import DeviceConfig, Interface


def of_link(config: DeviceConfig, port: Interface) -> list[Family]:
    """The families of a port between switches, the one that its addresses are of first.

    Where IPv4 is routed over a link of IPv6 (RFC 8950) the port needs ``family inet`` too, without an address: it would drop IPv4 packets
    otherwise (Juniper, QFX5240 configuration essentials, BGP auto-discovered neighbor, step 1).
    """
    own: list[Family] = [port.addresses[0].family if port.addresses else "ipv6"]
    if own == ["ipv6"] and config.bgp is not None and "ipv4" in config.bgp.families:
        own.append("ipv4")
    return own
