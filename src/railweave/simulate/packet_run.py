"""Traffic on a designed network through the packet engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import PacketEngine
from railweave.errors import InputError, Problem
from railweave.simulate.run import SLICE_PS, Run
from railweave.simulate.steady import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.simulate.fabric import Arguments
    from railweave.simulate.rhythm import Rhythm
    from railweave.simulate.traffic import Traffic

STILL_PS = 1_000_000_000_000
"""A second of simulated time in which nothing arrives: the run is stuck."""


def run_packets(
    arguments: Arguments,
    traffic: Traffic,
    progress: Callable[[int, int], None] | None = None,
    rhythm: Rhythm | None = None,
) -> Run:
    """Run until every message arrived, or nothing more does. ``arguments``: ``PacketFabric.arguments`` of these queue pairs.

    Where all of the traffic has a ``rhythm``, the run is stopped when it is steady. ``progress`` is told messages arrived, and
    how many there are. Raises ``InputError`` for a parameter that cannot be.
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
    changes = arguments["changes"][:, 0]
    watch = None if rhythm is None else Watch(rhythm, int(changes.max(initial=0)))
    messages = len(traffic.messages)
    now, heard, counted = 0, 0, -1
    while True:
        now += SLICE_PS  # slices do not change the result
        engine.run(now)
        done = engine.arrived
        if progress is not None:
            progress(done, messages)
        if done == messages:
            break
        if watch is not None and watch.due(done, now):
            rest = watch.rest(engine.arrivals(), now)
            if rest is not None:
                sent = engine.port_counters()["tx_bytes"] / rest.steady.share
                return Run(rest.arrivals, sent, engine.counters(), rest.steady)
        delivered = engine.counters()["delivered_packets"]
        if delivered != counted:
            heard, counted = now, delivered
        if engine.next_ps is None or now - heard > STILL_PS:
            break
    return Run(engine.arrivals(), engine.port_counters()["tx_bytes"].astype(np.float64), engine.counters())
