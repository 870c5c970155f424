"""BGP statements of FRR: VNIs of VRFs, instances, peer groups and neighbors, address families, and EVPN.

Enterprise SONiC is based on FRR. Its statement tables use the same classes, with separate rows for commands that differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Address
from railweave.model.config.codecs import NUMBER, choice, defines, in_range, number, refers, whole
from railweave.model.config.statements import Codec, Statements, each, fixed, ignored, line, part
from railweave.systems.frr.statements import PREFIX, SECRET, TEXT, WORD, effects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.statements import Row

AddressFamily = Literal["ipv4", "ipv6", "evpn"]
EXTERNAL, INTERNAL = 0, -1
"""Two values that may stand for the AS number of a neighbor.

``EXTERNAL`` means any number except the AS number of the BGP instance. ``INTERNAL`` means that number.
"""


@dataclass(frozen=True, slots=True)
class PeerFamily:
    """The statements about a neighbor or a peer group in an address family.

    - ``active``: True if a statement activates the family, False if a statement deactivates it, None if there is no statement.
    - ``imports``, ``exports``: the route-maps for received and for sent routes.
    - ``reflected``: True if the neighbor is a client of the route reflector.
    - ``stored``: True if received routes are also kept as they were before the import policy.
    """

    active: bool | None = None
    imports: str | None = None
    exports: str | None = None
    next_hop_unchanged: bool = False
    reflected: bool = False
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Peer:
    """A neighbor or, if ``is_group`` is True, a peer group. A field that is None or empty has no statement.

    - ``name``: the address or the interface of the neighbor, or the name of the group.
    - ``on_interface``: True if the neighbor is discovered by router advertisements on the interface ``name``.
    - ``asn``: the neighbor's AS number, ``EXTERNAL`` or ``INTERNAL``.
    - ``group``: the name of the neighbor's peer group.
    - ``hops``: the largest number of hops to a neighbor that is not directly connected.
    - ``retry``: the time in seconds between two attempts to connect.
    - ``update_source``: the address or the interface from which the session is opened.
    - ``bfd``: True if a statement enables BFD without a profile.
    - ``profile``: the name of the BFD profile.
    - ``bfd_kept``: True if BFD does not end the session of a neighbor whose control plane restarts.
    - ``shut``: True if the session is shut down.
    """

    name: str
    is_group: bool = False
    on_interface: bool = False
    asn: int | None = None
    local_as: int | None = None
    group: str | None = None
    description: str = ""
    hops: int | None = None
    retry: int | None = None
    update_source: str = ""
    bfd: bool = False
    profile: str | None = None
    bfd_kept: bool = False
    ttl_security: bool = False
    password: str | None = None
    extended_next_hop: bool = False
    shut: bool = False


@dataclass(frozen=True, slots=True)
class UnicastFamily:
    """A unicast address family of an instance.

    - ``peers``: the statements about neighbors in the family. On Enterprise SONiC, they are in the sections of neighbors.
    - ``redistributes``: the route-map for connected routes. An empty text means that all connected routes are redistributed, None that none
      are.
    - ``maximum_paths``, ``inner_paths``: the largest number of paths of a route over external and over internal sessions.
    - ``networks``: the prefixes of ``network`` statements.
    """

    redistributes: str | None = None
    maximum_paths: int | None = None
    networks: tuple[Prefix, ...] = ()
    inner_paths: int | None = None
    peers: Mapping[str, PeerFamily] = field(default_factory=dict[str, PeerFamily])


@dataclass(frozen=True, slots=True)
class Evpn:
    """The section ``address-family l2vpn evpn``, or a VNI in this section.

    - ``advertises``: the address families whose routes the VRF announces by EVPN.
    - ``distinguisher``: the route distinguisher.
    - ``imports``, ``exports``: the route targets.
    """

    all_vnis: bool = False
    advertises: tuple[Family, ...] = ()
    distinguisher: str = ""
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    vnis: dict[int, Evpn] = field(default_factory=dict[int, "Evpn"])
    peers: Mapping[str, PeerFamily] = field(default_factory=dict[str, PeerFamily])


@dataclass(frozen=True)
class Router:
    """The BGP instance of a VRF. ``vrf`` is empty for the default VRF.

    - ``requires_policy``: True if external sessions without a route-map pass no routes; None if no statement sets this.
    - ``relaxed``: True if equal-cost paths may go through different AS numbers.
    - ``fast``: True if sessions end as soon as the neighbor cannot be reached.
    - ``shut``: True if all sessions of the instance are shut down.
    """

    asn: int
    vrf: str = ""
    router_id: Address | None = None
    unicast_by_default: bool = True
    requires_policy: bool | None = None
    relaxed: bool = False
    compare_aigp: bool = False
    fast: bool = False
    graceful_restart: bool = False
    shut: bool = False
    neighbors: Mapping[str, Peer] = field(default_factory=dict[str, Peer])
    unicast: Mapping[Family, UnicastFamily] = field(default_factory=dict["Family", UnicastFamily])
    evpn: Evpn | None = None

    @cached_property
    def peers(self) -> tuple[Peer, ...]:
        """The neighbors, in the order of the text. A neighbor's missing settings are taken from its group."""
        return tuple(self._whole(peer) for peer in self.neighbors.values() if not peer.is_group)

    def _whole(self, peer: Peer) -> Peer:
        """Return the neighbor ``peer`` with the settings of its group. If the group does not exist, ``group`` is None in the result."""
        group = self.neighbors.get(peer.group or "")
        if group is None or not group.is_group:
            return replace(peer, group=None)
        given = {each.name: value for each in fields(peer) if (value := getattr(peer, each.name)) != each.default}
        return replace(group, **{"is_group": False, "description": "", **given})

    def within(self, peer: Peer, name: AddressFamily) -> list[PeerFamily]:
        """Return the settings of the neighbor ``peer`` in the address family ``name``: first the neighbor's own, then those of the neighbor's group.

        Either may be missing.
        """
        family = self.evpn if name == "evpn" else self.unicast.get(name)
        return [family.peers[level] for level in (peer.name, peer.group) if family and level and level in family.peers]

    def is_active(self, peer: Peer, name: AddressFamily) -> bool:
        """Return True if the session with the neighbor ``peer`` carries routes of the address family ``name``."""
        stated = [level.active for level in self.within(peer, name) if level.active is not None]
        return stated[0] if stated else name == "ipv4" and self.unicast_by_default


