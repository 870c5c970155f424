"""BGP statements of EOS: instances, peer groups and neighbors, address families, and the VLANs and VRFs of EVPN.

The classes extend those of FRR.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from railweave.model.config.codecs import choice, defines, number, refers
from railweave.model.config.statements import Codec, Statements, each, fixed, line, part
from railweave.model.device.timers import Bfd
from railweave.systems.eos.statements.policy import as_number
from railweave.systems.frr.statements import PREFIX, SECRET, TEXT, WORD
from railweave.systems.frr.statements import bgp as frr
from railweave.systems.frr.statements.bgp import ADDRESS, UNICAST, UnicastFamily, redistribution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.config.addresses import Family as AddressFamily
    from railweave.model.config.statements import Row

INTERFACE = "interface "
"""The prefix of the name of neighbors that are discovered on interfaces, for example ``interface Ethernet1``."""
EOS_BFD = Bfd(minimum_interval=300, multiplier=3)
"""The default BFD timers of EOS (EOS user manual, "bfd interval")."""
HOPS = 2
"""The largest number of hops of a session between loopbacks: 2, because the neighbor's loopback is one hop behind the link."""


@dataclass(frozen=True, slots=True)
class PeerFamily(frr.PeerFamily):
    """The settings of a neighbor or a peer group in an address family. ``over_six`` is True if IPv4 routes have IPv6 next hops (RFC 8950)."""

    over_six: bool = False


@dataclass(frozen=True, slots=True)
class Peer(frr.Peer):
    """A peer group, a neighbor with an address, or the neighbors that are discovered on a range of interfaces.

    For discovered neighbors, the name begins with ``INTERFACE``.

    - ``peer_filter``: the filter that limits the AS numbers of discovered neighbors.
    - ``timers``: the BFD timers, if they are not the default timers.
    - ``algorithm``: the algorithm of the key in ``profile``, a profile of shared secrets.
    - ``imports`` and ``exports``: the route maps of address families without their own route maps.
    - ``extended``: True if extended communities are sent. EVPN needs extended communities for its route targets (RFC
      8365, 5.1.2).
    """

    peer_filter: str | None = None
    timers: Bfd | None = None
    algorithm: Literal["ao-aes-128-cmac", "ao-hmac-sha-1"] | None = None
    next_hop_unchanged: bool = False
    imports: str | None = None
    exports: str | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True)
class Listening:
    """A prefix from which neighbors may open sessions (``bgp listen range``), and the settings of these neighbors."""

    prefix: Prefix
    group: str
    peer_filter: str | None = None
    asn: int | None = None


@dataclass(frozen=True, slots=True)
class Bridge:
    """One or more VLANs that EVPN extends.

    - ``targets``: the route targets of the VLANs' routes, by direction.
    - ``vlans``: the VLANs of a bundle.
    - ``learned``: True if the switch advertises the MAC addresses that it learns.
    """

    distinguisher: str = ""
    targets: dict[str, str] = field(default_factory=dict[str, str])
    vlans: str = ""
    learned: bool = False


@dataclass(frozen=True, slots=True)
class Family(UnicastFamily):
    """A unicast address family. In a VRF, it may have route targets to import (``imports``) and to export (``exports``)."""

    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evpn(frr.Evpn):
    """The settings of ``address-family evpn``. ``unchanged`` is True if routes are sent to all neighbors with their next hop unchanged."""

    unchanged: bool = False


