"""Traffic on a designed network through the packet engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import PacketEngine
from railweave.prediction.simulation.engines.run import NEVER, SLICE_PS, Run, refused
from railweave.prediction.simulation.engines.steady import Watch
from railweave.prediction.simulation.model.retries import patience_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from railweave.prediction.simulation.engines.rounds import Rounds
    from railweave.prediction.simulation.engines.run import Steady
    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.fabric import Arguments


def run_packets(
    arguments: Arguments,
    traffic: Traffic,
    progress: Callable[[int, int], None] | None = None,
    repeated: Rounds | None = None,
    *,
    own: int | None = None,
    series_every_ps: int | None = None,
) -> Run:
    """Run until every message arrived, or nothing more does. ``arguments``: ``PacketFabric.arguments`` of these queue pairs.

    Where all of the traffic has ``repeated`` rounds, the run is stopped when it is steady. ``progress`` is called with messages arrived, and
    how many there are. Of the messages the first ``own`` are waited for (all, where left out); what the others send after the
    last of those arrived is taken out of ``sent_bytes`` by its share of the time. ``series_every_ps``: collect series of
    intervals this long. Raises ``InputError`` for a parameter that cannot be.
    """
    try:
        engine = PacketEngine(
            **arguments,
            messages=traffic.messages,
            after_start=traffic.after_start,
            after=traffic.after,
            after_delay_ps=traffic.after_delay_ps,
            after_of=traffic.after_of,
            limits=traffic.limits,
        )
    except ValueError as error:  # of the settings: the rest is ours
        raise refused(error, arguments) from None
    changes = arguments["changes"][:, 0]
    watch = None if repeated is None else Watch(repeated, int(changes.max(initial=0)))
    own = len(traffic.messages) if own is None else own
    others = own < len(traffic.messages)
    if series_every_ps is not None:
        engine.sample_every(series_every_ps)
    still_ps = patience_ps(arguments["parameters"])
    steady: Steady | None = None
    arrivals: NDArray[np.uint64] | None = None
    sent_share = 1.0
    now, last_delivery, counted = 0, 0, -1
    while True:
        now += SLICE_PS // 5 if others else SLICE_PS  # slices do not change the result
        if engine.next_ps is not None:
            now = max(now, engine.next_ps + 1)  # all may wait for a retransmission
        engine.run(now)
        # others never end: neither do they arrive, nor is nothing delivered any more
        done = int((engine.arrivals()[:own] != NEVER).sum()) if others else engine.arrived
        if progress is not None:
            progress(done, own)
        if done == own:
            break
        if watch is not None and watch.due(done, now):
            rest = watch.rest(engine.arrivals(), now)
            if rest is not None:
                arrivals, steady, sent_share = rest.arrivals, rest.steady, 1 / rest.steady.share
                break
        delivered = done if others else engine.counters()["delivered_packets"]
        if delivered != counted:
            last_delivery, counted = now, delivered
        if engine.next_ps is None or now - last_delivery > still_ps:
            break
    ports = engine.port_counters()
    sent = ports["tx_bytes"].astype(np.float64) * sent_share
    series = None if series_every_ps is None else engine.series()
    found = Run(
        engine.arrivals()[:own] if arrivals is None else arrivals, sent, engine.counters(), steady, ports, series, now
    )
    if others and found.complete:
        found = replace(found, sent_bytes=sent * (found.last_ps / now))
    return found
