"""Failures and recoveries of links, switches and servers, in the form of the packet engine's changes.

A failure takes effect at once. Soon afterwards, neighboring switches that have fast reroute spread traffic over the remaining links
of a next-hop group. Routes follow later, when the control plane has converged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from railweave._sim import LINK_DOWN, LINK_UP, LOSS, NODE_DOWN, NODE_UP, RATE, RECEIVE, STORM
from railweave.errors import InputError, NetworkPart, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.analysis.routing.table import Routes
    from railweave.design.fault_targets import FaultTarget
    from railweave.prediction.simulation.model.wiring import Wiring


Change = tuple[int, int, int, int, int]
"""A row of ``PacketEngine``'s changes: (time in ps, kind of change, number of the port or node, and two values that depend on the kind)."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A failure of a link, switch, server or NIC (``SERVER:NIC``) from ``from_ps`` until ``until_ps`` (None: permanent).

    ``of`` is the extent of the failure: ``signal`` means everything, ``session`` only the BGP session on a link, and ``forwarding``
    only a switch's forwarding of packets.
    """

    name: str
    from_ps: int
    until_ps: int | None = None
    of: Literal["signal", "session", "forwarding"] = "signal"


@dataclass(frozen=True, slots=True)
class Tables:
    """The forwarding tables that are valid from ``at_ps`` on.

    Next-hop groups leave out the links in ``dead``. Switches in ``silent`` forward nothing.
    """

    at_ps: int
    routes: Routes
    dead: frozenset[str]
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Timeline:
    """The changes of the network during a run, in order of time.

    ``changes`` has the changes of links and nodes, and ``tables`` the new forwarding tables.
    """

    changes: tuple[Change, ...] = ()
    tables: tuple[Tables, ...] = ()

    @property
    def moments(self) -> list[int]:
        """The times of all changes, in ps and in order."""
        return sorted({change[0] for change in self.changes} | {table.at_ps for table in self.tables})

    def since(self, at_ps: int) -> Timeline:
        """Return the timeline for a run that begins at ``at_ps``.

        Its times count from this beginning. Changes before ``at_ps`` apply from the beginning of the run.
        """
        before = [table for table in self.tables if table.at_ps <= at_ps][-1:]
        after = [table for table in self.tables if table.at_ps > at_ps]
        return Timeline(
            tuple((max(change[0] - at_ps, 0), *change[1:]) for change in self.changes),
            tuple(replace(table, at_ps=max(table.at_ps - at_ps, 0)) for table in before + after),
        )


REPAIR_PS = 10**9
"""The time in ps that a switch with fast reroute takes to remove a dead link from its next-hop groups: 1 ms (assumed)."""


def timeline(
    wiring: Wiring,
    plane: ControlPlane | None,
    start: Routes,
    outages: Sequence[Outage],
    reroute_ps: int,
    repair_ps: int = REPAIR_PS,
) -> Timeline:
    """Return the timeline of outages. Routes adapt ``reroute_ps`` after each outage begins or ends, next-hop groups after ``repair_ps``.

    ``start`` has the routes before the outages. Without ``plane`` the routes do not change. ``wiring`` has the numbered nodes, ports and
    cables. Raises ``InputError`` for unknown names, and for overlapping outages of the same link or device.
    """
    _check(outages)
    changes: list[Change] = []
    for outage in outages:
        if outage.of != "signal":
            continue
        changes += places_down(wiring, outage.name, outage.from_ps)
        changes += [] if outage.until_ps is None else places_up(wiring, outage.name, outage.until_ps)
    moments = _moments(outages)
    down = {at: [outage for outage in outages if _is_down(outage, at)] for at in moments}
    routes = {at + reroute_ps: _routes(wiring, plane, start, down[at]) for at in moments if plane is not None}
    dead = {
        at + repair_ps: frozenset(
            link for outage in down[at] if outage.of == "signal" for link in _links(wiring, outage.name)
        )
        for at in moments
    }
    quiet = [outage for outage in outages if outage.of == "forwarding"]
    quiet += [] if plane is None else _without_tables(wiring, outages, reroute_ps)
    silent = {at: frozenset(outage.name for outage in quiet if _is_down(outage, at)) for at in _moments(quiet)}
    tables: list[Tables] = []
    now = Tables(0, start, frozenset())
    for at in sorted(routes.keys() | dead.keys() | silent.keys()):
        now = Tables(at, routes.get(at, now.routes), dead.get(at, now.dead), silent.get(at, now.silent))
        tables.append(now)
    return Timeline(tuple(sorted(changes)), tuple(tables))


def _moments(outages: Sequence[Outage]) -> list[int]:
    """Return the times at which outages begin or end, in order."""
    return sorted({at for outage in outages for at in (outage.from_ps, outage.until_ps) if at is not None})


def _check(outages: Sequence[Outage]) -> None:
    by_name: dict[str, list[Outage]] = {}
    for outage in sorted(outages, key=lambda outage: outage.from_ps):
        if outage.until_ps is not None and outage.until_ps <= outage.from_ps:
            raise InputError(
                [Problem(NetworkPart(outage.name), "its outage ends before it begins", "give a later end")]
            )
        by_name.setdefault(outage.name, []).append(outage)
    for name, several in by_name.items():
        if any(first.until_ps is None or first.until_ps >= second.from_ps for first, second in pairwise(several)):
            raise InputError([Problem(NetworkPart(name), "two of its outages overlap", "make them one")])


def _routes(wiring: Wiring, plane: ControlPlane, start: Routes, down: Sequence[Outage]) -> Routes:
    """Return the routes to which the control plane converges during the outages ``down``. ``start`` has the routes without outages.

    A switch that only stops forwarding still advertises its routes, so such an outage changes no routes. ``wiring`` has the numbered nodes,
    ports and cables.
    """
    known = [name for outage in down if outage.of != "forwarding" for name in _known(wiring, outage.name)]
    return plane.routes([*start.down, *known]) if known else start


def _without_tables(wiring: Wiring, outages: Sequence[Outage], reroute_ps: int) -> list[Outage]:
    """Return additional outages: a switch that recovers forwards nothing until it has learned routes again, ``reroute_ps`` later.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    return [
        Outage(outage.name, outage.until_ps, outage.until_ps + reroute_ps, "forwarding")
        for outage in outages
        if outage.of == "signal" and outage.until_ps is not None and reroute_ps and outage.name in wiring.switches
    ]