@dataclass(frozen=True, slots=True)
class Vrf:
    """A VRF. ``vni`` is the VNI of its EVPN routes, or None if the VRF has no VNI."""

    vni: int | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """The VRFs by name, and the BGP instance of each VRF."""

    vrfs: dict[str, Vrf] = field(default_factory=dict[str, Vrf])
    routers: dict[str, Router] = field(default_factory=dict[str, Router])


def _as_number(text: str) -> int:
    """Return the AS number of up to 32 bits in a text such as ``65000`` or ``1.10`` (RFC 5396)."""
    high, dot, low = text.rpartition(".")
    parts = [whole(part) for part in ((high, low) if dot else (low,))]
    if max(parts) >= 1 << (16 if dot else 32):
        raise ValueError(text)
    return parts[0] << 16 | parts[1] if dot else parts[0]


_OTHERS = {"external": EXTERNAL, "internal": INTERNAL}


def _peer_as(text: str) -> int:
    return _OTHERS[text] if text in _OTHERS else _as_number(text)


def _written(asn: int) -> str:
    return next((word for word, value in _OTHERS.items() if value == asn), str(asn))


ASN = Codec(r"\d+", _as_number, shown_as="number")
PEER_AS = Codec(r"\d+|external|internal", _peer_as, _written, shown_as="number")
ADDRESS = Codec(r"[0-9a-f.:]+", Address.read, shown_as="address")
TARGETS = Codec(r"\d+:\d+", lambda text: tuple(text.split()), word=r".+", spreads=True, shown_as="targets")
UNICAST = choice({"ipv4": "ipv4", "ipv6": "ipv6"})
BGP, EVPN = "FRR manual, BGP", "FRR manual, BGP, Ethernet Virtual Network - EVPN"
BFD = "FRR manual, BFD, BGP BFD Configuration"