@dataclass(frozen=True)
class Router(frr.Router):
    """The main BGP instance, or a VRF in it.

    - ``ways`` and ``ecmp``: two limits of the number of paths in a next-hop group. The smaller one applies.
    - ``activates``: True if sessions carry IPv4 by default. In a VRF, None means that the main instance's value applies.
    - ``redistributes`` and ``networks``: the settings of address families that do not set their own.
    """

    asn: int = 0
    activates: bool | None = None
    ways: int | None = None
    ecmp: int | None = None
    listening: tuple[Listening, ...] = ()
    redistributes: str | None = None
    networks: tuple[Prefix, ...] = ()
    vlans: dict[str, Bridge] = field(default_factory=dict[str, Bridge])
    bundles: dict[str, Bridge] = field(default_factory=dict[str, Bridge])
    distinguisher: str = ""
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    vrfs: dict[str, Router] = field(default_factory=dict[str, "Router"])

    neighbors: Mapping[str, Peer] = field(default_factory=dict[str, Peer])
    unicast: Mapping[AddressFamily, Family] = field(default_factory=dict["AddressFamily", Family])
    evpn: Evpn | None = None

    def within(self, peer: frr.Peer, name: frr.AddressFamily) -> list[frr.PeerFamily]:
        """Return the settings that apply to the neighbor ``peer`` in the address family ``name``, in the order of precedence.

        First come the neighbor's own settings, then those of its group, then those for all unicast families.
        """
        levels = super().within(peer, name)
        if name != "evpn" and isinstance(peer, Peer):
            levels.append(PeerFamily(imports=peer.imports, exports=peer.exports))
        return levels


@dataclass(frozen=True, slots=True)
class Routing:
    """The BGP instances by AS number. A switch has one instance."""

    routers: dict[int, Router] = field(default_factory=dict[int, Router])


@dataclass(frozen=True, slots=True)
class Detection:
    """The default BFD timers of neighbors on a link (``near``) and over several hops (``far``).

    ``router`` has the timers below ``router bfd``, which override those at the top level.
    """

    near: Bfd | None = None
    far: Bfd | None = None
    router: Detection | None = None


_TIMERS = re.compile(r"(\d{1,6}) (?:min-rx|min_rx) (\d{1,6}) multiplier (\d{1,3})")


def _timers(text: str) -> Bfd:
    """Return the BFD timers of words such as ``300 min-rx 300 multiplier 3``.

    Raises ``ValueError`` if the intervals of the two directions differ, because ``DeviceConfig`` has only one interval.
    """
    match = _TIMERS.fullmatch(text)
    every, times = (int(match[1]), int(match[3])) if match and match[1] == match[2] else (0, 0)
    if not (0 < every <= 100_000 and 0 < times <= 255):
        raise ValueError(text)
    return Bfd(minimum_interval=every, multiplier=times)


def _written(bfd: Bfd) -> str:
    return f"{bfd.minimum_interval} min-rx {bfd.minimum_interval} multiplier {bfd.multiplier}"


def _ipv4(text: str) -> Address:
    address = ADDRESS.read(text)
    if address.family != "ipv4":
        raise ValueError(text)
    return address


def noted(form: str, source: str, reason: str, when: Callable[[Any], bool]) -> Row:
    """Return the statement-table row for a constant statement that railweave writes, but ignores when reading.

    - ``form``: the statement.
    - ``source``: the document that describes the statement.
    - ``reason``: the reason why the statement has no effect on ``DeviceConfig``.
    - ``when``: returns True for the settings with which the statement is written.
    """
    return replace(fixed(form, source, when), reason=reason)


