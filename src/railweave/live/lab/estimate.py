"""What the lab of a network takes of a machine, by measurement on small labs (docs/lab.md)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.network.devices import Cable
    from railweave.model.network.model import Network

ROUTER_KB = 36_000
"""Memory of a router without sessions: 30 MB of its daemons, 4 MB of the kernel's for its namespace, and its lldpd."""

SESSION_KB = 700
"""Memory of a BGP session at each of its ends: bgpd's buffers, which are used up to their whole size in time."""

PATH_KB = 0.35
"""Memory of a path that a router received for a prefix: as it came, after policy, and its attributes."""

PREFIX_KB = 2.6
"""Memory of a prefix that a router has a route for, in zebra and in the kernel."""

SERVER_KB = 3_500
"""Memory of a server's namespace, and of its lldpd."""

ROUTER_TASKS, SERVER_TASKS = 16, 2
"""Processes with their threads: of a router's daemons and its lldpd, and of a server's lldpd."""


@dataclass(frozen=True)
class Size:
    """A lab, counted. ``sessions``, ``paths`` and ``prefixes`` are summed over its routers."""

    routers: int
    servers: int
    spaces: int
    sessions: int = 0
    paths: int = 0
    prefixes: int = 0

    @property
    def memory_kb(self) -> int:
        """The memory that it takes, kB."""
        routers = ROUTER_KB * self.routers + SESSION_KB * self.sessions
        return round(routers + PATH_KB * self.paths + PREFIX_KB * self.prefixes + SERVER_KB * self.servers)

    @property
    def tasks(self) -> int:
        """The processes and threads that it takes."""
        return ROUTER_TASKS * self.routers + SERVER_TASKS * self.servers


def size_of(network: Network) -> Size:
    """The lab of a network.

    Prefixes are those of servers. Each switch is taken to have a route for every prefix of the switches that it is joined
    with; a leaf to receive all of them on each of its uplinks; a switch above to receive from one below what is below it.
    """
    routers, servers = len(network.switches), len(network.servers)
    vrfs = sum(len({one.tenant for one in network.segments_of(leaf.name)} - {""}) for leaf in network.switches)
    own = {one.name: sum(len(part.subnets) for part in network.segments_of(one.name)) for one in network.switches}
    between = [cable for cable in network.cables if cable.kind == "fabric"]
    heard = {name: sum(own[one] for one in part) for part in _parts_joined(own, between) for name in part}
    # What a switch announces upwards: a leaf its own prefixes, a spine those of its leaves.
    below = Counter(own)
    for leaf, spine in {(one.a.device, one.b.device) for one in between if own[one.a.device]}:
        below[spine] += own[leaf]
    paths = sum(heard[cable.a.device] + below[cable.a.device] for cable in between)
    return Size(
        routers,
        servers,
        routers + vrfs + servers,
        sessions=2 * len(between),
        paths=paths,
        prefixes=sum(heard.values()),
    )


def _parts_joined(switches: dict[str, int], cables: list[Cable]) -> Iterator[set[str]]:
    """The switches in sets, so that cables join those of a set with each other only: a plane of each rail is one."""
    neighbors: defaultdict[str, set[str]] = defaultdict(set)
    for cable in cables:
        neighbors[cable.a.device].add(cable.b.device)
        neighbors[cable.b.device].add(cable.a.device)
    left = set(switches)
    while left:
        found = new = {left.pop()}
        while new:
            new = {other for one in new for other in neighbors[one]} - found
            found = found | new
        left -= found
        yield found
