"""The EVPN overlay in FRR: sessions from loopback to loopback, VRFs with a VNI, type-5 routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.model.config.sections import Section, section
from railweave.systems.frr.meaning.policy import external_policies, overlay_policies
from railweave.systems.frr.names import OVERLAY_BFD_PROFILE, OVERLAY_GROUP, TO_NEIGHBORS
from railweave.systems.frr.statements.policy import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import Bgp, DeviceConfig, OverlayConfig, Session, Vrf


def watched(bgp: Bgp, group: str, name: str) -> list[str]:
    """BFD of a group. With graceful restart BFD still ends a session, but for a neighbor that is restarting (RFC 5882, 4.3.2)."""
    lines = [f"neighbor {group} bfd profile {name}"]
    return [*lines, f"neighbor {group} bfd check-control-plane-failure"] if bgp.graceful_restart else lines


def keyed(bgp: Bgp, group: str) -> list[str]:
    """The key of a group's sessions. FRR has TCP MD5 alone."""
    key = bgp.authentication
    return [f"neighbor {group} password <{key.key}>"] if key and key.algorithm == "md5" else []


def neighbor(session: Session, group: str) -> list[str]:
    """A neighbor that has an address, in its peer group."""
    return [
        f"neighbor {session.peer_address} remote-as {session.peer_as}",
        f"neighbor {session.peer_address} peer-group {group}",
        f"neighbor {session.peer_address} description {session.peer}",
    ]


def external_neighbors(vrf: Vrf) -> list[str]:
    """Lines of ``router bgp … vrf …`` for the sessions."""
    lines: list[str] = []
    for router in dict.fromkeys(one.router for one in vrf.external):
        lines += [f"neighbor {router} peer-group", f"neighbor {router} description external router {router}"]
    for one in vrf.external:
        lines += neighbor(one.session, one.router)
    return lines


def external_family(vrf: Vrf, family: str) -> list[str]:
    """Lines of an address family: routers whose links are of it."""
    six = family == "ipv6"
    routers = dict.fromkeys(one.router for one in vrf.external if (one.session.local_address.family == "ipv6") == six)
    return [
        text
        for router in routers
        for text in (
            f"neighbor {router} activate",
            f"neighbor {router} route-map from-{vrf.name}-{router} in",
            f"neighbor {router} route-map to-{vrf.name}-{router} out",
        )
    ]


FIRST_BRIDGED = 60000
"""Second half of the route distinguishers of bridged VLANs, less the VLAN: tenants' own count from 1."""


def overlay_sections(config: DeviceConfig) -> Iterator[Section]:
    """Yield the sections before ``router bgp``: VRFs with their VNIs, and the policies for external routers and overlay neighbors."""
    for vrf in config.vrfs:
        yield section(f"vrf {vrf.name}", f"vni {vrf.vni}")
        for policies in external_policies(vrf):
            yield from POLICIES.printed(policies)
    if config.overlay is not None:
        yield from POLICIES.printed(overlay_policies(config.overlay))


def overlay_neighbors(config: DeviceConfig) -> list[str]:
    """Lines of ``router bgp`` for the overlay's sessions."""
    found = config.overlay
    if found is None:
        return []
    lines = [
        f"neighbor {OVERLAY_GROUP} peer-group",
        f"neighbor {OVERLAY_GROUP} description EVPN, loopback to loopback",
        # Not disable-connected-check: BFD would be of one hop then, on the loopback, and never come up (seen on 10.3, 10.7).
        f"neighbor {OVERLAY_GROUP} ebgp-multihop 2",
        f"neighbor {OVERLAY_GROUP} timers connect 5",
        f"neighbor {OVERLAY_GROUP} update-source {found.loopback}",
    ]
    if config.bgp:
        lines += watched(config.bgp, OVERLAY_GROUP, OVERLAY_BFD_PROFILE) if found.bfd else []
        lines += keyed(config.bgp, OVERLAY_GROUP)
    for one in found.neighbors:
        lines += neighbor(one, OVERLAY_GROUP)
    return lines


def overlay_family(config: DeviceConfig) -> Section | None:
    """``address-family l2vpn evpn``: spines leave the next hop as it is, leaves have VNIs."""
    found = config.overlay
    if found is None:
        return None
    return section(
        "address-family l2vpn evpn",
        f"neighbor {OVERLAY_GROUP} activate",
        f"neighbor {OVERLAY_GROUP} route-map {TO_NEIGHBORS} out",
        f"neighbor {OVERLAY_GROUP} attribute-unchanged next-hop" if found.reflects else "advertise-all-vni",
        *bridged_vnis(config),
    )


class BridgedVni(NamedTuple):
    """A layer-2 VNI, with a route distinguisher and a route target of its own."""

    vni: int
    distinguisher: str
    target: str


def bridged(config: DeviceConfig) -> list[BridgedVni]:
    """Return the layer-2 VNIs of a device: its MAC-VRF, VLAN by VLAN, because FRRouting tells them apart by route targets too."""
    mac_vrf = config.mac_vrf
    if mac_vrf is None:
        return []
    router_id = mac_vrf.route_distinguisher.rpartition(":")[0]
    return [
        BridgedVni(vlan.vni, f"{router_id}:{FIRST_BRIDGED + vlan.vlan}", target_value(vlan.route_target))
        for vlan in mac_vrf.vlans
    ]


def bridged_vnis(config: DeviceConfig) -> list[Section]:
    """Return the sections of the layer-2 VNIs."""
    return [
        section(f"vni {vni}", f"rd {distinguisher}", f"route-target import {target}", f"route-target export {target}")
        for vni, distinguisher, target in bridged(config)
    ]


def vrf_routers(config: DeviceConfig, asn: int) -> Iterator[Section]:
    """``router bgp … vrf …``: a tenant's connected prefixes as type-5 routes."""
    overlay = config.overlay
    if overlay is not None and config.bgp is not None:
        for vrf in config.vrfs:
            yield _vrf_router(vrf, asn, config.bgp.router_id, overlay)


def _vrf_router(vrf: Vrf, asn: int, router_id: str, overlay: OverlayConfig) -> Section:
    width = max(1, len(overlay.neighbors))
    return section(
        f"router bgp {asn} vrf {vrf.name}",
        f"bgp router-id {router_id}",
        "no bgp default ipv4-unicast",
        external_neighbors(vrf),
        *(
            section(
                f"address-family {family} unicast",
                "redistribute connected",
                f"maximum-paths {width}",
                external_family(vrf, family),
            )
            for family in vrf.families()
        ),
        section(
            "address-family l2vpn evpn",
            [f"advertise {family} unicast" for family in vrf.families()],
            f"rd {vrf.route_distinguisher}",
            [f"route-target import {target_value(target)}" for target in vrf.import_targets],
            [f"route-target export {target_value(target)}" for target in vrf.export_targets],
        ),
    )


def target_value(target: str) -> str:
    """Return a route target without the word that Junos puts in front of it."""
    return target.removeprefix("target:")
