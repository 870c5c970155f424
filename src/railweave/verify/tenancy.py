"""Rules about tenants: each reaches its own, and nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.findings import Finding
from railweave.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.verify.registry import Subject

MOST_SHOWN = 20


@check("tenant-isolation")
def tenant_isolation(subject: Subject) -> Iterator[Finding]:
    """No VRF holds a prefix of another tenant, and no tenant's prefix is in the underlay."""
    network, routes = subject.network, subject.routes
    shown = 0
    for fabric in network.fabrics:
        if fabric.overlay is None:
            continue
        own: dict[str, set[int]] = {tenant.name: set() for tenant in fabric.tenants}
        for segment in network.segments:
            if segment.fabric == fabric.name and segment.tenant:
                own[segment.tenant] |= {routes.index[s.prefix] for s in segment.subnets if s.prefix in routes.index}
        owner = {place: tenant for tenant, places in own.items() for place in places}
        for (leaf, vrf), held in routes.holds.items():
            if network.switch(leaf).fabric != fabric.name:
                continue
            foreign = [place for place in np.flatnonzero(held).tolist() if owner.get(place) != vrf]
            if foreign and shown < MOST_SHOWN:
                shown += 1
                more = f" and {len(foreign) - 1} more" if foreign[1:] else ""
                yield Finding(
                    "tenant-isolation",
                    "error",
                    leaf,
                    f"VRF {vrf} holds {routes.prefixes[foreign[0]]}{more}, of tenant {owner.get(foreign[0], 'nobody')}",
                    "packets of one tenant would reach another's servers",
                    "compare the route targets that the VRFs import and export",
                )


@check("tenant-missing")
def tenant_missing(subject: Subject) -> Iterator[Finding]:
    """NICs that wait for a tenant are listed: their ports are shut."""
    network = subject.network
    overlays = {fabric.name for fabric in network.fabrics if fabric.overlay is not None}
    waiting: dict[str, list[str]] = {}
    for server in network.servers:
        for nic in server.nics:
            if nic.fabric in overlays and not nic.tenant:
                waiting.setdefault(nic.fabric, []).append(f"{server.name}:{nic.name}")
    for fabric, nics in waiting.items():
        yield Finding(
            "tenant-missing",
            "info",
            fabric,
            f"{len(nics)} NICs have no tenant: {', '.join(nics[:4])}" + (", …" if nics[4:] else ""),
            "their ports are shut, and they have no address",
            "list them, or their servers, as members of a tenant",
        )
