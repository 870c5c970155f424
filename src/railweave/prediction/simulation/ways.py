"""The ways of packets between servers of each placement: which ports they take, and what part of them each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import ECMP, HERE, NO_GROUP, ONE_PORT
from railweave.prediction.simulation.model.tables import nic_port

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.simulation.model.addresses import Addresses
    from railweave.prediction.simulation.model.fabric import FlowArguments
    from railweave.prediction.simulation.model.wiring import Wiring

MOST_LINKS = 64
"""More links than this in a row are a circle."""

MOST_ROWS = 4_000_000
"""More kinds of ways than these are as long to look at as the run would take."""


@dataclass(frozen=True, eq=False)
class Ways:
    """Rows of what is sent from a server of placement ``source`` to one of placement ``target``.

    ``nic`` and ``to_nic`` are places of NICs in their servers, ``bytes`` what one server sends another, ``share`` the largest part
    of a message that takes the row's queue pair. Steps are ports between switches on the way of a ``row``, each with the
    ``part`` of the row's packets that take it.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    nic: NDArray[np.int64]
    to_nic: NDArray[np.int64]
    bytes: NDArray[np.float64]
    share: NDArray[np.float64]
    ends_ps: NDArray[np.int64]
    """By row: the delay of the cables of both NICs."""
    row: NDArray[np.int64]
    port: NDArray[np.int64]
    part: NDArray[np.float64]

    def bytes_by_port(self, ports: int, servers: NDArray[np.int64]) -> NDArray[np.float64]:
        """What ports between switches carry, where placement p has ``servers[p]`` servers and each sends to each other."""
        same = self.source == self.target
        pairs = servers[self.source] * (servers[self.target] - same)
        return np.bincount(self.port, (self.bytes * pairs)[self.row] * self.part, ports).astype(np.float64)

    def crowded(self, wiring: Wiring, servers: NDArray[np.int64], rounding: float) -> str | None:
        """A link between switches that could fill, whoever sends to whom: its name; None where there is none.

        A link carries no more than all that send by it can send, each with the largest part of its packets that takes it; or
        than all that receive by it can take.
        """
        if not len(self.row):
            return None
        nics = int(max(self.nic.max(), self.to_nic.max())) + 1
        mbps = float(wiring.cables[wiring.port_cable[wiring.first_port[0]], 2])
        loads: list[NDArray[np.float64]] = []
        for place, nic in ((self.source, self.nic), (self.target, self.to_nic)):
            # by port and end: parts by the pair of ends they are for, of which the largest counts
            end, other = place * nics + nic, (self.target + self.source - place) * nics + (self.nic + self.to_nic - nic)
            many = int(other.max()) + 1
            key = (self.port * (int(end.max()) + 1) + end[self.row]) * many + other[self.row]
            keys, at = np.unique(key, return_inverse=True)
            parts = np.bincount(at.reshape(-1), self.share[self.row] * self.part, len(keys))
            pair = keys // many
            ends, first = np.unique(pair, return_index=True)
            largest = np.maximum.reduceat(parts, first)
            port, one = np.divmod(ends, int(end.max()) + 1)
            load = np.bincount(port, largest * servers[one // nics] * mbps, len(wiring.port_cable))
            loads.append(load.astype(np.float64))
        lower = np.minimum(*loads)
        rate = wiring.cables[wiring.port_cable, 2].astype(np.float64)
        full = np.flatnonzero(lower > rate * rounding)
        return wiring.port_link(int(full[0])) if len(full) else None

    def delays_ps(self, wiring: Wiring, packet_bytes: int) -> NDArray[np.int64]:
        """By row: the delay of its cables, and how long a packet is stored for each link between switches."""
        cables = wiring.cables[wiring.port_cable[self.port]].astype(np.float64)
        step = cables[:, 3] + packet_bytes * 8e6 / cables[:, 2]
        # members of a group are alike in all but name: the mean of them is what each takes
        return self.ends_ps + np.bincount(self.row, step * self.part, len(self.source)).astype(np.int64)


def ways(
    wiring: Wiring,
    arguments: FlowArguments,
    addresses: Addresses,
    hosts: NDArray[np.uint32],
    placed: NDArray[np.int64],
    carried: NDArray[np.float64],
) -> Ways | str:
    """The ways between servers of all placements, or why they are not the same for all of a placement.

    ``hosts`` has a row of NICs for each server, ``placed`` its placement; ``carried`` has rows of NIC, NIC of the other server,
    queue pair, bytes and largest part of a message.
    """
    kinds = int(placed.max()) + 1
    if kinds * kinds * len(carried) > MOST_ROWS:
        return "there are too many kinds of ways"
    order = np.argsort(placed, kind="stable")
    first = np.searchsorted(placed[order], np.arange(kinds))
    one = order[first]
    second = order[np.minimum(first + 1, len(order) - 1)]
    alone = np.bincount(placed) < 2
    source, target = (each.ravel() for each in np.meshgrid(np.arange(kinds), np.arange(kinds), indexing="ij"))
    there = (source != target) | ~alone[source]
    source, target = source[there], target[there]
    receiver = np.where(source == target, second[target], one[target])
    rows = len(carried)
    nic, to_nic, qp = (np.tile(carried[:, column].astype(np.int64), len(source)) for column in range(3))
    wide = np.repeat(np.arange(len(source)), rows)
    src, dst = hosts[one[source[wide]], nic], hosts[receiver[wide], to_nic]
    pairs = addresses.pairs(src, dst, qp.astype(np.uint32))
    walked = _walk(wiring, arguments, addresses, pairs)
    if isinstance(walked, str):
        return walked
    cable = wiring.port_cable[wiring.first_port[: len(wiring.nics)]]
    ends = wiring.cables[cable[src.astype(np.int64)], 3] + wiring.cables[cable[dst.astype(np.int64)], 3]
    size, share = (np.tile(carried[:, column], len(source)) for column in (3, 4))
    return Ways(source[wide], target[wide], nic, to_nic, size, share, ends.astype(np.int64), *walked)


def _walk(
    wiring: Wiring, arguments: FlowArguments, addresses: Addresses, pairs: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | str:
    """Rows, ports between switches, and parts of the packets, along the forwarding tables; or why that cannot be said."""
    hosts, ports = len(wiring.nics), nic_port(wiring)
    dst = pairs[:, 1].astype(np.int64)
    column = addresses.prefix[pairs[:, 2].astype(np.int64)]
    groups, members = arguments["groups"], arguments["members"]
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    row = np.arange(len(pairs))
    node, part = ports[pairs[:, 0].astype(np.int64), 0], np.ones(len(pairs))
    for _ in range(MOST_LINKS):
        arrived = node == ports[dst[row], 0]
        row, node, part = row[~arrived], node[~arrived], part[~arrived]
        if not len(row):
            none = np.zeros(0, np.int64)
            return (
                (none, none, np.zeros(0))
                if not found
                else (
                    np.concatenate([one[0] for one in found]),
                    np.concatenate([one[1] for one in found]),
                    np.concatenate([one[2] for one in found]),
                )
            )
        entry = arguments["group"][node - hosts, column[row]]
        if ((entry == NO_GROUP) | (entry == HERE)).any():
            return "a NIC is not reached"
        single = (entry & np.uint32(ONE_PORT)) != 0
        group = np.where(single, 0, entry).astype(np.int64)
        if not single.all() and (groups[group[~single], 2] == ECMP).any():
            return "hashes decide on links"
        size = np.where(single, 1, groups[group, 1].astype(np.int64) if len(groups) else 1)
        turn = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
        at = np.repeat(np.arange(len(row)), size)
        port = (entry[at] & ~np.uint32(ONE_PORT)).astype(np.int64)
        of_group = ~single[at]
        if of_group.any():
            port[of_group] = members[groups[group[at[of_group]], 0].astype(np.int64) + turn[of_group]]
        port += wiring.first_port[node[at]]
        cable = wiring.port_cable[port]
        other = (wiring.end_ports[cable, 0] == port).astype(np.int64)
        row, part = row[at], part[at] / size[at]
        node = wiring.cables[cable, other].astype(np.int64)
        found.append((row, port, part))
    return "ways go in circles"
