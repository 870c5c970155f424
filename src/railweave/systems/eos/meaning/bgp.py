"""Conversion of a device's BGP configuration to its statements (``statements.bgp``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.naming import target_value
from railweave.systems.eos import names
from railweave.systems.eos.statements.bgp import INTERFACE, Bridge, Evpn, Family, Peer, PeerFamily, Router, Routing
from railweave.systems.frr.meaning.bgp import bridged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family as AddressFamily
    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig, OverlayConfig, Session, Vrf
    from railweave.model.device.timers import Bfd


def routing_of(config: DeviceConfig) -> Routing:
    """Return the BGP instance of a device, including the VRFs of its tenants."""
    bgp, overlay = config.bgp, config.overlay
    if bgp is None:
        return Routing()
    peers = [peer for group in bgp.groups for peer in _group(bgp, group)]
    peers += _overlay(bgp, overlay) if overlay else []
    router = Router(
        asn=bgp.asn,
        router_id=bgp.router_id,
        activates=False,
        ways=bgp.maximum_ecmp,
        ecmp=bgp.maximum_ecmp,
        graceful_restart=bgp.graceful_restart,
        neighbors=_by_name(peers),
        redistributes=bgp.redistribute_connected or None,
        unicast={
            family: Family(
                peers={
                    group.name: PeerFamily(True, over_six=family == "ipv4" and over_link_local(group))
                    for group in bgp.groups
                }
            )
            for family in bgp.families
        },
    )
    if overlay is None:
        return Routing({bgp.asn: router})
    vnis = {vlan.vni: str(vlan.vlan) for vlan in config.mac_vrf.vlans} if config.mac_vrf else {}
    router = replace(
        router,
        evpn=Evpn(peers={names.OVERLAY_GROUP: PeerFamily(True, exports=names.TO_NEIGHBORS)}),
        vlans={
            vnis[vni]: Bridge(distinguisher, {"both": target}, vnis[vni], learned=True)
            for vni, distinguisher, target in bridged(config)
        },
        vrfs={vrf.name: _tenant(vrf, bgp, overlay) for vrf in config.vrfs},
    )
    return Routing({bgp.asn: router})


def _by_name(peers: Iterable[Peer]) -> dict[str, Peer]:
    return {peer.name: peer for peer in peers}


def over_link_local(group: BgpGroup) -> bool:
    """Return True if the IPv4 routes of a group have IPv6 next hops (RFC 8950)."""
    return all(session.peer_address is None or session.peer_address.family == "ipv6" for session in group.sessions)


def _group(bgp: Bgp, group: BgpGroup) -> Iterator[Peer]:
    made = Peer(
        group.name,
        is_group=True,
        description=group.description,
        ttl_security=bgp.ttl_security,
        imports=group.import_policy,
        exports=group.export_policy,
        extended=True,
    )
    yield _kept(made, bgp, bgp.bfd)
    for session in group.sessions:
        if session.peer_address:
            yield replace(
                _neighbor(session, group.name),
                imports=session.import_policy or None,
                exports=session.export_policy or None,
            )
        elif group.peer_as_list:
            yield Peer(f"{INTERFACE}{session.interface}", group=group.name, peer_filter=group.peer_as_list)


def _kept(peer: Peer, bgp: Bgp, bfd: Bfd | None) -> Peer:
    """Return a peer group with the BFD timers and the authentication key of its sessions.

    A TCP MD5 key is written in the group itself, a TCP-AO key in a profile that the group names.
    """
    peer, key = replace(peer, bfd=bfd is not None, timers=bfd), bgp.authentication
    if key is None or key.algorithm == "md5":
        return replace(peer, password=key.key if key else None)
    return replace(peer, profile=names.KEY_PROFILE, algorithm=key.algorithm)


def _neighbor(session: Session, group: str | None, description: str = "") -> Peer:
    name = str(session.peer_address)
    return Peer(name, group=group, asn=session.peer_as, description=description or session.peer)


def _overlay(bgp: Bgp, overlay: OverlayConfig) -> list[Peer]:
    group = Peer(
        names.OVERLAY_GROUP,
        is_group=True,
        description="EVPN, loopback to loopback",
        next_hop_unchanged=overlay.reflects,
        update_source=names.ROUTER_LOOPBACK,
        extended=True,
    )
    return [_kept(group, bgp, overlay.bfd), *(_neighbor(session, names.OVERLAY_GROUP) for session in overlay.neighbors)]


def _tenant(vrf: Vrf, bgp: Bgp, overlay: OverlayConfig) -> Router:
    """Return the BGP statements of a tenant's VRF, which exports its connected prefixes as EVPN type-5 routes.

    The statements include the sessions with the tenant's external routers. ``overlay`` has the EVPN sessions of the device.
    """
    ways = max(1, len(overlay.neighbors))
    external = [
        replace(
            _neighbor(peer.session, None, f"external router {peer.router}"),
            imports=names.external_policy("from", vrf.name, peer.router),
            exports=names.external_policy("to", vrf.name, peer.router),
        )
        for peer in vrf.external
    ]
    families: dict[AddressFamily, dict[str, PeerFamily]] = {}
    for peer in vrf.external:
        peers = families.setdefault(peer.session.local_address.family, {})
        peers[str(peer.session.peer_address)] = PeerFamily(True)
    return Router(
        router_id=bgp.router_id,
        ways=ways,
        ecmp=ways,
        neighbors=_by_name(external),
        redistributes="",
        unicast={family: Family(peers=peers) for family, peers in sorted(families.items())},
        distinguisher=vrf.route_distinguisher,
        imports=tuple(map(target_value, vrf.import_targets)),
        exports=tuple(map(target_value, vrf.export_targets)),
    )
