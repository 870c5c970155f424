"""Answers of vtysh about BGP, BFD, IS-IS, routes, VRFs and EVPN, read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state import protocols
from railweave.model.state.question import DEFAULT_VRF, asked_about

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value


_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "evpn"}


def sessions(summary: Value | None, neighbors: Value | None) -> tuple[protocols.BgpSession, ...] | None:
    """The sessions of ``show bgp vrf all summary json`` and ``show bgp vrf all neighbors json``; either may be missing."""
    if summary is None and neighbors is None:
        return None
    found: dict[tuple[str, str], protocols.BgpSession] = {}
    for vrf, peers in _by_vrf(neighbors, "bgpState"):
        for name, peer in peers:
            found[vrf, name] = _neighbor(vrf, name, peer)
    for vrf, families in _by_vrf(summary, "peers"):
        for family, table in families:
            for name, peer in table.get("peers").entries():
                here = found.get((vrf, name)) or _summarized(vrf, name, peer)
                carried = _carried(peer)
                known = here.families.get(_FAMILIES.get(family, family), protocols.FamilyState())
                both = protocols.FamilyState(
                    received=carried.received if carried.received is not None else known.received,
                    accepted=carried.accepted if carried.accepted is not None else known.accepted,
                    sent=carried.sent if carried.sent is not None else known.sent,
                )
                missing = here.policy_missing or peer.get("peerState").lower() == "policy"
                families_of = {**here.families, _FAMILIES.get(family, family): both}
                found[vrf, name] = replace(here, families=families_of, policy_missing=missing)
    return tuple(found.values())


def _by_vrf(answer: Value | None, mark: str) -> list[tuple[str, list[tuple[str, Value]]]]:
    """What has a certain key, by VRF: answers for one VRF and for all of them differ by a level."""
    if answer is None:
        return []
    here = [(key, one) for key, one in answer.entries() if one.keys]
    plain = [(key, one) for key, one in here if one.get(mark).there]
    inside = [
        (vrf, [(key, one) for key, one in table.entries() if one.keys and one.get(mark).there])
        for vrf, table in here
        if not table.get(mark).there
    ]
    return [*([(DEFAULT_VRF, plain)] if plain else []), *((vrf, found) for vrf, found in inside if found)]


def _interface(name: str) -> str | None:
    """The interface by which a session is named; None where it is named by an address."""
    return None if ":" in name or name.replace(".", "").isdecimal() else name


def _neighbor(vrf: str, name: str, peer: Value) -> protocols.BgpSession:
    interface = _interface(name)
    address = peer.first("bgpNeighborAddr", "neighborAddr").text()
    families = {
        _FAMILIES.get(family, family): protocols.FamilyState(
            accepted=one.get("acceptedPrefixCounter").integer(), sent=one.get("sentPrefixCounter").integer()
        )
        for family, one in peer.get("addressFamilyInfo").entries()
    }
    missing = any(
        one.get("inboundEbgpRequiresPolicy").there or one.get("outboundEbgpRequiresPolicy").there
        for _, one in peer.get("addressFamilyInfo").entries()
    )
    heard = peer.get("neighborCapabilities", "hostName", "rcvHostName").text()
    return protocols.BgpSession(
        peer=address if interface else name,
        interface=interface,
        vrf=vrf,
        state=peer.get("bgpState").lower(),
        peer_as=peer.get("remoteAs").integer(),
        local_as=peer.get("localAs").integer(),
        group=peer.get("peerGroup").text(),
        description=peer.get("nbrDesc").text(),
        host_name=heard or peer.get("hostname").text(),
        discovered=interface is not None,
        established_since=peer.get("bgpTimerUpEstablishedEpoch").number(),
        flaps=peer.get("connectionsDropped").integer(),
        last_error=peer.first("lastNotificationReason", "lastResetDueTo").text(),
        bfd=peer.get("peerBfdInfo", "status").lower(),
        policy_missing=missing,
        families=families,
    )


def _summarized(vrf: str, name: str, peer: Value) -> protocols.BgpSession:
    interface = _interface(name)
    return protocols.BgpSession(
        peer=None if interface else name,
        interface=interface,
        vrf=vrf,
        state=peer.get("state").lower(),
        peer_as=peer.get("remoteAs").integer(),
        local_as=peer.get("localAs").integer(),
        description=peer.get("desc").text(),
        host_name=peer.get("hostname").text(),
        discovered=interface is not None,
        flaps=peer.get("connectionsDropped").integer(),
    )


def _carried(peer: Value) -> protocols.FamilyState:
    received = peer.first("pfxRcd", "prefixReceivedCount").integer()
    return protocols.FamilyState(accepted=received, sent=peer.get("pfxSnt").integer())


def bfd_sessions(answer: Value | None) -> tuple[protocols.BfdSession, ...] | None:
    """The sessions of ``show bfd peers json``; its times are milliseconds."""
    if answer is None:
        return None
    return tuple(
        protocols.BfdSession(
            peer=address,
            interface=one.get("interface").text(),
            vrf=one.get("vrf").text(),
            state=one.get("status").lower(),
            tx_ms=one.get("transmit-interval").number(),
            rx_ms=one.get("receive-interval").number(),
            multiplier=one.get("detect-multiplier").integer(),
            detection_ms=one.get("detection-timeout").number(),
            diagnostic=one.get("diagnostic").text(),
        )
        for one in answer.each()
        if (address := one.get("peer").text()) is not None
    )


def paths(answer: Value) -> tuple[protocols.Path, ...]:
    """The paths of ``show bgp ipv6 unicast PREFIX json``."""
    return tuple(
        protocols.Path(
            peer=one.get("peer").first("interface", "peerId").text(),
            best=one.get("bestpath", "overall").flag() or False,
            multipath=one.get("multipath").flag() or False,
            valid=one.get("valid").flag() or False,
            as_path=one.get("aspath", "string").text(),
            local_preference=one.get("locPrf").integer(),
            aigp=one.get("aigpMetric").integer(),
            communities=words(one.get("community")),
            large_communities=words(one.get("largeCommunity")),
            extended_communities=words(one.get("extendedCommunity")),
        )
        for one in answer.all("paths")
    )


def words(communities: Value) -> tuple[str, ...]:
    """The communities of a path: its list, or else the words of its text."""
    listed = tuple(text for one in communities.all("list") if (text := one.text()) is not None)
    return listed or tuple((communities.get("string").text() or "").split())


def adjacencies(answer: Value | None) -> tuple[protocols.IsisAdjacency, ...] | None:
    """The adjacencies of ``show isis neighbor json`` (FRR's isisd/isis_adjacency.c).

    In the brief form a circuit has the interface's name; in the detailed form the interface is an object that has the state too.
    """
    if answer is None:
        return None
    found: list[protocols.IsisAdjacency] = []
    for area in answer.all("areas"):
        for one in area.all("circuits"):
            within = one.get("interface")
            detail = bool(within.keys)
            name = within.get("name").text() if detail else within.text()
            if name is not None:
                state = within.get("state") if detail else one.get("state")
                found.append(
                    protocols.IsisAdjacency(name, one.get("adj").text(), state.lower(), one.get("level").integer())
                )
    return tuple(found)


_TYPE_5 = re.compile(r"\[5\]:\[\d+\]:\[(\d+)\]:\[([^\]]+)\]")


def routes(answers: Answers) -> tuple[protocols.Route, ...] | None:
    """Every route that was asked for by itself, and those of whole tables."""
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith("routes-")]
    if not asked and not any(name.startswith(("routes-", "static-", "kernel-")) for name in answers.texts):
        return None
    found: dict[tuple[str, str], protocols.Route] = {}
    for name in tables:
        vrf = name.partition("@")[2] or DEFAULT_VRF
        answer = answers.tree(name)
        for prefix, entries in answer.entries() if answer else []:
            found[vrf, prefix] = route(vrf, prefix, entries, None)
    for name in [one for one in answers.texts if one.startswith(("static-", "kernel-"))]:
        answer = answers.tree(name)
        for vrf, table in answer.entries() if answer else []:
            for prefix, entries in table.entries():
                chosen = route(vrf, prefix, entries, None)
                if chosen.protocol is not None:
                    found[vrf, prefix] = chosen
    for name, (_, vrf, prefix) in asked:
        answer = answers.tree(name)
        if answer is not None:
            found[vrf, prefix] = route(
                vrf, prefix, answer.get(prefix), answers.tree(name.replace("route@", "path@", 1))
            )
    return tuple(found.values())


def route(vrf: str, prefix: str, entries: Value, known: Value | None) -> protocols.Route:
    """One route of ``show ipv6 route … json``, with its paths of ``show bgp … json`` where these were asked for."""
    chosen = next((one for one in entries.each() if one.get("selected").flag()), None)
    through = None if known is None else paths(known)
    if chosen is None:
        return protocols.Route(prefix, vrf, paths=through)
    hops = tuple(
        protocols.NextHop(
            one.get("ip").text(),
            one.get("interfaceName").text(),
            one.get("fib").flag() or False,
        )
        for one in chosen.all("nexthops")
        if not one.get("recursive").flag()  # what it resolves to follows it
    )
    drops = next((_drops(one) for one in chosen.all("nexthops") if one.get("unreachable").flag()), None)
    protocol, installed = chosen.get("protocol").text(), chosen.get("installed").flag() or False
    return protocols.Route(prefix, vrf, protocol, installed, hops, through, drops)


def _drops(hop: Value) -> str:
    """Return how a next hop drops packets: ``Null0`` and blackhole say nothing to the sender."""
    words = {"reject": "reject", "adminProhibited": "prohibit", "admin-prohibited": "prohibit"}
    return next((word for key, word in words.items() if hop.get(key).flag()), "blackhole")


def vrfs(answer: Value | None, evpn: Value | None) -> dict[str, protocols.VrfState] | None:
    """The VRFs of ``show vrf vni json``: those with a VNI; what BGP knows of that is from ``show bgp l2vpn evpn vni json``."""
    if answer is None:
        return None
    found: dict[str, protocols.VrfState] = {}
    for one in answer.all("vrfs"):
        if (name := one.get("vrf").text()) is None:
            continue
        vni = one.get("vni").integer()
        state = protocols.VrfState(name, vni=vni, up=one.get("state").flag())
        if evpn is not None and str(vni) in evpn.keys:
            bgp = evpn.get(str(vni))
            state = replace(
                state,
                route_distinguisher=bgp.get("rd").text(),
                import_targets=_texts(bgp.first("importRTs", "importRts")),
                export_targets=_texts(bgp.first("exportRTs", "exportRts")),
            )
        found[name] = state
    return found


def _texts(listed: Value) -> tuple[str, ...] | None:
    """The texts of a list; None where it is absent."""
    return tuple(text for one in listed.each() if (text := one.text()) is not None) if listed.there else None


def vnis(answer: Value | None) -> dict[int, protocols.VniState] | None:
    """The VNIs of ``show evpn vni detail json``, or of the same without ``detail``."""
    if answer is None:
        return None
    entries = answer.each() if isinstance(answer.raw, list) else [one for _, one in answer.entries()]
    found: dict[int, protocols.VniState] = {}
    for one in entries:
        vni = one.get("vni").integer() if one.keys else None
        if vni is not None:
            layer = {"l2": 2, "l3": 3}.get(one.get("type").lower() or "")
            state = one.get("state").flag() if layer == 3 else None
            found[vni] = protocols.VniState(
                vni, layer, one.first("tenantVrf", "vrf").text(), one.get("vlan").integer(), state
            )
    return found


def evpn(prefixes: Value | None, macs: Value | None) -> protocols.EvpnRoutes | None:
    """How many routes there are of type 5 and type 2, and the prefixes by route distinguisher."""
    if prefixes is None and macs is None:
        return None
    by_distinguisher: dict[str, tuple[str, ...]] = {}
    for distinguisher, table in prefixes.entries() if prefixes else []:
        if table.keys:
            found = [_TYPE_5.fullmatch(key) for key, _ in table.entries()]
            by_distinguisher[distinguisher] = tuple(f"{one[2]}/{one[1]}" for one in found if one)
    return protocols.EvpnRoutes(
        type2=None if macs is None else _counted(macs, "[2]"),
        type5=None if prefixes is None else sum(map(len, by_distinguisher.values())),
        type5_prefixes=None if prefixes is None else by_distinguisher,
    )


def _counted(answer: Value, kind: str) -> int:
    tables = [one for _, one in answer.entries() if one.keys]
    return sum(key.startswith(kind) for table in tables for key, _ in table.entries())
