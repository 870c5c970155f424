"""What the design says of each port, as series beside those that are measured: rules of Prometheus compare the two.

A port that is in the design has its speed, and the number of established sessions that a switch must have is one number. So thresholds
follow from the design of the network that is watched, and none is written into a rule by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.operations.watch.exposition import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.expect import Expected

SPEED = "railweave_design_port_speed_bits_per_second"
SESSIONS = "railweave_design_bgp_sessions"
LOSSLESS = "railweave_design_lossless_priority"


def intended(expected: Mapping[str, Expected], roles: Mapping[str, str]) -> str:
    """The lines of what must hold: a port with its far end and path color, sessions, and the queue and priority that lose nothing."""
    speeds: list[str] = []
    sessions: list[str] = []
    lossless: list[str] = []
    for device, one in expected.items():
        own = f'device="{escaped(device)}",role="{escaped(roles.get(device, ""))}"'
        colors = {each.session.interface: each.color for each in one.sessions}
        for port in one.ports:
            far = f'port="{escaped(port.name)}",kind="{port.kind}",peer="{escaped(port.peer)}",color="{escaped(colors.get(port.name, ""))}"'
            speeds.append(f"{SPEED}{{{own},{far}}} {port.speed_gbps * 10**9}")
        sessions.append(f"{SESSIONS}{{{own}}} {len(one.sessions) + len(one.overlay_sessions)}")
        pairs = sorted({pair for each in one.queues for pair in each.lossless.items()})
        lossless += [f'{LOSSLESS}{{{own},queue="{queue}",priority="{priority}"}} 1' for queue, priority in pairs]
    lines = [
        f"# HELP {SPEED} Speed of a port of the design that must be up.",
        f"# TYPE {SPEED} gauge",
        *speeds,
        f"# HELP {SESSIONS} BGP sessions that a switch must have established.",
        f"# TYPE {SESSIONS} gauge",
        *sessions,
    ]
    if lossless:
        lines += [f"# HELP {LOSSLESS} Queue and PFC priority of a class that must lose nothing.", f"# TYPE {LOSSLESS} gauge", *lossless]  # fmt: skip
    return "\n".join(lines) + "\n"
