"""BGP statements of Enterprise SONiC: instances, peer groups and neighbors, address families, and EVPN."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.config.codecs import choice, defines, number, refers
from railweave.model.config.statements import Statements, each, fixed, ignored, line, part
from railweave.systems.dell_sonic.statements.words import (
    ADDRESS,
    ASN,
    DISTINGUISHER,
    PORT_NAME,
    PREFIX,
    SECRET,
    TARGET,
    TEXT,
    WORD,
)
from railweave.systems.dell_sonic.words import interface
from railweave.systems.frr.statements import bgp, effects
from railweave.systems.frr.statements.bgp import UNICAST, Evpn, UnicastFamily, redistribution, targets, vnis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address, Family
    from railweave.systems.frr.statements.bgp import AddressFamily


@dataclass(frozen=True, slots=True)
class PeerFamily(bgp.PeerFamily):
    """An address family of a neighbor or of a peer group. ``communities`` is True if the switch sends communities of all kinds."""

    communities: bool = False


@dataclass(frozen=True, slots=True)
class Peer(bgp.Peer):
    """A peer group (with a ``name``) or a neighbor (with an ``interface`` or an ``address``), with its address families."""

    name: str = ""
    interface: str | None = None
    address: Address | None = None
    families: dict[AddressFamily, PeerFamily] = field(default_factory=dict["AddressFamily", PeerFamily])


@dataclass(frozen=True)
class Router:
    """A BGP instance. ``vrf`` is empty for the default VRF.

    - ``relaxed``: True if equal-cost paths may go through different AS numbers.
    - ``unicast``: the settings of each address family. ``evpn``: the settings of EVPN.
    - ``peers``: the peer groups and the neighbors.
    """

    asn: int = 0
    vrf: str = ""
    router_id: Address | None = None
    graceful_restart: bool = False
    relaxed: bool = False
    unicast: Mapping[Family, UnicastFamily] = field(default_factory=dict["Family", UnicastFamily])
    evpn: Evpn = field(default_factory=Evpn)
    peers: dict[object, Peer] = field(default_factory=dict[object, Peer])


@dataclass(frozen=True, slots=True)
class Routing:
    """The BGP instances of a switch, by VRF."""

    routers: dict[str, Router] = field(default_factory=dict[str, Router])


RETRY = 5
"""The time in seconds between two attempts to connect a BGP session."""
HOPS = 2
"""The number of hops that ``ebgp-multihop`` allows for a BGP session between loopbacks."""


def _source(text: str) -> str:
    """Return the name of an interface in its canonical spelling. A text that is not such a name (an address) is returned unchanged."""
    return interface(text) or text


def _vrf(text: str) -> str:
    return "" if text == "default" else text


VRF = replace(refers("vrf"), read=_vrf)
FAMILY = choice({"ipv4": "ipv4 unicast", "ipv6": "ipv6 unicast", "evpn": "l2vpn evpn"})
OPTIONS = "ansible sonic_bgp_neighbors"
FAMILIES = "ansible sonic_bgp_neighbors_af"

PEER_FAMILY = (
    line("activate", FAMILIES, sets={"active": True}),
    line("route-map <imports> in", FAMILIES, changed="replaced", imports=refers("route-map")),
    line("route-map <exports> out", FAMILIES, changed="replaced", exports=refers("route-map")),
    line(
        "attribute-unchanged next-hop",
        "assumed: FRR's command",
        also=("next-hop-unchanged",),
        sets={"next_hop_unchanged": True},
    ),
    line("send-community both", FAMILIES, sets={"communities": True}),
)

PEER = (
    line("remote-as <asn>", OPTIONS, disrupts=effects.RESETS, asn=ASN),
    line("local-as <local_as>", "", local_as=ASN, disrupts=effects.RENUMBERED),
    line("peer-group <group>", OPTIONS, disrupts=effects.GOES, changed="removed", group=refers("peer-group")),
    line("description <description>", OPTIONS, usual="", description=TEXT),
    line(f"ebgp-multihop {HOPS}", OPTIONS, sets={"hops": HOPS}),
    line("ebgp-multihop <hops>", "", hops=number(1, 255)),
    line("ebgp-multihop", "", sets={"hops": 255}),
    line(f"timers connect {RETRY}", OPTIONS, sets={"retry": RETRY}),
    line(
        "update-source <update_source>",
        "spytest routing/bgp",
        also=("update-source interface <update_source>",),
        usual="",
        update_source=replace(ADDRESS, read=_source, word=r"(?!interface ).+"),
    ),
    line(
        "bfd check-control-plane-failure profile <profile>",
        "spytest routing/bgp; ansible sonic_bgp_neighbors",
        sets={"bfd_kept": True},
        profile=refers("bfd profile"),
    ),
    line(
        "bfd profile <profile>",
        "spytest routing/bgp; ansible sonic_bgp_neighbors",
        sets={"bfd_kept": False},
        profile=refers("bfd profile"),
    ),
    line("bfd", "", sets={"bfd": True}),
    line("shutdown", "", also=("shutdown message <_text>",), sets={"shut": True}, disrupts=effects.STOPPED, _text=TEXT),
    line("ttl-security hops 1", OPTIONS, sets={"ttl_security": True}, disrupts=effects.SECURED),
    line(
        "password <password>",
        "spytest routing/bgp; ansible sonic_bgp_neighbors (auth_pwd)",
        also=("password <password> encrypted",),
        disrupts=effects.KEYED,
        password=SECRET,
    ),
    line("capability extended-nexthop", OPTIONS, sets={"extended_next_hop": True}),
    each("address-family <family>", "families", FAMILIES, PeerFamily, PEER_FAMILY, by="family", family=FAMILY),
)

UNICAST_ROWS = (
    *redistribution("ansible sonic_bgp_af"),
    each("network <it>", "networks", "", it=PREFIX),
    line("maximum-paths <maximum_paths>", "ansible sonic_bgp_af", maximum_paths=number(1, 256)),
)
EVPN = tuple(vnis("ansible sonic_bgp_af", tuple(targets("ansible sonic_bgp_af", DISTINGUISHER, TARGET))))


def _fabric(router: Router) -> bool:
    return not router.vrf


ROUTER = (
    line("router-id <router_id>", "ansible sonic_bgp", disrupts=effects.IDENTIFIED, router_id=ADDRESS),
    fixed("log-neighbor-changes", "ansible sonic_bgp", when=_fabric),
    line("bestpath as-path multipath-relax", "spytest routing/bgp", sets={"relaxed": True}),
    line("graceful-restart enable", "ansible sonic_bgp", sets={"graceful_restart": True}, disrupts=effects.GRACEFUL),
    fixed(
        "graceful-restart preserve-fw-state",
        "ansible sonic_bgp",
        lambda router: router.graceful_restart,
        effects.GRACEFUL,
    ),
    each(
        "address-family <family> unicast",
        "unicast",
        "ansible sonic_bgp_af",
        UnicastFamily,
        UNICAST_ROWS,
        by="family",
        family=UNICAST,
    ),
    part("evpn", Evpn, EVPN, "address-family l2vpn evpn", "ansible sonic_bgp_af", when=_fabric),
    each(
        ("neighbor interface <interface>", "neighbor <address>", "peer-group <name>"),
        "peers",
        "ansible sonic_bgp_neighbors",
        Peer,
        PEER,
        by=("name", "interface", "address"),
        also=("neighbor <interface>",),
        disrupts=effects.GOES,
        name=defines("peer-group"),
        interface=PORT_NAME,
        address=ADDRESS,
    ),
    part("evpn", Evpn, EVPN, "address-family l2vpn evpn", "ansible sonic_bgp_af", when=lambda router: bool(router.vrf)),
    ignored("timers <_seconds> <_more>", "the pace of a session", _seconds=WORD, _more=replace(WORD, word=r"[1-9]\d*")),
)
ROUTING = Statements(
    Routing,
    (
        each(
            "router bgp <asn>[ vrf <vrf>]",
            "routers",
            "ansible sonic_bgp",
            Router,
            ROUTER,
            by="vrf",
            disrupts=effects.INSTANCE,
            asn=ASN,
            vrf=VRF,
        ),
    ),
    disrupts=(),
)
"""The statements of ``router bgp``, for every VRF."""
