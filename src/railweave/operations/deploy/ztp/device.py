"""A device at its first boot: how it says its serial number, which address it gets, what it is told."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, ip_interface
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.systems.first_boot import Options, Says


@dataclass(frozen=True)
class Device:
    """``address`` is its management address with the length of its prefix, ``gateway`` that network's. ``files`` are what it fetches, by name."""

    name: str
    serial: str
    system: str
    address: str
    gateway: str
    says: tuple[Says, ...]
    headers: tuple[str, ...]
    options: Options
    files: Mapping[str, str]

    @property
    def tag(self) -> str:
        """What DHCP servers call it: letters, digits and dashes alone."""
        return "".join(one if one.isalnum() else "-" for one in self.name)

    @property
    def ip(self) -> str:
        """Its address without the length."""
        return str(ip_interface(self.address).ip)

    @property
    def network(self) -> IPv4Network:
        """The network of its address: DHCP tells an IPv4 one (RFC 2131)."""
        found = ip_interface(self.address).network
        assert isinstance(found, IPv4Network)  # noqa: S101 - `making` takes no other
        return found
