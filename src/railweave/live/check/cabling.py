"""Cables, by LLDP at both ends: missing, in the wrong port, swapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.check.living import Living, Seen, link_and_ends
from railweave.live.check.ports import End, end_of, ends_by_name, of_port, short
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.expect.hosts import Nic
    from railweave.model.device.expected import Port
    from railweave.model.state.protocols import LldpNeighbor

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


UNCLEAR = Rule(
    "cable-unclear",
    "warning",
    "living",
    "LLDP does not tell which port is at the other end of a cable: it gives a MAC address or a number of the neighbor's own.",
    why="two cables to the same device may be in each other's ports",
    fix="have the neighbor announce names of ports (lldpd: `configure lldp portidsubtype ifname`), or give MAC addresses in the inventory",
)
_MOST_NAMED = 3
"""Ports in one finding."""


def cabling(living: Living) -> Iterator[Seen]:
    """Yield what LLDP shows on every cabled port; a server that does not speak LLDP is no fault."""
    wanted: dict[End, Port | Nic] = {
        (one.device, one.name): one for each in living.expected.values() for one in each.cabled
    }
    wanted |= {(nic.device, nic.name): nic for each in living.servers_expected.values() for nic in each.nics}
    ends = _ends(wanted)
    names = ends_by_name(living.network, {(device, one.link): port for (device, port), one in wanted.items()})
    right: set[End] = set()
    wrong: dict[End, End] = {}
    told: dict[End, LldpNeighbor] = {}
    unclear: dict[End, LldpNeighbor] = {}
    for end, one in wanted.items():
        state = living.hosts.get(end[0]) or living.states.get(end[0])
        if state is None or state.neighbors is None:
            continue
        heard = of_port(state.neighbors, one.said_as) or ()
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
        found = [(said, *end_of(names, said)) for said in heard]
        if any(there == ends[end] for _, _, there in found):
            right.add(end)
            continue
        there = next((there for _, _, there in found if there is not None), None)
        if there is not None:
            wrong[end] = there
        elsewhere = next((said for said, clear, _ in found if clear or _of_another(said, one)), None)
        (unclear if elsewhere is None else told)[end] = elsewhere or heard[0]
    yield from _crossed(wanted, ends, wrong, told)
    yield from _unclear(wanted, {end: said for end, said in unclear.items() if ends[end] not in right | told.keys()})


def _ends(wanted: dict[End, Port | Nic]) -> dict[End, End]:
    """The other end of each end: a lab's routers have names of their own for ports."""
    of_link: dict[str, list[End]] = {}
    for end, one in wanted.items():
        of_link.setdefault(one.link, []).append(end)
    ends: dict[End, End] = {}
    for end, one in wanted.items():
        far = next((other for other in of_link[one.link] if other[0] == one.peer and other != end), None)
        there = far or (one.peer, one.peer_port)
        ends[end], ends[there] = there, end
    return ends


def _of_another(said: LldpNeighbor, one: Port | Nic) -> bool:
    """Return whether a neighbor is another device than the design has there, whatever it calls its port."""
    return said.system is not None and short(said.system) != short(one.peer)


def _unclear(wanted: dict[End, Port | Nic], heard: dict[End, LldpNeighbor]) -> Iterator[Seen]:
    """Yield a finding for each device that hears LLDP neighbors whose cables cannot be told from others."""
    devices: dict[str, list[End]] = {}
    for end in heard:
        devices.setdefault(end[0], []).append(end)
    for device, own in devices.items():
        named = [f"{end[1]} hears {_said(heard[end])} ({_far(wanted[end])} in the design)" for end in own[:_MOST_NAMED]]
        more = [f"{len(own) - _MOST_NAMED} more"] if len(own) > _MOST_NAMED else []
        ports = own[0][1] if len(own) == 1 else ""
        yield Seen(UNCLEAR, device, ", ".join([*named, *more]), wanted[own[0]].because, ports)


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


def _far(one: Port | Nic) -> str:
    return _end((one.peer, one.peer_port))


def _end(end: End) -> str:
    return f"{end[0]} {end[1]}"


def _said(said: LldpNeighbor) -> str:
    return f"{said.system or said.chassis or 'an unnamed neighbor'} {said.port or ''}".rstrip()
