"""Readers of the answers of vtysh about BGP, BFD, IS-IS, routes, VRFs and EVPN."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state import protocols
from railweave.model.state.field_maps import Fields, choice, listed, rows, texts
from railweave.model.state.question import DEFAULT_VRF, asked_about
from railweave.systems.frr.state.linux import DROPPING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.state.values import Answers, Value


_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "evpn"}

_COUNTED = Fields(protocols.FamilyState, "accepted=pfxRcd|prefixReceivedCount sent=pfxSnt")
_FAMILY = Fields(protocols.FamilyState, "accepted=acceptedPrefixCounter sent=sentPrefixCounter")
_NEIGHBOR = Fields(
    protocols.BgpSession,
    "state=bgpState:lower peer_as=remoteAs local_as=localAs group=peerGroup description=nbrDesc "
    "host_name=neighborCapabilities/hostName/rcvHostName||hostname established_since=bgpTimerUpEstablishedEpoch "
    "flaps=connectionsDropped last_error=lastNotificationReason|lastResetDueTo bfd=peerBfdInfo/status:lower "
    "policy_missing=addressFamilyInfo families=addressFamilyInfo",
    families=lambda info: {_FAMILIES.get(family, family): _FAMILY(value) for family, value in info.entries()},
    policy_missing=lambda info: any(
        family.get(f"{way}boundEbgpRequiresPolicy").there for _, family in info.entries() for way in ("in", "out")
    ),
)
_SUMMARIZED = Fields(
    protocols.BgpSession,
    "state:lower peer_as=remoteAs local_as=localAs description=desc host_name=hostname flaps=connectionsDropped",
)


def sessions(summary: Value, neighbors: Value) -> tuple[protocols.BgpSession, ...]:
    """Return the sessions in ``show bgp vrf all summary json`` and ``show bgp vrf all neighbors json``. One of the two answers may be missing."""
    made: dict[tuple[str, str], protocols.BgpSession] = {}
    for vrf, peers in _by_vrf(neighbors, "bgpState"):
        for name, peer in peers:
            made[vrf, name] = _session(_NEIGHBOR, vrf, name, peer, peer.first("bgpNeighborAddr", "neighborAddr").text())
    for vrf, families in _by_vrf(summary, "peers"):
        for family, table in families:
            for name, peer in table.get("peers").entries():
                here = made.get((vrf, name)) or _session(_SUMMARIZED, vrf, name, peer, None)
                short = _FAMILIES.get(family, family)
                known = here.families.get(short, protocols.FamilyState())
                both = _COUNTED.onto(known, peer)
                missing = here.policy_missing or peer.get("peerState").lower() == "policy"
                made[vrf, name] = replace(here, families={**here.families, short: both}, policy_missing=missing)
    return tuple(made.values())


def _by_vrf(answer: Value, mark: str) -> list[tuple[str, list[tuple[str, Value]]]]:
    """Return (VRF, [(name, object), …]) for each VRF. Only objects that have the key ``mark`` are included.

    The top level of an answer about all VRFs is the VRF. An answer about one VRF does not have this level.
    """
    here = [(key, value) for key, value in answer.entries() if value.keys]
    plain = [(key, value) for key, value in here if value.get(mark).there]
    inside = [
        (vrf, [(key, value) for key, value in table.entries() if value.keys and value.get(mark).there])
        for vrf, table in here
        if not table.get(mark).there
    ]
    return [*([(DEFAULT_VRF, plain)] if plain else []), *((vrf, below) for vrf, below in inside if below)]


def _session(
    fields: Fields[protocols.BgpSession], vrf: str, name: str, peer: Value, address: str | None
) -> protocols.BgpSession:
    """Return a session. ``name`` is the neighbor's address or an interface.

    ``address`` is the neighbor's address if ``name`` is an interface. ``fields`` are the keys to read from ``peer``.
    """
    by_address = ":" in name or name.replace(".", "").isdecimal()
    return fields(
        peer,
        peer=name if by_address else address,
        interface=None if by_address else name,
        vrf=vrf,
        discovered=not by_address,
    )


bfd_sessions = listed(
    "[]",
    Fields(
        protocols.BfdSession,
        "peer! interface vrf state=status:lower tx_ms=transmit-interval rx_ms=receive-interval "
        "multiplier=detect-multiplier detection_ms=detection-timeout diagnostic",
    ),
)
"""Return the sessions in ``show bfd peers json``, which prints times in milliseconds."""


def _words(communities: Value) -> tuple[str, ...]:
    """Return the communities of a path, from the key ``list`` of the answer or, if that key is missing, from the key ``string``."""
    return texts(communities.get("list")) or tuple((communities.get("string").text() or "").split())


paths = listed(
    "paths[]",
    Fields(
        protocols.Path,
        "peer=peer/interface|peer/peerId best=bestpath/overall:yes multipath:yes valid:yes as_path=aspath/string "
        "local_preference=locPrf aigp=aigpMetric communities=community:words large_communities=largeCommunity:words "
        "extended_communities=extendedCommunity:words",
        words=_words,
    ),
)
"""Return the paths in ``show bgp ipv6 unicast PREFIX json``."""

_BRIEF = Fields(protocols.IsisAdjacency, "interface! system=adj state:lower level")
_DETAILED = Fields(protocols.IsisAdjacency, "interface!=interface/name system=adj state=interface/state:lower level")


def adjacencies(answer: Value) -> tuple[protocols.IsisAdjacency, ...]:
    """Return the adjacencies in ``show isis neighbor json`` (FRR's isisd/isis_adjacency.c).

    In FRR's brief output, ``interface`` is the name of the interface. In the detailed output, it is an object that also
    contains the state of the adjacency.
    """
    circuits = [circuit for circuit, _ in rows(answer, "areas[]/circuits[]")]
    made = ((_DETAILED if circuit.get("interface").keys else _BRIEF).maybe(circuit) for circuit in circuits)
    return tuple(adjacency for adjacency in made if adjacency is not None)


_TYPE_5 = re.compile(r"\[5\]:\[\d+\]:\[(\d+)\]:\[([^\]]+)\]")


def routes(answers: Answers) -> tuple[protocols.Route, ...] | None:
    """Return all routes in the answers about single routes and about whole tables, or None if no such answer exists."""
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    trees = {name: answers.tree(name) for name in answers.texts if name.startswith(("routes-", "static-", "kernel-"))}
    ruled = [rule for name in answers.texts if name.startswith("rules-") for rule in _dropped(answers.tree(name))]
    if not asked and not trees and not ruled:
        return None
    made: dict[tuple[str, str], protocols.Route] = {}
    for name, answer in trees.items():
        if name.startswith("routes-"):
            vrf = name.partition("@")[2] or DEFAULT_VRF
            for prefix, entries in answer.entries() if answer else []:
                made[vrf, prefix] = route(vrf, prefix, entries, None)
    for name, answer in trees.items():
        for entries, (vrf, prefix) in rows(answer, "*/*") if answer and not name.startswith("routes-") else []:
            chosen = route(vrf, prefix, entries, None)
            if chosen.protocol is not None:
                made[vrf, prefix] = chosen
    for name, (_, vrf, prefix) in asked:
        answer, known = answers.tree(name), answers.tree(name.replace("route@", "path@", 1))
        if answer is not None:
            made[vrf, prefix] = route(vrf, prefix, answer.get(prefix), known)
    made |= {(rule.vrf, rule.prefix): rule for rule in ruled}
    return tuple(made.values())


def route_counts(ipv6: Value, ipv4: Value) -> dict[str, dict[str, int]]:
    """Return the number of BGP and IS-IS routes in the kernel, by VRF (only the default VRF) and address family.

    The answers are those of ``show ipv6 route summary json`` and ``show ip route summary json``.
    """
    counts: dict[str, int] = {}
    for family, answer in (("ipv6", ipv6), ("ipv4", ipv4)):
        if answer.get("routesTotal").integer() is not None:
            learned = (
                row for row in answer.all("routes") if row.get("type").lower() in {"ebgp", "ibgp", "bgp", "isis"}
            )
            counts[family] = sum(row.get("fib").integer() or 0 for row in learned)
    return {DEFAULT_VRF: counts}


def _dropped(rules: Value | None) -> Iterator[protocols.Route]:
    """Yield a route for each prefix whose packets a routing policy rule drops. Such rules apply before all routes (ip-rule(8))."""
    for rule in rules.each() if rules is not None else []:
        action = rule.get("action").lower()
        for key in ("dst", "src"):
            address, length = rule.get(key).text(), rule.get(f"{key}len").integer()
            if action in DROPPING and address not in {None, "all"}:
                full = 128 if ":" in str(address) else 32
                yield protocols.Route(
                    f"{address}/{full if length is None else length}", DEFAULT_VRF, "rule", drops=action
                )


_HOP = Fields(protocols.NextHop, "address=ip interface=interfaceName active=fib:yes weight")


def route(vrf: str, prefix: str, entries: Value, known: Value | None) -> protocols.Route:
    """Return one route of ``show ipv6 route … json``. ``entries`` are the items of the answer for this prefix.

    ``known`` has the paths of the route from ``show bgp … json`` if these were requested.
    """
    chosen = next((entry for entry in entries.each() if entry.get("selected").flag()), None)
    through = None if known is None else paths(known)
    if chosen is None:
        return protocols.Route(prefix, vrf, paths=through)
    # A recursive next hop is followed by the next hops to which it resolves.
    hops = tuple(_HOP(hop) for hop in chosen.all("nexthops") if not hop.get("recursive").flag())
    drops = next((_drops(hop) for hop in chosen.all("nexthops") if hop.get("unreachable").flag()), None)
    protocol, installed = chosen.get("protocol").text(), chosen.get("installed").flag() or False
    return protocols.Route(prefix, vrf, protocol, installed, hops, through, drops)


def _drops(hop: Value) -> str:
    """Return how a next hop drops packets: ``reject`` or ``prohibit`` (with a message to the sender), or ``blackhole``."""
    words = {"reject": "reject", "adminProhibited": "prohibit", "admin-prohibited": "prohibit"}
    return next((word for key, word in words.items() if hop.get(key).flag()), "blackhole")


_VRF = Fields(protocols.VrfState, "name!=vrf vni up=state")
_TARGETS = Fields(
    protocols.VrfState, "route_distinguisher=rd import_targets=importRTs|importRts export_targets=exportRTs|exportRts"
)


def vrfs(answer: Value, evpn: Value) -> dict[str, protocols.VrfState]:
    """Return the VRFs with a VNI, by name, from ``show vrf vni json`` (``answer``).

    Their BGP state is from ``show bgp l2vpn evpn vni json`` (``evpn``).
    """
    made = (_VRF.maybe(vrf) for vrf in answer.all("vrfs"))
    return {
        vrf.name: _TARGETS.onto(vrf, evpn.get(str(vrf.vni))) if str(vrf.vni) in evpn.keys else vrf
        for vrf in made
        if vrf
    }


_VNI = Fields(
    protocols.VniState,
    "vni! layer=type vrf=tenantVrf|vrf vlan router_mac=routerMac:mac bridge=sviIntf",
    layer=choice({"l2": 2, "l3": 3}),
    up=lambda vni: vni.get("state").flag() if vni.get("type").lower() == "l3" else None,
)


def vnis(answer: Value) -> dict[int, protocols.VniState]:
    """Return the VNIs, by number, from ``show evpn vni detail json``, or from the same command without ``detail``."""
    entries = answer.each() if isinstance(answer.raw, list) else [entry for _, entry in answer.entries()]
    return {vni.vni: vni for entry in entries if entry.keys and (vni := _VNI.maybe(entry))}


def evpn(prefixes: Value, macs: Value) -> protocols.EvpnRoutes:
    """Return the numbers of EVPN routes of type 5 and of type 2, and the prefixes of type-5 routes by route distinguisher.

    ``prefixes`` is the answer about routes of type 5, ``macs`` about routes of type 2. Values are None if their answer is missing.
    """
    by_distinguisher = {
        distinguisher: tuple(
            f"{match[2]}/{match[1]}" for key, _ in table.entries() if (match := _TYPE_5.fullmatch(key))
        )
        for distinguisher, table in prefixes.entries()
        if table.keys
    }
    second = sum(key.startswith("[2]") for _, table in macs.entries() if table.keys for key, _ in table.entries())
    return protocols.EvpnRoutes(
        type2=second if macs.there else None,
        type5=sum(map(len, by_distinguisher.values())) if prefixes.there else None,
        type5_prefixes=by_distinguisher if prefixes.there else None,
    )
