"""Rules about tenants: each tenant reaches its own prefixes, and no prefix of another tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.model.catalog import catalog
from railweave.model.config.addresses import WORDS, Address
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.analysis.checks.subject import Subject
    from railweave.model.network.devices import Fabric

MOST_SHOWN = 20


@check(
    "tenant-isolation",
    "error",
    applies="network",
    why="packets of one tenant would reach servers of a different tenant",
    fix="compare the route targets that the VRFs import and export",
)
def tenant_isolation(subject: Subject) -> Iterator[FindingPlace]:
    """No VRF holds a prefix of another tenant, and no tenant's prefix is in the underlay."""
    network, routes = subject.network, subject.routes
    shown = 0
    for fabric in network.fabrics:
        if fabric.overlay is None:
            continue
        places_of: dict[str, set[int]] = {tenant.name: set() for tenant in fabric.tenants}
        for segment in network.segments:
            if segment.fabric == fabric.name and segment.tenant:
                places_of[segment.tenant] |= {
                    routes.index[s.prefix] for s in segment.subnets if s.prefix in routes.index
                }
        for tenant in fabric.tenants:
            loopbacks = (Address(loopback).prefix for part in tenant.on_leaves for loopback in part.loopbacks)
            places_of[tenant.name] |= {routes.index[loopback] for loopback in loopbacks if loopback in routes.index}
        yield from _shared(subject, fabric)
        owner = {place: tenant for tenant, places in places_of.items() for place in places}
        for (leaf, vrf), held in routes.holds.items():
            if network.switch(leaf).fabric != fabric.name:
                continue
            foreign = [
                place for place in np.flatnonzero(held).tolist() if fabric.apart(vrf, owner.get(place, "nobody"))
            ]
            if foreign and shown < MOST_SHOWN:
                shown += 1
                more = f" and {len(foreign) - 1} more" if foreign[1:] else ""
                yield FindingPlace(
                    leaf,
                    f"VRF {vrf} holds {routes.prefixes[foreign[0]]}{more}, of tenant {owner.get(foreign[0], 'nobody')}",
                )


def _shared(subject: Subject, fabric: Fabric) -> Iterator[FindingPlace]:
    """Yield findings for VRFs that hold a shared prefix of another tenant.

    Shared prefixes are the subnets of layer-2 networks and the routes of external routers.
    """
    subnets = {network.prefix: tenant.name for tenant in fabric.tenants for network in tenant.networks}
    outside = _outside(fabric)
    for (leaf, vrf), exits in subject.routes.shared.exits.items():
        if subject.network.switch(leaf).fabric != fabric.name:
            continue
        for prefix, leaves in exits.items():
            owner = subnets.get(prefix, vrf)
            if not fabric.apart(vrf, owner):
                owner = _foreign(fabric, vrf, leaves, outside.get(prefix, {}))
            if owner and owner != vrf:
                yield FindingPlace(leaf, f"VRF {vrf} holds {prefix}, of tenant {owner}")


def _outside(fabric: Fabric) -> dict[str, dict[str, set[str]]]:
    """Return the leaves that may learn a prefix from an external router: a map of prefix, then tenant, to leaf names.

    Several tenants can have the same prefix. For example, each may learn a default route from its routers.
    """
    tenants_by_prefix: dict[str, dict[str, set[str]]] = {}
    for tenant in fabric.tenants:
        for router in tenant.external:
            for prefix in router.accept:
                tenants_by_prefix.setdefault(prefix, {}).setdefault(tenant.name, set()).update(
                    link.leaf for link in router.links
                )
    return tenants_by_prefix


def _foreign(fabric: Fabric, vrf: str, leaves: Iterable[str], owners: Mapping[str, set[str]]) -> str:
    """Return a tenant whose external route a VRF holds without permission, or "" if the VRF holds no such route.

    ``leaves`` are the leaves through which the VRF reaches the prefix. ``owners`` holds, by tenant, the leaves that may
    learn the prefix from an external router.
    """
    allowed = [owners[owner] for owner in owners if not fabric.apart(vrf, owner)]
    rest = set(leaves).difference(*allowed)
    return next(
        (
            owner
            for owner, own_leaves in owners.items()
            if fabric.apart(vrf, owner) and (rest & own_leaves or not allowed)
        ),
        "",
    )


