"""Links, switches and servers that fail and come back, as changes of the packet engine.

What fails does so at once. Switches beside it soon share over the links that are left of a next-hop group, where their
configuration has fast reroute; routes follow later, when the control plane has settled on what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from railweave._sim import LINK_DOWN, LINK_UP, NODE_DOWN, NODE_UP
from railweave.errors import InputError, NetworkPart, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.analysis.routing.table import Routes
    from railweave.prediction.simulation.model.wiring import Wiring

Change = tuple[int, int, int, int, int]
"""A row of ``PacketEngine``'s changes: at_ps, change, place, x, y."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A link, switch, server or NIC (``SERVER:NIC``) that is down from ``from_ps`` on, until ``until_ps`` (None: for good).

    ``of`` is what is down of it: all (``signal``), the BGP session on a link, or a switch's forwarding alone.
    """

    name: str
    from_ps: int
    until_ps: int | None = None
    of: Literal["signal", "session", "forwarding"] = "signal"


@dataclass(frozen=True, slots=True)
class Tables:
    """What is forwarded by from ``at_ps`` on: routes, less the members of next-hop groups that are on ``dead`` links.

    ``silent`` switches forward nothing.
    """

    at_ps: int
    routes: Routes
    dead: frozenset[str]
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Changes of links and nodes, and of tables, each in order of time."""

    changes: tuple[Change, ...] = ()
    tables: tuple[Tables, ...] = ()

    @property
    def moments(self) -> list[int]:
        """When anything changes."""
        return sorted({change[0] for change in self.changes} | {one.at_ps for one in self.tables})

    def since(self, at_ps: int) -> Timeline:
        """The same for a run that begins at ``at_ps``: what was before is so from its beginning."""
        before = [one for one in self.tables if one.at_ps <= at_ps][-1:]
        after = [one for one in self.tables if one.at_ps > at_ps]
        return Timeline(
            tuple((max(change[0] - at_ps, 0), *change[1:]) for change in self.changes),
            tuple(replace(one, at_ps=max(one.at_ps - at_ps, 0)) for one in before + after),
        )


REPAIR_PS = 10**9
"""How long a switch takes to leave a dead link out of its next-hop groups (fast reroute): 1 ms; assumed."""


def timeline(
    wiring: Wiring,
    plane: ControlPlane | None,
    start: Routes,
    outages: Sequence[Outage],
    reroute_ps: int,
    repair_ps: int = REPAIR_PS,
) -> Timeline:
    """What outages do, with routes that follow ``reroute_ps`` after each of them began or ended.

    ``start``: the routes before; without ``plane`` they stay. Raises ``InputError`` for a name that is not on the network, and for outages of one name
    that overlap.
    """
    _check(outages)
    changes: list[Change] = []
    for one in outages:
        if one.of != "signal":
            continue
        changes += places_down(wiring, one.name, one.from_ps)
        changes += [] if one.until_ps is None else places_up(wiring, one.name, one.until_ps)
    moments = _moments(outages)
    down = {at: [one for one in outages if _is_down(one, at)] for at in moments}
    routes = {at + reroute_ps: _routes(wiring, plane, start, down[at]) for at in moments if plane is not None}
    dead = {
        at + repair_ps: frozenset(link for one in down[at] if one.of == "signal" for link in _links(wiring, one.name))
        for at in moments
    }
    quiet = [one for one in outages if one.of == "forwarding"]
    quiet += [] if plane is None else _without_tables(wiring, outages, reroute_ps)
    silent = {at: frozenset(one.name for one in quiet if _is_down(one, at)) for at in _moments(quiet)}
    tables: list[Tables] = []
    now = Tables(0, start, frozenset())
    for at in sorted(routes.keys() | dead.keys() | silent.keys()):
        now = Tables(at, routes.get(at, now.routes), dead.get(at, now.dead), silent.get(at, now.silent))
        tables.append(now)
    return Timeline(tuple(sorted(changes)), tuple(tables))


def _moments(outages: Sequence[Outage]) -> list[int]:
    """When any of them begins or ends."""
    return sorted({at for one in outages for at in (one.from_ps, one.until_ps) if at is not None})


def _check(outages: Sequence[Outage]) -> None:
    by_name: dict[str, list[Outage]] = {}
    for one in sorted(outages, key=lambda one: one.from_ps):
        if one.until_ps is not None and one.until_ps <= one.from_ps:
            raise InputError([Problem(NetworkPart(one.name), "its outage ends before it begins", "give a later end")])
        by_name.setdefault(one.name, []).append(one)
    for name, several in by_name.items():
        if any(first.until_ps is None or first.until_ps >= second.from_ps for first, second in pairwise(several)):
            raise InputError([Problem(NetworkPart(name), "two of its outages overlap", "make them one")])


def _routes(wiring: Wiring, plane: ControlPlane, start: Routes, down: Sequence[Outage]) -> Routes:
    """The routes that the control plane settles on. What forwards nothing does not tell it so."""
    known = [name for one in down if one.of != "forwarding" for name in _known(wiring, one.name)]
    return plane.routes([*start.down, *known]) if known else start


def _without_tables(wiring: Wiring, outages: Sequence[Outage], reroute_ps: int) -> list[Outage]:
    """Switches that are back and know no route yet: what they forwarded by before they failed is forgotten."""
    return [
        Outage(one.name, one.until_ps, one.until_ps + reroute_ps, "forwarding")
        for one in outages
        if one.of == "signal" and one.until_ps is not None and reroute_ps and one.name in wiring.switches
    ]


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
        raise InputError(
            [Problem(NetworkPart(name), "neither a link nor a switch, server or NIC of the simulated fabrics", fix)]
        )
    return [(at_ps, node, number, 0, 0) for number in nics]
