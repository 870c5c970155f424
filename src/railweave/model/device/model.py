"""``DeviceConfig``: the typed, vendor-neutral configuration of one switch, resolved per port.

Renderers print it, ``routes`` computes what it does, ``verify`` checks it. Nothing in it is a decision left to a
renderer: path colors are already in the form that the device's operating system has (``fabric_color`` or policies).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from railweave.model.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.bgp_model import (
    Action,
    Bgp,
    BgpGroup,
    Community,
    FabricAdvertise,
    Match,
    NumberedSession,
    Policy,
    Session,
    Term,
)
from railweave.model.device.control_plane import ControlPlane
from railweave.model.device.management import Management
from railweave.model.device.port_model import Gateway, Interface, Macsec, Split
from railweave.model.device.qos_model import Marking, PfcProfile, QosConfig
from railweave.model.device.timers import Bfd
from railweave.model.network.overlay import Rare


@dataclass(frozen=True, slots=True)
class IsisPort:
    """A link that IS-IS runs on, point to point."""

    interface: str
    link: str
    peer: str
    metric: int


@dataclass(frozen=True, slots=True)
class Isis:
    """The IS-IS configuration of a device: level 2, wide metrics. ``passive`` are interfaces whose prefixes are advertised.

    ``key`` refers to the secret that authenticates (``secret:NAME``).
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
    """A link that OSPF has a neighbor on, in an area."""

    interface: str
    link: str
    peer: str
    area: str
    metric: int


@dataclass(frozen=True, slots=True)
class Ospf:
    """OSPF version 2 of the default VRF (RFC 2328), as it is read: no design has it, and nothing renders it.

    ``passive`` are interfaces whose prefixes are advertised.
    """

    router_id: Address
    ports: tuple[OspfPort, ...]
    passive: tuple[str, ...]
    maximum_ecmp: int


@dataclass(frozen=True, slots=True)
class ExternalPeer:
    """A BGP session of a VRF with a router outside: ``accept`` is taken exactly, ``advertise`` sent with what is inside."""

    router: str
    session: NumberedSession
    accept: tuple[Prefix, ...]
    advertise: tuple[Prefix, ...]


@dataclass(frozen=True, slots=True)
class Vrf:
    """An IP-VRF of a tenant on a leaf; ``prefixes`` are those of its gateways (``Gateway.vrf`` is its name).

    ``external`` are its sessions with routers outside the fabric. ``loopbacks`` are the addresses of its loopback interface, whose
    number is ``unit``; None: it has none.
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
        """The address families it routes, IPv4 first."""
        outside = (peer.session.local_address for peer in self.external)
        return tuple(sorted({address.family for address in (*self.own_prefixes(), *outside)}))

    def own_prefixes(self) -> tuple[Prefix, ...]:
        """Return the connected prefixes that the VRF announces to other leaves: those of its gateways, and its loopbacks."""
        return (*self.prefixes, *self.loopbacks)


@dataclass(frozen=True, slots=True)
class BridgedVlan:
    """A VLAN that EVPN joins with the same on other leaves: MAC and IP routes with its VNI and route target (type 2)."""

    vlan: int
    name: str
    vni: int
    route_target: str


@dataclass(frozen=True, slots=True)
class MacVrf:
    """The bridging instance of a leaf (RFC 7432, section 6.3: VLAN-aware bundle); ``ports`` are those on its VLANs."""

    name: str
    route_distinguisher: str
    route_target: str
    vlans: tuple[BridgedVlan, ...]
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TunnelEndpoint:
    """An address that VXLAN tunnels end on; ``color`` is the name of its path color."""

    address: Address
    color: str | None


@dataclass(frozen=True, slots=True)
class OverlayConfig:
    """The EVPN overlay as a device sees it: sessions from ``loopback`` to the loopbacks of ``neighbors``.

    Leaves have ``endpoints``; spines pass routes on with the next hop unchanged (``reflects``), and with the
    community ``from_spine``, by which leaves know what not to send back. ``tunnel_dscp``: the model needs statements by which a
    tunnel's header has the DSCP of the packet in it.
    """

    loopback: Address
    neighbors: tuple[NumberedSession, ...]
    endpoints: tuple[TunnelEndpoint, ...]
    reflects: bool
    from_spine: str
    bfd: Bfd | None
    tunnel_dscp: bool = False

    def prefixes(self) -> tuple[Prefix, ...]:
        """The addresses that the overlay stands on as prefixes: of its sessions, and of its tunnels."""
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
    "QosConfig",
    "Session",
    "Split",
    "Term",
    "TunnelEndpoint",
    "Vrf",
]


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """The whole configuration of one switch. ``left_out`` is what is wanted of it and its platform lacks.

    ``protection`` is what may reach the switch itself; None: anything.
    ``schema`` is the version of its file form (``config_file``), raised when its meaning changes.
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
        """Addresses of the loopback as prefixes, that of the router id first."""
        return tuple(dict.fromkeys((self.loopback, *(self.overlay.prefixes() if self.overlay else ()))))

    def edge_ports(self) -> tuple[Interface, ...]:
        """Layer-2 server ports, where they are to be protected."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return (
            tuple(interface for interface in self.interfaces if interface.kind == "server" and interface.vlan)
            if wanted
            else ()
        )

    def bpdu_guard(self) -> bool:
        """True if a layer-2 server port is shut when it detects a bridge."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted is not None and wanted.bpdu_guard and bool(self.edge_ports())

    def storm_control(self) -> int | None:
        """The percentage of a layer-2 server port's speed that floods may take; None without a limit."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted.storm_control if wanted and self.edge_ports() else None

    def maximum_ecmp(self) -> int | None:
        """The widest next-hop group; None without a routing protocol."""
        running = self.bgp or self.isis or self.ospf
        return running.maximum_ecmp if running else None

    def carried(self, port: Interface) -> tuple[int, ...]:
        """The numbers of the VLANs that a server port carries: the one without a tag first, the others as they stand."""
        named = next(
            (gateway.vlan for gateway in self.gateways if gateway.vlan is not None and gateway.vlan_name == port.vlan),
            None,
        )
        first = port.native_vlan if named is None else named
        return tuple(dict.fromkeys((*(() if first is None or first in port.tagged else (first,)), *port.tagged)))

    def bare_vlans(self) -> tuple[int, ...]:
        """VLANs that ports carry with a tag, and that have no gateway here."""
        routed = {gateway.vlan for gateway in self.gateways}
        return tuple(sorted({vlan for port in self.interfaces for vlan in port.tagged} - routed))

    def fabric_interfaces(self) -> list[Interface]:
        """Ports towards other switches."""
        return [interface for interface in self.interfaces if interface.kind == "fabric"]
