"""Prefix lists, community lists, route maps, and ``router bgp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, line, section
from railweave.systems.eos.render.keys import keyed
from railweave.systems.eos.render.overlay import community_word, overlay_family, overlay_neighbors, vrf_routers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig, Term


def used_lists(bgp: Bgp) -> list[tuple[str, bool]]:
    """The prefix lists that policies name, and whether longer prefixes match too. One name is used one way."""
    used = {(t.match.prefix_list, t.match.orlonger) for p in bgp.policies for t in p.terms if t.match.prefix_list}
    return sorted((name or "", longer) for name, longer in used)


def entries(bgp: Bgp, name: str, version: int, *, orlonger: bool) -> list[tuple[int, str]]:
    """The numbered entries of a prefix list, of one address family."""
    found = [one for one in bgp.prefix_lists.get(name, ()) if (one.family == "ipv6") == (version == 6)]
    most = (" le 128" if version == 6 else " le 32") if orlonger else ""
    return [(5 * place, f"permit {prefix}{most}") for place, prefix in enumerate(found, 1)]


def matched_communities(bgp: Bgp) -> dict[str, str]:
    """Communities that policies look for, and their values."""
    matched = {term.match.community for policy in bgp.policies for term in policy.terms if term.match.community}
    return bgp.values(sorted(matched))


def matches(bgp: Bgp, term: Term) -> list[str]:
    """What a term asks of a route."""
    found: list[str] = []
    if term.match.prefix_list:
        word = "ipv6" if bgp.family_of(term.match) == "ipv6" else "ip"
        found.append(f"{word} address prefix-list {term.match.prefix_list}")
    if term.match.community:
        value = bgp.values([term.match.community]).get(term.match.community, "")
        found.append(f"{community_word(value)} {term.match.community}")
    return found


def sets(bgp: Bgp, term: Term) -> list[str]:
    """What a term does to a route that it takes."""
    action = term.action
    found: list[str] = []
    if action.local_preference is not None:
        found.append(f"local-preference {action.local_preference}")
    added = list(bgp.values(action.add_communities).values())
    if added:
        additive = "" if action.replace_communities else " additive"
        found.append(f"{community_word(added[0])} {' '.join(added)}{additive}")
    if action.prepend:
        found.append(f"as-path prepend {' '.join(map(str, action.prepend))}")
    return found


def policies(config: DeviceConfig) -> Iterator[Section]:
    """Lists and route maps; what no term of a map takes is denied."""
    bgp = config.bgp
    if bgp is None:
        return
    for version, word in ((4, "ip"), (6, "ipv6")):
        for name, longer in used_lists(bgp):
            body = [f"seq {number} {text}" for number, text in entries(bgp, name, version, orlonger=longer)]
            if body:
                yield section(f"{word} prefix-list {name}", body)
    for name, value in matched_communities(bgp).items():
        yield line(f"ip {community_word(value)}-list {name} permit {value}")
    for policy in bgp.policies:
        for place, term in enumerate(policy.terms, 1):
            yield section(
                f"route-map {policy.name} {'permit' if term.action.accept else 'deny'} {10 * place}",
                f"description {term.name}",
                [f"match {one}" for one in matches(bgp, term)],
                [f"set {one}" for one in sets(bgp, term)],
            )
    for name, ranges in bgp.as_lists.items():
        yield section(f"peer-filter {name}", [f"{number} match {text}" for number, text in peer_filter(ranges)])


def peer_filter(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, str]]:
    """The numbered entries of a peer filter: AS numbers that a discovered neighbor may have."""
    return [
        (10 * place, f"as-range {low}{f'-{high}' if high != low else ''} result accept")
        for place, (low, high) in enumerate(ranges, 1)
    ]


def routing(config: DeviceConfig) -> Iterator[Section]:
    """Which families are routed, and the daemon that does it."""
    yield line("service routing protocols model multi-agent")
    # Only server ports are bridged, and without spanning tree nobody listens for bridges on them.
    yield line(f"spanning-tree mode {'rstp' if config.bpdu_guard() else 'none'}")
    # IPv4 is routed over links that have none: the VTEP's and the tenants' prefixes.
    yield line("ip routing ipv6 interfaces")
    yield line("ipv6 unicast-routing")


def router_bgp(config: DeviceConfig) -> Iterator[Section]:
    """``router bgp``: a peer group per path color."""
    bgp = config.bgp
    if bgp is None:
        return
    peers: list[str] = []
    for group in bgp.groups:
        peers += _group(bgp, group)
    yield section(
        f"router bgp {bgp.asn}",
        f"router-id {bgp.router_id}",
        "no bgp default ipv4-unicast",
        f"maximum-paths {bgp.maximum_ecmp} ecmp {bgp.maximum_ecmp}",
        "graceful-restart" if bgp.graceful_restart else None,
        peers,
        overlay_neighbors(config),
        f"redistribute connected route-map {bgp.redistribute_connected}" if bgp.redistribute_connected else None,
        overlay_family(config),
        [_family(bgp, one) for one in bgp.families],
        vrf_routers(config),
    )


def _group(bgp: Bgp, group: BgpGroup) -> list[str]:
    name = f"neighbor {group.name}"
    found = [f"{name} peer group", f"{name} description {group.description}"]
    if bgp.bfd:
        every = bgp.bfd.minimum_interval
        found += [f"{name} bfd", f"{name} bfd interval {every} min-rx {every} multiplier {bgp.bfd.multiplier}"]
    found += [f"{name} ttl maximum-hops 1"] if bgp.ttl_security else []
    found += keyed(bgp, group.name)
    found += [
        f"{name} route-map {group.import_policy} in",
        f"{name} route-map {group.export_policy} out",
        f"{name} send-community",
        f"{name} maximum-routes 0",
    ]
    for session in group.sessions:
        if session.peer_address:
            found += [
                f"neighbor {session.peer_address} peer group {group.name}",
                f"neighbor {session.peer_address} remote-as {session.peer_as}",
                f"neighbor {session.peer_address} description {session.peer}",
            ]
            found += [
                f"neighbor {session.peer_address} route-map {policy} {way}"
                for policy, way in ((session.import_policy, "in"), (session.export_policy, "out"))
                if policy
            ]
        elif group.peer_as_list:
            found.append(
                f"neighbor interface {session.interface} peer-group {group.name} peer-filter {group.peer_as_list}"
            )
    return found


def _family(bgp: Bgp, family: str) -> Section:
    lines: list[str] = []
    for group in bgp.groups:
        lines.append(f"neighbor {group.name} activate")
        if over_link_local(group, family):
            lines.append(f"neighbor {group.name} next-hop address-family ipv6 originate")
    return section(f"address-family {family}", lines)


def over_link_local(group: BgpGroup, family: str) -> bool:
    """Whether IPv4 routes of a group have IPv6 next hops (RFC 8950)."""
    return family == "ipv4" and all(
        one.peer_address is None or one.peer_address.family == "ipv6" for one in group.sessions
    )
