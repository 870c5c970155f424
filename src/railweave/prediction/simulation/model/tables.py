"""The forwarding tables of the packet engine, made from the tables of the control plane.

Tables are by prefix (``Forwarding.entries``) and are converted to tables by address at the end. A VLAN's prefix covers every
NIC in the VLAN, and only the leaf distinguishes between these NICs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from railweave._sim import HERE, NO_GROUP, ONE_PORT
from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Routes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.model.addresses import Addresses
    from railweave.prediction.simulation.model.wiring import Wiring


class Forwarding:
    """The forwarding tables of switches, and the next-hop groups that these tables use.

    - ``balance``: the load balancing mode of each switch.
    - ``repairs``: for each switch, True if it has fast reroute.
    - ``joined``: rows of prefixes. All prefixes of a row are forwarded in the same way (see ``joined_prefixes``). None means
      that each prefix has its own route.
    """

    def __init__(
        self, wiring: Wiring, balance: Sequence[int], repairs: Sequence[bool], joined: NDArray[np.int64] | None
    ) -> None:
        self._wiring = wiring
        self._balance = balance
        self._repairs = repairs
        self._joined = joined
        self._groups: dict[tuple[int, tuple[int, ...]], int] = {}

    def copy(self) -> Forwarding:
        """Return a copy to which more tables can be added."""
        other = Forwarding(self._wiring, self._balance, self._repairs, self._joined)
        other._groups = dict(self._groups)
        return other

    def entries(self, routes: Routes, dead: Collection[str] = ()) -> NDArray[np.uint32]:
        """Return the forwarding table in the form of ``FlowEngine``: a row for each switch and a column for each prefix.

        ``HERE`` marks prefixes that the leaf forwards by address. Switches with fast reroute remove ``dead`` links from
        groups that have other links.
        """
        table = np.full((len(self._wiring.switches), len(routes.prefixes)), NO_GROUP, np.uint32)
        for row, name in enumerate(self._wiring.switches):
            fib = routes.fibs.get(name)
            if fib is None:  # it is down itself
                continue
            gone = dead if self._repairs[row] else ()
            if self._joined is None:
                least = int(fib.group.min(initial=0))
                known = np.flatnonzero(np.bincount(fib.group - least)) + least  # numbers are small: no sorting
                entry = np.full(int(known.max(initial=least)) - least + 1, NO_GROUP, np.uint32)
                entry[known - least] = self._of(row, name, routes, known.astype(np.int32).reshape(-1, 1), gone)
                table[row] = entry[fib.group - least]
                continue
            ids = np.append(fib.group, np.int32(UNREACHABLE))[self._joined]
            known, inverse = np.unique(ids, axis=0, return_inverse=True)
            entries = self._of(row, name, routes, known, gone)[inverse.reshape(-1)]
            for column in self._joined.T:
                there = column >= 0
                table[row, column[there]] = entries[there]
        return table

    def _of(
        self, row: int, name: str, routes: Routes, known: NDArray[np.int32], gone: Collection[str]
    ) -> NDArray[np.uint32]:
        """Return the forwarding entries of the switch ``name``, one for each row of ``known``.

        A row of ``known`` is a set of next-hop groups. Its entry leads to a single group that has the links of all groups of the set.
        ``row`` is the number of the switch, and ``gone`` has the links to leave out if other links remain.
        """
        entries = np.full(len(known), NO_GROUP, np.uint32)
        ports_of = self._wiring.ports_of(name)
        for place, ids in enumerate(cast("list[list[int]]", known.tolist())):
            if LOCAL in ids:
                entries[place] = HERE
                continue
            links = dict.fromkeys([link for group in ids if group >= 0 for link in routes.groups[group]])
            left = ([link for link in links if link not in gone] if gone else ()) or links
            ports = tuple([ports_of[link] for link in left if link in ports_of])
            if len(ports) == 1:
                entries[place] = ONE_PORT | ports[0]
            elif ports:
                key = (self._balance[row], ports)
                entries[place] = self._groups.setdefault(key, len(self._groups))
        return entries

    def groups(self) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
        """Return all next-hop groups that the tables so far use, in the form of the arguments ``groups`` and ``members`` of ``PacketEngine``."""
        rows: list[tuple[int, int, int]] = []
        members: list[int] = []
        for balance, ports in self._groups:
            rows.append((len(members), len(ports), balance))
            members += ports
        return np.array(rows, np.uint32).reshape(-1, 3), np.array(members, np.uint16)


def joined_prefixes(network: Network, index: dict[str, int]) -> NDArray[np.int64]:
    """Return a row for each server segment (a leaf port or VLAN with its servers) with the indexes of its prefixes.

    A segment has one prefix per path color (class of uplinks); -1 fills up the row of a segment with fewer prefixes. ``index`` has the
    number of each prefix.
    """
    rows = [[index.get(subnet.routed_by, -1) for subnet in segment.subnets] for segment in network.segments]
    width = max(map(len, rows), default=1)
    return np.array([row + [-1] * (width - len(row)) for row in rows], np.int64).reshape(len(rows), width)


def by_address(
    wiring: Wiring,
    addresses: Addresses,
    nic_ports: NDArray[np.int64],
    entries: NDArray[np.uint32],
    used: NDArray[np.int64],
) -> NDArray[np.uint32]:
    """Return the forwarding table with a row for each switch and a column for each address in ``used``.

    ``entries`` is the table by prefix, and ``nic_ports`` is the result of ``nic_port``. ``wiring`` has the numbered nodes, ports and
    cables.
    """
    owner = addresses.owner[used]
    table = np.take(entries, addresses.prefix[used], axis=1)  # in order of rows, as engines take it
    leaf = nic_ports[owner, 0] - len(wiring.nics)
    places = np.arange(len(used))
    at_leaf = table[leaf, places] == HERE
    table[table == HERE] = NO_GROUP
    ports = (np.int64(ONE_PORT) | nic_ports[owner, 1]).astype(np.uint32)
    table[leaf[at_leaf], places[at_leaf]] = ports[at_leaf]
    return table


def nic_port(wiring: Wiring) -> NDArray[np.int64]:
    """Return an array with a row for each NIC: the number of its leaf, and the number of the leaf's port to which the NIC is connected.

    Leaves are numbered as nodes of ``wiring``, and NICs come first. The first port of a leaf has the number 0. ``wiring`` has the nodes,
    ports and cables.
    """
    hosts = len(wiring.nics)
    leaf_ports = np.zeros((hosts, 2), np.int64)
    ends = wiring.cables[:, :2].astype(np.int64)
    rows = np.flatnonzero(ends[:, 0] < hosts)  # NICs are the first end of their cables
    leaf = ends[rows, 1]
    leaf_ports[ends[rows, 0], 0] = leaf
    leaf_ports[ends[rows, 0], 1] = wiring.end_ports[rows, 1] - wiring.first_port[leaf]
    return leaf_ports
