"""All names by which LLDP may announce a device's port: the alias of its system and its description, a NIC's Linux name and MAC address."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.network.devices import End, Nic
    from railweave.model.network.model import Network


def described(far: End) -> str:
    """Return the description of a port by the far end of its cable, as the configuration of every switch has it."""
    return f"{far.device} {far.port}"


def switch_port_names(network: Network, end: End, far: End) -> tuple[str, ...]:
    """Return all names of a switch's port: the design's, its alias, and its description, whose cable leads to ``far``."""
    system = network.catalog.systems[network.switch(end.device).nos]
    alias = system.alias_of(end.physical, end.channel) if end.physical is not None else ""
    return (end.port, alias, described(far))


def nic_names(nic: Nic) -> tuple[str, ...]:
    """Return all names of a NIC: its Linux interface, the design's, and its MAC address if that is known."""
    return (nic.netdev, nic.name, "" if nic.mac_is_placeholder else nic.mac)
