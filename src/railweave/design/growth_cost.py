"""What growing a sized fabric costs, and the limits that it meets (``design/sizing.py`` counts the fabric itself)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.design.sizing import Refused, size

if TYPE_CHECKING:
    from railweave.catalog.models import Catalog, SwitchModel
    from railweave.design.sizing import Size


@dataclass(frozen=True, slots=True)
class Step:
    """What growing costs, beyond the servers and their own cables: switches and cables to add, cables to lay anew."""

    gpus: int
    size: Size | Refused
    switches: int = 0
    cables: int = 0
    modules: int = 0
    moved: int = 0


def grow(catalog: Catalog, found: Size, factor: float) -> Step:
    """What it costs to take a fabric to ``factor`` times its GPUs in the same shape."""
    gpus = math.ceil(found.servers * factor) * found.ports.gpus_per_server
    room = max(1.0, found.wanted.growth / factor)
    after = size(catalog, replace(found.wanted, gpus=gpus, growth=room), found.shape)
    if isinstance(after, Refused):
        return Step(gpus, after)
    kept = min(found.links_per_spine, after.links_per_spine) / max(1, found.links_per_spine)
    moved = round(found.leaf_switches * found.uplinks * (1 - kept))
    if found.super_spines:
        stay = min(found.links_per_super_spine, after.links_per_super_spine) / found.links_per_super_spine
        moved += round(found.spine_switches * found.super_spines * found.links_per_super_spine * (1 - stay))
    return Step(
        gpus,
        after,
        after.switches - found.switches,
        after.fabric_cables - found.fabric_cables,
        after.modules - found.modules,
        moved,
    )


def limits(catalog: Catalog, found: Size, mtu: int = 9000) -> list[tuple[str, int, int | None]]:
    """Limits that a size meets: what is counted, how many there are, and the most there may be (None: not known)."""
    server, model = catalog.servers[found.wanted.server], catalog.switches[found.wanted.switch]
    nic, kernel, colors = catalog.nics[server.nics["gpu"].nic], catalog.kernel, found.colors
    rails = 1 if found.shape == "rail-planes" else found.ports.rails
    widest = max(found.uplinks, found.super_spines * found.links_per_super_spine)
    return [
        ("uplinks in a next-hop group", widest, model.limits.ecmp_members),
        ("addresses of a NIC, link-local counted", colors + 1, kernel.max_addresses),
        ("GIDs of a NIC", 2 * (colors + 1), nic.gids),
        ("bytes of a router advertisement", 48 + kernel.ra_header_bytes + kernel.ra_prefix_option_bytes * colors, mtu),
        ("routing tables of a server", found.ports.rails * colors, None),
        ("server prefixes on a switch", found.stripes * rails * colors, model.limits.ipv6_routes),
        ("ports of a switch in use", _ports_used(model, found), model.limits.ports),
    ]


def _ports_used(model: SwitchModel, found: Size) -> int:
    """Most ports that a switch has in use."""
    leaf = found.servers_per_stripe + found.uplinks
    spine = found.top_used if found.shape != "super-spine" else found.stripes_per_pod * found.ports.rails
    spine += found.super_spines * found.links_per_super_spine
    return min(max(leaf, spine), sum(group.count for group in model.ports) * found.ports.per_module)
