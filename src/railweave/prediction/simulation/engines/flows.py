"""Traffic on a designed network through the flow engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave._sim import FlowEngine
from railweave.prediction.simulation.engines.run import SLICE_PS, Run, refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.fabric import FlowArguments

FLOW_NOTE = (
    "flow engine: max-min fair rates; no queues, ECN, DCQCN, PFC, loss or timeouts, so that times are too short where "
    "congestion control slows senders down (docs/engine.md has how far it is off)"
)


def run_flows(arguments: FlowArguments, traffic: Traffic, progress: Callable[[int, int], None] | None = None) -> Run:
    """Run until every message arrived, or nothing more happens. ``arguments``: ``PacketFabric.flow_arguments``; errors as of ``run_packets``."""
    try:
        engine = FlowEngine(
            **arguments,
            messages=traffic.messages,
            after_start=traffic.after_start,
            after=traffic.after,
            after_delay_ps=traffic.after_delay_ps,
            after_of=traffic.after_of,
        )
    except ValueError as error:  # of the settings: the rest is ours
        raise refused(error, arguments) from None
    now, messages = 0, len(traffic.messages)
    while engine.next_ps is not None:
        # slices do not change the result; they grow, because so few of them find nothing to do
        now = max(now + max(SLICE_PS, now // 16), engine.next_ps + 1)
        engine.run(now)
        if progress is not None:
            progress(engine.arrived, messages)
    return Run(engine.arrivals(), engine.link_bytes(), None)
