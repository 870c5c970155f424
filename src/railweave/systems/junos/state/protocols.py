"""Answers about BGP, BFD, IS-IS, OSPF, routes and neighbors, read."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state import protocols
from railweave.model.state.question import asked_about

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.state.values import Answers, Value


_INDEX = re.compile(r"\d+")


def port_of(name: str | None) -> str | None:
    """A port by its own name: the unit 0 of a port is the port."""
    return name.removesuffix(".0") if name and "/" in name else name


def lldp(answer: Value | None) -> dict[str, tuple[protocols.LldpNeighbor, ...]] | None:
    """The neighbors of ``show lldp neighbors`` by local port. A remote port's id that is an SNMP index gives way to its description."""
    if answer is None:
        return None
    found: dict[str, tuple[protocols.LldpNeighbor, ...]] = {}
    for one in answer.find("lldp-neighbor-information"):
        names = [one.get(key).text() for key in ("lldp-local-port-id", "lldp-local-interface")]
        port = next((name for name in names if name and not _INDEX.fullmatch(name)), None)
        if port is None:
            one.note("it does not name the local port")
            continue
        remote, description = one.get("lldp-remote-port-id").text(), one.get("lldp-remote-port-description").text()
        if remote is None or (_INDEX.fullmatch(remote) and description):
            remote = description
        heard = protocols.LldpNeighbor(
            one.get("lldp-remote-system-name").text(),
            port_of(remote),
            one.get("lldp-remote-port-id-subtype").lower(),
            description,
            one.get("lldp-remote-chassis-id").text(),
        )
        found[port_of(port) or port] = (*found.get(port_of(port) or port, ()), heard)
    return found


def ipv6_neighbors(answer: Value | None) -> tuple[protocols.Ipv6Neighbor, ...] | None:
    """The neighbor cache of ``show ipv6 neighbors``."""
    if answer is None:
        return None
    return tuple(
        protocols.Ipv6Neighbor(
            address,
            port_of(one.get("ipv6-nd-interface-name").text()),
            one.get("ipv6-nd-neighbor-l2-address").mac(),
            one.get("ipv6-nd-state").lower(),
            one.get("ipv6-nd-isrouter").flag(),
        )
        for one in answer.find("ipv6-nd-entry")
        if (address := one.get("ipv6-nd-neighbor-address").text()) is not None
    )


def advertising(answer: Value | None) -> dict[str, protocols.RouterAdvertising] | None:
    """Router advertisements by interface, of ``show ipv6 router-advertisement``."""
    if answer is None:
        return None
    found: dict[str, protocols.RouterAdvertising] = {}
    for one in answer.find("ipv6-ra-interface"):
        name = port_of(one.get("interface-name").text())
        if name is not None:
            found[name] = protocols.RouterAdvertising(
                one.get("ipv6-ra-advertisements-sent").integer(),
                one.get("ipv6-ra-advertisements-received").integer(),
                tuple(_heard(heard) for heard in one.all("ipv6-ra-advertisement")),
            )
    return found


def _heard(one: Value) -> protocols.HeardAdvertisement:
    prefixes = one.all("ipv6-ra-prefix")
    conflicts = {
        key.removesuffix("-conflict") for part in (one, *prefixes) for key in part.keys if key.endswith("-conflict")
    }
    return protocols.HeardAdvertisement(
        one.get("ipv6-source-address").text() or "",
        one.get("ipv6-ra-lifetime").integer(),
        tuple(
            protocols.AdvertisedPrefix(
                prefix,
                part.first("ipv6-ra-prefix-valid-lifetime", "ipv6-ra-valid-lifetime").integer(),
                part.first("ipv6-ra-prefix-preferred-lifetime", "ipv6-ra-preferred-lifetime").integer(),
                part.first("ipv6-ra-prefix-on-link", "ipv6-ra-on-link").flag(),
                part.first("ipv6-ra-prefix-autonomous", "ipv6-ra-autonomous").flag(),
            )
            for part in prefixes
            if (prefix := part.get("ipv6-ra-prefix-address").text()) is not None
        ),
        tuple(sorted(conflicts)),
    )


