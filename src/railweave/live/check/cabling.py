"""Checks of cables by LLDP at both ends: missing cables, cables in the wrong port, swapped cables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.live.check.living import OF_CABLE, Deviation, NetworkStates, link_and_ends
from railweave.live.check.ports import End, end_of, ends_by_name, of_port, short
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.analysis.expect.hosts import Nic
    from railweave.model.device.expected import Port
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.model.state.protocols import LldpNeighbor

SWAPPED = Rule(
    "cables-swapped",
    "error",
    "living",
    "Two cables are swapped: each is plugged into the port of the other.",
    why="the link ends at a different device or port than designed, and so in the wrong AS, path color or rail",
    fix="swap the two cables at the ports that the finding names",
    asked=OF_CABLE,
)
WRONG = Rule(
    "cable-wrong",
    "error",
    "living",
    "A cable leads to a different device or port than designed.",
    why="the link ends at a different device or port than designed, and so in the wrong AS, path color or rail",
    fix="move the cable to the port that the finding names",
    asked=OF_CABLE,
)
MISSING = Rule(
    "neighbor-missing",
    "warning",
    "living",
    "A port between switches is up, but LLDP receives nothing on it.",
    why="it is unknown where the cable leads",
    fix="enable LLDP at the other end, or follow the cable by hand",
    asked=("management.lldp",),
)


UNCLEAR = Rule(
    "cable-unclear",
    "warning",
    "living",
    (
        "LLDP does not identify the port at the other end of a cable: it reports a MAC address, or a number that "
        "only the neighbor knows."
    ),
    why="two cables to the same device may be swapped without notice",
    fix=(
        "configure the neighbor to announce port names (lldpd: `configure lldp portidsubtype ifname`), or add MAC "
        "addresses to the inventory"
    ),
    asked=("management.lldp",),
)
_MOST_NAMED = 3
"""The largest number of ports that one finding names."""


@dataclass(frozen=True)
class SeenCables:
    """The cables of a network as LLDP shows them. An *end* is the port or NIC at one end of a designed cable.

    - ``wanted``: the designed port or NIC at each end.
    - ``ends``: for each end, the designed opposite end.
    - ``right``: the ends at which LLDP shows the designed neighbor and port.
    - ``wrong``: for each end at which LLDP shows a port of the design, but not the designed opposite end, that port.
    - ``reported``: for each end whose neighbor is certainly a different device or port than designed, the neighbor.
    - ``unclear``: for each end whose neighbor may be the designed device, but does not identify its port, the neighbor.
    - ``missing``: for cables between switches, the ports that are up, but receive no LLDP.
    """

    wanted: Mapping[End, Port | Nic]
    ends: Mapping[End, End]
    right: set[End]
    wrong: dict[End, End]
    reported: dict[End, LldpNeighbor]
    unclear: dict[End, LldpNeighbor]
    missing: list[End]

    def misplaced(self) -> Iterator[tuple[frozenset[End], Deviation]]:
        """Yield (ends, finding) for each pair of swapped cables, then for each other cable in a wrong port.

        ``ends`` are the ends of cables that the finding is about.
        """
        return _crossed(self.wanted, self.ends, self.wrong, self.reported)


def seen_cables(
    network: Network,
    wanted: Mapping[End, Port | Nic],
    states: Mapping[str, DeviceState],
    hosts: Mapping[str, HostState],
) -> SeenCables:
    """Compare the LLDP neighbors that switches and servers report with the design.

    ``wanted`` has the designed port or NIC at each end of a cable. ``states`` and ``hosts`` are the states of switches and
    servers by name.
    """
    ends = _ends(wanted)
    names = ends_by_name(
        network, {(device, planned_port.link): port for (device, port), planned_port in wanted.items()}
    )
    seen = SeenCables(wanted, ends, set(), {}, {}, {}, [])
    for end, planned_port in wanted.items():
        state = hosts.get(end[0]) or states.get(end[0])
        if state is None or state.neighbors is None:
            continue
        heard = of_port(state.neighbors, planned_port.said_as) or ()
        if not heard:
            interface = of_port(state.interfaces or {}, planned_port.said_as)
            if planned_port.kind == "fabric" and interface is not None and interface.oper_up:
                seen.missing.append(end)
            continue
        matches = [(neighbor, *end_of(names, neighbor)) for neighbor in heard]
        if any(there == ends[end] for _, _, there in matches):
            seen.right.add(end)
            continue
        there = next((there for _, _, there in matches if there is not None), None)
        if there is not None:
            seen.wrong[end] = there
        elsewhere = next(
            (neighbor for neighbor, clear, _ in matches if clear or _of_another(neighbor, planned_port)), None
        )
        (seen.unclear if elsewhere is None else seen.reported)[end] = elsewhere or heard[0]
    return seen


def cabling(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for every cable that LLDP shows to be wrong, swapped, missing or unclear. A server that sends no LLDP is not a fault.

    ``living`` has the expected and the reported states.
    """
    wanted: dict[End, Port | Nic] = {
        (port.device, port.name): port for each in living.expected.values() for port in each.cabled
    }
    wanted |= {(nic.device, nic.name): nic for each in living.servers_expected.values() for nic in each.nics}
    seen = seen_cables(living.network, wanted, living.states, living.hosts)
    for end in seen.missing:
        planned_port = wanted[end]
        yield Deviation(
            MISSING,
            planned_port.device,
            f"no LLDP neighbor on {planned_port.name}, {_far(planned_port)} should be there",
            planned_port.because,
            planned_port.name,
            planned_port.link,
            needs=link_and_ends(planned_port.link, planned_port.peer),
        )
    yield from (deviation for _, deviation in seen.misplaced())
    known = seen.right | seen.reported.keys()
    yield from _unclear(
        wanted, {end: neighbor for end, neighbor in seen.unclear.items() if seen.ends[end] not in known}
    )


