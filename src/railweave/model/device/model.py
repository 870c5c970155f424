"""``DeviceConfig``: the typed, vendor-neutral configuration of one switch, with the settings of each port.

Renderers print the configuration, ``routes`` computes its effect, and ``verify`` checks it. A renderer makes no
decisions. For example, path colors already have the form of the device's operating system (``fabric_color`` or
policies).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from railweave.model.config.addresses import FAMILIES, Address, Family, InterfaceAddress, Prefix
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.bgp_model import (
    Action,
    Bgp,
    BgpGroup,
    Community,
    EntryList,
    FabricAdvertise,
    Match,
    NumberedSession,
    Policy,
    PrefixEntry,
    Session,
    Term,
)
from railweave.model.device.control_plane import ControlPlane
from railweave.model.device.management import Management
from railweave.model.device.port_model import Gateway, Interface, Macsec, Split
from railweave.model.device.qos_model import Marking, PfcProfile, QosConfig
from railweave.model.device.timers import Bfd
from railweave.model.network.overlay import Rare

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_LOOPBACK = Prefix("0.0.0.0/0")
"""The loopback prefix of a device whose loopback interface has no address."""


def loopback_among(addresses: Iterable[Prefix], router_id: Address) -> Prefix:
    """Return the main address of a loopback interface with these addresses, as a prefix.

    This is the router ID if the interface has that address, and otherwise the interface's first address. Return
    ``NO_LOOPBACK`` if the interface has no address.
    """
    present = list(addresses)
    return router_id.prefix if router_id.prefix in present else next(iter(present), NO_LOOPBACK)


@dataclass(frozen=True, slots=True)
class IsisPort:
    """A point-to-point link on which IS-IS runs: its port, the name of its cable (``link``), the neighbor, and the metric."""

    interface: str
    link: str
    peer: str
    metric: int


@dataclass(frozen=True, slots=True)
class Isis:
    """The IS-IS configuration of a device: level 2, wide metrics.

    ``passive`` lists the interfaces whose prefixes are advertised. ``key`` is a reference to the authentication key.
    """

    net: str
    router_id: Address
    ports: tuple[IsisPort, ...]
    passive: tuple[str, ...]
    families: tuple[Family, ...]
    maximum_ecmp: int
    key: str | None
    bfd: Bfd | None


@dataclass(frozen=True, slots=True)
class OspfPort:
    """A link to an OSPF neighbor: its port, the name of its cable (``link``), the neighbor, and the OSPF area and metric."""

    interface: str
    link: str
    peer: str
    area: str
    metric: int


@dataclass(frozen=True, slots=True)
class Ospf:
    """OSPF version 2 in the default VRF (RFC 2328). ``passive`` lists the interfaces whose prefixes are advertised.

    railweave only reads OSPF from configurations: no design uses it, and nothing renders it.
    """

    router_id: Address
    ports: tuple[OspfPort, ...]
    passive: tuple[str, ...]
    maximum_ecmp: int


@dataclass(frozen=True, slots=True)
class ExternalPeer:
    """A BGP session of a VRF with an external router.

    - ``accept``: the prefixes to accept, by exact match.
    - ``advertise``: the prefixes to advertise, together with the more specific routes inside them.
    """

    router: str
    session: NumberedSession
    accept: tuple[Prefix, ...]
    advertise: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True)
class Vrf:
    """An IP-VRF of a tenant on a leaf.

    - ``prefixes``: the prefixes of the VRF's gateways.
    - ``external``: its sessions with routers outside the fabric.
    - ``loopbacks``: the addresses of its loopback interface.
    - ``unit``: the unit number of the loopback interface; None if the VRF has no loopback interface.
    """

    name: str
    vni: int
    route_distinguisher: str
    import_targets: tuple[str, ...]
    export_targets: tuple[str, ...]
    prefixes: tuple[Prefix, ...]
    external: tuple[ExternalPeer, ...] = ()
    loopbacks: Annotated[tuple[Prefix, ...], Rare] = ()
    unit: Annotated[int | None, Rare] = None

    def families(self) -> tuple[Family, ...]:
        """Return the address families that the VRF routes, IPv4 first."""
        outside = (peer.session.local_address for peer in self.external)
        return tuple(sorted({address.family for address in (*self.own_prefixes(), *outside)}))

    def own_prefixes(self) -> tuple[Prefix, ...]:
        """Return the connected prefixes that the VRF announces to other leaves: those of its gateways, and its loopback addresses."""
        return (*self.prefixes, *self.loopbacks)


@dataclass(frozen=True, slots=True)
class BridgedVlan:
    """A VLAN that EVPN extends to other leaves.

    EVPN announces it by MAC and IP routes (type 2) with the VNI and the route target of the VLAN.
    """

    vlan: int
    name: str
    vni: int
    route_target: str


@dataclass(frozen=True, slots=True)
class MacVrf:
    """The bridging instance of a leaf (RFC 7432, section 6.3: VLAN-aware bundle).

    ``ports`` are the member ports of its VLANs.
    """

    name: str
    route_distinguisher: str
    route_target: str
    vlans: tuple[BridgedVlan, ...]
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TunnelEndpoint:
    """A VXLAN tunnel endpoint address (VTEP). ``color`` is the name of its path color."""

    address: Address
    color: str | None


@dataclass(frozen=True, slots=True)
class OverlayConfig:
    """The EVPN overlay on one device, with sessions from ``loopback`` to the loopbacks of ``neighbors``.

    - ``endpoints``: the tunnel endpoints of a leaf.
    - ``reflects``: True on spines, which forward routes with an unchanged next hop.
    - ``from_spine``: the community that spines add to EVPN routes, so that leaves do not send the routes back to spines.
    - ``tunnel_dscp``: True if the switch model needs statements that copy the inner packet's DSCP to the tunnel header.
    - ``links``: ports on which the underlay session also carries EVPN routes. The field is only read from configurations:
      no design sets it, and nothing renders it.
    """

    loopback: Address
    neighbors: tuple[NumberedSession, ...]
    endpoints: tuple[TunnelEndpoint, ...]
    reflects: bool
    from_spine: str
    bfd: Bfd | None
    tunnel_dscp: bool = False
    links: Annotated[tuple[str, ...], Rare] = ()

    def prefixes(self) -> tuple[Prefix, ...]:
        """Return the addresses that the overlay depends on, as prefixes: those of its sessions and of its tunnels."""
        return tuple(
            dict.fromkeys(address.prefix for address in (self.loopback, *(end.address for end in self.endpoints)))
        )


__all__ = [
    "Action",
    "Bgp",
    "BgpGroup",
    "BridgedVlan",
    "Community",
    "DeviceConfig",
    "EntryList",
    "ExternalPeer",
    "FabricAdvertise",
    "Gateway",
    "Interface",
    "Isis",
    "IsisPort",
    "MacVrf",
    "Macsec",
    "Marking",
    "Match",
    "NumberedSession",
    "Ospf",
    "OspfPort",
    "OverlayConfig",
    "PfcProfile",
    "Policy",
    "PrefixEntry",
    "QosConfig",
    "Session",
    "Split",
    "Term",
    "TunnelEndpoint",
    "Vrf",
]


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """The whole configuration of one switch.

    - ``left_out``: features that the design needs but the platform lacks.
    - ``protection``: the rules for traffic to the switch itself; None means no restriction.
    - ``schema``: the version of the file ``config.json``. It increases when the meaning of the file changes.
    """

    schema: Literal[1] = field(default=1, kw_only=True)
    name: str
    role: Literal["leaf", "spine", "super-spine", "dci"]
    model: str
    nos: str
    release: str
    management: Management
    management_address: InterfaceAddress
    management_gateway: Address
    loopback: Prefix
    splits: tuple[Split, ...]
    interfaces: tuple[Interface, ...]
    gateways: tuple[Gateway, ...]
    bgp: Bgp | None
    qos: QosConfig | None
    balancing: BalancingConfig
    extra: str
    overlay: OverlayConfig | None = None
    vrfs: tuple[Vrf, ...] = ()
    mac_vrf: MacVrf | None = None
    left_out: tuple[str, ...] = ()
    isis: Isis | None = None
    protection: ControlPlane | None = None
    ospf: Ospf | None = None

    def loopbacks(self) -> tuple[Prefix, ...]:
        """Return the loopback addresses as prefixes: the main one first, then those that the overlay uses."""
        return tuple(dict.fromkeys((self.loopback, *(self.overlay.prefixes() if self.overlay else ()))))

    def routed(self) -> list[tuple[str, Family]]:
        """Return (VRF, address family) for each routing table that the switch has by design. The table outside VRFs is ``default``."""
        prefixes = [
            *self.loopbacks(),
            *(prefix for gateway in self.gateways if not gateway.vrf for prefix in gateway.prefixes),
        ]
        outside: list[Family] = [prefix.family for prefix in prefixes if prefix]
        outside = [family for family in FAMILIES if family in outside or (self.bgp and family in self.bgp.families)]
        return [
            *(("default", family) for family in outside),
            *((vrf.name, family) for vrf in self.vrfs for family in vrf.families()),
        ]

    def edge_ports(self) -> tuple[Interface, ...]:
        """Return the layer-2 server ports if the management settings ask to protect them, else an empty tuple."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return (
            tuple(interface for interface in self.interfaces if interface.kind == "server" and interface.vlan)
            if wanted
            else ()
        )

    def bpdu_guard(self) -> bool:
        """Return True if a layer-2 server port is shut down when it receives a BPDU from a bridge."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted is not None and wanted.bpdu_guard and bool(self.edge_ports())

    def storm_control(self) -> int | None:
        """Return the storm-control limit as a percentage of a layer-2 server port's speed, or None without a limit."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted.storm_control if wanted and self.edge_ports() else None

    def maximum_ecmp(self) -> int | None:
        """Return the maximum width of a next-hop group, or None if no routing protocol runs.

        The value is that of the underlay's protocol. If IS-IS or OSPF runs and BGP has no groups, BGP serves only the overlay
        and is ignored.
        """
        underlay = self.bgp if self.bgp and self.bgp.groups else None
        running = underlay or self.isis or self.ospf or self.bgp
        return running.maximum_ecmp if running else None

    def carried(self, port: Interface) -> tuple[int, ...]:
        """Return the VLAN numbers that a server port carries: the untagged VLAN first, if there is one, then the tagged VLANs in order."""
        named = next(
            (gateway.vlan for gateway in self.gateways if gateway.vlan is not None and gateway.vlan_name == port.vlan),
            None,
        )
        first = port.native_vlan if named is None else named
        return tuple(dict.fromkeys((*(() if first is None or first in port.tagged else (first,)), *port.tagged)))

    def bare_vlans(self) -> tuple[int, ...]:
        """Return the numbers of VLANs that ports carry with a tag and that have no gateway on this switch, sorted."""
        routed = {gateway.vlan for gateway in self.gateways}
        return tuple(sorted({vlan for port in self.interfaces for vlan in port.tagged} - routed))

    def fabric_interfaces(self) -> list[Interface]:
        """Return the ports towards other switches."""
        return [interface for interface in self.interfaces if interface.kind == "fabric"]
