"""Conversion of a device's BGP configuration to its statements (``statements.bgp``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from railweave.model.config.naming import target_value
from railweave.systems.frr.statements.bgp import Evpn, Peer, PeerFamily, Router, Routing, UnicastFamily
from railweave.systems.frr.tree import BFD_PROFILE, OVERLAY_BFD_PROFILE, OVERLAY_GROUP, TO_NEIGHBORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Family
    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig, OverlayConfig, Session, Vrf

FIRST_BRIDGED = 60000
"""The number added to a VLAN number in the second half of a route distinguisher. Tenants' numbers count from 1, so the two do not collide."""
RETRY = 5
"""The time in seconds between two attempts to open a BGP session."""


class BridgedVni(NamedTuple):
    """A layer-2 VNI with its own route distinguisher and route target."""

    vni: int
    distinguisher: str
    target: str


def bridged(config: DeviceConfig) -> list[BridgedVni]:
    """Return the layer-2 VNIs of a device, one for each VLAN of its MAC-VRF. FRRouting distinguishes them by their route targets."""
    mac_vrf = config.mac_vrf
    if mac_vrf is None:
        return []
    router_id = mac_vrf.route_distinguisher.rpartition(":")[0]
    return [
        BridgedVni(vlan.vni, f"{router_id}:{FIRST_BRIDGED + vlan.vlan}", target_value(vlan.route_target))
        for vlan in mac_vrf.vlans
    ]


def routing_of(config: DeviceConfig) -> Routing:
    """Return the BGP instances of a device: the instance of the fabric, then an instance for each tenant."""
    bgp = config.bgp
    if bgp is None:
        return Routing()
    routers = {"": _fabric(config, bgp)}
    if config.overlay is not None:
        routers |= {vrf.name: _tenant(vrf, bgp, config.overlay) for vrf in config.vrfs}
    return Routing(routers=routers)


def _fabric(config: DeviceConfig, bgp: Bgp) -> Router:
    """Return the BGP instance of the fabric, with a peer group for each path color, and with the overlay's sessions."""
    neighbors = [peer for group in bgp.groups for peer in _group(bgp, group)]
    neighbors += _overlay(bgp, config.overlay) if config.overlay else []
    family = UnicastFamily(
        redistributes=bgp.redistribute_connected or None, maximum_paths=bgp.maximum_ecmp, peers=_policies(bgp)
    )
    return Router(
        asn=bgp.asn,
        router_id=bgp.router_id,
        unicast_by_default=False,
        relaxed=True,
        compare_aigp=bgp.compare_aigp,
        fast=config.balancing.fast_reroute,
        graceful_restart=bgp.graceful_restart,
        neighbors={peer.name: peer for peer in neighbors},
        unicast=dict.fromkeys(bgp.families, family),
        evpn=_evpn(config, config.overlay) if config.overlay else None,
    )


def _group(bgp: Bgp, group: BgpGroup) -> Iterator[Peer]:
    made = Peer(
        group.name,
        is_group=True,
        description=group.description,
        retry=RETRY,
        ttl_security=bgp.ttl_security,
        extended_next_hop="ipv4" in bgp.families,
    )
    yield _kept(made, bgp, BFD_PROFILE if bgp.bfd else None)
    for session in group.sessions:
        yield _neighbor(session, group.name)


def _kept(peer: Peer, bgp: Bgp, profile: str | None) -> Peer:
    """Return the peer group ``peer`` with the BFD profile ``profile`` (None means no BFD), and with the key of the BGP sessions in ``bgp``.

    Only TCP MD5 keys are used, because FRR supports no others. With graceful restart, BFD still ends a session, unless the neighbor is
    restarting (RFC 5882, 4.3.2).
    """
    key = bgp.authentication
    return replace(
        peer,
        profile=profile,
        bfd_kept=bgp.graceful_restart and profile is not None,
        password=key.key if key and key.algorithm == "md5" else None,
    )