def _ends(wanted: Mapping[End, Port | Nic]) -> dict[End, End]:
    """Return the designed opposite end of each end of a cable.

    Ports have the names that ``wanted`` uses, because a lab's routers name ports differently than the design.
    """
    of_link: dict[str, list[End]] = {}
    for end, port in wanted.items():
        of_link.setdefault(port.link, []).append(end)
    ends: dict[End, End] = {}
    for end, port in wanted.items():
        far = next((other for other in of_link[port.link] if other[0] == port.peer and other != end), None)
        there = far or (port.peer, port.peer_port)
        ends[end], ends[there] = there, end
    return ends


def _of_another(neighbor: LldpNeighbor, port: Port | Nic) -> bool:
    """Return True if an LLDP neighbor of a port is not the designed device. Port names are not compared."""
    return neighbor.system is not None and short(neighbor.system) != short(port.peer)


def _unclear(wanted: Mapping[End, Port | Nic], heard: dict[End, LldpNeighbor]) -> Iterator[Deviation]:
    """Yield a finding for each device with LLDP neighbors that do not identify their port, so that the cable may be right or wrong.

    ``wanted`` has the designed port or NIC at each end of a cable. ``heard`` has these neighbors, by the end of the cable that received
    their LLDP.
    """
    devices: dict[str, list[End]] = {}
    for end in heard:
        devices.setdefault(end[0], []).append(end)
    for device, ends in devices.items():
        named = [
            f"{end[1]} hears {_said(heard[end])} ({_far(wanted[end])} in the design)" for end in ends[:_MOST_NAMED]
        ]
        more = [f"{len(ends) - _MOST_NAMED} more"] if len(ends) > _MOST_NAMED else []
        ports = ends[0][1] if len(ends) == 1 else ""
        yield Deviation(UNCLEAR, device, ", ".join([*named, *more]), wanted[ends[0]].because, ports)


def _crossed(
    wanted: Mapping[End, Port | Nic], ends: Mapping[End, End], wrong: dict[End, End], neighbors: dict[End, LldpNeighbor]
) -> Iterator[tuple[frozenset[End], Deviation]]:
    """Yield (ends, finding) for each pair of swapped cables, then for each other cable in a wrong port.

    The parameters are fields of ``SeenCables``: ``wanted`` has the designed ports, ``ends`` the designed opposite ends, ``wrong`` the
    opposite ends that LLDP shows, and ``neighbors`` the field ``reported``.
    """
    seen = {**wrong, **{there: here for here, there in wrong.items()}}
    done: set[End] = set()
    for here, there in seen.items():
        other = ends.get(there)
        if here in done or other is None or ends.get(here) is None or seen.get(other) != ends[here]:
            continue
        if other[0] != here[0]:
            continue  # exchanged at the far ends: found from there
        swapped = frozenset((here, there, other, ends[here]))
        done |= swapped
        first, second = sorted((here, other), key=lambda near_end: near_end[1])
        links = {wanted[near_end].link: near_end for near_end in (here, other) if near_end in wanted}
        description = (
            f"the cables in {first[1]} and {second[1]} are swapped: {first[1]} leads to {_end(seen[first])} in place of "
            f"{_end(ends[first])}, {second[1]} to {_end(seen[second])} in place of {_end(ends[second])}"
        )
        because = next((wanted[near_end].because for near_end in (here, other) if near_end in wanted), ())
        yield (
            swapped,
            Deviation(
                SWAPPED,
                here[0],
                description,
                because,
                f"{first[1]} and {second[1]}",
                breaks=frozenset(("link", link) for link in links),
                fix=f"at {here[0]}, swap the cables in {first[1]} and {second[1]}",
            ),
        )
    for end, neighbor in neighbors.items():
        there = wrong.get(end)
        if end in done or there in done:
            continue
        both = frozenset((end, there) if there else (end,))
        done |= both
        port = wanted[end]
        to = _end(there) if there else _said(neighbor)
        yield (
            both,
            Deviation(
                WRONG,
                port.device,
                f"{port.name} leads to {to}, but should lead to {_far(port)}",
                port.because,
                port.name,
                port.link,
                breaks=link_and_ends(port.link) - {("device", "")},
                fix=f"move the cable of {port.device} {port.name} from {to} to {_far(port)}",
            ),
        )


def _far(port: Port | Nic) -> str:
    return _end((port.peer, port.peer_port))


def _end(end: End) -> str:
    return f"{end[0]} {end[1]}"


def _said(neighbor: LldpNeighbor) -> str:
    return f"{neighbor.system or neighbor.chassis or 'an unnamed neighbor'} {neighbor.port or ''}".rstrip()