PEER = (
    line("peer-group", BGP, sets={"is_group": True}, disrupts=effects.GROUPED),
    line(
        "interface remote-as <asn>",
        BGP,
        also=("interface v6only remote-as <asn>",),
        sets={"on_interface": True},
        disrupts=effects.RESETS,
        asn=PEER_AS,
    ),
    line("remote-as <asn>", BGP, when=lambda peer: not peer.on_interface, disrupts=effects.RESETS, asn=PEER_AS),
    # The words after the number concern AS paths; the session opens with this number in any case.
    line(
        "local-as <local_as>",
        "",
        also=("local-as <local_as> <_how>",),
        disrupts=effects.RENUMBERED,
        local_as=ASN,
        _how=TEXT,
    ),
    line("peer-group <group>", BGP, disrupts=effects.GROUPED, group=refers("peer-group")),
    line(
        "interface peer-group <group>",
        "",
        also=("interface v6only peer-group <group>",),
        sets={"on_interface": True},
        disrupts=effects.GROUPED,
        group=refers("peer-group"),
    ),
    line("interface", "", also=("interface v6only",), sets={"on_interface": True}, disrupts=effects.CAPABLE),
    line("description <description>", BGP, usual="", disrupts=effects.KEPT, description=TEXT),
    line(
        "ebgp-multihop <hops>",
        BGP,
        disrupts=effects.CONNECTED,
        hops=replace(number(1, 255), word=in_range(1, 255)),
    ),
    line("ebgp-multihop", "", sets={"hops": 255}, disrupts=effects.CONNECTED),
    line("timers connect <retry>", BGP, disrupts=effects.KEPT, retry=replace(number(0, 65535), word=r"\d{1,5}")),
    line("update-source <update_source>", BGP, usual="", disrupts=effects.CONNECTED, update_source=WORD),
    line("bfd profile <profile>", BFD, disrupts=effects.WATCHED, profile=refers("bfd profile")),
    line("bfd", BFD, sets={"bfd": True}, disrupts=effects.WATCHED),
    line("bfd check-control-plane-failure", BFD, sets={"bfd_kept": True}, disrupts=effects.WATCHED),
    line("ttl-security hops 1", BGP, sets={"ttl_security": True}, disrupts=effects.SECURED),
    line("password <password>", BGP, disrupts=effects.KEYED, password=SECRET),
    line("capability extended-nexthop", BGP, sets={"extended_next_hop": True}, disrupts=effects.CAPABLE),
    line("shutdown", "", also=("shutdown message <_text>",), sets={"shut": True}, disrupts=effects.STOPPED, _text=TEXT),
)


def _peers() -> Sequence[Row]:
    """Return the statement-table rows for the lines of neighbors and peer groups in an address family."""
    stated = (
        line("activate", BGP, sets={"active": True}, disrupts=effects.ACTIVATED),
        line("soft-reconfiguration inbound", BGP, sets={"stored": True}, disrupts=effects.KEPT),
        line("route-map <imports> in", BGP, disrupts=effects.KEPT, imports=refers("route-map")),
        line("route-map <exports> out", BGP, disrupts=effects.KEPT, exports=refers("route-map")),
        line("attribute-unchanged next-hop", BGP, sets={"next_hop_unchanged": True}, disrupts=effects.KEPT),
        line("route-reflector-client", BGP, sets={"reflected": True}, disrupts=effects.CAPABLE),
    )
    return (
        each("neighbor <name>", "peers", BGP, PeerFamily, stated, by="name", flat=True, name=WORD),
        each(
            "no neighbor <name> activate",
            "peers",
            BGP,
            PeerFamily,
            by="name",
            sets={"active": False},
            prints=False,
            name=WORD,
        ),
    )


def redistribution(source: str) -> Iterator[Row]:
    """Yield the statement-table rows for the redistribution of connected routes.

    ``source`` is the document about these lines.
    """
    maps = refers("route-map")
    yield line("redistribute connected route-map <redistributes>", source, usual="", redistributes=maps)
    yield line("redistribute connected", source, sets={"redistributes": ""})


