"""The forwarding tables for the page: what it needs to follow a queue pair from NIC to NIC, and no more.

``{fabrics, groups, rows, devices}``: ``groups`` are next-hop groups as places in the cabling; a row gives the group of
each prefix of a segment (one number where all are the same), negative where the prefix is local or unreachable; a
device has ``[row, count]`` for the segments of the network in order. Most leaves treat most segments alike, so that
8,192 GPUs need well under a megabyte.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from railweave.analysis.routing.table import UNREACHABLE

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.network.model import Network


def forwarding(network: Network, routes: Routes) -> dict[str, Any]:
    """The tables of every switch, coded as the module says."""
    places = {cable.name: place for place, cable in enumerate(network.cables)}
    wide = max((len(segment.subnets) for segment in network.segments), default=0)
    # A prefix that no table holds, and a segment with fewer prefixes than the widest, read the entry put at the end.
    index = np.full((len(network.segments), wide), len(routes.prefixes), dtype=np.int64)
    for row, segment in enumerate(network.segments):
        found = [routes.index.get(subnet.routed_by, len(routes.prefixes)) for subnet in segment.subnets]
        index[row, : len(found)] = found
    groups: dict[int, int] = {}
    rows: dict[tuple[int, ...], int] = {}
    devices: dict[str, list[list[int]]] = {}
    for switch in network.switches:
        table = np.append(routes.fibs[switch.name].group, np.int32(UNREACHABLE))[index]
        coded: list[int] = []
        for line in cast("list[list[int]]", table.tolist()):
            row = tuple(groups.setdefault(one, len(groups)) if one >= 0 else one for one in line)
            coded.append(rows.setdefault(row, len(rows)))
        devices[switch.name] = [[row, len(list(same))] for row, same in groupby(coded)]
    absent = [place for place, one in enumerate(network.cables) if one.kind == "server" and one.name in network.absent]
    return {
        "fabrics": [fabric.name for fabric in network.fabrics],
        "groups": [[places[link] for link in routes.groups[one]] for one in groups],
        "rows": [row[0] if len(set(row)) == 1 else list(row) for row in rows],
        "devices": devices,
        **({"absent": absent} if absent else {}),
    }
