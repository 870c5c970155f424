"""Readers of Junos answers about LLDP, BGP, BFD, IS-IS, OSPF, routes, neighbors and the overlay."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state import protocols
from railweave.model.state.field_maps import Fields, column, listed
from railweave.model.state.question import DEFAULT_VRF, asked_about
from railweave.systems.state_table import end_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.state.values import Answers, Value


_INDEX = re.compile(r"\d+")


def port_of(name: str | None) -> str | None:
    """Return the name of a port without ``.0``, its unit. Other names are returned unchanged."""
    return name.removesuffix(".0") if name and "/" in name else name


_NEIGHBOR = Fields(
    protocols.LldpNeighbor,
    "system=lldp-remote-system-name port_kind=lldp-remote-port-id-subtype:lower "
    "port_description=lldp-remote-port-description chassis=lldp-remote-chassis-id",
)


def lldp(answer: Value) -> dict[str, tuple[protocols.LldpNeighbor, ...]]:
    """Return the neighbors in ``show lldp neighbors``, by local port.

    If the remote port's id is an SNMP index, the description of the remote port is used as its name.
    """
    made: dict[str, tuple[protocols.LldpNeighbor, ...]] = {}
    for neighbor in answer.find("lldp-neighbor-information"):
        names = [neighbor.get(key).text() for key in ("lldp-local-port-id", "lldp-local-interface")]
        port = next((name for name in names if name and not _INDEX.fullmatch(name)), None)
        if port is None:
            neighbor.note("it does not name the local port")
            continue
        remote, description = (
            neighbor.get("lldp-remote-port-id").text(),
            neighbor.get("lldp-remote-port-description").text(),
        )
        if remote is None or (_INDEX.fullmatch(remote) and description):
            remote = description
        port = port_of(port) or port
        made[port] = (*made.get(port, ()), _NEIGHBOR(neighbor, port=port_of(remote)))
    return made


def _port(value: Value) -> str | None:
    return port_of(value.text())


ipv6_neighbors = listed(
    "..ipv6-nd-entry",
    Fields(
        protocols.NeighborEntry,
        "address!=ipv6-nd-neighbor-address interface=ipv6-nd-interface-name mac=ipv6-nd-neighbor-l2-address:mac "
        "state=ipv6-nd-state:lower router=ipv6-nd-isrouter",
        interface=_port,
    ),
)
"""Return the neighbor cache in ``show ipv6 neighbors``."""

ipv4_neighbors = listed(
    "..arp-table-entry",
    Fields(
        protocols.NeighborEntry,
        "address!=ip-address interface=interface-name mac=mac-address:mac",
        interface=lambda name: port_of((name.text() or "").partition(" ")[0]),  # for an IRB interface, the port follows
    ),
)
"""Return the ARP table in ``show arp no-resolve``. NAPALM reads the same fields."""


def _conflicts(value: Value) -> tuple[str, ...]:
    parts = (value, *value.all("ipv6-ra-prefix"))
    keys = {key.removesuffix("-conflict") for part in parts for key in part.keys if key.endswith("-conflict")}
    return tuple(sorted(keys))


_HEARD = Fields(
    protocols.HeardAdvertisement,
    "source=ipv6-source-address lifetime_s=ipv6-ra-lifetime",
    source=lambda address: address.text() or "",
    prefixes=listed(
        "ipv6-ra-prefix[]",
        Fields(
            protocols.AdvertisedPrefix,
            "prefix!=ipv6-ra-prefix-address valid_s=ipv6-ra-prefix-valid-lifetime|ipv6-ra-valid-lifetime "
            "preferred_s=ipv6-ra-prefix-preferred-lifetime|ipv6-ra-preferred-lifetime "
            "on_link=ipv6-ra-prefix-on-link|ipv6-ra-on-link autonomous=ipv6-ra-prefix-autonomous|ipv6-ra-autonomous",
        ),
    ),
    conflicts=_conflicts,
)
_ADVERTISING = Fields(
    protocols.RouterAdvertising,
    "sent=ipv6-ra-advertisements-sent received=ipv6-ra-advertisements-received",
    heard=listed("ipv6-ra-advertisement[]", _HEARD),
)


def advertising(answer: Value) -> dict[str, protocols.RouterAdvertising]:
    """Return the router advertisements by interface, from ``show ipv6 router-advertisement``."""
    ports = ((_port(value.get("interface-name")), value) for value in answer.find("ipv6-ra-interface"))
    return {name: _ADVERTISING(value) for name, value in ports if name is not None}


def routes(answers: Answers) -> tuple[protocols.Route, ...] | None:
    """Return all routes in the answers about single routes and about whole tables, or None if no such answer exists."""
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith(("routes-", "static-", "aggregate-"))]
    if not asked and not tables:
        return None
    made: dict[tuple[str, str], protocols.Route] = {}
    for name in tables:
        vrf, answer = name.partition("@")[2], answers.tree(name)
        for entry in answer.find("rt") if answer else []:
            prefix = _prefix(entry)
            if not prefix:
                continue
            route = _route(vrf, prefix, entry)
            if name.startswith("routes-"):
                made[vrf, prefix] = route
            elif route.protocol is not None:  # this list also has unused routes, and does not show paths of BGP
                made[vrf, prefix] = replace(route, paths=None)
    for name, (_, vrf, prefix) in asked:
        answer = answers.tree(name)
        if answer is not None:
            entry = next((value for value in answer.find("rt") if _prefix(value) == prefix), None)
            made[vrf, prefix] = protocols.Route(prefix, vrf, paths=()) if entry is None else _route(vrf, prefix, entry)
    return tuple(made.values())


def route_counts(answer: Value) -> dict[str, dict[str, int]]:
    """Return the numbers of active BGP and IS-IS routes in ``inet.0`` and ``inet6.0``, by VRF and address family.

    The answer is that of ``show route summary``.
    """
    counts: dict[str, int] = {}
    for table in answer.find("route-table"):
        family = {"inet.0": "ipv4", "inet6.0": "ipv6"}.get(table.get("table-name").text() or "")
        if family is not None:
            rows = table.all("protocols")
            learned = [row for row in rows if row.get("protocol-name").lower() in {"bgp", "is-is", "isis"}]
            counts[family] = sum(row.get("active-route-count").integer() or 0 for row in learned)
    return {DEFAULT_VRF: counts}


def filters(answer: Value) -> tuple[protocols.PacketFilter, ...]:
    """Return the active firewall filters in ``show firewall``.

    If the name of a filter ends with a port (``NAME-et-0/0/0.0-i``), the filter belongs to this port only.
    """
    names = (entry.get("filter-name").text() for entry in answer.find("filter-information"))
    filters: list[protocols.PacketFilter] = []
    for name in dict.fromkeys(filter(None, names)):
        if name.startswith("__"):  # Junos itself created it
            continue
        match = _OF_PORT.fullmatch(name)
        port = port_of(match[2]) if match else None
        filters.append(protocols.PacketFilter(match[1], (port,)) if match and port else protocols.PacketFilter(name))
    return tuple(filters)


_OF_PORT = re.compile(r"(.+)-((?:et|xe|ge|ae|irb)[-.\d/:]{1,20})-[io]")


def _prefix(entry: Value) -> str | None:
    """Return the prefix of a route in an answer (``entry``). In detailed answers, the prefix length is in a separate element."""
    destination, length = entry.get("rt-destination").text(), entry.get("rt-prefix-length").text()
    return f"{destination}/{length}" if destination and length and "/" not in destination else destination


_HOPS = listed("nh[]", Fields(protocols.NextHop, "address=to interface=via", interface=_port, active=lambda _: True))


_PATH = Fields(
    protocols.Path,
    "peer=learned-from|gateway:end best=active-tag hidden=hidden-reason as_path=as-path local_preference=local-preference "
    "aigp=rt-aigp|rt-effective-aigp",
    end=lambda peer: end_of(_peer(peer.text() or "")),
    best=lambda tag: tag.text() in {"*", "@"},
    communities=column("communities[]/community[]"),
    extended_communities=column("communities[]/extended-community[]"),
)


def _route(vrf: str, prefix: str, entry: Value) -> protocols.Route:
    paths = entry.all("rt-entry")
    active = next((path for path in paths if path.get("active-tag").text() in {"*", "#"}), entry.made(None))
    kind = active.get("nh-type").lower()
    return protocols.Route(
        prefix,
        vrf,
        active.get("protocol-name").lower(),
        next_hops=_HOPS(active),
        paths=tuple(_PATH(path) for path in paths if path.get("protocol-name").lower() == "bgp"),
        drops=kind if kind in {"discard", "reject"} else None,
    )


_VRF = Fields(protocols.VrfState, "name!=context-name route_distinguisher=route-distinguisher vni=context-vni")


def _targets(instance: Value) -> tuple[str, ...] | None:
    """Return the import or export route targets of a routing instance, or None if the answer has none.

    The answer lists them in brackets or one by one.
    """
    return tuple(re.findall(r"target:([\w.:]+)", " ".join(column("[]")(instance)))) or None


_TARGETS = Fields(
    protocols.VrfState,
    "import_targets=vrf-import-target export_targets=vrf-export-target",
    import_targets=_targets,
    export_targets=_targets,
)


def vrfs(answer: Value, instances: Value) -> dict[str, protocols.VrfState]:
    """Return the VRFs in ``show evpn l3-context extensive``, with the route targets from ``show route instance detail``."""
    targets = {
        value.get("instance-name").text(): value.get("instance-vrf") for value in instances.find("instance-core")
    }
    made = (_VRF.maybe(context) for context in answer.find("evpn-l3-context"))
    return {vrf.name: _TARGETS.onto(vrf, targets[vrf.name]) if vrf.name in targets else vrf for vrf in made if vrf}


def vnis(answer: Value) -> dict[int, protocols.VniState]:
    """Return the VNIs of VRFs. VNIs of VLANs are left out, because the reader could not be tested with an answer about them."""
    known = vrfs(answer, answer.made(None)).values()
    return {vrf.vni: protocols.VniState(vrf.vni, 3, vrf.name) for vrf in known if vrf.vni is not None}


def evpn(prefixes: Value, macs: Value) -> protocols.EvpnRoutes:
    """Return the type-5 routes that were received and accepted, by VRF. The number of MAC entries is returned as that of type-2 routes."""
    by_vrf = {
        name: tuple(
            prefix
            for entry in context.find("evpn-pfxdb-evpn-ip-entry")
            if (prefix := entry.first("entry-prefix", "ip-prefix").text()) is not None
        )
        for context in prefixes.find("evpn-pfxdb-l3-context")
        if (name := context.get("context-name").text()) is not None
    }
    return protocols.EvpnRoutes(
        len(macs.find("mac-entry")) if macs.there else None,
        sum(map(len, by_vrf.values())) if prefixes.there else None,
        by_vrf if prefixes.there else None,
    )


_FAMILIES = {"inet.0": "ipv4", "inet6.0": "ipv6", "bgp.evpn.0": "evpn"}


def _peer(text: str) -> tuple[str, str | None]:
    """Return a neighbor's (address, port) from a text such as ``fe80::1%et-0/0/0:0.0+179``. The TCP port after the plus sign is ignored."""
    address, _, zone = re.sub(r"\+\d+$", "", text).partition("%")
    return address, port_of(zone) or None


