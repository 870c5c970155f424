"""Links, switches and servers that fail and come back, as changes of the packet engine.

What fails does so at once; routes follow later, when the control plane has settled on what is left.
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
class Timeline:
    """Changes of links and nodes, and the routes that are in force from a moment on."""

    changes: tuple[Change, ...] = ()
    routes: tuple[tuple[int, Routes], ...] = ()


def timeline(wiring: Wiring, plane: ControlPlane, outages: Sequence[Outage], reroute_ps: int) -> Timeline:
    """What outages do, with routes that follow ``reroute_ps`` after each of them began or ended.

    Raises ``InputError`` for a name that is not on the network, and for outages of one that overlap.
    """
    _check(outages)
    changes: list[Change] = []
    moments: set[int] = set()
    for one in outages:
        changes += places_down(wiring, one.name, one.from_ps)
        moments.add(one.from_ps)
        if one.until_ps is not None:
            changes += places_up(wiring, one.name, one.until_ps)
            moments.add(one.until_ps)
    routes: list[tuple[int, Routes]] = []
    for moment in sorted(moments):
        down = {one.name for one in outages if _is_down(one, moment)}
        routes.append((moment + reroute_ps, plane.routes(link for name in down for link in _known(wiring, name))))
    return Timeline(tuple(sorted(changes)), tuple(routes))


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
