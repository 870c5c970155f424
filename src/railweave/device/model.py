"""``DeviceConfig``: the typed, vendor-neutral configuration of one switch, resolved per port.

Renderers print it, ``routes`` computes what it does, ``verify`` checks it. Nothing in it is a decision left to a
renderer: path colors are already in the form that the device's operating system has (``fabric_color`` or policies).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from railweave.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.device.access import Authentication
from railweave.device.balancing import BalancingConfig
from railweave.device.classes import Buffers, TrafficClass, Watchdog
from railweave.device.control_plane import ControlPlane
from railweave.device.management import Management
from railweave.device.timers import Bfd, RouterAdvertisements


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
class Interface:
    """A cabled port. ``link`` is its cable's name in the ``Network``, whatever the port is called on this system.

    ``between_sites`` marks a long link of the interconnect, ``macsec`` how it is encrypted, ``pauses`` whether PFC is on it.

    ``lanes`` is how many electrical lanes it has; ``mtu`` counts the Ethernet frame; ``addresses`` are those of numbered links. A port to an external router
    is in ``vrf``, by the tag ``unit_vlan``. One that is not ``enabled`` is shut: nothing runs on it.

    ``vlan`` is the name of a server port's VLAN: the one without a tag, of a trunk that has none the first. ``native_vlan`` is the
    number of the VLAN without a tag where the port is a trunk, ``tagged`` are the numbers of those with one.
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


@dataclass(frozen=True, slots=True)
class Session:
    """One BGP session: the interface and cable it runs on, and its addresses where peering is numbered."""

    interface: str
    link: str
    peer: str
    peer_as: int
    local_address: Address | None
    peer_address: Address | None


@dataclass(frozen=True, slots=True)
class NumberedSession(Session):
    """A session that has addresses."""

    local_address: Address
    peer_address: Address


@dataclass(frozen=True, slots=True)
class BgpGroup:
    """Sessions that share policy. ``fabric_color`` names a color community (deterministic path forwarding).

    ``aigp`` says whether the AIGP attribute is sent and received (RFC 7311); ``peer_as_list`` names the list that an
    auto-discovered neighbor's AS must be in.
    """

    name: str
    description: str
    local_as: int
    sessions: tuple[Session, ...]
    import_policy: str
    export_policy: str
    peer_as_list: str | None
    fabric_color: str | None = None
    aigp: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """Conditions of a policy term; all that are set must hold. ``community`` is the name of one the route must carry."""

    protocol: Literal["direct", "bgp"] | None = None
    prefix_list: str | None = None
    orlonger: bool = False
    community: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """What a term does with a route that matches."""

    accept: bool
    local_preference: int | None = None
    aigp: int | None = None
    add_communities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a policy."""

    name: str
    match: Match
    action: Action


@dataclass(frozen=True, slots=True)
class Policy:
    """Terms in order; the first that matches decides. A route that none matches gets the system's default."""

    name: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Community:
    """A named community. ``value`` is ``color:0:N``, ``A:B:C`` (large, RFC 8092) or ``A:B`` (standard, RFC 1997)."""

    name: str
    kind: Literal["color", "large", "standard"]
    value: str


@dataclass(frozen=True, slots=True)
class FabricAdvertise:
    """A prefix advertised by color: the primary copy to neighbors of ``color`` with AIGP 0, others as backup."""

    prefix: Prefix
    color: str
    backup_colors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bgp:
    """The BGP configuration of a device.

    ``ttl_security`` is of sessions on links (RFC 5082); ``graceful_restart`` and ``authentication`` are the overlay's too.
    """

    asn: int
    router_id: Address
    groups: tuple[BgpGroup, ...]
    policies: tuple[Policy, ...]
    prefix_lists: dict[str, tuple[Prefix, ...]]
    communities: tuple[Community, ...]
    as_lists: dict[str, tuple[tuple[int, int], ...]]
    fabric_advertise: tuple[FabricAdvertise, ...]
    redistribute_connected: str | None
    default_accept: bool
    compare_aigp: bool
    families: tuple[Family, ...]
    maximum_ecmp: int
    bfd: Bfd | None
    graceful_restart: bool = False
    ttl_security: bool = False
    authentication: Authentication | None = None

    def found_neighbors(self) -> bool:
        """Whether a session has no address, because its neighbor is found on the link."""
        return any(one.peer_address is None for group in self.groups for one in group.sessions)