def _is_down(outage: Outage, moment: int) -> bool:
    return outage.from_ps <= moment and (outage.until_ps is None or moment < outage.until_ps)


def _known(wiring: Wiring, name: str) -> Iterable[str]:
    """Return the name of a link or device in the control plane, as a list. For a NIC, the name is that of its link.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    if name in wiring.nics:
        return [wiring.port_link(int(wiring.first_port[wiring.node[name]]))]
    return [name]


def _links(wiring: Wiring, name: str) -> list[str]:
    """Return the names of the links that an outage of the link or device ``name`` takes down.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    if name not in wiring.node:
        return [name]
    node = wiring.node[name]
    return [wiring.port_link(port) for port in range(int(wiring.first_port[node]), int(wiring.first_port[node + 1]))]


def places_down(wiring: Wiring, name: str, at_ps: int) -> list[Change]:
    """Return the changes that take down the link, switch, server or NIC ``name`` at the time ``at_ps``.

    Raises ``InputError`` if the name is unknown. ``wiring`` has the numbered nodes, ports and cables.
    """
    return _places(wiring, name, at_ps, LINK_DOWN, NODE_DOWN)


def places_up(wiring: Wiring, name: str, at_ps: int) -> list[Change]:
    """Return the changes that bring the link, switch, server or NIC ``name`` back up at the time ``at_ps``.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    return _places(wiring, name, at_ps, LINK_UP, NODE_UP)


def _places(wiring: Wiring, name: str, at_ps: int, link: int, node: int) -> list[Change]:
    row = wiring.cable.get(name)
    if row is not None:
        return [(at_ps, link, int(wiring.end_ports[row, 0]), 0, 0)]
    if name in wiring.node:
        return [(at_ps, node, wiring.node[name], 0, 0)]
    nics = [number for number, nic in enumerate(wiring.nics) if nic.rpartition(":")[0] == name]
    if not nics:
        fix = "links are leaf:port--spine:port, as in cabling.csv; NICs SERVER:NIC"
        raise InputError(
            [Problem(NetworkPart(name), "the simulated fabrics have no link, switch, server or NIC of this name", fix)]
        )
    return [(at_ps, node, number, 0, 0) for number in nics]


REROUTE_PS = 10 * 10**9
"""The time in ps after which routes follow a fault if the scenario gives no time: 10 ms (assumed).

