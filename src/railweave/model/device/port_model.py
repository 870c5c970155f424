"""The configured ports and gateways of a switch, and the names by which LLDP may announce a port."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from railweave.model.config.addresses import Family, InterfaceAddress, Prefix
from railweave.model.device.timers import RouterAdvertisements
from railweave.model.network.overlay import EDGE, Rare, RareFlag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.network.devices import End, Nic
    from railweave.model.network.model import Network


def described(far: End) -> str:
    """Return the description of a port on every system, from ``far``, the other end of its cable: ``leaf1 Eth1/1`` (device and port)."""
    return f"{far.device} {far.port}"


_DEVICE = r"[A-Za-z0-9][\w.-]{0,62}"
_FAR_END = re.compile(rf"({_DEVICE}) ([\w./:-]*(?:\d|eth)[\w./:-]*|{EDGE})", re.ASCII)
_ROUTER = re.compile(rf"({_DEVICE}), tenants? \S.*", re.ASCII)


def far_end(description: str) -> tuple[str, str]:
    """Return (device, port) from a description that ``described`` wrote. Both are empty for other descriptions."""
    match = _FAR_END.fullmatch(description)
    return (match[1], match[2]) if match else ("", "")


def router_of(description: str) -> str:
    """Return the name of the router in the description of a port to an external router. Return "" for other descriptions."""
    match = _ROUTER.fullmatch(description)
    return match[1] if match else ""


def neighbor_of(description: str) -> str:
    """Return the neighbor that the description of a session names, or "" if it names none.

    Such a description is a device name, or a device name and a port (``described``).
    """
    return description if re.fullmatch(_DEVICE, description, re.ASCII) else far_end(description)[0]


def switch_port_names(network: Network, end: End, far: End) -> tuple[str, ...]:
    """Return (name in the design, alias on the system, description) of a switch port. LLDP may announce any of them.

    ``end`` is the port, and ``far`` the other end of its cable.
    """
    system = network.catalog.systems[network.switch(end.device).nos]
    alias = system.alias_of(end.physical, end.channel) if end.physical is not None else ""
    return (end.port, alias, described(far))


def nic_names(nic: Nic) -> tuple[str, ...]:
    """Return (Linux interface, name in the design, MAC address) of a NIC. LLDP may announce any of them.

    The MAC address is empty if it is not known.
    """
    return (nic.netdev, nic.name, "" if nic.mac_is_placeholder else nic.mac)


@dataclass(frozen=True, slots=True)
class Split:
    """A physical port that is split into channels of ``speed_gbps``.

    ``port`` is the port's name on the system, ``physical`` its number, and ``channels`` the number of channels.
    """

    port: str
    physical: int
    channels: int
    speed_gbps: int


@dataclass(frozen=True, slots=True)
class Macsec:
    """MACsec with a pre-shared key (IEEE 802.1AE).

    ``key_name`` is the name of the connectivity association key, and ``key`` a reference to the key.
    """

    key_name: str
    key: str
    cipher_suite: Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"] = "gcm-aes-xpn-256"


@dataclass(frozen=True, slots=True)
class TaggedUnit:
    """A second or further VLAN tag on a port to an external router, with its VRF and its addresses."""

    vlan: int
    vrf: str
    addresses: tuple[InterfaceAddress, ...]


Fec = Literal["", "none", "fc"]
"""The forward error correction of a port: Reed-Solomon (""), none, or Firecode (IEEE 802.3, clause 74)."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A port of a switch.

    - ``link``: the name of its cable in the ``Network``, the same on every system.
    - ``between_sites``: True for a long link of the interconnect.
    - ``macsec``: the encryption of the link.
    - ``pauses``: True if PFC is on.
    - ``lanes``: the number of electrical lanes.
    - ``mtu``: the MTU of the Ethernet frame.
    - ``addresses``: the addresses of a numbered link.
    - ``vrf``, ``unit_vlan`` and ``more``: for a port to an external router, its VRF, its tag, and further tags with
      their VRFs.
    - ``enabled``: False if the port is shut down.
    - ``vlan``: the name of a server port's untagged VLAN, or of the first VLAN of a trunk without an untagged VLAN.
    - ``native_vlan`` and ``tagged``: for a trunk, the numbers of the untagged VLAN and of the tagged VLANs.
    - ``copper``: True for a copper cable. Its two ends perform link training.
    - ``fec``: the forward error correction (``Fec``). It is "", that is, Reed-Solomon, on every port of a design. Only a
      configuration that was read may have another value.
    """

    name: str
    link: str
    kind: Literal["server", "fabric", "external"]
    description: str
    peer: str
    peer_port: str
    speed_gbps: int
    lanes: int
    mtu: int
    length_m: float
    vlan: str | None = None
    native_vlan: int | None = None
    addresses: tuple[InterfaceAddress, ...] = ()
    between_sites: bool = False
    macsec: Macsec | None = None
    pauses: bool = True
    vrf: str = ""
    unit_vlan: int | None = None
    enabled: bool = True
    tagged: tuple[int, ...] = ()
    more: Annotated[tuple[TaggedUnit, ...], Rare] = ()
    copper: Annotated[bool, RareFlag] = False
    fec: Annotated[Fec, Rare] = ""

    def parts(self) -> tuple[Interface, ...]:
        """Return the port as one port per VLAN tag: the port itself, then the ports of the tags in ``more``."""
        others = (
            replace(
                self,
                unit_vlan=unit.vlan,
                vrf=unit.vrf,
                addresses=unit.addresses,
                description=f"{self.peer}, tenant {unit.vrf}",
                more=(),
            )
            for unit in self.more
        )
        return (replace(self, more=()) if self.more else self, *others)

    @property
    def outside(self) -> bool:
        """True if no cable of the design is on the port, that is, for a port to an external router and for an edge port."""
        return self.kind == "external" or self.peer_port == EDGE


def with_parts(ports: Iterable[Interface]) -> tuple[Interface, ...]:
    """Return the ports, with ports of the same name merged into one.

    Each of ``ports`` has at most one VLAN tag. In a merged port, ``more`` holds the second and further tags. Ports keep the
    order in which their names first appear.
    """
    by_name: dict[str, Interface] = {}
    for port in ports:
        first = by_name.get(port.name)
        if first is None or port.unit_vlan is None:
            by_name[port.name] = port
        else:
            unit = TaggedUnit(port.unit_vlan, port.vrf, port.addresses)
            by_name[port.name] = replace(first, more=(*first.more, unit))
    return tuple(by_name.values())


@dataclass(frozen=True, slots=True)
class Gateway:
    """A server-facing routed interface and its router advertisements.

    - ``name``: the name of the routed interface.
    - ``vlan``: the VLAN of an IRB interface, whose unit is the VLAN ID; None if the gateway is a port.
    - ``port``: the name of the port if the gateway is a port; empty for an IRB interface.
    - ``proxy_arp``: True if the gateway answers for every address to which the switch has a route.
    - ``mac``: the MAC address. The gateway of a layer-2 network has the same address and ``mac`` on every leaf (anycast).
    """

    name: str
    vlan: int | None
    vlan_name: str
    description: str
    mtu: int
    addresses: tuple[InterfaceAddress, ...]
    prefixes: tuple[Prefix, ...]
    advertisements: RouterAdvertisements | None
    port: str = ""
    vrf: str = ""
    proxy_arp: bool = False
    mac: str = ""

    @property
    def families(self) -> tuple[Family, ...]:
        """Return the address families of its addresses, in order. Dual stack has two."""
        address_families: list[Family] = [address.family for address in self.addresses]
        return tuple(dict.fromkeys(address_families))

    @property
    def advertised(self) -> tuple[Prefix, ...]:
        """Return the prefixes that router advertisements announce to servers: the IPv6 prefixes."""
        return tuple(prefix for prefix in self.prefixes if prefix.family == "ipv6")