_FAMILY = Fields(
    protocols.FamilyState,
    "received=received-prefix-count accepted=accepted-prefix-count sent=advertised-prefix-count active=active-prefix-count",
)
_SESSION = Fields(
    protocols.BgpSession,
    "state=peer-state:lower peer_as=peer-as local_as=local-as group=peer-group description flaps=flap-count "
    "last_error=last-error bfd=bgp-bfd/bfd-operational-state:lower",
)


def sessions(answers: Iterable[Value], now: float | None) -> tuple[protocols.BgpSession, ...]:
    """Return the BGP sessions in ``show bgp summary`` and ``show bgp neighbor``. The latter has more detail, so it is the last answer.

    ``now`` is the device's clock in Unix seconds.
    """
    made: dict[tuple[str, str | None], protocols.BgpSession] = {}
    for answer in answers:
        for peer in answer.find("bgp-peer"):
            if (name := peer.get("peer-address").text()) is not None:
                key = _peer(name)
                made[key] = _session(peer, key, now, made.get(key) or protocols.BgpSession(key[0]))
    return tuple(made.values())


def _session(
    entry: Value, peer: tuple[str, str | None], now: float | None, known: protocols.BgpSession
) -> protocols.BgpSession:
    address, zone = peer
    session = _SESSION.onto(known, entry)
    ribs = ((rib.get("name").text(), rib) for rib in entry.all("bgp-rib"))
    ago = entry.get("elapsed-time").attribute("seconds").number()
    since = now - ago if now is not None and ago is not None and session.state == "established" else None
    instance = entry.get("peer-cfg-rti").text()
    local = _port(entry.get("local-interface-name")) if address.startswith("fe80") and not zone else None
    return replace(
        session,
        interface=zone or local or known.interface,
        vrf="default" if instance == "master" else instance or known.vrf,
        discovered=entry.get("peer-auto-discovery-type").there or zone is not None or known.discovered,
        established_since=known.established_since if since is None else since,
        families=known.families
        | {_FAMILIES.get(table, table): _FAMILY(rib) for table, rib in ribs if table is not None},
    )


def _ms(value: Value) -> float | None:
    seconds = value.number()
    return None if seconds is None else round(seconds * 1000, 3)


_BFD = Fields(
    protocols.BfdSession,
    "interface=session-interface state=session-state:lower tx_ms=session-transmission-interval:seconds "
    "multiplier=session-adaptive-multiplier detection_ms=session-detection-time:seconds diagnostic=local-diagnostic",
    interface=_port,
    seconds=_ms,
)


def bfd_sessions(answer: Value) -> tuple[protocols.BfdSession, ...]:
    """Return the sessions in ``show bfd session extensive``, which prints times as decimal seconds."""
    made: list[protocols.BfdSession] = []
    for session in answer.find("bfd-session"):
        if (name := session.get("session-neighbor").text()) is not None:
            address, zone = _peer(name)
            made.append(_BFD(session, peer=address, **({"interface": zone} if zone else {})))
    return tuple(made)


adjacencies = listed(
    "..isis-adjacency",
    Fields(
        protocols.IsisAdjacency,
        "interface!=interface-name system=system-name state=adjacency-state:lower level",
        interface=_port,
    ),
)
"""Return the adjacencies in ``show isis adjacency``."""