Loss of light is detected at once. The time is needed for BGP withdrawals and for writing hardware tables.
"""

CERTAIN = 2**32 - 1


def fault_timeline(
    wiring: Wiring,
    plane: ControlPlane | None,
    start: Routes,
    targets: Sequence[FaultTarget],
    reroute_ps: int,
    data_class: int,
) -> Timeline:
    """Return the timeline of faults. Times count from the beginning of the scenario.

    - ``targets``: the faults. ``start``: the routes before the faults.
    - ``reroute_ps``: the time after a fault until routes have adapted.
    - ``data_class``: the number of the traffic class that a pause storm stops.
    - ``plane``: the control plane; None if the routes do not change.

    Faults on links and devices of fabrics that are not simulated are left out. ``wiring`` has the numbered nodes, ports and cables. Raises
    ``InputError`` if two outages of one link or device overlap.
    """
    outages = [outage for target in targets for outage in _outages(target) if _is_here(wiring, outage.name)]
    outage_timeline = timeline(wiring, plane, start, outages, reroute_ps)
    changes = [
        *outage_timeline.changes,
        *(change for target in targets for change in _changes(wiring, target, data_class)),
    ]
    return Timeline(tuple(sorted(changes, key=lambda change: change[0])), outage_timeline.tables)


def slowed(wiring: Wiring, changes: Sequence[Change], time_ps: int) -> NDArray[np.float64]:
    """Return, for each port, the average factor by which faults slowed its link in a run of ``time_ps``. 1 means full speed.

    ``changes`` are the changes of a timeline, and ``wiring`` has the numbered nodes, ports and cables.
    """
    rate = wiring.cables[:, 2].astype(np.float64)
    now, since, carried = rate.copy(), np.zeros(len(rate)), np.zeros(len(rate))
    for at, change, port, mbps, _ in changes:
        if change == RATE and at < time_ps:
            row = int(wiring.port_cable[port])
            carried[row] += now[row] * (at - since[row])
            now[row], since[row] = mbps, at
    mean = (carried + now * (time_ps - since)) / time_ps
    return (rate / mean)[wiring.port_cable]


def _is_here(wiring: Wiring, name: str) -> bool:
    here = name in wiring.node or name in wiring.cable
    return here or any(nic.rpartition(":")[0] == name for nic in wiring.nics)


def _outages(target: FaultTarget) -> Iterable[Outage]:
    fault = target.fault
    if fault.kind in {"link-down", "nic-down"}:
        return [Outage(link, fault.at, fault.end_ps) for link in target.links]
    if fault.kind in {"device-down", "device-reboot", "plane-down"}:
        return [Outage(device, fault.at, fault.end_ps) for device in target.devices]
    if fault.kind == "blackhole":
        return [Outage(str(fault.device), fault.at, fault.end_ps, "forwarding")]
    if fault.kind in {"bgp-session-down", "bgp-down"}:
        return [Outage(link, fault.at, fault.end_ps, "session") for link in target.links]
    if fault.kind == "link-flap" and fault.period is not None:
        begins = [fault.at + turn * fault.period for turn in range(fault.count or 0)]
        return [Outage(link, at, at + fault.period // 2) for link in target.links for at in begins]
    return []


def _changes(wiring: Wiring, target: FaultTarget, data_class: int) -> list[Change]:
    """Return the changes that the fault ``target`` causes, except those that take links and nodes down or up.

    ``data_class`` is the number of the traffic class that a pause storm stops. ``wiring`` has the numbered nodes, ports and cables.
    """
    fault = target.fault
    changes: list[Change] = []
    for link in target.links:
        row = wiring.cable.get(link)
        if row is None:
            continue
        ends = [int(port) for port in wiring.end_ports[row]]  # a NIC's is the first
        begin: list[tuple[int, int, int, int]] = []
        end: list[tuple[int, int, int, int]] = []
        if fault.kind == "link-slow":
            begin, end = [(RATE, ends[0], fault.rate or 0, 0)], [(RATE, ends[0], int(wiring.cables[row, 2]), 0)]
        elif fault.kind == "link-lossy":
            chance = min(round((fault.loss or 0.0) * 2**32), CERTAIN)
            begin, end = [(LOSS, port, chance, 0) for port in ends], [(LOSS, port, 0, 0) for port in ends]
        elif fault.kind == "slow-receiver":
            begin, end = [(RECEIVE, ends[0], fault.rate or 0, 0)], [(RECEIVE, ends[0], 0, 0)]
        elif fault.kind == "pfc-storm":
            begin, end = [(STORM, ends[0], data_class, 1)], [(STORM, ends[0], data_class, 0)]
        changes += [(fault.at, *change) for change in begin]
        changes += [] if fault.end_ps is None else [(fault.end_ps, *change) for change in end]
    return changes
