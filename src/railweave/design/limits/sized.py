"""A layout as sizing counts it, so that findings say of growth what `init` says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.design.sizing.shapes import ports_of
from railweave.design.sizing.size import Size, Wanted
from railweave.model.intent.topology import PortRange

if TYPE_CHECKING:
    from railweave.design.shape.topology import Layout
    from railweave.design.sizing.size import Shape
    from railweave.model.catalog.models import Catalog


def size_of(catalog: Catalog, layout: Layout) -> Size | None:
    """A fabric of two or three tiers as a size; None where it has what sizing does not count.

    That is switches or servers of several models, links of another speed than the NICs', ports or servers placed by the
    file, several rails on a leaf, and sites.
    """
    topology, kinds = layout.spec.topology, layout.kinds()
    models, servers = {kind.role.device for kind in kinds}, {one.model for one in layout.servers}
    if len(models) != 1 or len(servers) != 1 or not layout.spines or topology.interconnect or layout.spec.nics != "gpu":
        return None
    roles = [kind.role for kind in kinds]
    if any([role.server_ports, role.uplink_ports, role.leaf_ports] != [PortRange()] * 3 for role in roles):
        return None
    if (
        topology.port_planes > 1
        or any(len(leaf.rails) > 1 for leaf in layout.leaves)
        or set(layout.nic_speeds.values()) != {topology.link_speed}
    ):
        return None
    placed = Counter(server.stripe for server in layout.servers)
    server = servers.pop()
    gpus = len(layout.servers) * catalog.servers[server].gpus
    wanted = Wanted(gpus, server, models.pop(), max(1.0, topology.oversubscription))
    ports, fullest = ports_of(catalog, wanted), max(placed.values())
    uplinks = len(topology.spine_names()) * topology.links_per_spine
    if fullest > ports.down or uplinks > ports.up:
        return None
    shape: Shape = "rail-planes" if topology.planes else "super-spine" if layout.super_spines else "two-tier"
    return Size(
        shape,
        wanted,
        ports,
        len(layout.servers),
        len(topology.stripe_names()),
        fullest,
        len(topology.spine_names()),
        topology.links_per_spine,
        topology.stripes_per_pod or 0,
        topology.super_spines,
        topology.links_per_super_spine if topology.super_spines else 0,
    )