@check(
    "network-reach",
    "error",
    applies="network",
    why="servers of one layer-2 network that are on different leaves cannot reach each other",
    fix="compare the VLAN's VNI and route target on both leaves, and check their EVPN sessions",
)
def network_reach(subject: Subject) -> Iterator[FindingPlace]:
    """Leaves of a layer-2 network learn each other's MAC addresses, and all leaves of its tenant have a route to its subnet."""
    network, known = subject.present, subject.routes.shared
    live = {network.segment_of(server.name, nic).key for server in network.servers for nic in server.nics}
    segments = [
        segment for segment in network.segments if segment.key in live or segment.edge or not subject.network.absent
    ]
    for fabric in network.fabrics:
        for tenant in fabric.tenants:
            leaves = {
                segment.leaf for segment in segments if segment.fabric == fabric.name and segment.tenant == tenant.name
            }
            for tenant_network in tenant.networks:
                having = {s.leaf for s in segments if s.fabric == fabric.name and s.network == tenant_network.name}
                for leaf in sorted(having):
                    missing = having - set(known.bridged.get((leaf, tenant_network.vni), ()))
                    if missing:
                        yield FindingPlace(
                            leaf, f"network {tenant_network.name} does not reach {', '.join(sorted(missing))}"
                        )
                prefixes = [tenant_network.prefix, *(p for router in tenant.external for p in router.accept)]
                for leaf in sorted(leaves):
                    for prefix in prefixes:
                        if not known.leaves(leaf, tenant.name, prefix):
                            yield FindingPlace(
                                leaf,
                                f"VRF {tenant.name} has no route to {prefix}",
                                why="servers of the tenant cannot reach this prefix",
                                fix="compare the route targets that the VRFs import and export, and check the "
                                "external sessions",
                            )


@check(
    "no-vtep",
    "warning",
    applies="network",
    why="no public document shows this model as a tunnel endpoint: it may reject the configuration, or not "
    "forward packets through the tunnels",
    fix="ask the vendor, or use a model that is documented as a tunnel endpoint",
)
def no_vtep(subject: Subject) -> Iterator[FindingPlace]:
    """Every leaf of an overlay is a switch model for which a published configuration shows tunnel endpoints (VTEPs)."""
    for fabric in subject.network.fabrics:
        leaves = [
            switch for switch in subject.network.switches if switch.fabric == fabric.name and switch.role == "leaf"
        ]
        kinds = ["type-5"] if fabric.overlay else []
        kinds += ["type-2"] if any(tenant.networks for tenant in fabric.tenants) else []
        for model in dict.fromkeys(leaf.model for leaf in leaves) if kinds else ():
            proven = catalog().switches[model].tunnels
            missing = [kind for kind in kinds if kind not in proven]
            if missing:
                names = [leaf.name for leaf in leaves if leaf.model == model]
                yield FindingPlace(
                    names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more",
                    f"no published configuration shows {model} as a tunnel endpoint of EVPN "
                    f"{' and '.join(missing)} routes",
                    fix="ask the vendor, or use a documented model: "
                    + ", ".join(n for n, m in catalog().switches.items() if all(k in m.tunnels for k in kinds)),
                )


@check(
    "tenant-families",
    "warning",
    applies="network",
    why="a queue pair needs the same address family at both ends, and a job needs the same family on all servers",
    fix="give all members addresses of the same family: use the same pools, or networks of the pools' family",
)
def tenant_families(subject: Subject) -> Iterator[FindingPlace]:
    """All NICs of a tenant have an address family in common. If the fabric file selects a family for jobs, all NICs have that family."""
    network = subject.network
    wanted = network.hosts.job.address_family
    for fabric in network.fabrics:
        for tenant in fabric.tenants:
            common = network.families_of_tenant(fabric.name, tenant.name)
            if not common:
                yield FindingPlace(fabric.name, f"tenant {tenant.name} has NICs of IPv4 alone and NICs of IPv6 alone")
            elif wanted is not None and wanted not in common:
                used = WORDS[next(iter(common))]
                message = f"not every NIC of tenant {tenant.name} has an {WORDS[wanted]} address: its jobs use {used}"
                yield FindingPlace(
                    fabric.name,
                    message,
                    fix="give all members such an address, or remove `hosts.job.address_family`",
                )


@check(
    "tenant-missing",
    "info",
    applies="network",
    why="the leaf's ports of these NICs are shut down, and the NICs have no address",
    fix="list them, or their servers, as members of a tenant",
)
def tenant_missing(subject: Subject) -> Iterator[FindingPlace]:
    """Every NIC of a fabric with tenants belongs to a tenant."""
    network = subject.network
    overlays = {fabric.name for fabric in network.fabrics if fabric.overlay is not None}
    waiting: dict[str, list[str]] = {}
    for server in network.servers:
        for nic in server.nics:
            if nic.fabric in overlays and not nic.tenant:
                waiting.setdefault(nic.fabric, []).append(f"{server.name}:{nic.name}")
    for fabric, nics in waiting.items():
        yield FindingPlace(
            fabric, f"{len(nics)} NICs have no tenant: {', '.join(nics[:4])}" + (", …" if nics[4:] else "")
        )
