"""Ports and gateways of a switch as they are configured, and the names by which LLDP may announce a port."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Split:
    """A physical port that is split into channels of ``speed_gbps``."""

    port: str
    physical: int
    channels: int
    speed_gbps: int


@dataclass(frozen=True, slots=True)
class Macsec:
    """MACsec with a pre-shared key (IEEE 802.1AE): the name of the connectivity association key, and a reference to it."""

    key_name: str
    key: str
    cipher_suite: Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"] = "gcm-aes-xpn-256"


@dataclass(frozen=True, slots=True)
class TaggedUnit:
    """The link of another VRF that a port to an external router carries by another tag."""

    vlan: int
    vrf: str
    addresses: tuple[InterfaceAddress, ...]


@dataclass(frozen=True, slots=True)
class Interface:
    """A cabled port. ``link`` is its cable's name in the ``Network``, whatever the port is called on this system.

    ``between_sites`` marks a long link of the interconnect, ``macsec`` how it is encrypted, ``pauses`` whether PFC is on it.

    ``lanes`` is how many electrical lanes it has; ``mtu`` counts the Ethernet frame; ``addresses`` are those of numbered links. A port to an external router
    is in ``vrf``, by the tag ``unit_vlan``, and with other tags in others (``more``). One that is not ``enabled`` is shut: nothing runs on it.

    ``vlan`` is the name of a server port's VLAN: the one without a tag, of a trunk that has none the first. ``native_vlan`` is the
    number of the VLAN without a tag where the port is a trunk, ``tagged`` are the numbers of those with one.

    ``copper`` says that the port has a copper cable, over which both ends train their links.
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

    def parts(self) -> tuple[Interface, ...]:
        """The port as one of its own for each of its tags: itself, and as ``more`` says."""
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
        """True if no cable of the design is on the port: a port to an external router, or an edge port."""
        return self.kind == "external" or self.peer_port == EDGE


def with_parts(ports: Iterable[Interface]) -> tuple[Interface, ...]:
    """Ports to routers outside that have several tags as one each, in the order in which they come first."""
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

    It is that of a VLAN (IRB; unit = VLAN id), or a port of its own: then ``vlan`` is None and ``port`` its name. ``name``
    is that of the routed interface, either way. With ``proxy_arp`` it answers for every address that the switch has a
    route to. The gateway of a layer-2 network has the same address and ``mac`` on every leaf (anycast).
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
        """The address families of its addresses, in their order: two with dual stack."""
        address_families: list[Family] = [address.family for address in self.addresses]
        return tuple(dict.fromkeys(address_families))

    @property
    def advertised(self) -> tuple[Prefix, ...]:
        """The prefixes that router advertisements announce to servers: the IPv6 prefixes."""
        return tuple(prefix for prefix in self.prefixes if prefix.family == "ipv6")
