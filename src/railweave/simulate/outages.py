"""Links, switches and servers that fail and come back, as changes of the packet engine.

What fails does so at once. Switches beside it soon share over the links that are left of a next-hop group, where their
configuration has fast reroute; routes follow later, when the control plane has settled on what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from railweave._sim import LINK_DOWN, LINK_UP, NODE_DOWN, NODE_UP
from railweave.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.routes.control_plane import ControlPlane
    from railweave.routes.table import Routes
    from railweave.simulate.wiring import Wiring

Change = tuple[int, int, int, int, int]
"""A row of ``PacketEngine``'s changes: at_ps, change, place, x, y."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A link, switch, server or NIC (``SERVER:NIC``) that is down from ``from_ps`` on, until ``until_ps`` (None: for good)."""

    name: str
    from_ps: int
    until_ps: int | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    """What is forwarded by from ``at_ps`` on: routes, less the members of next-hop groups that are on ``dead`` links."""

    at_ps: int
    routes: Routes
    dead: frozenset[str]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Changes of links and nodes, and of tables, each in order of time."""

    changes: tuple[Change, ...] = ()
    tables: tuple[Tables, ...] = ()


REPAIR_PS = 10**9
"""How long a switch takes to leave a dead link out of its next-hop groups (fast reroute): 1 ms; assumed."""


def timeline(
    wiring: Wiring,
    plane: ControlPlane,
    start: Routes,
    outages: Sequence[Outage],
    reroute_ps: int,
    repair_ps: int = REPAIR_PS,
) -> Timeline:
    """What outages do, with routes that follow ``reroute_ps`` after each of them began or ended.

    ``start``: the routes before. Raises ``InputError`` for a name that is not on the network, and for outages of one name
    that overlap.
    """
    _check(outages)
    changes: list[Change] = []
    for one in outages:
        changes += places_down(wiring, one.name, one.from_ps)
        changes += [] if one.until_ps is None else places_up(wiring, one.name, one.until_ps)
    moments = sorted({at for one in outages for at in (one.from_ps, one.until_ps) if at is not None})
    down = {at: [one.name for one in outages if _is_down(one, at)] for at in moments}
    routes = {
        at + reroute_ps: plane.routes([*start.down, *(known for name in down[at] for known in _known(wiring, name))])
        for at in moments
    }
    dead = {at + repair_ps: frozenset(link for name in down[at] for link in _links(wiring, name)) for at in moments}
    tables: list[Tables] = []
    routes_now, dead_now = start, frozenset[str]()
    for at in sorted(routes.keys() | dead.keys()):
        routes_now, dead_now = routes.get(at, routes_now), dead.get(at, dead_now)
        tables.append(Tables(at, routes_now, dead_now))
    return Timeline(tuple(sorted(changes)), tuple(tables))


def _check(outages: Sequence[Outage]) -> None:
    by_name: dict[str, list[Outage]] = {}
    for one in sorted(outages, key=lambda one: one.from_ps):
        if one.until_ps is not None and one.until_ps <= one.from_ps:
            raise InputError([Problem(one.name, 0, "its outage ends before it begins", "give a later end")])
        by_name.setdefault(one.name, []).append(one)
    for name, several in by_name.items():
        if any(first.until_ps is None or first.until_ps >= second.from_ps for first, second in pairwise(several)):
            raise InputError([Problem(name, 0, "two of its outages overlap", "make them one")])


def _is_down(outage: Outage, moment: int) -> bool:
    return outage.from_ps <= moment and (outage.until_ps is None or moment < outage.until_ps)


def _known(wiring: Wiring, name: str) -> Iterable[str]:
    """A name as the control plane has it: a NIC is its link."""
    if name in wiring.nics:
        return [wiring.port_link(int(wiring.first_port[wiring.node[name]]))]
    return [name]


def _links(wiring: Wiring, name: str) -> list[str]:
    """The links that an outage takes away."""
    if name not in wiring.node:
        return [name]
    node = wiring.node[name]
    return [wiring.port_link(port) for port in range(int(wiring.first_port[node]), int(wiring.first_port[node + 1]))]


def places_down(wiring: Wiring, name: str, at_ps: int) -> list[Change]:
    """The changes by which a link, switch, server or NIC goes down. Raises ``InputError`` for an unknown name."""
    return _places(wiring, name, at_ps, LINK_DOWN, NODE_DOWN)


def places_up(wiring: Wiring, name: str, at_ps: int) -> list[Change]:
    """The changes by which it comes back."""
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
        raise InputError([Problem(name, 0, "neither a link nor a switch, server or NIC of the simulated fabrics", fix)])
    return [(at_ps, node, number, 0, 0) for number in nics]
