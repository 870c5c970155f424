"""Results of a run, whichever engine it was; traffic on a designed network through the flow engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import FlowEngine
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from railweave._sim import Series
    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.fabric import Arguments, FlowArguments


PARAMETERS = "docs/sim.md has all parameters"

NEVER: int = np.iinfo(np.uint64).max
"""When a message arrived that did not."""

SLICE_PS = 50_000_000
"""Engines are run in slices of so much simulated time at first, so that Ctrl-C and progress get a turn between them."""


@dataclass(frozen=True, slots=True)
class Steady:
    """Where a run was stopped, because it repeated itself: what share of the messages was run, and how far off the time may be."""

    at_ps: int
    share: float
    error: float


@dataclass(frozen=True, eq=False)
class Run:
    """A run that has ended.

    ``arrivals`` says by message when it had arrived whole, ps, or ``NEVER``; ``sent_bytes`` what each port sent, ports counted
    over all nodes. ``counters`` are the packet engine's, None where there were no packets; so are ``ports``, what it counted
    by port, and ``series``, what was collected, both up to ``counted_ps``. Where a run was stopped because it was ``steady``,
    arrivals and bytes are those of the whole, and counters are of what was run.
    """

    arrivals: NDArray[np.uint64]
    sent_bytes: NDArray[np.float64]
    counters: dict[str, int] | None
    steady: Steady | None = None
    ports: dict[str, NDArray[np.uint64]] | None = None
    series: Series | None = None
    counted_ps: int = 0

    @property
    def complete(self) -> bool:
        """Return whether every message arrived."""
        return bool((self.arrivals != NEVER).all())

    @property
    def last_ps(self) -> int:
        """When the last message had arrived of those that did; 0: none did."""
        arrived = self.arrivals[self.arrivals != NEVER]
        return int(arrived.max()) if len(arrived) else 0


def refused(error: ValueError, arguments: Arguments | FlowArguments) -> InputError:
    """Return the error of an engine about a parameter as an error at the option that gave the parameter.

    Knobs of ``--lb`` are only in the profiles of switches.
    """
    name: str = getattr(error, "parameter", "")
    if name and name not in arguments["parameters"]:
        return InputError([Problem(Option("--lb"), str(error), PARAMETERS)])
    return InputError([Problem(Option("--set", part=(name,) if name else ()), str(error), PARAMETERS)])


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
