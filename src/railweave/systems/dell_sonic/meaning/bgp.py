"""BGP of a device as its statements have it (``statements.bgp``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.systems.dell_sonic.statements.bgp import Peer, PeerFamily, Router, Routing
from railweave.systems.frr.meaning.bgp import bridged, target_value
from railweave.systems.frr.names import OVERLAY_GROUP, TO_NEIGHBORS
from railweave.systems.frr.statements.bgp import Evpn, UnicastFamily
from railweave.systems.sonic.render.names import vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import (
        Bgp,
        BgpGroup,
        DeviceConfig,
        NumberedSession,
        OverlayConfig,
        Session,
        Vrf,
    )


def routing_of(config: DeviceConfig) -> Routing:
    """Return the BGP instances of a device: the fabric's, then one for each tenant."""
    bgp = config.bgp
    if bgp is None:
        return Routing()
    routers = {"": _fabric(config, bgp)}
    if config.overlay is not None:
        names = vrf_names(config)
        routers |= {names[vrf.name]: _tenant(vrf, names[vrf.name], bgp, config.overlay) for vrf in config.vrfs}
    return Routing(routers)


def _fabric(config: DeviceConfig, bgp: Bgp) -> Router:
    peers = [peer for group in bgp.groups for peer in _group(bgp, group)]
    peers += _overlay(bgp, config.overlay) if config.overlay else []
    family = UnicastFamily(bgp.redistribute_connected or None, bgp.maximum_ecmp)
    vnis = {
        vni: Evpn(distinguisher=distinguisher, imports=(target,), exports=(target,))
        for vni, distinguisher, target in bridged(config)
    }
    return Router(
        asn=bgp.asn,
        router_id=bgp.router_id,
        graceful_restart=bgp.graceful_restart,
        relaxed=True,
        unicast=dict.fromkeys(bgp.families, family),
        evpn=Evpn(all_vnis=True, vnis=vnis) if config.vrfs else Evpn(),
        peers=dict(enumerate(peers)),
    )


def _group(bgp: Bgp, group: BgpGroup) -> Iterator[Peer]:
    family = PeerFamily(True, group.import_policy, group.export_policy, communities=True)
    made = Peer(
        name=group.name,
        description=group.description,
        quick=True,
        ttl_security=bgp.ttl_security,
        extended_next_hop="ipv4" in bgp.families,
        families=dict.fromkeys(bgp.families, family),
    )
    yield _kept(made, bgp, "fabric" if bgp.bfd else None)
    for session in group.sessions:
        yield _neighbor(session, group.name)


def _kept(peer: Peer, bgp: Bgp, profile: str | None) -> Peer:
    """Return a group with its BFD profile and its key: TCP MD5. With graceful restart BFD does not end a session."""
    key = bgp.authentication
    return replace(
        peer,
        bfd=profile,
        bfd_kept=bgp.graceful_restart and profile is not None,
        password=key.key if key and key.algorithm == "md5" else None,
    )


def _neighbor(session: Session | NumberedSession, group: str) -> Peer:
    return Peer(
        interface=None if session.peer_address else session.interface,
        address=session.peer_address or None,
        asn=session.peer_as,
        group=group,
        description=session.peer,
    )


def _overlay(bgp: Bgp, overlay: OverlayConfig) -> list[Peer]:
    # Not disable-connected-check: BFD would be of one hop then, on the loopback, and never come up (seen on FRR).
    family = PeerFamily(True, exports=TO_NEIGHBORS, next_hop_unchanged=overlay.reflects, communities=True)
    group = Peer(
        name=OVERLAY_GROUP,
        description="EVPN, loopback to loopback",
        multihop=True,
        quick=True,
        update_source=str(overlay.loopback),
        families={"evpn": family},
    )
    kept = _kept(group, bgp, OVERLAY_GROUP if overlay.bfd else None)
    return [kept, *(_neighbor(session, OVERLAY_GROUP) for session in overlay.neighbors)]


def _tenant(vrf: Vrf, name: str, bgp: Bgp, overlay: OverlayConfig) -> Router:
    family = UnicastFamily("", max(1, len(overlay.neighbors)))
    groups = [
        Peer(
            name=router,
            description=f"external router {router}",
            families={
                external.session.local_address.family: PeerFamily(True, f"from-{name}-{router}", f"to-{name}-{router}")
            },
        )
        for router, external in {peer.router: peer for peer in vrf.external}.items()
    ]
    neighbors = [_neighbor(external.session, external.router) for external in vrf.external]
    return Router(
        asn=bgp.asn,
        vrf=name,
        router_id=bgp.router_id,
        unicast=dict.fromkeys(vrf.families(), family),
        evpn=Evpn(
            advertises=vrf.families(),
            distinguisher=vrf.route_distinguisher,
            imports=tuple(map(target_value, vrf.import_targets)),
            exports=tuple(map(target_value, vrf.export_targets)),
        ),
        peers=dict(enumerate([*groups, *neighbors])),
    )
