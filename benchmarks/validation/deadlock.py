"""A ring of switches whose buffers wait for each other: PFC stops it for good, and the watchdog breaks it."""

from __future__ import annotations

from itertools import accumulate

from .engine import TOPOLOGIES, Run, run

RING = str(TOPOLOGIES / "ring.txt")
SWITCHES = 5
SIZE = 4_000_000
LATE = "100KB..400KB@20%"  # marking that comes after PFC
EARLY = "20KB..80KB@20%"
TIMES = {"switch.watchdog-poll": "1ms", "switch.watchdog-detection": 2, "switch.watchdog-recovery": "2ms"}

CASES: dict[str, dict[str, object]] = {
    "no watchdog": {"ecn": LATE},
    "watchdog drops": {"ecn": LATE, "switch.watchdog": "drop", **TIMES},
    "watchdog forwards": {"ecn": LATE, "switch.watchdog": "forward", **TIMES},
    "no watchdog, ECN before PFC": {"ecn": EARLY},
}


def around(settings: dict[str, object], every: str) -> Run:
    """Two hosts at each switch send to those two switches on."""
    flows = [(f"{host}{at}", f"{host}{(at + 2) % SWITCHES}", SIZE, 0.0) for at in range(SWITCHES) for host in "ab"]
    return run(RING, flows, {"host.timeout": "1ms", **settings}, "--until", "300ms", every=every)


def delivered(ran: Run) -> tuple[list[float], list[float]]:
    """Times (us), and payload delivered to all hosts until then (bytes)."""
    at: dict[float, float] = {}
    for place, times in ran.flows.time_us.items():
        for time, size in zip(times, ran.flows.values[place]["delivered_bytes"], strict=True):
            at[time] = at.get(time, 0.0) + size
    times = sorted(at)
    return times, list(accumulate(at[time] for time in times))
