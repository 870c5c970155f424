"""BFD, lists, route-maps and BGP as the command line of Enterprise SONiC has them: FRR below, other words above."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS
from railweave.model.config.sections import line, section
from railweave.systems.dell_sonic.render.interfaces import FAMILIES
from railweave.systems.dell_sonic.render.qos import NAME, adaptive
from railweave.systems.dell_sonic.tree import quoted
from railweave.systems.frr.names import OVERLAY_GROUP as OVERLAY
from railweave.systems.frr.render.external import external_maps
from railweave.systems.frr.render.overlay import FROM_SPINE, TO_NEIGHBORS, bridged_vnis
from railweave.systems.frr.render.routing import bfd
from railweave.systems.sonic.render.names import vrf_names
from railweave.systems.sonic.render.system import secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section
    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig, OverlayConfig, Session, Term, Vrf


def routing(config: DeviceConfig) -> Iterator[Section]:
    """Everything about routes."""
    bgp = config.bgp
    if bgp is None:
        return
    found = bfd(config, bgp)
    if found:
        yield found
    yield from _lists(bgp)
    yield from _route_maps(config, bgp)
    yield from _overlay_policy(config)
    for vrf in config.vrfs:
        yield from external_maps(replace(vrf, name=vrf_names(config)[vrf.name]))
    yield _router(config, bgp)
    for vrf in config.vrfs:
        if config.overlay:
            yield _vrf_router(config, vrf, bgp, config.overlay)


def _lists(bgp: Bgp) -> Iterator[Section]:
    used = {(t.match.prefix_list, t.match.orlonger) for p in bgp.policies for t in p.terms if t.match.prefix_list}
    for name, orlonger in sorted((name or "", longer) for name, longer in used):
        for sequence, prefix in enumerate(bgp.prefix_lists.get(name, ()), 1):
            family, most = FAMILIES[prefix.family], BITS[prefix.family]
            tail = f" le {most}" if orlonger else ""
            yield line(f"{family} prefix-list {name} seq {5 * sequence} permit {prefix}{tail}")
    matched = {term.match.community for policy in bgp.policies for term in policy.terms if term.match.community}
    for name, value in bgp.values(sorted(matched)).items():
        yield line(f"bgp community-list standard {name} permit {value} any")


def _route_maps(config: DeviceConfig, bgp: Bgp) -> Iterator[Section]:
    taken = {group.import_policy for group in bgp.groups}
    for policy in bgp.policies:
        for number, term in enumerate(policy.terms, 1):
            verdict = "permit" if term.action.accept else "deny"
            shared = policy.name in taken and term.action.accept and adaptive(config)
            yield section(
                f"route-map {policy.name} {verdict} {10 * number}",
                _matches(bgp, term),
                _sets(bgp, term),
                [f"set ars-object {NAME}"] if shared else [],
            )


def _matches(bgp: Bgp, term: Term) -> list[str]:
    found: list[str] = []
    if term.match.prefix_list:
        found.append(f"match {FAMILIES[bgp.family_of(term.match)]} address prefix-list {term.match.prefix_list}")
    if term.match.community:
        found.append(f"match community {term.match.community}")
    return found


def _sets(bgp: Bgp, term: Term) -> list[str]:
    action = term.action
    found = [] if action.local_preference is None else [f"set local-preference {action.local_preference}"]
    added = bgp.values(action.add_communities).values()
    if added:
        additive = "" if action.replace_communities else " additive"
        found.append(f"set community {' '.join(added)}{additive}")
    if action.prepend:
        # One list with commas between (dellemc.enterprise_sonic, examples of sonic_route_maps).
        found.append(f"set as-path prepend {','.join(map(str, action.prepend))}")
    return found


def _overlay_policy(config: DeviceConfig) -> Iterator[Section]:
    found = config.overlay
    if found is None:
        return
    if found.reflects:
        yield section(f"route-map {TO_NEIGHBORS} permit 10", f"set community {found.from_spine} additive")
        return
    yield line(f"bgp community-list standard {FROM_SPINE} permit {found.from_spine} any")
    yield section(f"route-map {TO_NEIGHBORS} deny 10", f"match community {FROM_SPINE}")
    yield section(f"route-map {TO_NEIGHBORS} permit 20", [])


def _router(config: DeviceConfig, bgp: Bgp) -> Section:
    families = [
        section(
            f"address-family {family} unicast",
            f"redistribute connected route-map {bgp.redistribute_connected}" if bgp.redistribute_connected else None,
            f"maximum-paths {bgp.maximum_ecmp}",
        )
        for family in bgp.families
    ]
    peers = [part for group in bgp.groups for part in _group(bgp, group)]
    return section(
        f"router bgp {bgp.asn}",
        f"router-id {bgp.router_id}",
        "log-neighbor-changes",
        "bestpath as-path multipath-relax",
        ["graceful-restart enable", "graceful-restart preserve-fw-state"] if bgp.graceful_restart else None,
        families,
        section("address-family l2vpn evpn", "advertise-all-vni", bridged_vnis(config)) if config.vrfs else None,
        peers,
        _overlay_peers(bgp, config.overlay) if config.overlay else [],
    )


def _group(bgp: Bgp, group: BgpGroup) -> Iterator[Section]:
    yield section(
        f"peer-group {group.name}",
        f"description {quoted(group.description)}",
        "timers connect 5",
        _watched(bgp, "fabric") if bgp.bfd else None,
        "ttl-security hops 1" if bgp.ttl_security else None,
        _keyed(bgp),
        "capability extended-nexthop" if "ipv4" in bgp.families else None,
        [
            section(
                f"address-family {family} unicast",
                "activate",
                f"route-map {group.import_policy} in",
                f"route-map {group.export_policy} out",
                "send-community both",
            )
            for family in bgp.families
        ],
    )
    for session in group.sessions:
        yield _neighbor(session, group.name)


def _watched(bgp: Bgp, profile: str) -> str:
    """BFD of a group; with graceful restart it does not end the session of a neighbor that restarts."""
    return f"bfd {'check-control-plane-failure ' if bgp.graceful_restart else ''}profile {profile}"


def _keyed(bgp: Bgp) -> list[str]:
    """The key of a group's sessions: TCP MD5."""
    key = bgp.authentication
    return [f"password {secret(key.key)}"] if key and key.algorithm == "md5" else []