@dataclass(frozen=True, slots=True)
class ExternalPeer:
    """A BGP session of a VRF with a router outside: ``accept`` is taken exactly, ``advertise`` sent with what is inside."""

    router: str
    session: NumberedSession
    accept: tuple[Prefix, ...]
    advertise: tuple[Prefix, ...]


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
class Vrf:
    """An IP-VRF of a tenant on a leaf; ``prefixes`` are those of its gateways (``Gateway.vrf`` is its name).

    ``external`` are its sessions with routers outside the fabric.
    """

    name: str
    vni: int
    route_distinguisher: str
    import_targets: tuple[str, ...]
    export_targets: tuple[str, ...]
    prefixes: tuple[Prefix, ...]
    external: tuple[ExternalPeer, ...] = ()

    def families(self) -> tuple[Family, ...]:
        """The address families it routes, IPv4 first."""
        outside = (one.session.local_address for one in self.external)
        return tuple(sorted({one.family for one in (*self.prefixes, *outside)}))


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
        return tuple(dict.fromkeys(one.prefix for one in (self.loopback, *(end.address for end in self.endpoints))))


@dataclass(frozen=True, slots=True)
class PfcProfile:
    """PFC as ports of one cable length and MRU need it. ``headroom_bytes`` is what the neediest of them needs."""

    name: str
    cable_length_m: int
    mru_bytes: int
    headroom_bytes: int
    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Marking:
    """ECN marking of a queue by its length in bytes: from ``first`` on, with ``probability`` percent at ``last``."""

    first: int
    last: int
    probability: int


@dataclass(frozen=True, slots=True)
class QosConfig:
    """QoS of a device. ``ports`` are the ports it is bound to: no wildcard, so no headroom goes to unused ports.

    ``default_class`` takes every DSCP that no class names. ``marking`` is by class, on systems whose thresholds are
    bytes; on others a class's own fill levels count.
    ``moved`` are classes that the file gives a queue of its own, with that and the one that the system has for them.
    Without ``shared_buffer`` the platform has no partitions to set; ``buffers`` is then what the fabric file wants of others.
    """

    classes: dict[str, TrafficClass]
    default_class: str
    marking: dict[str, Marking]
    buffers: Buffers
    profiles: tuple[PfcProfile, ...]
    xon_offset_cells: int | None
    watchdog: Watchdog | None
    buffer_monitor: bool
    ports: tuple[str, ...]
    shared_buffer: bool = True
    moved: tuple[tuple[str, int, int], ...] = ()


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

    def loopbacks(self) -> tuple[Prefix, ...]:
        """Addresses of the loopback as prefixes, that of the router id first."""
        return tuple(dict.fromkeys((self.loopback, *(self.overlay.prefixes() if self.overlay else ()))))

    def edge_ports(self) -> tuple[Interface, ...]:
        """Layer-2 server ports, where they are to be protected."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return tuple(one for one in self.interfaces if one.kind == "server" and one.vlan) if wanted else ()

    def bpdu_guard(self) -> bool:
        """Whether a layer-2 server port that hears a bridge is shut."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted is not None and wanted.bpdu_guard and bool(self.edge_ports())

    def storm_control(self) -> int | None:
        """The percentage of a layer-2 server port's speed that floods may take; None without a limit."""
        wanted = self.management.security.edge_ports if self.management.security else None
        return wanted.storm_control if wanted and self.edge_ports() else None

    def maximum_ecmp(self) -> int | None:
        """The widest next-hop group; None without a routing protocol."""
        running = self.bgp or self.isis
        return running.maximum_ecmp if running else None

    def carried(self, port: Interface) -> tuple[int, ...]:
        """The numbers of the VLANs that a server port carries: the one without a tag first, the others as they stand."""
        named = next((one.vlan for one in self.gateways if one.vlan is not None and one.vlan_name == port.vlan), None)
        first = port.native_vlan if named is None else named
        return tuple(dict.fromkeys((*(() if first is None or first in port.tagged else (first,)), *port.tagged)))

    def bare_vlans(self) -> tuple[int, ...]:
        """VLANs that ports carry with a tag, and that have no gateway here."""
        routed = {one.vlan for one in self.gateways}
        return tuple(sorted({one for port in self.interfaces for one in port.tagged} - routed))

    def fabric_interfaces(self) -> list[Interface]:
        """Ports towards other switches."""
        return [one for one in self.interfaces if one.kind == "fabric"]
