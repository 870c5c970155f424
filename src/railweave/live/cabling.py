"""Cables, by LLDP at both ends: missing, in the wrong port, swapped."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.findings.registry import Rule
from railweave.live.interfaces import of_port, short, without_unit
from railweave.live.living import Seen, link_and_ends

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.expect.hosts import Nic
    from railweave.expect.model import Port
    from railweave.live.living import Living
    from railweave.state.protocols import LldpNeighbor

End = tuple[str, str]
"""A device and its port, by the names of the design."""

Called = dict[str, dict[str, End]]
"""Ends by the short name of their device, and by every name of their port."""

SWAPPED = Rule(
    "cables-swapped",
    "error",
    "living",
    "Two cables are in each other's ports.",
    why="the link ends on another device or port than designed, and so in the wrong AS, path color or rail",
    fix="exchange the two cables at the ports that are named",
)
WRONG = Rule(
    "cable-wrong",
    "error",
    "living",
    "A cable leads to another device or port than the design has.",
    why="the link ends on another device or port than designed, and so in the wrong AS, path color or rail",
    fix="move the cable to the port that is named",
)
MISSING = Rule(
    "neighbor-missing",
    "warning",
    "living",
    "A port between switches is up, and LLDP hears nobody on it.",
    why="nobody can tell where the cable leads",
    fix="switch LLDP on at the other end, or follow the cable by hand",
)


def cabling(living: Living) -> Iterator[Seen]:
    """What LLDP shows on every cabled port; a server that does not speak LLDP is no fault."""
    wanted: dict[End, Port | Nic] = {
        (one.device, one.name): one for each in living.expected.values() for one in each.cabled
    }
    wanted |= {(nic.device, nic.name): nic for each in living.servers_expected.values() for nic in each.nics}
    ends, called = _ends(wanted)
    wrong: dict[End, End] = {}
    told: dict[End, LldpNeighbor] = {}
    for end, one in wanted.items():
        state = living.hosts.get(end[0]) or living.states.get(end[0])
        if state is None or state.neighbors is None:
            continue
        heard = [_by_design(living, one) for one in of_port(state.neighbors, one.said_as) or ()]
        if not heard:
            interface = of_port(state.interfaces or {}, one.said_as)
            if one.kind == "fabric" and interface is not None and interface.oper_up:
                yield Seen(
                    MISSING,
                    one.device,
                    f"no LLDP neighbor on {one.name}, {_far(one)} should be there",
                    one.because,
                    one.name,
                    one.link,
                )
            continue
        if any(_is(said, ends[end], called) for said in heard):
            continue
        there = next((one for one in (_named(said, called) for said in heard) if one is not None), None)
        if there is not None:
            wrong[end] = there
        told[end] = heard[0]
    yield from _crossed(wanted, ends, wrong, told)


def _ends(wanted: dict[End, Port | Nic]) -> tuple[dict[End, End], Called]:
    """The other end of each end, and the ends by every name that they have: a lab's routers have names of their own for ports."""
    of_link: dict[str, list[End]] = {}
    for end, one in wanted.items():
        of_link.setdefault(one.link, []).append(end)
    ends: dict[End, End] = {}
    called: Called = {}
    for end, one in wanted.items():
        designed = (one.peer, one.peer_port)
        far = next((other for other in of_link[one.link] if other[0] == one.peer and other != end), designed)
        ends[end], ends[far] = far, end
        for (device, port), there in ((end, end), (designed, far)):
            called.setdefault(short(device), {}).setdefault(port, there)
    return ends, called


def _by_design(living: Living, said: LldpNeighbor) -> LldpNeighbor:
    """A neighbor with its port by the design's name: a server's own daemon has that of the Linux interface."""
    return replace(said, port=living.nic_names.get((short(said.system or ""), said.port or ""), said.port))


def _crossed(
    wanted: dict[End, Port | Nic], ends: dict[End, End], wrong: dict[End, End], told: dict[End, LldpNeighbor]
) -> Iterator[Seen]:
    """Pairs of cables that are in each other's ports, then every other cable that leads elsewhere, each once."""
    seen = {**wrong, **{there: here for here, there in wrong.items()}}
    done: set[End] = set()
    for here, there in seen.items():
        other = ends.get(there)
        if here in done or other is None or ends.get(here) is None or seen.get(other) != ends[here]:
            continue
        if other[0] != here[0]:
            continue  # exchanged at the far ends: found from there
        done |= {here, there, other, ends[here]}
        first, second = sorted((here, other), key=lambda one: one[1])
        links = {wanted[one].link: one for one in (here, other) if one in wanted}
        what = (
            f"the cables in {first[1]} and {second[1]} are swapped: {first[1]} leads to {_end(seen[first])} in place of "
            f"{_end(ends[first])}, {second[1]} to {_end(seen[second])} in place of {_end(ends[second])}"
        )
        because = next((wanted[one].because for one in (here, other) if one in wanted), ())
        yield Seen(
            SWAPPED,
            here[0],
            what,
            because,
            f"{first[1]} and {second[1]}",
            breaks=frozenset(("link", link) for link in links),
            fix=f"at {here[0]}, exchange the cables in {first[1]} and {second[1]}",
        )
    for end, said in told.items():
        there = wrong.get(end)
        if end in done or there in done:
            continue
        done |= {end, there} if there else {end}
        one = wanted[end]
        to = _end(there) if there else _said(said)
        yield Seen(
            WRONG,
            one.device,
            f"{one.name} leads to {to}; the design has {_far(one)} there",
            one.because,
            one.name,
            one.link,
            breaks=link_and_ends(one.link) - {("device", "")},
            fix=f"move the cable of {one.device} {one.name} from {to} to {_far(one)}",
        )


def _is(said: LldpNeighbor, end: End, called: Called) -> bool:
    """Whether a neighbor is this end; where it does not name its port in words that the design has, by its name alone."""
    if said.system is None or short(said.system) != short(end[0]):
        return False
    found = _named(said, called)
    return found == end or (found is None and not _names_a_port(said))


def _named(said: LldpNeighbor, called: Called) -> End | None:
    """The designed end that a neighbor says it is, by any of its names."""
    if said.system is None:
        return None
    ports = called.get(short(said.system), {})
    names = [name for name in (said.port, said.port_description) if name is not None]
    return next((ports[one] for name in names for one in (name, without_unit(name)) if one in ports), None)


def _names_a_port(said: LldpNeighbor) -> bool:
    """Whether the id of its port is a name, not a MAC address or a number of its own (a NIC's firmware has the first)."""
    return said.port is not None and re.fullmatch(r"\d+|[0-9a-fA-F]{2}([:.-]?[0-9a-fA-F]{2}){5}", said.port) is None


def _far(one: Port | Nic) -> str:
    return _end((one.peer, one.peer_port))


def _end(end: End) -> str:
    return f"{end[0]} {end[1]}"


def _said(said: LldpNeighbor) -> str:
    return f"{said.system or said.chassis or 'an unnamed neighbor'} {said.port or ''}".rstrip()
