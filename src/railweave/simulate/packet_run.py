"""Traffic on a designed network through the packet engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import PacketEngine
from railweave.errors import InputError, Problem
from railweave.simulate.run import NEVER, SLICE_PS, Run

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.simulate.fabric import Arguments
    from railweave.simulate.traffic import Traffic

STILL_PS = 1_000_000_000_000
"""A second of simulated time in which nothing arrives: the run is stuck."""


def run_packets(arguments: Arguments, traffic: Traffic, progress: Callable[[int, int], None] | None = None) -> Run:
    """Run until every message arrived, or nothing more does. ``arguments``: ``PacketFabric.arguments`` of these queue pairs.

    ``progress`` is told messages arrived, and how many there are. Raises ``InputError`` for a parameter that cannot be.
    """
    try:
        engine = PacketEngine(
            **arguments,
            messages=traffic.messages,
            after_start=traffic.after_start,
            after=traffic.after,
            after_delay_ps=traffic.after_delay_ps,
        )
    except ValueError as error:  # of the settings: the rest is ours
        raise InputError([Problem("--set", 0, str(error), "docs/sim.md has all parameters")]) from None
    now, heard, counted = 0, 0, -1
    while True:
        now += SLICE_PS  # slices do not change the result
        engine.run(now)
        arrivals = engine.arrivals()
        done = int((arrivals != NEVER).sum())
        if progress is not None:
            progress(done, len(arrivals))
        counters = engine.counters()
        if counters["delivered_packets"] != counted:
            heard, counted = now, counters["delivered_packets"]
        if done == len(arrivals) or engine.next_ps is None or now - heard > STILL_PS:
            return Run(arrivals, engine.port_counters()["tx_bytes"].astype(np.float64), counters)