def _neighbor(session: Session, group: str) -> Peer:
    """Return a neighbor with the AS number of the design. If the peer has a different AS number, the session stays down.

    ``group`` is the name of the peer group.
    """
    return Peer(
        _name(session),
        on_interface=not session.peer_address,
        asn=session.peer_as,
        group=group,
        description=session.peer,
    )


def _name(session: Session) -> str:
    return session.peer_address or session.interface


def _policies(bgp: Bgp) -> dict[str, PeerFamily]:
    """Return the import and export route-maps in a unicast family, by the name of the peer group or the neighbor.

    A neighbor's route-maps are empty if they equal the route-maps of the neighbor's group.
    """
    peers: dict[str, PeerFamily] = {}
    for group in bgp.groups:
        peers[group.name] = PeerFamily(True, group.import_policy, group.export_policy, stored=True)
        peers |= {
            _name(session): PeerFamily(None, session.import_policy or None, session.export_policy or None)
            for session in group.sessions
        }
    return peers


def _overlay(bgp: Bgp, overlay: OverlayConfig) -> list[Peer]:
    # Not disable-connected-check: BFD would then use single-hop mode on the loopback, and never come up (seen on 10.3, 10.7).
    group = Peer(
        OVERLAY_GROUP,
        is_group=True,
        description="EVPN, loopback to loopback",
        hops=2,
        retry=RETRY,
        update_source=overlay.loopback,
    )
    kept = _kept(group, bgp, OVERLAY_BFD_PROFILE if overlay.bfd else None)
    return [kept, *(_neighbor(session, OVERLAY_GROUP) for session in overlay.neighbors)]


def _evpn(config: DeviceConfig, overlay: OverlayConfig) -> Evpn:
    """Return the EVPN settings of the fabric. On spines, the next hop of routes stays unchanged; leaves have VNIs."""
    return Evpn(
        all_vnis=not overlay.reflects,
        vnis={
            vni: Evpn(distinguisher=distinguisher, imports=(target,), exports=(target,))
            for vni, distinguisher, target in bridged(config)
        },
        peers={OVERLAY_GROUP: PeerFamily(True, exports=TO_NEIGHBORS, next_hop_unchanged=overlay.reflects)},
    )


def _tenant(vrf: Vrf, bgp: Bgp, overlay: OverlayConfig) -> Router:
    """Return the BGP instance of a tenant's VRF, which exports its connected prefixes as EVPN type-5 routes.

    The instance includes the sessions with the tenant's external routers.
    """
    groups = [
        Peer(router, is_group=True, description=f"external router {router}")
        for router in dict.fromkeys(peer.router for peer in vrf.external)
    ]
    neighbors = [_neighbor(peer.session, peer.router) for peer in vrf.external]
    return Router(
        asn=bgp.asn,
        vrf=vrf.name,
        router_id=bgp.router_id,
        unicast_by_default=False,
        neighbors={peer.name: peer for peer in (*groups, *neighbors)},
        unicast={family: _tenant_family(vrf, family, overlay) for family in vrf.families()},
        evpn=Evpn(
            advertises=vrf.families(),
            distinguisher=vrf.route_distinguisher,
            imports=tuple(map(target_value, vrf.import_targets)),
            exports=tuple(map(target_value, vrf.export_targets)),
        ),
    )


def _tenant_family(vrf: Vrf, family: Family, overlay: OverlayConfig) -> UnicastFamily:
    """Return an address family of a tenant, with the external routers whose links have addresses of this family.

    ``overlay`` has the EVPN sessions; their number limits the number of equal-cost paths.
    """
    routers = [peer.router for peer in vrf.external if peer.session.local_address.family == family]
    return UnicastFamily(
        redistributes="",
        maximum_paths=max(1, len(overlay.neighbors)),
        peers={router: PeerFamily(True, f"from-{vrf.name}-{router}", f"to-{vrf.name}-{router}") for router in routers},
    )
