"""Addresses of NICs, numbered, and which of them a queue pair uses.

Queue pair i of a connection takes the source NIC's address i mod P and the destination's address of the same path color,
as ``analysis.routing.paths`` has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import InputError, NetworkPart, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.model.wiring import Wiring

NONE = -1

Way = Callable[["NDArray[np.int64]", "NDArray[np.int64]"], "NDArray[np.bool_]"]
"""A function that returns whether packets of hosts reach others: arrays of one shape, with -1 for an absent host."""


@dataclass(frozen=True, eq=False)
class Addresses:
    """All addresses. ``owner`` is the host that has one, ``prefix`` its subnet, as a place in ``Routes.prefixes``.

    ``places`` has a row for each host with the addresses it has, in their order, as numbers (-1: it has no more), and
    ``color`` one for each host with its address of each color.
    """

    text: tuple[str, ...]
    owner: NDArray[np.int64]
    prefix: NDArray[np.int64]
    places: NDArray[np.int64]
    color: NDArray[np.int64]
    color_of: NDArray[np.int64]
    ports: NDArray[np.int64]
    """A row for each host with the hosts that are ports of one NIC with it, by plane; -1 for one that is not there."""

    def pairs(self, src: NDArray[np.uint32], dst: NDArray[np.uint32], qp: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Rows of src, dst, to, back, as ``PacketEngine`` takes queue pairs, for queue pair ``qp`` of each connection."""
        counts = (self.places != NONE).sum(axis=1)
        back = self.places[src, qp % counts[src]]
        same = self.color[dst, self.color_of[back]]
        to = np.where(same == NONE, self.places[dst, qp % counts[dst]], same)
        return np.stack([src, dst, to, back], axis=1).astype(np.uint32)

    @cached_property
    def paths(self) -> int:
        """The most addresses that a host has: one for each path color."""
        return int((self.places != NONE).sum(axis=1).max())

    @cached_property
    def nic_of(self) -> NDArray[np.int64]:
        """By host the first port of its NIC that is there."""
        there = np.argmax(self.ports != NONE, axis=1)
        return self.ports[np.arange(len(self.ports)), there]

    def ports_in_use(self, sources: NDArray[np.uint32]) -> int:
        """By how many of its ports a NIC sends, of these hosts: of NICs that differ the one with the fewest."""
        if self.ports.shape[1] == 1 or not len(sources):
            return 1
        counts = np.bincount(self.nic_of[np.unique(sources)])
        return int(counts[counts > 0].min())

    def lanes(
        self, src: NDArray[np.uint32], dst: NDArray[np.uint32], way: Way | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """By pair of NICs the planes whose ports both can use, first in a row of all planes, and how many those are.

        Any port stands for its NIC. A port counts that is there at both ends, and from which there is a ``way``; where none is
        left all that are there count, and what is sent by them does not arrive.
        """
        here, there = self.ports[src], self.ports[dst]
        both = (here != NONE) & (there != NONE)
        alive = both if way is None else both & way(here, there)
        none = ~alive.any(axis=1)
        alive[none] = both[none]
        return np.argsort(~alive, axis=1, kind="stable"), np.maximum(alive.sum(axis=1), 1)

    def merged(
        self,
        src: NDArray[np.uint32],
        dst: NDArray[np.uint32],
        qp: NDArray[np.uint32],
        ports: int,
        lanes: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> NDArray[np.uint32]:
        """As ``pairs`` for NICs whose ports are one device: queue pair q takes port q mod ``ports``, and there color q div ``ports``.

        A queue pair whose port cannot be used goes by one that can (``lanes``), on the same path color.
        """
        color, lane = np.divmod(qp, np.uint32(ports))
        planes, count = lanes
        row = np.arange(len(qp))
        plane = planes[row, lane % count]
        lane_ports = [(self.ports[given][row, plane], given) for given in (src, dst)]
        ends = [np.where(port == NONE, given, port).astype(np.uint32) for port, given in lane_ports]
        return self.pairs(ends[0], ends[1], color)


def addresses(network: Network, wiring: Wiring, index: dict[str, int]) -> Addresses:
    """The addresses of every NIC, with dual stack those of the family that jobs use; ``index`` is ``Routes.index``."""
    text: list[str] = []
    rows: list[tuple[int, int, int]] = []
    colors: dict[tuple[str, int | None], int] = {}
    places: list[list[int]] = [[] for _ in wiring.nics]
    routed_by: dict[tuple[int, Family | None], dict[int | None, Prefix]] = {}  # many NICs share a segment
    for server in network.servers:
        for nic in server.nics:
            host = wiring.node.get(f"{server.name}:{nic.name}")
            if host is None:
                continue
            segment = network.segment_of(server.name, nic)
            nic_addresses = nic.addresses_of(network.job_family(nic.fabric, nic.tenant))
            family = nic_addresses[0].family if nic_addresses else None  # of all of them
            subnets = routed_by.get((id(segment), family))
            if subnets is None:
                subnets = {subnet.color: subnet.routed_by for subnet in segment.subnets if subnet.family == family}
                routed_by[id(segment), family] = subnets
            for address in nic_addresses:
                places[host].append(len(text))
                text.append(address.address)
                color = colors.setdefault((nic.fabric, address.color), len(colors))
                prefix_of = subnets[address.color]
                if prefix_of not in index:  # only in running configurations: a design has every gateway
                    description = f"no switch has the prefix {prefix_of} of this NIC's gateway"
                    fix = f"put the gateway back on {nic.leaf}; `railweave verify --running` names the statement"
                    raise InputError([Problem(NetworkPart(f"{server.name}:{nic.name}"), description, fix)])
                rows.append((host, index[prefix_of], color))
    owner, prefix, color_of = np.array(rows, np.int64).reshape(-1, 3).T
    width = max(map(len, places), default=0)
    padded = np.array([row + [NONE] * (width - len(row)) for row in places], np.int64).reshape(len(places), width)
    by_color = np.full((len(places), max(len(colors), 1)), NONE, np.int64)
    by_color[owner[::-1], color_of[::-1]] = np.arange(len(text))[::-1]  # of two of a color, the first
    return Addresses(tuple(text), owner, prefix, padded, by_color, color_of, ports_of_hosts(network, wiring))


def ports_of_hosts(network: Network, wiring: Wiring) -> NDArray[np.int64]:
    """``Addresses.ports``: of NICs with one port, themselves."""
    fabrics = {name: network.fabric(name) for name in {network.switch(switch).fabric for switch in wiring.switches}}
    adapters = {name: network_fabric.adapters or 0 for name, network_fabric in fabrics.items()}
    if not any(adapters.values()):
        return np.arange(len(wiring.nics)).reshape(-1, 1)
    rails = {
        (server.name, nic.fabric, nic.rail): wiring.node[f"{server.name}:{nic.name}"]
        for server in network.servers
        for nic in server.nics
        if f"{server.name}:{nic.name}" in wiring.node
    }
    width = max([1, *(-(-rail // adapters[fabric]) for _, fabric, rail in rails if adapters[fabric])])
    ports = np.full((len(wiring.nics), width), NONE, np.int64)
    for (server, fabric, rail), host in rails.items():
        each = adapters[fabric]
        if not each:
            ports[host, 0] = host
            continue
        first = fabrics[fabric].nic_number(rail)
        for plane in range(width):
            ports[host, plane] = rails.get((server, fabric, first + plane * each), NONE)
    return ports