def targets(source: str, distinguisher: Codec, target: Codec) -> Iterator[Row]:
    """Yield the statement-table rows for a route distinguisher and route targets.

    ``source`` is the document about these lines. The codecs ``distinguisher`` and ``target`` convert the values to text and back.
    """
    yield line("rd <distinguisher>", source, usual="", distinguisher=distinguisher)
    yield each("route-target import <it>", "imports", source, it=target)
    yield each("route-target export <it>", "exports", source, it=target)
    yield each("route-target both <it>", "imports exports", "", it=target)


def vnis(source: str, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the statement-table rows for the EVPN address family and its VNIs.

    ``source`` is the document about these lines. ``rows`` are further rows, valid both in the family and in a VNI.
    """
    yield line("advertise-all-vni", source, sets={"all_vnis": True})
    yield each("advertise <it> unicast", "advertises", source, it=UNICAST)
    yield from rows
    yield each("vni <number>", "vnis", source, Evpn, rows, by="number", number=number(1, 16777215))


UNICAST_ROWS = (
    *redistribution(BGP),
    each("network <it>", "networks", BGP, it=PREFIX),
    line("maximum-paths <maximum_paths>", BGP, maximum_paths=NUMBER),
    line("maximum-paths ibgp <inner_paths>", BGP, inner_paths=NUMBER),
    *_peers(),
)
TARGET_ROWS = (
    ignored("rd auto", "as without the statement"),
    ignored("route-target <_way> auto", "as without the statement", _way=WORD),
    *targets(EVPN, Codec(r"[\d.]+:\d+", shown_as="rd"), TARGETS),
)
EVPN_ROWS = (
    *_peers(),
    *vnis(EVPN, TARGET_ROWS),
    ignored("maximum-paths ibgp <_width>", "SONiC gives it to each family; FRR has none for EVPN", _width=WORD),
)


ROUTER = (
    line("bgp router-id <router_id>", BGP, disrupts=effects.IDENTIFIED, router_id=ADDRESS),
    line("no bgp default ipv4-unicast", BGP, sets={"unicast_by_default": False}),
    line("bgp default ipv4-unicast", BGP, sets={"unicast_by_default": True}, prints=False),
    line("bgp ebgp-requires-policy", BGP, sets={"requires_policy": True}),
    line("no bgp ebgp-requires-policy", BGP, sets={"requires_policy": False}),
    line("bgp bestpath as-path multipath-relax", BGP, sets={"relaxed": True}),
    line("bgp bestpath aigp", BGP, sets={"compare_aigp": True}, since="10.3"),
    line("bgp fast-convergence", BGP, sets={"fast": True}),
    line("bgp graceful-restart", BGP, sets={"graceful_restart": True}, disrupts=effects.GRACEFUL),
    line(
        "bgp shutdown",
        "",
        also=("bgp shutdown message <_text>",),
        sets={"shut": True},
        disrupts=effects.STOPPED_ALL,
        _text=TEXT,
    ),
    fixed("bgp graceful-restart preserve-fw-state", BGP, when=lambda router: router.graceful_restart),
    each("neighbor <name>", "neighbors", BGP, Peer, PEER, by="name", flat=True, name=WORD),
    each(
        "address-family <family> unicast",
        "unicast",
        BGP,
        UnicastFamily,
        UNICAST_ROWS,
        by="family",
        also=("address-family <family>",),
        family=UNICAST,
    ),
    # Outside address families, a statement about a family applies to IPv4.
    part("unicast", dict, (part("ipv4", UnicastFamily, UNICAST_ROWS),), when=lambda _: False),
    part("evpn", Evpn, EVPN_ROWS, "address-family l2vpn evpn", EVPN),
)
ROUTERS = Statements(
    Routing,
    (
        each(
            "vrf <name>",
            "vrfs",
            EVPN,
            Vrf,
            (line("vni <vni>", EVPN, also=("vni <vni> <_how>",), vni=number(1, 16777215), _how=TEXT),),
            by="name",
            name=defines("vrf"),
        ),
        each(
            "router bgp <asn>[ vrf <vrf>]",
            "routers",
            BGP,
            Router,
            ROUTER,
            by="vrf",
            disrupts=effects.INSTANCE,
            asn=ASN,
            vrf=refers("vrf"),
        ),
    ),
    disrupts=(),
)
"""The statements of ``vrf`` and ``router bgp``, in the order of ``frr.conf``."""
