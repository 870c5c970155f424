"""The usable ports of NICs whose ports collective libraries merge into one device.

Port failover decides the effect of a dead plane on jobs: queue pairs of a port without a path use the other ports of
the NIC. The net plugin fails over at once. NCCL's own transport does so only if it is configured (docs/howto/size-a-network.md#planes-nics-with-several-ports).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import LINK_DOWN, LINK_UP, NODE_DOWN, NODE_UP
from railweave.analysis.routing.table import UNREACHABLE, Routes
from railweave.errors import InputError, NetworkPart, Problem
from railweave.prediction.simulation.model.addresses import NONE, Way
from railweave.prediction.simulation.model.outages import Tables, Timeline
from railweave.prediction.simulation.model.tables import nic_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from railweave.prediction.simulation.model.fabric import PacketFabric
    from railweave.prediction.simulation.model.wiring import Wiring

LEAST_FRAME_BYTES = 84
"""The smallest size of an Ethernet frame on the wire in bytes, including preamble and gap."""

FAILOVER_NOTE = (
    "ports of NICs: a port that is dead at the beginning of a collective carries nothing, and the NIC's other ports take its queue "
    "pairs (port failover: the net plugin's own, or NCCL_IB_RESILIENCY_PORT_FAILOVER)"
)
UNDER_WAY_NOTE = (
    "ports of NICs: some lost their path while the collective ran; they count as lost from its beginning, so the time is the "
    "longest possible, not counting the failover itself"
)


def usable(fabric: PacketFabric, timeline: Timeline, until_ps: int = 0) -> Way | None:
    """Return a function that takes sending and receiving ports and tells which pairs can be used (see ``addresses.Way``).

    Return None if every NIC has one port. A port that loses its path before ``until_ps`` counts as unusable, even if the path returns. If
    no pair of ports of two NICs can be used, queue pairs wait for the pair of ports that first regains a path, so this pair counts as
    usable. ``timeline`` has the faults.
    """
    if fabric.addresses.ports.shape[1] == 1:
        return None
    tables = [table for table in timeline.tables if table.at_ps <= until_ps]
    if not tables or tables[0].at_ps > 0:
        tables.insert(0, Tables(0, fabric.routes, frozenset()))
    lasting = _way(fabric, _up(fabric, timeline, until_ps, heals=False), tables)
    moments = [until_ps, *(moment for moment in timeline.moments if moment > until_ps)]

    def way(here: NDArray[np.int64], there: NDArray[np.int64]) -> NDArray[np.bool_]:
        reached = lasting(here, there)
        for moment in moments:
            waiting = ~reached.any(axis=1)
            if not waiting.any():
                break
            reached[waiting] = _way_at(fabric, timeline, moment)(here[waiting], there[waiting])
        return reached

    return way


def apart_ps(wiring: Wiring, ports: int) -> int:
    """Return the shortest time in ps after which a port of a NIC can react to an arrival at another port of the NIC.

    The engines have a separate host for each port. Therefore, the time is not 0 but the delay of the shortest cable. It is 0 if each NIC
    has one port. ``wiring`` has the numbered nodes, ports and cables.
    """
    if ports == 1:
        return 0
    shortest = wiring.cables[:, 3].astype(np.float64) + LEAST_FRAME_BYTES * 8e6 / wiring.cables[:, 2]
    return int(np.ceil(shortest.min()))


def next_loss(
    fabric: PacketFabric, timeline: Timeline, pairs: NDArray[np.uint32], after_ps: int, before_ps: int | None
) -> int | None:
    """Return the first time in ps after ``after_ps`` at which a queue pair that has a path loses it, or None if there is no such time.

    Only times before ``before_ps`` are considered. ``pairs`` are rows of source and destination in the form of ``PacketEngine``.
    ``timeline`` has the faults.
    """
    if fabric.addresses.ports.shape[1] == 1:
        return None
    here, there = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    had = _way_at(fabric, timeline, after_ps)(here, there)
    for moment in timeline.moments:
        if moment <= after_ps or (before_ps is not None and moment >= before_ps):
            continue
        has = _way_at(fabric, timeline, moment)(here, there)
        if (had & ~has).any():
            return moment
        had |= has
    return None


def check_planes(fabric: PacketFabric, pairs: NDArray[np.uint32]) -> None:
    """Raise ``InputError`` if the NICs of a queue pair have no plane in common because ports are absent.

    ``pairs`` are rows of source and destination in the form of ``PacketEngine``.
    """
    ports, names = fabric.addresses.ports, fabric.wiring.nics
    here, there = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    apart = ~((ports[here] != NONE) & (ports[there] != NONE)).any(axis=1)
    if apart.any():
        row = int(apart.argmax())
        near, far = (names[int(host)] for host in (here[row], there[row]))
        description = f"the NICs of {near} and {far} have no path to each other: they have no plane in common"
        fix = "leave one of the two servers out of the job (--hosts), or bring up the ports that `status:` names"
        raise InputError([Problem(NetworkPart(near), description, fix)])


def _way_at(fabric: PacketFabric, timeline: Timeline, moment: int) -> Way:
    """Return a function that takes sending and receiving ports and tells which pairs can be used at the time ``moment``, in ps.

    ``timeline`` has the faults.
    """
    tables = [table for table in timeline.tables if table.at_ps <= moment]
    last = tables[-1] if tables else Tables(0, fabric.routes, frozenset())
    return _way(fabric, _up(fabric, timeline, moment, heals=True), [last])


def _way(fabric: PacketFabric, up: NDArray[np.bool_], tables: Sequence[Tables]) -> Way:
    """Return a function that takes sending and receiving ports and tells which pairs can be used.

    A pair can be used if both hosts (NIC ports) are ``up`` and all of ``tables`` have a path between them.
    """
    addresses = fabric.addresses
    reached = np.logical_and.reduce([_reached(fabric, table.routes) for table in tables])
    leaf = nic_port(fabric.wiring)[:, 0] - len(fabric.wiring.nics)
    silent = frozenset[str]().union(*(table.silent for table in tables))
    here_up = up & ~np.isin(leaf, [place for place, name in enumerate(fabric.wiring.switches) if name in silent])
    prefix = addresses.prefix[addresses.places[:, 0]]

    def way(here: NDArray[np.int64], there: NDArray[np.int64]) -> NDArray[np.bool_]:
        both = (here != NONE) & (there != NONE)
        return both & here_up[here] & here_up[there] & reached[leaf[here], prefix[there]]

    return way


def _reached(fabric: PacketFabric, routes: Routes) -> NDArray[np.bool_]:
    """Return, by switch and prefix, True if the switch owns the prefix or has a route to it."""
    none = np.zeros(len(routes.prefixes), np.bool_)
    fibs = (routes.fibs.get(name) for name in fabric.wiring.switches)
    return np.stack([none if fib is None else fib.group != UNREACHABLE for fib in fibs])


def _up(fabric: PacketFabric, timeline: Timeline, until_ps: int, *, heals: bool) -> NDArray[np.bool_]:
    """Return, for each host (NIC port), True if the host, its link and its leaf are up at ``until_ps``.

    If ``heals`` is False, a host that was down at any earlier time also counts as down. ``timeline`` has the faults.
    """
    wiring = fabric.wiring
    cable = wiring.port_cable[wiring.first_port[: len(wiring.nics)]]
    leaf = nic_port(wiring)[:, 0]
    links, nodes = np.ones(len(wiring.links), np.bool_), np.ones(len(wiring.kinds), np.bool_)
    for name in fabric.routes.down:
        if name in wiring.cable:
            links[wiring.cable[name]] = False
        elif name in wiring.node:
            nodes[wiring.node[name]] = False
    for at, change, place, _, _ in timeline.changes:
        if at > until_ps:
            break
        if change == LINK_DOWN or (change == LINK_UP and (heals or at == 0)):
            links[wiring.port_cable[place]] = change == LINK_UP
        elif change == NODE_DOWN or (change == NODE_UP and (heals or at == 0)):
            nodes[place] = change == NODE_UP
    return links[cable] & nodes[: len(wiring.nics)] & nodes[leaf]