def _neighbor(session: Session, group: str) -> Section:
    name = session.peer_address or f"interface {session.interface}"
    return section(
        f"neighbor {name}",
        f"remote-as {session.peer_as}",
        f"peer-group {group}",
        f"description {quoted(session.peer)}",
    )


def _overlay_peers(bgp: Bgp, found: OverlayConfig) -> Iterator[Section]:
    yield section(
        f"peer-group {OVERLAY}",
        f"description {quoted('EVPN, loopback to loopback')}",
        # Not disable-connected-check: BFD would be of one hop then, on the loopback, and never come up (seen on FRR).
        "ebgp-multihop 2",
        "timers connect 5",
        f"update-source {found.loopback}",
        _watched(bgp, OVERLAY) if found.bfd else None,
        _keyed(bgp),
        section(
            "address-family l2vpn evpn",
            "activate",
            f"route-map {TO_NEIGHBORS} out",
            "attribute-unchanged next-hop" if found.reflects else None,
            "send-community both",
        ),
    )
    for one in found.neighbors:
        yield _neighbor(one, OVERLAY)


def _vrf_router(config: DeviceConfig, vrf: Vrf, bgp: Bgp, overlay: OverlayConfig) -> Section:
    width = f"maximum-paths {max(1, len(overlay.neighbors))}"
    name = vrf_names(config)[vrf.name]
    return section(
        f"router bgp {bgp.asn} vrf {name}",
        f"router-id {bgp.router_id}",
        [section(f"address-family {family} unicast", "redistribute connected", width) for family in vrf.families()],
        _external_peers(vrf, name),
        section(
            "address-family l2vpn evpn",
            [f"advertise {family} unicast" for family in vrf.families()],
            f"rd {vrf.route_distinguisher}",
            [f"route-target import {target.removeprefix('target:')}" for target in vrf.import_targets],
            [f"route-target export {target.removeprefix('target:')}" for target in vrf.export_targets],
        ),
    )


def _external_peers(vrf: Vrf, name: str) -> list[Section]:
    """Routers outside the fabric: a peer group each, with its route-maps, and a neighbor for each link."""
    found: list[Section] = []
    for router, one in {peer.router: peer for peer in vrf.external}.items():
        family = one.session.local_address.family
        maps = (f"route-map from-{name}-{router} in", f"route-map to-{name}-{router} out")
        described = f"description {quoted(f'external router {router}')}"
        found.append(
            section(
                f"peer-group {router}",
                described,
                section(f"address-family {family} unicast", "activate", maps[0], maps[1]),
            )
        )
    return found + [_neighbor(one.session, one.router) for one in vrf.external]
