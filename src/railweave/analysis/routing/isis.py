"""Routes of IS-IS or OSPF: shortest paths over links with the protocol at both ends (ISO 10589; RFC 1195, RFC 5305; RFC 2328).

The computation assumes that every device knows every link. IS-IS has one level-2 area. All OSPF areas are treated as a
single area, but both ends of a link must be in the same area. A device uses all equal shortest paths to a device with the
prefix, up to the maximum size of its next-hop groups. Prefixes have no metric of their own.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from railweave.analysis.routing.attributes import REASONS
from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Fib
from railweave.model.device.model import DeviceConfig, Isis, Ospf, OspfPort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.analysis.routing.attributes import Mask
    from railweave.analysis.routing.forwarding import Groups

NO_WAY = 1 << 60
"""The distance of an unreachable device, greater than the length of any path."""


class Adjacency(NamedTuple):
    """A link as seen from one end: its name, the neighbor, and its metric in this direction."""

    link: str
    neighbor: str
    metric: int


def adjacencies(configs: Mapping[str, DeviceConfig], down: frozenset[str]) -> dict[str, list[Adjacency]]:
    """Return the adjacencies that come up, by device, if the links and devices in ``down`` are down.

    Both ends of an adjacency's link must run the same protocol in the same area.
    """
    ends: dict[str, list[tuple[str, str, int]]] = {}
    for name, config in configs.items():
        running = _running(config)
        for port in running.ports if running is not None and name not in down else ():
            if port.link and port.link not in down:
                area = f"OSPF {port.area}" if isinstance(port, OspfPort) else "IS-IS"
                ends.setdefault(port.link, []).append((name, area, port.metric))
    adjacent: dict[str, list[Adjacency]] = {name: [] for name, config in configs.items() if _running(config)}
    for link, both in ends.items():
        if len(both) == 2 and both[0][1] == both[1][1]:
            (near, _, out), (other, _, back) = both
            adjacent[near].append(Adjacency(link, other, out))
            adjacent[other].append(Adjacency(link, near, back))
    return adjacent


def _running(config: DeviceConfig) -> Isis | Ospf | None:
    """Return the link-state protocol of a device: IS-IS if configured, otherwise OSPF, or None if it has neither."""
    return config.isis or config.ospf


def shortest(near: Mapping[str, list[Adjacency]], root: str) -> dict[str, tuple[int, frozenset[str]]]:
    """Return (distance, first links) for each device that ``root`` can reach. Uses Dijkstra's algorithm.

    The first links are the links of ``root`` on which a shortest path to the device begins. ``near`` holds the adjacencies of
    each device.
    """
    distance: dict[str, int] = {root: 0}
    first: dict[str, set[str]] = {root: set()}
    queue = [(0, root)]
    while queue:
        far, name = heapq.heappop(queue)
        if far > distance[name]:
            continue
        for link, neighbor, metric in near.get(name, ()):
            begins = {link} if name == root else first[name]
            total = far + metric
            known = distance.get(neighbor, NO_WAY)
            if total < known:
                distance[neighbor], first[neighbor] = total, set(begins)
                heapq.heappush(queue, (total, neighbor))
            elif total == known:
                first[neighbor] |= begins
    return {name: (far, frozenset(first[name])) for name, far in distance.items()}


def isis_fibs(
    configs: Mapping[str, DeviceConfig],
    count: int,
    down: frozenset[str],
    local: Callable[[DeviceConfig, frozenset[str]], Mask],
    groups: Groups,
) -> dict[str, Fib]:
    """Return the forwarding tables of the devices that run IS-IS or OSPF and are up, by device.

    - ``count``: the number of all prefixes.
    - ``down``: the links and devices that are down.
    - ``local``: a function that returns the mask of a device's own prefixes while these are down.
    - ``groups``: the next-hop groups; new groups are added.
    """
    running = {name: config for name, config in configs.items() if _running(config) is not None and name not in down}
    near = adjacencies(configs, down)
    holds = {name: local(config, down) for name, config in running.items()}
    return {name: _fib(config, count, near, holds, groups) for name, config in running.items()}


def _fib(
    config: DeviceConfig,
    count: int,
    near: Mapping[str, list[Adjacency]],
    holds: Mapping[str, Mask],
    groups: Groups,
) -> Fib:
    running = _running(config)
    assert running is not None  # noqa: S101 - only devices that run it are asked for
    order = {adjacency.link: place for place, adjacency in enumerate(near[config.name])}
    best = np.full(count, NO_WAY, dtype=np.int64)
    ways: list[frozenset[str]] = [frozenset()] * count
    for name, (far, links) in shortest(near, config.name).items():
        if name == config.name:
            continue
        for place in np.flatnonzero(holds.get(name, np.zeros(count, dtype=np.bool_)) & (best >= far)).tolist():
            ways[place] = links | ways[place] if far == best[place] else links
            best[place] = far
    group = np.full(count, UNREACHABLE, dtype=np.int32)
    reason = np.zeros(count, dtype=np.uint8)
    for place, links in enumerate(ways):
        if links:
            kept = tuple(sorted(links, key=order.__getitem__)[: running.maximum_ecmp])
            group[place] = groups.id_of(kept)
            everything = len(links) == len(order)
            reason[place] = REASONS.index("metric" if not everything else "multipath" if len(links) > 1 else "only")
    own_prefixes = holds[config.name]
    group[own_prefixes], reason[own_prefixes] = LOCAL, REASONS.index("local")
    return Fib(config.name, group, np.full(count, UNREACHABLE, dtype=np.int32), reason)
