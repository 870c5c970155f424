"""Limits that a sized fabric meets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from railweave.design.sizing.headroom import headroom_need, headroom_percent, shared_bytes

if TYPE_CHECKING:
    from railweave.design.sizing.size import Size
    from railweave.model.catalog.models import Catalog


def limits(catalog: Catalog, found: Size, mtu: int = 9000) -> list[tuple[str, int, int | None]]:
    """What is counted, how many there are, and the most there may be (None: not known)."""
    server, model = catalog.servers[found.wanted.server], catalog.switches[found.wanted.switch]
    nic, kernel, colors = catalog.nics[server.nics["gpu"].nic], catalog.kernel, found.colors
    rails = {"rail-planes": 1, "port-planes": found.ports.nics}.get(found.shape, found.ports.rails)
    used = {"leaf": found.leaf_used}
    if found.spines:
        used["spine"] = found.spine_used
    if found.super_spines:
        used["super-spine"] = found.top_used
    speed, total = found.ports.speed_gbps, found.ports.total
    rows: list[tuple[str, int, int | None]] = [
        (f"ports of {speed}G in use on the fullest {role}", count, total) for role, count in used.items()
    ]
    if model.limits.ports != total:
        rows.append(("ports in use, of those that the chip handles", max(used.values()), model.limits.ports))
    if found.spines:
        widest = max(found.uplinks, found.spine_uplinks, found.links_per_spine)
        rows.append(("links in a next-hop group", widest, model.limits.ecmp_members))
    partition = shared_bytes(catalog, found) * headroom_percent(catalog, found) / 100
    need = headroom_need(catalog, found)
    rows.append(("kB of PFC headroom on the fullest switch", math.ceil(need / 1000), int(partition / 1000)))
    return [
        *rows,
        ("addresses of a NIC, link-local counted", colors + 1, kernel.max_addresses),
        ("GIDs of a NIC", 2 * (colors + 1), nic.gids),
        ("bytes of a router advertisement", 48 + kernel.ra_header_bytes + kernel.ra_prefix_option_bytes * colors, mtu),
        ("routing tables of a server", found.ports.rails * colors, None),
        ("server prefixes on a switch", found.stripes * rails * colors, model.limits.ipv6_routes),
    ]
