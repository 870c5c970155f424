"""Devices that most of their neighbors have lost at the same time: one fault at the device, not one at each neighbor."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check import ports, sessions
from railweave.live.check.living import OF_CABLE, Deviation, Kind, NetworkStates, Part
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.device.expected import Keys

LEAST = 2
"""The smallest number of neighbors that must have lost a device."""

LINKS = Rule(
    "links-lost",
    "error",
    "living",
    "Most links to a device are down at their other ends.",
    why="traffic that passes the device is lost or takes other paths",
    fix="check the power and the state of the device itself, not the cables",
    asked=OF_CABLE,
)
SESSIONS = Rule(
    "sessions-lost",
    "error",
    "living",
    "Most neighbors of a device have lost their sessions with it, over links that are up.",
    why="the device's routing does not work, or its control traffic is dropped; its routes are withdrawn",
    fix="check the routing daemon, the processor and the configuration of the device itself, not its neighbors",
    asked=("role.nos",),
)


def lost(living: NetworkStates, seen: Sequence[Deviation]) -> Iterator[Deviation]:
    """Yield a deviation for each device that most of its neighbors have lost. ``seen`` are all other deviations."""
    down: dict[tuple[Rule, str], dict[str, str]] = {}
    cut = {deviation.link for deviation in seen if ("link", deviation.link) in deviation.breaks}
    for deviation in seen:
        if deviation.rule is ports.DOWN and deviation.link in living.cables:
            cable = living.cables[deviation.link]
            far = cable.b.device if cable.a.device == deviation.device else cable.a.device
            down.setdefault((LINKS, far), {})[deviation.link] = deviation.device
        elif deviation.rule in {sessions.DOWN, sessions.MISSING} and deviation.peer and deviation.link not in cut:
            down.setdefault((SESSIONS, deviation.peer), {})[deviation.link] = deviation.device
    if not down:
        return
    because: dict[str, Keys] = dict.fromkeys(
        (node.name for node in (*living.network.switches, *living.network.servers)), ()
    )
    because |= {name: server.because for name, server in living.servers_expected.items()}
    because |= {name: expected.identity.because for name, expected in living.expected.items()}
    links, peerings = _totals(living)
    for (rule, device), gone in down.items():
        total = (links if rule is LINKS else peerings)[device]
        if device not in because or len({*gone.values()}) < LEAST or 2 * len(gone) <= total:
            continue
        kind: Kind = "link" if rule is LINKS else "session"
        text = f"{len(gone)} of {counted(total, kind)} with its neighbors are down at their ends"
        needs: set[Part] = {("device", device)}
        if rule is SESSIONS:
            needs.add(("daemon", f"{device} bgp"))
        yield Deviation(
            rule,
            device,
            text,
            because[device],
            breaks=frozenset((kind, name) for name in gone),
            needs=frozenset(needs),
        )


def _totals(living: NetworkStates) -> tuple[Counter[str], Counter[str]]:
    """Return the number of links and of sessions to each device whose other end was asked."""
    links, peerings = Counter[str](), Counter[str]()
    for expected, state in living.pairs():
        if state.interfaces is not None:
            links.update(port.peer for port in expected.ports if port.link in living.cables)
        if state.bgp is not None:
            peerings.update(each.session.peer for each in (*expected.sessions, *expected.overlay_sessions))
    return links, peerings
