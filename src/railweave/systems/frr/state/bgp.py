"""BGP and BFD of FRRouting's ``show … json``: sessions, what they carry, paths to a prefix.

Keys are those of FRR's sources (bgpd/bgp_vty.c, bgpd/bgp_route.c, bfdd/bfdd_vty.c), tried on 10.3 and 10.7. A session without a configured
address is named by its interface.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.protocols import BfdSession, BgpSession, FamilyState, Path
from railweave.model.state.question import DEFAULT_VRF

if TYPE_CHECKING:
    from railweave.model.state.values import Value

_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "evpn"}


def sessions(summary: Value | None, neighbors: Value | None) -> tuple[BgpSession, ...] | None:
    """The sessions of ``show bgp vrf all summary json`` and ``show bgp vrf all neighbors json``; either may be missing."""
    if summary is None and neighbors is None:
        return None
    found: dict[tuple[str, str], BgpSession] = {}
    for vrf, peers in _by_vrf(neighbors, "bgpState"):
        for name, peer in peers:
            found[vrf, name] = _neighbor(vrf, name, peer)
    for vrf, families in _by_vrf(summary, "peers"):
        for family, table in families:
            for name, peer in table.one("peers").entries():
                here = found.get((vrf, name)) or _summarized(vrf, name, peer)
                carried = _carried(peer)
                known = here.families.get(_FAMILIES.get(family, family), FamilyState())
                both = FamilyState(
                    received=carried.received if carried.received is not None else known.received,
                    accepted=carried.accepted if carried.accepted is not None else known.accepted,
                    sent=carried.sent if carried.sent is not None else known.sent,
                )
                missing = here.policy_missing or peer.one("peerState").lower() == "policy"
                families_of = {**here.families, _FAMILIES.get(family, family): both}
                found[vrf, name] = replace(here, families=families_of, policy_missing=missing)
    return tuple(found.values())


def _by_vrf(answer: Value | None, mark: str) -> list[tuple[str, list[tuple[str, Value]]]]:
    """What has a certain key, by VRF: answers for one VRF and for all of them differ by a level."""
    if answer is None:
        return []
    here = [(key, one) for key, one in answer.entries() if one.keys]
    plain = [(key, one) for key, one in here if one.one(mark).there]
    inside = [
        (vrf, [(key, one) for key, one in table.entries() if one.keys and one.one(mark).there])
        for vrf, table in here
        if not table.one(mark).there
    ]
    return [*([(DEFAULT_VRF, plain)] if plain else []), *((vrf, found) for vrf, found in inside if found)]


def _interface(name: str) -> str | None:
    """The interface by which a session is named; None where it is named by an address."""
    return None if ":" in name or name.replace(".", "").isdecimal() else name


def _neighbor(vrf: str, name: str, peer: Value) -> BgpSession:
    interface = _interface(name)
    address = peer.first("bgpNeighborAddr", "neighborAddr").text()
    families = {
        _FAMILIES.get(family, family): FamilyState(
            accepted=one.one("acceptedPrefixCounter").integer(), sent=one.one("sentPrefixCounter").integer()
        )
        for family, one in peer.one("addressFamilyInfo").entries()
    }
    missing = any(
        one.one("inboundEbgpRequiresPolicy").there or one.one("outboundEbgpRequiresPolicy").there
        for _, one in peer.one("addressFamilyInfo").entries()
    )
    heard = peer.one("neighborCapabilities", "hostName", "rcvHostName").text()
    return BgpSession(
        peer=address if interface else name,
        interface=interface,
        vrf=vrf,
        state=peer.one("bgpState").lower(),
        peer_as=peer.one("remoteAs").integer(),
        local_as=peer.one("localAs").integer(),
        group=peer.one("peerGroup").text(),
        description=peer.one("nbrDesc").text(),
        host_name=heard or peer.one("hostname").text(),
        discovered=interface is not None,
        established_since=peer.one("bgpTimerUpEstablishedEpoch").number(),
        flaps=peer.one("connectionsDropped").integer(),
        last_error=peer.first("lastNotificationReason", "lastResetDueTo").text(),
        bfd=peer.one("peerBfdInfo", "status").lower(),
        policy_missing=missing,
        families=families,
    )


def _summarized(vrf: str, name: str, peer: Value) -> BgpSession:
    interface = _interface(name)
    return BgpSession(
        peer=None if interface else name,
        interface=interface,
        vrf=vrf,
        state=peer.one("state").lower(),
        peer_as=peer.one("remoteAs").integer(),
        local_as=peer.one("localAs").integer(),
        description=peer.one("desc").text(),
        host_name=peer.one("hostname").text(),
        discovered=interface is not None,
        flaps=peer.one("connectionsDropped").integer(),
    )


def _carried(peer: Value) -> FamilyState:
    received = peer.first("pfxRcd", "prefixReceivedCount").integer()
    return FamilyState(accepted=received, sent=peer.one("pfxSnt").integer())


def bfd_sessions(answer: Value | None) -> tuple[BfdSession, ...] | None:
    """The sessions of ``show bfd peers json``; its times are milliseconds."""
    if answer is None:
        return None
    return tuple(
        BfdSession(
            peer=address,
            interface=one.one("interface").text(),
            vrf=one.one("vrf").text(),
            state=one.one("status").lower(),
            tx_ms=one.one("transmit-interval").number(),
            rx_ms=one.one("receive-interval").number(),
            multiplier=one.one("detect-multiplier").integer(),
            detection_ms=one.one("detection-timeout").number(),
            diagnostic=one.one("diagnostic").text(),
        )
        for one in answer.each()
        if (address := one.one("peer").text()) is not None
    )


def paths(answer: Value) -> tuple[Path, ...]:
    """The paths of ``show bgp ipv6 unicast PREFIX json``."""
    return tuple(
        Path(
            peer=one.one("peer").first("interface", "peerId").text(),
            best=one.one("bestpath", "overall").flag() or False,
            multipath=one.one("multipath").flag() or False,
            valid=one.one("valid").flag() or False,
            as_path=one.one("aspath", "string").text(),
            local_preference=one.one("locPrf").integer(),
            aigp=one.one("aigpMetric").integer(),
            communities=words(one.one("community")),
            large_communities=words(one.one("largeCommunity")),
            extended_communities=words(one.one("extendedCommunity")),
        )
        for one in answer.all("paths")
    )


def words(communities: Value) -> tuple[str, ...]:
    """The communities of a path: its list, or else the words of its text."""
    listed = tuple(text for one in communities.all("list") if (text := one.text()) is not None)
    return listed or tuple((communities.one("string").text() or "").split())