MANUAL, AVD = "EOS user manual, BGP", "AVD, router_bgp"
ASN = Codec(r"\d+", as_number, shown_as="number")
TIMERS = Codec(
    r"(?P<every>[1-9]\d{1,4}) min-rx (?P=every) multiplier [1-9]\d?", _timers, _written, word=r"\d.+", shown_as="timers"
)
NEIGHBOR = Codec(r"\S+", word=r"(?:interface )?\S+", shown_as="word")
ALGORITHM = choice({"ao-aes-128-cmac": "aes-128-cmac-96", "ao-hmac-sha-1": "hmac-sha1-96"})
TARGET = Codec(r"\d{1,5}:\d{1,5}", word=r"\S+:\d+", shown_as="target")
WIDTH = number(1, 4096)
ROUTE_MAPS = (
    line("route-map <imports> in", MANUAL, changed="replaced", imports=refers("route-map")),
    line("route-map <exports> out", MANUAL, changed="replaced", exports=refers("route-map")),
)
SENDS_EXTENDED = tuple(
    f"send-community {kinds}"
    for kinds in ("extended", "extended large", "standard extended", "standard extended large")
)
PEER = (
    line("peer group", MANUAL, sets={"is_group": True}),
    line(
        ("peer-group <group> peer-filter <peer_filter>", "peer group <group>"),
        MANUAL,
        also=("peer-group <group>",),
        group=refers("peer group"),
        peer_filter=refers("peer-filter"),
    ),
    line("peer-group <group> remote-as <asn>", "", group=refers("peer group"), asn=ASN),
    line("remote-as <asn>", MANUAL, asn=ASN),
    # The words after the number concern AS paths; the session opens with this number in any case.
    line("local-as <local_as>", "", also=("local-as <local_as> <_how>",), local_as=ASN, _how=TEXT),
    line("description <description>", MANUAL, usual="", description=TEXT),
    line("next-hop-unchanged", MANUAL, sets={"next_hop_unchanged": True}),
    line("update-source <update_source>", MANUAL, usual="", update_source=replace(WORD, refers="interface")),
    noted(
        f"ebgp-multihop {HOPS}",
        MANUAL,
        "sessions of the overlay go over some hops",
        lambda peer: peer.is_group and peer.update_source,
    ),
    line("bfd", MANUAL, sets={"bfd": True}),
    line("bfd interval <timers>", MANUAL, timers=TIMERS),
    line("ttl maximum-hops 1", AVD, sets={"ttl_security": True}),
    line(
        "password 0 <password>",
        MANUAL,
        also=("password 7 <password>", "password 8a <password>", "password <password>"),
        password=SECRET,
    ),
    line("password shared-secret profile <profile> algorithm <algorithm>", AVD, profile=WORD, algorithm=ALGORITHM),
    *ROUTE_MAPS,
    line("shutdown", "", also=("shutdown reason <_text>",), sets={"shut": True}, _text=TEXT),
    line("send-community", MANUAL, also=SENDS_EXTENDED, sets={"extended": True}),
    noted(
        "maximum-routes 0", MANUAL, "a limit that is not below EOS's own", lambda peer: peer.is_group or not peer.group
    ),
)


def _peers(*rows: Row) -> Iterator[Row]:
    """Yield the statement-table rows for the lines of neighbors and peer groups in an address family.

    ``rows`` are further rows for each neighbor and group.
    """
    stated = (line("activate", MANUAL, sets={"active": True}), *rows)
    yield each("neighbor <name>", "peers", MANUAL, PeerFamily, stated, by="name", flat=True, name=WORD)
    yield each(
        "no neighbor <name> activate",
        "peers",
        "",
        PeerFamily,
        by="name",
        also=("default neighbor <name> activate",),
        sets={"active": False},
        name=WORD,
    )


def _targets() -> Iterator[Row]:
    """Yield the statement-table rows for the route targets of a VRF."""
    for word, names in (("import", "imports"), ("export", "exports"), ("both", "imports exports")):
        yield each(
            f"route-target {word} evpn <it>",
            names,
            MANUAL if word != "both" else "",
            also=(f"route-target {word} <it>",),
            it=TARGET,
        )


KEPT = line("next-hop-unchanged", "", sets={"next_hop_unchanged": True})
ORIGINS = (*redistribution(MANUAL), each("network <it>", "networks", "", it=PREFIX))
FAMILY = tuple(_peers(line("next-hop address-family ipv6 originate", AVD, sets={"over_six": True}), *ROUTE_MAPS, KEPT))
EVPN = (
    *_peers(ROUTE_MAPS[1], KEPT),  # the route computation ignores import filters of EVPN
    line("bgp next-hop-unchanged", "", sets={"unchanged": True}),
)
BRIDGE = (
    line("rd <distinguisher>", MANUAL, usual="", distinguisher=WORD),
    each(
        "route-target <direction> <it>",
        "targets",
        MANUAL,
        by="direction",
        direction=choice({word: word for word in ("both", "import", "export")}),
        it=TARGET,
    ),
    line("redistribute learned", MANUAL, sets={"learned": True}),
)


