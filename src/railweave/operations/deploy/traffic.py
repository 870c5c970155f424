"""The traffic of ports, measured by reading their counters twice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from railweave.operations.deploy.recovery import states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.live.site.site import Site

BITS = 8
MILLION = 1e6


@dataclass(frozen=True)
class IdleLimit:
    """The limit below which a port counts as idle.

    A port is idle if it carries less than ``below_mbps`` Mb/s in each direction over ``every_s`` seconds. Ports have ``within_s`` seconds to
    become idle. The limit is not zero, because routing sessions, BFD and LLDP continue on a drained port.
    """

    below_mbps: float = 1.0
    every_s: float = 10.0
    within_s: float = 300.0


@dataclass(frozen=True)
class PortCounters:
    """The byte counters of ports at one time.

    - ``at``: the time of reading, in seconds of a monotonic clock.
    - ``bytes``: the bytes received and sent, by switch and port.
    - ``silent``: the switches that did not answer, with the reason.
    """

    at: float
    bytes: Mapping[tuple[str, str], tuple[int | None, int | None]]
    silent: Mapping[str, str]


async def counted(site: Site, ports: Mapping[str, tuple[str, ...]]) -> PortCounters:
    """Read the byte counters of ports from their switches."""
    at = monotonic()
    said_by, silent = await states(site, ports)
    counters: dict[tuple[str, str], tuple[int | None, int | None]] = {}
    for name, switch_ports in ports.items():
        interfaces = said_by[name].interfaces if name in said_by else None
        for port in switch_ports:
            interface = (interfaces or {}).get(port)
            counters[name, port] = (interface.in_bytes, interface.out_bytes) if interface else (None, None)
    return PortCounters(at, counters, silent)


def busy(first: PortCounters, then: PortCounters, below_mbps: float) -> list[str]:
    """Return a line for each port that was not idle, or whose counters are unknown.

    A port was not idle if it carried at least ``below_mbps`` Mb/s in a direction between the readings ``first`` and ``then``.
    """
    seconds = max(then.at - first.at, 1e-3)
    lines: list[str] = []
    for (name, port), (received, sent) in then.bytes.items():
        before = first.bytes.get((name, port), (None, None))
        if name in then.silent or None in before or received is None or sent is None:
            lines.append(f"{name} {port}: its counters are not known{_why(then, name)}")
            continue
        rates = [
            (now - was) * BITS / MILLION / seconds
            for now, was in zip((received, sent), before, strict=True)
            if was is not None
        ]
        if min(rates) < 0:
            lines.append(f"{name} {port}: its counters were cleared meanwhile")
        elif max(rates) >= below_mbps:
            lines.append(f"{name} {port} carries {max(rates):,.1f} Mb/s")
    return lines


def _why(then: PortCounters, name: str) -> str:
    return f" ({then.silent[name]})" if name in then.silent else ""


async def still(
    site: Site, ports: Mapping[str, tuple[str, ...]], limit: IdleLimit, say: Callable[[str], None]
) -> list[str]:
    """Wait until all ports are idle. Return a line for each port that still carries traffic at the time limit."""
    end = monotonic() + limit.within_s
    first = await counted(site, ports)
    while True:
        await asyncio.sleep(limit.every_s)
        then = await counted(site, ports)
        lines = busy(first, then, limit.below_mbps)
        if not lines or monotonic() >= end:
            return lines
        say(f"waiting for traffic to end: {lines[0]}{f' and {len(lines) - 1} more ports' if len(lines) > 1 else ''}")
        first = then
