"""Traffic on a designed network through the packet engine."""

from __future__ import annotations

from dataclasses import replace
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


def run_packets(
    arguments: Arguments,
    traffic: Traffic,
    progress: Callable[[int, int], None] | None = None,
    *,
    own: int | None = None,
    series_every_ps: int | None = None,
) -> Run:
    """Run until every message arrived, or nothing more does. ``arguments``: ``PacketFabric.arguments`` of these queue pairs.

    ``progress`` is told messages arrived, and how many there are. Of the messages the first ``own`` are waited for (all,
    where left out); what the others send after the last of those arrived is taken out of ``sent_bytes`` by its share of the
    time. ``series_every_ps``: collect series of intervals this long. Raises ``InputError`` for a parameter that cannot be.
    """
    own = len(traffic.messages) if own is None else own
    try:
        engine = PacketEngine(
            **arguments,
            messages=traffic.messages,
            after_start=traffic.after_start,
            after=traffic.after,
            after_delay_ps=traffic.after_delay_ps,
            limits=traffic.limits,
        )
    except ValueError as error:  # of the settings: the rest is ours
        raise InputError([Problem("--set", 0, str(error), "docs/sim.md has all parameters")]) from None
    if series_every_ps is not None:
        engine.sample_every(series_every_ps)
    now, heard, counted, done = 0, 0, -1, -1
    while True:
        now += SLICE_PS if own == len(traffic.messages) else SLICE_PS // 5  # slices do not change the result
        engine.run(now)
        arrivals, before = engine.arrivals()[:own], done
        done = int((arrivals != NEVER).sum())
        if progress is not None:
            progress(done, len(arrivals))
        counters = engine.counters()
        progressed = counters["delivered_packets"] != counted if own == len(traffic.messages) else done != before
        if progressed:
            heard, counted = now, counters["delivered_packets"]
        if done == len(arrivals) or engine.next_ps is None or now - heard > STILL_PS:
            ports = engine.port_counters()
            found = Run(arrivals, ports["tx_bytes"].astype(np.float64), counters, ports, None, now)
            share = found.last_ps / now if own < len(traffic.messages) and found.complete else 1.0
            series = None if series_every_ps is None else engine.series()
            return replace(found, sent_bytes=found.sent_bytes * share, series=series)