def routes(answers: Answers) -> tuple[protocols.Route, ...] | None:
    """Every route that was asked for by itself, and those of whole tables."""
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith(("routes-", "static-", "aggregate-"))]
    if not asked and not tables:
        return None
    found: dict[tuple[str, str], protocols.Route] = {}
    for name in tables:
        vrf, answer = name.partition("@")[2], answers.tree(name)
        for entry in answer.find("rt") if answer else []:
            prefix = _prefix(entry)
            if not prefix:
                continue
            route = _route(vrf, prefix, entry)
            if route.protocol is not None or name.startswith("routes-"):  # lists by protocol have unused routes, too
                found[vrf, prefix] = route
    for name, (_, vrf, prefix) in asked:
        answer = answers.tree(name)
        if answer is not None:
            entry = next((one for one in answer.find("rt") if _prefix(one) == prefix), None)
            found[vrf, prefix] = protocols.Route(prefix, vrf, paths=()) if entry is None else _route(vrf, prefix, entry)
    return tuple(found.values())


def _prefix(entry: Value) -> str | None:
    """The prefix of a route: its length stands beside it in the detailed form."""
    destination, length = entry.get("rt-destination").text(), entry.get("rt-prefix-length").text()
    return f"{destination}/{length}" if destination and length and "/" not in destination else destination


def _route(vrf: str, prefix: str, entry: Value) -> protocols.Route:
    paths = entry.all("rt-entry")
    active = next((one for one in paths if one.get("active-tag").text() in {"*", "#"}), None)
    hops = tuple(
        protocols.NextHop(hop.get("to").text(), port_of(hop.get("via").text()), True)
        for hop in (active.all("nh") if active else ())
    )
    protocol = active.get("protocol-name").lower() if active else None
    kind = active.get("nh-type").lower() if active else None
    return protocols.Route(
        prefix,
        vrf,
        protocol,
        None,
        hops,
        tuple(_path(one) for one in paths if one.get("protocol-name").lower() == "bgp"),
        kind if kind in {"discard", "reject"} else None,
    )


def _path(one: Value) -> protocols.Path:
    said = tuple(
        text for community in one.all("communities") for part in community.all("community") if (text := part.text())
    )
    more = tuple(
        text
        for community in one.all("communities")
        for part in community.all("extended-community")
        if (text := part.text())
    )
    tag = one.get("active-tag").text()
    return protocols.Path(
        peer=one.first("learned-from", "gateway").text(),
        best=tag in {"*", "@"},
        hidden=one.get("hidden-reason").text(),
        as_path=one.get("as-path").text(),
        local_preference=one.get("local-preference").integer(),
        aigp=one.first("rt-aigp", "rt-effective-aigp").integer(),
        communities=said,
        extended_communities=more,
    )


def vrfs(answer: Value | None, instances: Value | None = None) -> dict[str, protocols.VrfState] | None:
    """The VRFs of ``show evpn l3-context extensive``, with the route targets of ``show route instance detail``."""
    if answer is None:
        return None
    targets = {
        one.get("instance-name").text(): one.get("instance-vrf")
        for one in (instances.find("instance-core") if instances else [])
    }
    found: dict[str, protocols.VrfState] = {}
    for one in answer.find("evpn-l3-context"):
        if (name := one.get("context-name").text()) is not None:
            state = protocols.VrfState(name, one.get("route-distinguisher").text(), one.get("context-vni").integer())
            if name in targets:
                taken, given = (_targets(targets[name], f"vrf-{way}-target") for way in ("import", "export"))
                state = replace(state, import_targets=taken, export_targets=given)
            found[name] = state
    return found


def _targets(instance: Value, key: str) -> tuple[str, ...] | None:
    """Route targets, which stand in brackets or one by one; None where the instance has none of that kind."""
    said = " ".join(text for one in instance.all(key) if (text := one.text()) is not None)
    return tuple(re.findall(r"target:([\w.:]+)", said)) or None


def vnis(answer: Value | None) -> dict[int, protocols.VniState] | None:
    """The VNIs of VRFs; those of VLANs have no form that was tried."""
    known = vrfs(answer)
    return (
        None
        if known is None
        else {one.vni: protocols.VniState(one.vni, 3, one.name) for one in known.values() if one.vni is not None}
    )


def evpn(prefixes: Value | None, macs: Value | None) -> protocols.EvpnRoutes | None:
    """Type 5 routes that were received and accepted, by VRF; MAC entries for type 2."""
    if prefixes is None and macs is None:
        return None
    by_vrf: dict[str, tuple[str, ...]] = {}
    for context in prefixes.find("evpn-pfxdb-l3-context") if prefixes else []:
        name = context.get("context-name").text()
        if name is not None:
            by_vrf[name] = tuple(
                prefix
                for one in context.find("evpn-pfxdb-evpn-ip-entry")
                if (prefix := one.first("entry-prefix", "ip-prefix").text()) is not None
            )
    return protocols.EvpnRoutes(
        None if macs is None else len(macs.find("mac-entry")),
        None if prefixes is None else sum(map(len, by_vrf.values())),
        None if prefixes is None else by_vrf,
    )


