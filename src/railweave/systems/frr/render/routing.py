"""``router bgp``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section
from railweave.systems.frr.names import BFD_PROFILE
from railweave.systems.frr.render import overlay
from railweave.systems.frr.render.overlay import watched

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig, Session


def router_bgp(config: DeviceConfig, bgp: Bgp) -> Section:
    """``router bgp``: a peer group per path color; each neighbor with the one AS number that design gave it."""
    peers: list[str] = []
    for group in bgp.groups:
        peers += _group(bgp, group)
    families = [_address_family(bgp, family) for family in bgp.families]
    return section(
        f"router bgp {bgp.asn}",
        f"bgp router-id {bgp.router_id}",
        "no bgp default ipv4-unicast",
        "bgp bestpath as-path multipath-relax",
        "bgp bestpath aigp" if bgp.compare_aigp else None,
        "bgp fast-convergence" if config.balancing.fast_reroute else None,
        ["bgp graceful-restart", "bgp graceful-restart preserve-fw-state"] if bgp.graceful_restart else None,
        peers,
        overlay.overlay_neighbors(config),
        families,
        overlay.overlay_family(config),
    )


def _group(bgp: Bgp, group: BgpGroup) -> list[str]:
    found = [
        f"neighbor {group.name} peer-group",
        f"neighbor {group.name} description {group.description}",
        f"neighbor {group.name} timers connect 5",
    ]
    found += watched(bgp, group.name, BFD_PROFILE) if bgp.bfd else []
    found += [f"neighbor {group.name} ttl-security hops 1"] if bgp.ttl_security else []
    found += overlay.keyed(bgp, group.name)
    found += [f"neighbor {group.name} capability extended-nexthop"] if "ipv4" in bgp.families else []
    for session in group.sessions:
        found += _session(group, session)
    return found


def _session(group: BgpGroup, session: Session) -> list[str]:
    """The AS number stands at the neighbor: a peer with another one stays down, as ``peer-as-list`` would have it."""
    if session.peer_address:
        return overlay.neighbor(session, group.name)
    return [
        f"neighbor {session.interface} interface remote-as {session.peer_as}",
        f"neighbor {session.interface} peer-group {group.name}",
        f"neighbor {session.interface} description {session.peer}",
    ]


def _address_family(bgp: Bgp, family: str) -> Section:
    groups: list[str] = []
    for group in bgp.groups:
        groups += [
            f"neighbor {group.name} activate",
            f"neighbor {group.name} soft-reconfiguration inbound",
            f"neighbor {group.name} route-map {group.import_policy} in",
            f"neighbor {group.name} route-map {group.export_policy} out",
        ]
        groups += [
            f"neighbor {session.peer_address or session.interface} route-map {policy} {way}"
            for session in group.sessions
            for policy, way in ((session.import_policy, "in"), (session.export_policy, "out"))
            if policy
        ]
    return section(
        f"address-family {family} unicast",
        f"redistribute connected route-map {bgp.redistribute_connected}" if bgp.redistribute_connected else None,
        f"maximum-paths {bgp.maximum_ecmp}",
        groups,
    )
