"""Conversion of a device's BGP configuration to its statements (``statements.bgp``).

Unlike on FRR, each neighbor contains the settings of its address families.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES, Address
from railweave.systems.dell_sonic.statements.bgp import Peer, PeerFamily, Router, Routing
from railweave.systems.frr.meaning import bgp
from railweave.systems.frr.meaning.policy import external_policies, fabric_policies, overlay_policies
from railweave.systems.frr.statements.bgp import Evpn, UnicastFamily
from railweave.systems.frr.statements.bgp import Peer as FrrPeer
from railweave.systems.frr.statements.bgp import Router as FrrRouter
from railweave.systems.sonic.names import vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig
    from railweave.systems.frr.statements.bgp import AddressFamily
    from railweave.systems.frr.statements.policy import Policies


def policies_of(config: DeviceConfig, shared_by: str | None) -> Iterator[Policies]:
    """Yield the policies of a device: of the fabric, of the overlay, and of each direction towards a tenant's external routers.

    ``shared_by`` is the name of the object for adaptive routing of the fabric's routes. If it is None, a hash distributes traffic.
    """
    if config.bgp is None:
        return
    fabric, imports = fabric_policies(config, config.bgp), {group.import_policy for group in config.bgp.groups}
    maps = (
        replace(entry, shared_by=shared_by) if entry.permits and entry.name in imports else entry
        for entry in fabric.maps
    )
    yield replace(fabric, maps=tuple(maps))
    if config.overlay is not None:
        yield overlay_policies(config.overlay)
    names = vrf_names(config)
    for vrf in config.vrfs:
        yield from external_policies(replace(vrf, name=names[vrf.name]))


def routing_of(config: DeviceConfig) -> Routing:
    """Return the BGP instances of a device: first the fabric's instance, then one for each tenant."""
    names = vrf_names(config)
    renamed = replace(config, vrfs=tuple(replace(vrf, name=names[vrf.name]) for vrf in config.vrfs))
    return Routing({vrf: _router(router, renamed) for vrf, router in bgp.routing_of(renamed).routers.items()})


def _router(router: FrrRouter, config: DeviceConfig) -> Router:
    """Return an FRR BGP instance in the form of Enterprise SONiC, in which each neighbor contains its address families."""
    peers = (_peer(router, peer) for peer in router.neighbors.values())
    return Router(
        asn=router.asn,
        vrf=router.vrf,
        router_id=router.router_id,
        graceful_restart=router.graceful_restart,
        relaxed=router.relaxed,
        unicast=router.unicast,
        evpn=router.evpn if router.evpn and config.vrfs else Evpn(),
        peers=dict(enumerate(peers)),
    )


def _peer(router: FrrRouter, peer: FrrPeer) -> Peer:
    of_family: dict[AddressFamily, UnicastFamily | Evpn] = {**router.unicast}
    of_family |= {"evpn": router.evpn} if router.evpn else {}
    sends = not router.vrf and peer.is_group
    families: dict[AddressFamily, PeerFamily] = {
        name: PeerFamily(level.active, level.imports, level.exports, level.next_hop_unchanged, communities=sends)
        for name, family in of_family.items()
        if (level := family.peers.get(peer.name)) and (level.active or level.imports or level.exports)
    }
    return Peer(
        **{each.name: getattr(peer, each.name) for each in fields(peer)},
        interface=peer.name if peer.on_interface else None,
        address=None if peer.on_interface or peer.is_group else Address(peer.name),
        families=families,
    )


def as_on_frr(router: Router) -> FrrRouter:
    """Return an instance in FRR's form: peers by name, and for each address family the settings of its peers."""
    peers = [
        replace(
            peer,
            name=peer.interface or peer.address or peer.name,
            is_group=not (peer.interface or peer.address),
            on_interface=peer.interface is not None,
        )
        for peer in router.peers.values()
    ]
    within = {
        name: {peer.name: peer.families[name] for peer in peers if name in peer.families}
        for name in (*FAMILIES, "evpn")
    }
    return FrrRouter(
        asn=router.asn,
        vrf=router.vrf,
        router_id=router.router_id,
        unicast_by_default=False,
        requires_policy=False,
        relaxed=router.relaxed,
        graceful_restart=router.graceful_restart,
        neighbors={peer.name: peer for peer in peers},
        unicast={
            family: replace(router.unicast.get(family, UnicastFamily()), peers={**within[family]})
            for family in FAMILIES
            if family in router.unicast or within[family]
        },
        evpn=replace(router.evpn, peers={**within["evpn"]}) if within["evpn"] or router.evpn != Evpn() else None,
    )