_FAMILIES = {"inet.0": "ipv4", "inet6.0": "ipv6", "bgp.evpn.0": "evpn"}


def _peer(text: str) -> tuple[str, str | None]:
    """A neighbor's address and port, of ``fe80::1%et-0/0/0:0.0+179``: the TCP port follows a plus sign."""
    address, _, zone = re.sub(r"\+\d+$", "", text).partition("%")
    return address, port_of(zone) or None


def sessions(answers: Iterable[Value], now: float | None) -> tuple[protocols.BgpSession, ...] | None:
    """The sessions of ``show bgp summary`` in its forms, and of ``show bgp neighbor``, which says most and comes last."""
    asked = list(answers)
    found: dict[tuple[str, str | None], protocols.BgpSession] = {}
    for answer in asked:
        for one in answer.find("bgp-peer"):
            name = one.get("peer-address").text()
            if name is not None:
                key = _peer(name)
                found[key] = _session(one, key, now, found.get(key))
    return tuple(found.values()) if asked else None


def _session(
    one: Value, peer: tuple[str, str | None], now: float | None, known: protocols.BgpSession | None
) -> protocols.BgpSession:
    address, zone = peer
    known = known or protocols.BgpSession(address)
    families = dict(known.families)
    for rib in one.all("bgp-rib"):
        table = rib.get("name").text()
        if table is not None:
            families[_FAMILIES.get(table, table)] = protocols.FamilyState(
                rib.get("received-prefix-count").integer(),
                rib.get("accepted-prefix-count").integer(),
                rib.get("advertised-prefix-count").integer(),
                rib.get("active-prefix-count").integer(),
            )
    state = one.get("peer-state").lower() or known.state
    ago = one.get("elapsed-time").attribute("seconds").number()
    since = now - ago if now is not None and ago is not None and state == "established" else known.established_since
    instance = one.get("peer-cfg-rti").text()
    return protocols.BgpSession(
        address,
        zone
        or (port_of(one.get("local-interface-name").text()) if address.startswith("fe80") else None)
        or known.interface,
        "default" if instance == "master" else instance or known.vrf,
        state,
        one.get("peer-as").integer() or known.peer_as,
        one.get("local-as").integer() or known.local_as,
        one.get("peer-group").text() or known.group,
        one.get("description").text() or known.description,
        discovered=one.get("peer-auto-discovery-type").there or zone is not None or known.discovered,
        established_since=since,
        flaps=_known(one.get("flap-count").integer(), known.flaps),
        last_error=one.get("last-error").text() or known.last_error,
        bfd=one.get("bgp-bfd", "bfd-operational-state").lower() or known.bfd,
        families=families,
    )


def _known(value: int | None, before: int | None) -> int | None:
    return before if value is None else value


def bfd_sessions(answer: Value | None) -> tuple[protocols.BfdSession, ...] | None:
    """The sessions of ``show bfd session extensive``; its times are seconds with decimals."""
    if answer is None:
        return None
    found: list[protocols.BfdSession] = []
    for one in answer.find("bfd-session"):
        name = one.get("session-neighbor").text()
        if name is None:
            continue
        address, zone = _peer(name)
        tx = _ms(one.get("session-transmission-interval"))
        found.append(
            protocols.BfdSession(
                address,
                zone or port_of(one.get("session-interface").text()),
                None,
                one.get("session-state").lower(),
                tx,
                None,
                one.get("session-adaptive-multiplier").integer(),
                _ms(one.get("session-detection-time")),
                one.get("local-diagnostic").text(),
            )
        )
    return tuple(found)


def adjacencies(answer: Value | None) -> tuple[protocols.IsisAdjacency, ...] | None:
    """The adjacencies of ``show isis adjacency``."""
    if answer is None:
        return None
    return tuple(
        protocols.IsisAdjacency(
            port_of(interface) or interface,
            one.get("system-name").text(),
            one.get("adjacency-state").lower(),
            one.get("level").integer(),
        )
        for one in answer.find("isis-adjacency")
        if (interface := one.get("interface-name").text()) is not None
    )


def _ms(value: Value) -> float | None:
    seconds = value.number()
    return None if seconds is None else round(seconds * 1000, 3)
