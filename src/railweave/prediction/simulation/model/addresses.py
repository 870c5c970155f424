"""The numbered addresses of NICs, and the addresses that a queue pair uses.

Queue pair i of a connection uses address i mod P of the source NIC, where P is the number of the NIC's addresses. At the destination, the
queue pair uses the address with the same path color (class of uplinks), as in ``analysis.routing.paths``.
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

    from railweave.model.config.addresses import Family
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.model.wiring import Wiring

NONE = -1

Way = Callable[["NDArray[np.int64]", "NDArray[np.int64]"], "NDArray[np.bool_]"]
"""A function that takes two arrays of hosts with the same shape.

It returns an array of this shape, with True where packets from the first host reach the second. The number -1 means no host.
"""


@dataclass(frozen=True, eq=False)
class Addresses:
    """All addresses of a network. Hosts are the engine's hosts, one for each NIC port.

    - ``text``: the addresses as text. The other arrays refer to an address by its index in ``text``.
    - ``owner``: the host of each address.
    - ``prefix``: the subnet of each address, as an index in ``Routes.prefixes``.
    - ``places``: a row for each host with its addresses in order, filled up with -1.
    - ``color``: a row for each host with its address for each path color (class of uplinks); -1 for none.
    - ``color_of``: for each address, the column of its path color in ``color``.
    """

    text: tuple[str, ...]
    owner: NDArray[np.int64]
    prefix: NDArray[np.int64]
    places: NDArray[np.int64]
    color: NDArray[np.int64]
    color_of: NDArray[np.int64]
    ports: NDArray[np.int64]
    """For each host, a row with all hosts that are ports of the same NIC, in order of plane; -1 for an absent port."""

    def pairs(self, src: NDArray[np.uint32], dst: NDArray[np.uint32], qp: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return rows of source host, destination host, address of data and address of acknowledgements, as ``PacketEngine`` takes them.

        ``src`` and ``dst`` have the hosts at the ends of each queue pair, and ``qp`` has the number of each queue pair within its
        connection.
        """
        counts = (self.places != NONE).sum(axis=1)
        back = self.places[src, qp % counts[src]]
        same = self.color[dst, self.color_of[back]]
        to = np.where(same == NONE, self.places[dst, qp % counts[dst]], same)
        return np.stack([src, dst, to, back], axis=1).astype(np.uint32)

    @cached_property
    def paths(self) -> int:
        """The largest number of addresses of any host. Hosts have one address for each path color (class of uplinks)."""
        return int((self.places != NONE).sum(axis=1).max())

    @cached_property
    def nic_of(self) -> NDArray[np.int64]:
        """For each host (NIC port), the first existing port of its NIC."""
        there = np.argmax(self.ports != NONE, axis=1)
        return self.ports[np.arange(len(self.ports)), there]

    def ports_in_use(self, sources: NDArray[np.uint32]) -> int:
        """Return the number of ports on which the NICs of the hosts ``sources`` send. If NICs differ, return the lowest number."""
        if self.ports.shape[1] == 1 or not len(sources):
            return 1
        counts = np.bincount(self.nic_of[np.unique(sources)])
        return int(counts[counts > 0].min())

    def lanes(
        self, src: NDArray[np.uint32], dst: NDArray[np.uint32], way: Way | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (a row for each pair of NICs with the indexes of all planes, the usable planes first; the number of usable planes of each pair).

        ``src`` and ``dst`` have any port of each NIC. A plane is usable if both NICs have a port on it and, if ``way`` is given,
        packets pass between these two ports. If no plane is usable, all planes with ports at both ends count as
        usable, although packets sent on them do not arrive.
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
        """Return the rows of ``pairs`` for NICs whose ports are merged into one device.

        ``src`` and ``dst`` have any port of each NIC, ``qp`` the number of each queue pair within its connection, and ``lanes`` the result
        of the method ``lanes``. Queue pair q uses port q mod ``ports``, and path color (class of uplinks) q div ``ports`` on that port. If
        the port cannot be used, the queue pair uses another port with the same path color.
        """
        color, lane = np.divmod(qp, np.uint32(ports))
        planes, count = lanes
        row = np.arange(len(qp))
        plane = planes[row, lane % count]
        lane_ports = [(self.ports[given][row, plane], given) for given in (src, dst)]
        ends = [np.where(port == NONE, given, port).astype(np.uint32) for port, given in lane_ports]
        return self.pairs(ends[0], ends[1], color)


def addresses(network: Network, wiring: Wiring, index: dict[str, int]) -> Addresses:
    """Return the addresses of all NICs. With dual stack, return only the addresses of the family that jobs use.

    ``index`` is ``Routes.index``, the number of each prefix. ``wiring`` has the numbered nodes, ports and cables.
    """
    text: list[str] = []
    owner: list[int] = []
    prefix: list[int] = []
    color_of: list[int] = []
    colors: dict[tuple[str, int | None], int] = {}
    # by segment and the colors of a NIC's addresses, because many NICs share a segment: prefixes, and numbers of colors
    alike: dict[tuple[int, Family | None, tuple[int | None, ...]], tuple[list[int], list[int]]] = {}
    families: dict[tuple[str, str], Family | None] = {}
    for server in network.servers:
        for nic in server.nics:
            host = wiring.node.get(f"{server.name}:{nic.name}")
            if host is None:
                continue
            segment = network.segment_of(server.name, nic)
            owner_key = nic.fabric, nic.tenant
            if owner_key not in families:
                families[owner_key] = network.job_family(*owner_key)
            nic_addresses = nic.addresses_of(families[owner_key])
            family = nic_addresses[0].family if nic_addresses else None  # of all of them
            key = id(segment), family, tuple([address.color for address in nic_addresses])
            of_addresses = alike.get(key)
            if of_addresses is None:
                routed_by = {subnet.color: subnet.routed_by for subnet in segment.subnets if subnet.family == family}
                gateways = [routed_by[color] for color in key[2]]
                for gateway in gateways:
                    if gateway not in index:  # only in running configurations: a design has every gateway
                        description = f"no switch has the prefix {gateway} of this NIC's gateway"
                        fix = f"put the gateway back on {nic.leaf}; `railweave verify --running` names the statement"
                        raise InputError([Problem(NetworkPart(f"{server.name}:{nic.name}"), description, fix)])
                color_numbers = [colors.setdefault((nic.fabric, color), len(colors)) for color in key[2]]
                of_addresses = alike[key] = [index[gateway] for gateway in gateways], color_numbers
            text += [address.address for address in nic_addresses]
            owner += [host] * len(nic_addresses)
            prefix += of_addresses[0]
            color_of += of_addresses[1]
    owners, numbers_of = np.array(owner, np.int64), np.array(color_of, np.int64)
    hosts, numbers = len(wiring.nics), np.arange(len(text))
    counts, first = np.bincount(owners, minlength=hosts)[:, None], np.zeros(hosts, np.int64)
    first[owners[::-1]] = numbers[::-1]
    column = np.arange(int(counts.max(initial=0)))
    places = np.where(column < counts, first[:, None] + column, NONE)
    by_color = np.full((hosts, max(len(colors), 1)), NONE, np.int64)
    by_color[owners[::-1], numbers_of[::-1]] = numbers[::-1]  # of two of a color, the first
    prefixes = np.array(prefix, np.int64)
    return Addresses(tuple(text), owners, prefixes, places, by_color, numbers_of, ports_of_hosts(network, wiring))


def ports_of_hosts(network: Network, wiring: Wiring) -> NDArray[np.int64]:
    """Return a row for each host (NIC port) with all ports of its NIC, as ``Addresses.ports``.

    If NICs have one port, a row is only the host. ``wiring`` has the numbered nodes, ports and cables.
    """
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
