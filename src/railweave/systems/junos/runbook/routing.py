"""The checks of routing on Junos OS Evolved: neighbors, sessions, routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems.runbook import SESSION_HEADER, Check, other_timers, session_rows, with_bfd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.expected import Route, Session
    from railweave.model.device.model import DeviceConfig


def discovery_check(config: DeviceConfig) -> Check:
    """Neighbors by router advertisements, or by their addresses."""
    ports = [one.name for one in config.fabric_interfaces() if not one.addresses]
    points = (
        f"{counted(len(ports), 'port')} towards switches send and receive router advertisements",
        "a link-local neighbor on each of them, state reachable; ping it where BGP does not come up",
        "BGP comes up with any AS of the list: another AS on a port than in the table of sessions is a swapped cable",
    )
    first = ports[0] if ports else config.fabric_interfaces()[0].name
    commands = (
        f"show ipv6 router-advertisement interface {first}.0",
        "show ipv6 neighbors",
        f"ping fe80::PEER interface {first}.0 count 3",
    )
    if not ports:
        points = ("the address of each neighbor in the table of sessions below answers",)
        commands = ("show ipv6 neighbors", "ping PEER-ADDRESS count 3")
    return Check("Neighbors", commands, points)


def session_checks(config: DeviceConfig, found: Sequence[Session]) -> list[Check]:
    """Sessions of BGP with the prefixes of each, and BFD."""
    bgp = config.bgp
    if bgp is None:
        return []
    discovered = any(not one.session.peer_address for one in found)
    commands = ("show bgp summary", *(("show bgp summary autodiscovered",) if discovered else ()))
    outside = [one for vrf in config.vrfs for one in vrf.external]
    evpn = len(config.overlay.neighbors) if config.overlay else 0
    groups = len(bgp.groups) + bool(evpn) + len({one.router for one in outside})
    points = [
        f"Groups: {groups}  Peers: {len(found) + evpn + len(outside)}  Down peers: 0",
        f"local AS {bgp.asn}, router id {bgp.router_id}",
    ]
    points += [f"{counted(evpn, 'peer')} of them in group overlay, loopback to loopback"] if evpn else []
    points += [f"{counted(len(outside), 'peer')} of them external, in VRFs"] if outside else []
    points.append(_counts(found))
    if discovered:
        points.append("a discovered neighbor is shown as its link-local address, % and the port")
    sums = Check(
        "BGP sessions",
        commands,
        tuple(points),
        SESSION_HEADER,
        session_rows(found, "%{port}.0"),
    )
    return [sums, *([_bfd(config, with_bfd(config, found))] if bgp.bfd else [])]


def _counts(found: Sequence[Session]) -> str:
    """How the counts of ``show bgp summary`` compare with the table of sessions."""
    words = "each line ends in Active/Received/Accepted/Damped: Received and Accepted as in the table"
    if not any(one.shared for one in found):
        return f"{words}, Active as in its last column: each prefix is used from the session of its next hop alone"
    return (
        f"{words}. Its last column counts prefixes that have this session's port among their next hops; Active may count "
        "one with several next hops on one of their sessions alone"
    )


def _bfd(config: DeviceConfig, count: int) -> Check:
    bfd = config.bgp.bfd if config.bgp else None
    timers = f"{bfd.minimum_interval} ms x {bfd.multiplier}, down after {bfd.detection_ms():,} ms" if bfd else ""
    return Check("BFD", ("show bfd session",), (f"{counted(count, 'session')} up", f"{timers}{other_timers(config)}"))


def route_checks(config: DeviceConfig, examples: Sequence[Route]) -> list[Check]:
    """What the switch advertises by path color, and routes to another leaf."""
    bgp = config.bgp
    made: list[Check] = []
    if bgp is not None and bgp.fabric_advertise:
        colors = {one.fabric_color for one in bgp.groups}
        rows = [(one.prefix, one.color, ", ".join(one.backup_colors)) for one in bgp.fabric_advertise]
        made.append(
            Check(
                "Own prefixes, by path color",
                ("show route advertising-protocol bgp NEIGHBOR detail",),
                (
                    f"{len(rows)} prefixes to every neighbor, each with the color community of the session",
                    f"AIGP only on those whose color is the session's ({counted(len(colors), 'path color')})",
                ),
                ("Prefix", "Path color", "Backup colors"),
                tuple(rows),
            )
        )
    if examples:
        points = [
            (
                f"prefixes of {examples[0].leaf}: the active path (marked `*`) has exactly these ports as next hops; paths by other "
                "sessions are listed below it and not used"
            )
        ]
        if not config.gateways and len(examples) > 1:
            points.append("prefixes of path colors that the links to that leaf do not have are there as backup")
        made.append(
            Check(
                "Routes to another leaf",
                tuple(f"show route {one.prefix} detail" for one in examples[:1]),
                tuple(points),
                ("Prefix", "Path color", "Next hops"),
                tuple(
                    (one.prefix, one.color, ", ".join(f"{port}.0" for port in one.ports) or "none") for one in examples
                ),
            )
        )
    return made
