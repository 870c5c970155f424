"""Readers of EOS answers about protocols: LLDP, neighbors, BGP, BFD, IS-IS, routes, access lists and the overlay."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state import protocols
from railweave.model.state.field_maps import Fields, choice, listed, rows, texts
from railweave.model.state.question import asked_about
from railweave.systems.state_table import end_of

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value

_ABBREVIATED = re.compile(r"(Et|Ma|Vl|Po|Lo|Vx)(\d.*)")
_FULL = {"Et": "Ethernet", "Ma": "Management", "Vl": "Vlan", "Po": "Port-Channel", "Lo": "Loopback", "Vx": "Vxlan"}
_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "evpn"}
_AS_NUMBER = re.compile(r"(?:(\d{1,5})\.)?(\d{1,10})")


def full_name(name: str | None) -> str | None:
    """Return the full name of an interface. After the ``%`` of a link-local address, EOS abbreviates the name (``Et1/1``)."""
    match = _ABBREVIATED.fullmatch(name) if name else None
    return f"{_FULL[match[1]]}{match[2]}" if match else name


def _as_number(value: Value) -> int | None:
    """Return an AS number, which EOS gives as a number, as digits or as ``65000.1``, or None if the answer has none."""
    text = value.text()
    match = _AS_NUMBER.fullmatch(text) if text else None
    if text and match is None:
        value.note(f"an AS number was expected, and it is {text[:60]!r}")
    return (int(match[1] or 0) << 16) + int(match[2]) if match else None


_NEIGHBOR = Fields(
    protocols.LldpNeighbor,
    "system=systemName port=neighborInterfaceInfo/interfaceId_v2|neighborInterfaceInfo/interfaceId "
    "port_kind=neighborInterfaceInfo/interfaceIdType:lower port_description=neighborInterfaceInfo/interfaceDescription "
    "chassis=chassisId",
    port=lambda port: text.strip('"') or None if (text := port.text()) else None,
)


def lldp(answer: Value) -> dict[str, tuple[protocols.LldpNeighbor, ...]]:
    """Return the neighbors in ``show lldp neighbors detail``, by local port."""
    heard = listed("lldpNeighborInfo[]", _NEIGHBOR)
    ports = {port: heard(row) for row, (port,) in rows(answer, "lldpNeighbors/*")}
    return {port: neighbors for port, neighbors in ports.items() if neighbors}


_NEIGHBOR_ENTRY = Fields(
    protocols.NeighborEntry,
    "address! interface mac=hwAddress:mac",
    interface=lambda interface: full_name(
        (interface.text() or "").partition(",")[0]
    ),  # for a VLAN interface, the port follows
)
ipv6_neighbors = listed("..ipV6Neighbors", _NEIGHBOR_ENTRY)
"""Return the neighbor cache in ``show ipv6 neighbors``. EOS does not show the state of entries."""
ipv4_neighbors = listed("..ipV4Neighbors", _NEIGHBOR_ENTRY)
"""Return the ARP table in ``show ip arp``. NAPALM reads the same command."""

adjacencies = listed(
    "vrfs/*/isisInstances/*/neighbors/*/adjacencies[]",
    Fields(
        protocols.IsisAdjacency,
        "interface!=interfaceName system=hostname||$2 state:lower level",
        level=choice({"level-1": 1, "level-2": 2, "level-1-2": 3}),
    ),
)
"""Return the adjacencies of every VRF and instance in ``show isis neighbors vrf all``. ANTA reads the same fields."""

_SESSION = Fields(
    protocols.BgpSession,
    "state:lower peer_as=asn:as local_as=localAsn:as group=peerGroupName description",
    **{"as": _as_number},
)
_SUMMARY = Fields(protocols.BgpSession, "state=peerState:lower peer_as=peerAsn|asn", peer_as=_as_number)
_FAMILY = Fields(protocols.FamilyState, "received=nlrisReceived accepted=nlrisAccepted")
_OLDER_FAMILY = Fields(protocols.FamilyState, "received=prefixReceived accepted=prefixAccepted")


def sessions(summary: Value, neighbors: Value) -> tuple[protocols.BgpSession, ...]:
    """Return the sessions in ``show bgp summary vrf all`` and ``show bgp neighbors vrf all``. One of the two answers may be missing."""
    made: dict[tuple[str, str], protocols.BgpSession] = {}
    for entry, (vrf,) in rows(neighbors, "vrfs/*/peerList[]"):
        if (name := entry.get("peerAddress").text()) is not None:
            made[vrf, _key(name)] = _neighbor(vrf, name, entry)
    for table, (vrf,) in rows(summary, "vrfs/*"):
        for entry, (name,) in rows(table, "peers/*"):
            address, interface = _peer(name)
            here = made.get((vrf, _key(name))) or protocols.BgpSession(
                address, interface, vrf, discovered=interface is not None
            )
            families = {short: _FAMILY(entry.get(long)) for long, short in _FAMILIES.items() if entry.get(long).there}
            if not families and entry.get("prefixReceived").there:  # an older form, with a single family
                families["ipv6" if ":" in address else "ipv4"] = _OLDER_FAMILY(entry)
            made[vrf, _key(name)] = replace(
                _SUMMARY.onto(here, entry),
                local_as=_as_number(table.get("asn")) or here.local_as,
                families=here.families | families,
            )
    return tuple(made.values())


def _peer(name: str) -> tuple[str, str | None]:
    address, _, zone = name.partition("%")
    return address, full_name(zone) or None


def _key(name: str) -> str:
    address, interface = _peer(name)
    return f"{address}%{interface}" if interface else address


def _neighbor(vrf: str, name: str, entry: Value) -> protocols.BgpSession:
    address, zone = _peer(name)
    interface = full_name(entry.get("ifName").text()) or zone
    session = _SESSION(
        entry,
        peer=address,
        interface=interface if zone or address.startswith("fe80") else None,
        vrf=vrf,
        discovered=zone is not None,
    )
    times = entry.get("establishedTransitions").integer()
    return session if times is None else replace(session, flaps=max(times - (session.state == "established"), 0))


def _ms(value: Value) -> float | None:
    microseconds = value.number()
    return None if microseconds is None else microseconds / 1000


_BFD = Fields(
    protocols.BfdSession,
    "state=status:lower tx_ms=peerStatsDetail/operTxInterval:us rx_ms=peerStatsDetail/operRxInterval:us "
    "multiplier=peerStatsDetail/detectMult detection_ms=peerStatsDetail/detectTime:us diagnostic=lastDiag",
    us=_ms,
)


def bfd_sessions(answer: Value) -> tuple[protocols.BfdSession, ...]:
    """Return the sessions in ``show bfd peers detail``, which prints times in microseconds."""
    made: list[protocols.BfdSession] = []
    for table, (vrf,) in rows(answer, "vrfs/*"):
        for kind in ("ipv4Neighbors", "ipv6Neighbors"):
            for entry, (name, label) in rows(table, f"{kind}/*/peerStats/*"):
                address, zone = _peer(name)
                interface = full_name(entry.get("l3intf").text() or label) or zone
                made.append(_BFD(entry, peer=address, interface=interface, vrf=vrf))
    return tuple(made)


def routes(answers: Answers) -> tuple[protocols.Route, ...] | None:
    """Return all routes in the answers about single routes and about whole tables, or None if no such answer exists."""
    made: dict[tuple[str, str], protocols.Route] = {}
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith(("routes-", "static-"))]
    if not asked and not tables:
        return None
    for name in tables:
        vrf, answer = name.partition("@")[2], answers.tree(name)
        for entry, (prefix,) in rows(answer, "..routes/*") if answer else []:
            made[vrf, prefix] = _route(vrf, prefix, entry, None)
    for name, (_, vrf, prefix) in asked:
        answer, known = answers.tree(name), answers.tree(name.replace("route@", "path@", 1))
        if answer is not None:
            entry = next((table.get(prefix) for table in answer.find("routes")), None)
            made[vrf, prefix] = _route(vrf, prefix, entry, None if known is None else _paths(known, prefix))
    return tuple(made.values())


_HOPS = listed(
    "vias[]",
    Fields(
        protocols.NextHop,
        "address=nexthopAddr interface vtep=vtepAddr vni",
        interface=lambda interface: full_name(interface.text()),
    ),
)


def _route(vrf: str, prefix: str, entry: Value | None, paths: tuple[protocols.Path, ...] | None) -> protocols.Route:
    if entry is None or not entry.there:
        return protocols.Route(prefix, vrf, paths=paths)
    programmed = entry.get("hardwareProgrammed").flag()
    return protocols.Route(prefix, vrf, entry.get("routeType").lower(), programmed, _HOPS(entry), paths, _drops(entry))


def _drops(entry: Value) -> str | None:
    """Return the reason why a route drops packets: an action other than forwarding, or the next hop ``Null0``. None if it drops none.

    ``entry`` is the route in the answer.
    """
    action = entry.get("routeAction").lower()
    null = next(
        (
            name
            for via in entry.all("vias")
            if (name := via.get("interface").text()) and name.lower().startswith("null")
        ),
        None,
    )
    return action if action not in {None, "", "forward"} else null


def not_forwarding(answers: Answers) -> dict[str, tuple[str, ...]] | None:
    """Return the ports that forward no packets, by address family: ``("all",)`` if EOS reports that routing is disabled, otherwise none.

    Return None if no answer shows whether routing is disabled.
    """
    families: dict[str, set[str]] = {}
    for name in answers.texts:
        about = asked_about(name)
        if about and about[0] == "route":
            family = "ipv6" if ":" in about[2] else "ipv4"
        elif name.startswith(("routes-", "static-")):
            family = name.partition("-")[2].partition("@")[0]
        else:
            continue
        answer = answers.tree(name)
        disabled = [value.flag() for value in answer.find("routingDisabled")] if answer else []
        if disabled:
            families.setdefault(family, set()).update({"all"} if any(disabled) else ())
    return {family: tuple(off) for family, off in families.items()} or None


def filters(ipv6: Value, ipv4: Value) -> tuple[protocols.PacketFilter, ...]:
    """Return the access lists that are bound to ports, from ``show ipv6 access-lists summary`` and ``show ip access-lists summary``.

    networking-arista reads the same two commands.
    """
    ways = ("configuredIngressIntfs", "configuredEgressIntfs")
    filters: list[protocols.PacketFilter] = []
    for row in (row for answer in (ipv6, ipv4) for row in answer.all("aclList")):
        ports = dict.fromkeys(name for way in ways for port in row.all(way) if (name := _bound(port)))
        if ports and (name := row.get("name").text()):
            filters.append(protocols.PacketFilter(name, tuple(ports)))
    return tuple(filters)


def _bound(port: Value) -> str | None:
    return full_name((port.get("name") if port.keys else port).text())


_PATH = Fields(
    protocols.Path,
    "best=routeType/active multipath=routeType valid=routeType/valid as_path=asPathEntry/asPath "
    "local_preference=localPreference communities=routeDetail/communityList "
    "large_communities=routeDetail/largeCommunityList extended_communities=routeDetail/extCommunityList",
    peer=lambda path: end_of(
        _peer(path.get(*(("peerEntry", "peerAddr") if path.get("peerEntry").there else ("nextHop",))).text() or "")
    ),
    multipath=lambda kind: kind.get("ecmpContributor").flag() or kind.get("ecmpHead").flag(),
)


def _paths(answer: Value, prefix: str) -> tuple[protocols.Path, ...]:
    return tuple(
        _PATH(path) for table in answer.find("bgpRouteEntries") for path in table.get(prefix).all("bgpRoutePaths")
    )


_VRF = Fields(
    protocols.VrfState,
    "name=$0 route_distinguisher=routeDistinguisher up=vrfState interfaces",
    interfaces=lambda listed: tuple(full_name(text) or "" for text in texts(listed)),
)


def vrfs(answer: Value, bindings: Value) -> dict[str, protocols.VrfState]:
    """Return the VRFs in ``show vrf`` (``answer``), by name, with their VNIs from ``show vxlan vni`` (``bindings``)."""
    numbers = {vni.vrf: vni.vni for vni in vnis(bindings).values() if vni.vrf}
    return {name: _VRF(entry, name, vni=numbers.get(name)) for entry, (name,) in rows(answer, "vrfs/*")}


_VNI = Fields(protocols.VniState, "vrf=vrfName vlan")


def vnis(answer: Value) -> dict[int, protocols.VniState]:
    """Return the VNIs in ``show vxlan vni``, each with its VLAN or VRF, by number."""
    made: dict[int, protocols.VniState] = {}
    for tunnel, _ in rows(answer, "vxlanIntfs/*"):
        for key, layer in (("vniBindings", 2), ("vniBindingsToVrf", 3)):
            for entry, (number,) in rows(tunnel, f"{key}/*"):
                if number.isascii() and number.isdecimal() and len(number) < 9:
                    made[int(number)] = _VNI(entry, vni=int(number), layer=layer)
    return made


def evpn(ipv6: Value, ipv4: Value, macs: Value) -> protocols.EvpnRoutes:
    """Return the number of EVPN routes of type 5 and of type 2, and the type-5 prefixes by route distinguisher.

    - ``ipv6``, ``ipv4``: the type-5 routes, with keys such as ``RD: 10.100.1.3:10 ip-prefix 10.100.0.128/31``.
    - ``macs``: the type-2 routes. If this answer is missing, their number is None.
    """
    made: dict[str, tuple[str, ...]] = {}
    for answer in (ipv6, ipv4):
        for _, (key,) in rows(answer, "evpnRoutes/*"):
            match = re.fullmatch(r"RD: (\S+) ip-prefix (\S+)", key)
            if match:
                made[match[1]] = (*made.get(match[1], ()), match[2])
            else:
                answer.note(f"{key[:80]!r} is no `RD: … ip-prefix …`")
    second = sum(" mac-ip " in key for _, (key,) in rows(macs, "evpnRoutes/*"))
    return protocols.EvpnRoutes(
        type2=second if macs.there else None,
        type5=sum(map(len, made.values())),
        type5_prefixes=made,
    )