def _instance(neighbor: Codec, family: Sequence[Row], *rows: Row) -> Iterator[Row]:
    """Yield the statement-table rows for lines that both the main BGP instance and a VRF can have.

    - ``neighbor``: reads and writes the name of a neighbor.
    - ``family``: the rows for an address family.
    - ``rows``: further rows, which come before the address families.
    """
    yield line("router-id <router_id>", MANUAL, router_id=replace(ADDRESS, read=_ipv4))
    yield line("no bgp default ipv4-unicast", MANUAL, sets={"activates": False})
    yield line("bgp default ipv4-unicast", "", also=("default bgp default ipv4-unicast",), sets={"activates": True})
    yield line("maximum-paths <ways>[ ecmp <ecmp>]", MANUAL, ways=WIDTH, ecmp=WIDTH)
    yield line("graceful-restart", MANUAL, sets={"graceful_restart": True})
    yield each(
        "neighbor <name> peer group",
        "neighbors",
        "",
        Peer,
        by="name",
        also=("neighbor <name> peer-group",),
        sets={"is_group": True},
        name=defines("peer group"),
    )
    yield each("neighbor <name>", "neighbors", MANUAL, Peer, PEER, by="name", flat=True, name=neighbor)
    yield from redistribution(MANUAL)
    yield from rows
    yield each("address-family <family>", "unicast", MANUAL, Family, family, by="family", family=UNICAST)


ROUTER = (
    *_instance(
        NEIGHBOR,
        (*FAMILY, *ORIGINS),
        ORIGINS[-1],
        each(
            "bgp listen range <prefix> peer-group <group> peer-filter <peer_filter>",
            "listening",
            "",
            Listening,
            also=("bgp listen range <prefix> peer-group <group> remote-as <asn>",),
            prefix=PREFIX,
            group=refers("peer group"),
            peer_filter=refers("peer-filter"),
            asn=ASN,
        ),
        line("shutdown", "", sets={"shut": True}),
        part("evpn", Evpn, EVPN, "address-family evpn", MANUAL),
    ),
    each("vlan <vlans>", "vlans", MANUAL, Bridge, BRIDGE, by="vlans", vlans=WORD),
    each(
        "vlan-aware-bundle <name>",
        "bundles",
        "",
        Bridge,
        (*BRIDGE, line("vlan <vlans>", "", usual="", vlans=WORD)),
        by="name",
        name=WORD,
    ),
    each(
        "vrf <name>",
        "vrfs",
        MANUAL,
        Router,
        (
            line("rd <distinguisher>", MANUAL, usual="", distinguisher=WORD),
            *_targets(),
            *_instance(WORD, (*FAMILY, *_targets())),
        ),
        by="name",
        name=refers("vrf"),
    ),
)
_WATCHED = tuple(
    line(form, "", also=also, near=TIMERS, far=TIMERS)
    for form, also in (
        ("bfd interval <near> default", ("interval <near> default",)),
        ("bfd multihop interval <far>", ("multihop interval <far>",)),
    )
)
DETECTION = Statements(Detection, (*_WATCHED, part("router", Detection, _WATCHED, "router bfd")), disrupts=())
"""The statements of ``router bfd``, and the equivalent top-level statements of older releases."""
ROUTING = Statements(
    Routing, (each("router bgp <asn>", "routers", MANUAL, Router, ROUTER, by="asn", asn=ASN),), disrupts=()
)
"""The statements of ``router bgp``. The module ``changes`` determines which sessions a changed line disrupts."""
