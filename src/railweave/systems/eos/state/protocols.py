"""Protocols of an EOS switch: LLDP, neighbors, BGP, BFD, routes, the overlay."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state import protocols
from railweave.model.state.question import asked_about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.state.values import Answers, Value

_ABBREVIATED = re.compile(r"(Et|Ma|Vl|Po|Lo|Vx)(\d.*)")
_FULL = {"Et": "Ethernet", "Ma": "Management", "Vl": "Vlan", "Po": "Port-Channel", "Lo": "Loopback", "Vx": "Vxlan"}
_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "evpn"}
_AS_NUMBER = re.compile(r"(?:(\d{1,5})\.)?(\d{1,10})")


def full_name(name: str | None) -> str | None:
    """An interface by its full name: EOS abbreviates it after the ``%`` of a link-local address (``Et1/1``)."""
    found = _ABBREVIATED.fullmatch(name) if name else None
    return f"{_FULL[found[1]]}{found[2]}" if found else name


def _as_number(value: Value) -> int | None:
    """An AS number, which is a number, a text, or in the form ``65000.1``."""
    text = value.text()
    found = _AS_NUMBER.fullmatch(text) if text else None
    if text and found is None:
        value.note(f"an AS number was expected, and it is {text[:60]!r}")
    return (int(found[1] or 0) << 16) + int(found[2]) if found else None


def _by_vrf(answer: Value | None) -> list[tuple[str, Value]]:
    return answer.get("vrfs").entries() if answer else []


def lldp(answer: Value | None) -> dict[str, tuple[protocols.LldpNeighbor, ...]] | None:
    """The neighbors of ``show lldp neighbors detail`` by local port."""
    if answer is None:
        return None
    found: dict[str, tuple[protocols.LldpNeighbor, ...]] = {}
    for port, one in answer.get("lldpNeighbors").entries():
        heard = [
            protocols.LldpNeighbor(
                info.get("systemName").text(),
                _unquoted(info.get("neighborInterfaceInfo").first("interfaceId_v2", "interfaceId").text()),
                info.get("neighborInterfaceInfo", "interfaceIdType").lower(),
                info.get("neighborInterfaceInfo", "interfaceDescription").text(),
                info.get("chassisId").text(),
            )
            for info in one.all("lldpNeighborInfo")
        ]
        if heard:
            found[port] = tuple(heard)
    return found


def _unquoted(text: str | None) -> str | None:
    return text.strip('"') or None if text else None


def ipv6_neighbors(answer: Value | None) -> tuple[protocols.Ipv6Neighbor, ...] | None:
    """The neighbor cache of ``show ipv6 neighbors``; EOS shows no state."""
    if answer is None:
        return None
    return tuple(
        protocols.Ipv6Neighbor(address, full_name(one.get("interface").text()), one.get("hwAddress").mac())
        for one in answer.find("ipV6Neighbors")
        if (address := one.get("address").text()) is not None
    )


def sessions(summary: Value | None, neighbors: Value | None) -> tuple[protocols.BgpSession, ...] | None:
    """The sessions of ``show bgp summary vrf all`` and ``show bgp neighbors vrf all``; either may be missing."""
    if summary is None and neighbors is None:
        return None
    found: dict[tuple[str, str], protocols.BgpSession] = {}
    for vrf, table in _by_vrf(neighbors):
        for one in table.all("peerList"):
            name = one.get("peerAddress").text()
            if name is not None:
                found[vrf, _key(name)] = _neighbor(vrf, name, one)
    for vrf, table in _by_vrf(summary):
        for name, one in table.get("peers").entries():
            address, interface = _peer(name)
            here = found.get((vrf, _key(name))) or protocols.BgpSession(
                address, interface, vrf, discovered=interface is not None
            )
            families = {
                short: protocols.FamilyState(
                    received=one.get(long, "nlrisReceived").integer(), accepted=one.get(long, "nlrisAccepted").integer()
                )
                for long, short in _FAMILIES.items()
                if one.get(long).there
            }
            if not families and one.get("prefixReceived").there:  # the older form, which has one family
                family = "ipv6" if ":" in address else "ipv4"
                families[family] = protocols.FamilyState(
                    one.get("prefixReceived").integer(), one.get("prefixAccepted").integer()
                )
            found[vrf, _key(name)] = replace(
                here,
                state=one.get("peerState").lower() or here.state,
                peer_as=_as_number(one.first("peerAsn", "asn")) or here.peer_as,
                local_as=_as_number(table.get("asn")) or here.local_as,
                families=here.families | families,
            )
    return tuple(found.values())


def _peer(name: str) -> tuple[str, str | None]:
    address, _, zone = name.partition("%")
    return address, full_name(zone) or None


def _key(name: str) -> str:
    address, interface = _peer(name)
    return f"{address}%{interface}" if interface else address


def _neighbor(vrf: str, name: str, one: Value) -> protocols.BgpSession:
    address, zone = _peer(name)
    interface = full_name(one.get("ifName").text()) or zone
    return protocols.BgpSession(
        address,
        interface if zone or address.startswith("fe80") else None,
        vrf,
        state=one.get("state").lower(),
        peer_as=_as_number(one.get("asn")),
        local_as=_as_number(one.get("localAsn")),
        group=one.get("peerGroupName").text(),
        description=one.get("description").text(),
        discovered=zone is not None,
        flaps=_flaps(one.get("establishedTransitions").integer(), one.get("state").lower()),
    )


def _flaps(established: int | None, state: str | None) -> int | None:
    """How often a session ended, of how often it was established."""
    if established is None:
        return None
    return max(established - (state == "established"), 0)


def bfd_sessions(answer: Value | None) -> tuple[protocols.BfdSession, ...] | None:
    """The sessions of ``show bfd peers detail``; its times are microseconds."""
    if answer is None:
        return None
    found: list[protocols.BfdSession] = []
    for vrf, table in _by_vrf(answer):
        for kind in ("ipv4Neighbors", "ipv6Neighbors"):
            for name, peer in table.get(kind).entries():
                address, zone = _peer(name)
                for label, one in peer.get("peerStats").entries():
                    detail = one.get("peerStatsDetail")
                    found.append(
                        protocols.BfdSession(
                            address,
                            full_name(one.get("l3intf").text() or label) or zone,
                            vrf,
                            one.get("status").lower(),
                            _ms(detail.get("operTxInterval")),
                            _ms(detail.get("operRxInterval")),
                            detail.get("detectMult").integer(),
                            _ms(detail.get("detectTime")),
                            one.get("lastDiag").text(),
                        )
                    )
    return tuple(found)


def _ms(value: Value) -> float | None:
    microseconds = value.number()
    return None if microseconds is None else microseconds / 1000


def routes(answers: Answers) -> tuple[protocols.Route, ...] | None:
    """Every route that was asked for by itself, and those of whole tables."""
    found: dict[tuple[str, str], protocols.Route] = {}
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith(("routes-", "static-"))]
    if not asked and not tables:
        return None
    for name in tables:
        vrf, answer = name.partition("@")[2], answers.tree(name)
        for table in answer.find("routes") if answer else []:
            found |= {(vrf, prefix): _route(vrf, prefix, one, None) for prefix, one in table.entries()}
    for name, (_, vrf, prefix) in asked:
        answer, known = answers.tree(name), answers.tree(name.replace("route@", "path@", 1))
        if answer is not None:
            entry = next((table.get(prefix) for table in answer.find("routes")), None)
            found[vrf, prefix] = _route(vrf, prefix, entry, None if known is None else _paths(known, prefix))
    return tuple(found.values())


def _route(vrf: str, prefix: str, entry: Value | None, paths: tuple[protocols.Path, ...] | None) -> protocols.Route:
    if entry is None or not entry.there:
        return protocols.Route(prefix, vrf, paths=paths)
    hops = tuple(
        protocols.NextHop(
            one.get("nexthopAddr").text(),
            full_name(one.get("interface").text()),
            vtep=one.get("vtepAddr").text(),
            vni=one.get("vni").integer(),
        )
        for one in entry.all("vias")
    )
    programmed = entry.get("hardwareProgrammed").flag()
    return protocols.Route(prefix, vrf, entry.get("routeType").lower(), programmed, hops, paths, _drops(entry))


def _drops(entry: Value) -> str | None:
    """Return how a route drops packets: its action is no forwarding, or it leads to ``Null0``."""
    action = entry.get("routeAction").lower()
    null = next(
        (
            name
            for one in entry.all("vias")
            if (name := one.get("interface").text()) and name.lower().startswith("null")
        ),
        None,
    )
    return action if action not in {None, "", "forward"} else null


def not_forwarding(answers: Answers) -> dict[str, tuple[str, ...]] | None:
    """The address families that are not routed in a VRF, as each answer about its routes says beside them."""
    found: dict[str, set[str]] = {}
    for name in answers.texts:
        about = asked_about(name)
        if about and about[0] == "route":
            family = "ipv6" if ":" in about[2] else "ipv4"
        elif name.startswith(("routes-", "static-")):
            family = name.partition("-")[2].partition("@")[0]
        else:
            continue
        answer = answers.tree(name)
        said = [one.flag() for one in answer.find("routingDisabled")] if answer else []
        if said:
            found.setdefault(family, set()).update({"all"} if any(said) else ())
    return {family: tuple(off) for family, off in found.items()} or None


def _paths(answer: Value, prefix: str) -> tuple[protocols.Path, ...]:
    found: list[protocols.Path] = []
    for table in answer.find("bgpRouteEntries"):
        for one in table.get(prefix).all("bgpRoutePaths"):
            kind, detail = one.get("routeType"), one.get("routeDetail")
            found.append(
                protocols.Path(
                    peer=one.first("peerEntry").get("peerAddr").text()
                    if one.get("peerEntry").there
                    else one.get("nextHop").text(),
                    best=kind.get("active").flag(),
                    multipath=kind.get("ecmpContributor").flag() or kind.get("ecmpHead").flag(),
                    valid=kind.get("valid").flag(),
                    as_path=one.get("asPathEntry", "asPath").text(),
                    local_preference=one.get("localPreference").integer(),
                    communities=_words(detail.get("communityList")),
                    large_communities=_words(detail.get("largeCommunityList")),
                    extended_communities=_words(detail.get("extCommunityList")),
                )
            )
    return tuple(found)


def _words(value: Value) -> tuple[str, ...]:
    return tuple(text for one in value.each() if (text := one.text()) is not None)


def vrfs(answer: Value | None, bindings: Value | None) -> dict[str, protocols.VrfState] | None:
    """The VRFs of ``show vrf`` with their VNIs of ``show vxlan vni``."""
    if answer is None:
        return None
    numbers = {one.vrf: one.vni for one in (vnis(bindings) or {}).values() if one.vrf}
    return {
        name: protocols.VrfState(
            name,
            one.get("routeDistinguisher").text(),
            numbers.get(name),
            one.get("vrfState").flag(),
            tuple(full_name(text) or "" for entry in one.all("interfaces") if (text := entry.text())),
        )
        for name, one in _by_vrf(answer)
    }


def vnis(answer: Value | None) -> dict[int, protocols.VniState] | None:
    """The VNIs of ``show vxlan vni``: those of VLANs, and those of VRFs."""
    if answer is None:
        return None
    found: dict[int, protocols.VniState] = {}
    for _, tunnel in answer.get("vxlanIntfs").entries():
        for key, layer in (("vniBindings", 2), ("vniBindingsToVrf", 3)):
            for number, one in tunnel.get(key).entries():
                if number.isascii() and number.isdecimal() and len(number) < 9:
                    found[int(number)] = protocols.VniState(
                        int(number), layer, one.get("vrfName").text(), one.get("vlan").integer()
                    )
    return found


def evpn(prefixes: Sequence[Value | None], macs: Value | None) -> protocols.EvpnRoutes | None:
    """How many EVPN routes there are of each type, by keys as ``RD: 10.100.1.3:10 ip-prefix 10.100.0.128/31``."""
    asked = [one for one in prefixes if one is not None]
    if not asked and macs is None:
        return None
    by_distinguisher: dict[str, list[str]] = {}
    for answer in asked:
        for key, _ in answer.get("evpnRoutes").entries():
            found = re.fullmatch(r"RD: (\S+) ip-prefix (\S+)", key)
            if found:
                by_distinguisher.setdefault(found[1], []).append(found[2])
            else:
                answer.note(f"{key[:80]!r} is no `RD: … ip-prefix …`")
    return protocols.EvpnRoutes(
        type2=None if macs is None else sum(" mac-ip " in key for key, _ in macs.get("evpnRoutes").entries()),
        type5=sum(map(len, by_distinguisher.values())) if asked else None,
        type5_prefixes={key: tuple(found) for key, found in by_distinguisher.items()} if asked else None,
    )
