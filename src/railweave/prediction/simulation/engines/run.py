"""The result of a run of either engine, and the function that runs the flow engine."""

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


PARAMETERS = "docs/engine.md has all parameters"

NEVER: int = np.iinfo(np.uint64).max
"""The arrival time of a message that never arrived."""

SLICE_PS = 50_000_000
"""The simulated time in ps of the first slices into which a run is divided. Between slices, railweave reports progress and handles Ctrl-C."""


@dataclass(frozen=True, slots=True)
class Steady:
    """The state of a run that was stopped because its rounds had equal times.

    - ``at_ps``: the time at which the run was stopped.
    - ``share``: the fraction of the messages that were run.
    - ``error``: the largest relative error of the time.
    """

    at_ps: int
    share: float
    error: float


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    - ``arrivals``: the time in ps at which each message had fully arrived, or ``NEVER``.
    - ``sent_bytes``: the bytes that each port sent. Ports are numbered across all nodes.
    - ``counters``: counters of the packet engine; None for flows.
    - ``steady``: the state of a run that was stopped early; None if the run was not stopped. For a stopped run,
      ``arrivals`` and ``sent_bytes`` include an estimate of the rest, while counters cover only the part that was run.
    - ``ports``, ``series``: counters by port and time series of the packet engine, up to ``counted_ps``.
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
        """True if every message arrived."""
        return bool((self.arrivals != NEVER).all())

    @property
    def last_ps(self) -> int:
        """The time in ps at which the last message arrived, ignoring messages that never arrived; 0 if no message arrived."""
        arrived = self.arrivals[self.arrivals != NEVER]
        return int(arrived.max()) if len(arrived) else 0


def refused(error: ValueError, arguments: Arguments | FlowArguments) -> InputError:
    """Return an ``InputError`` for an engine's error about a parameter. The ``InputError`` names the command-line option that set the parameter.

    If the parameter exists only in the engine's switch profiles, this option is ``--lb``. ``arguments`` has the engine's arguments.
    """
    name: str = getattr(error, "parameter", "")
    if name and name not in arguments["parameters"]:
        return InputError([Problem(Option("--lb"), str(error), PARAMETERS)])
    return InputError([Problem(Option("--set", part=(name,) if name else ()), str(error), PARAMETERS)])


FLOW_NOTE = (
    "flow engine: max-min fair rates; no queues, ECN, DCQCN, PFC, loss or timeouts, so that times are too short where "
    "congestion control slows senders down (docs/engine.md gives the error)"
)


def run_flows(arguments: FlowArguments, traffic: Traffic, progress: Callable[[int, int], None] | None = None) -> Run:
    """Run the flow engine until every message has arrived, or until nothing more happens.

    ``progress`` is called with the number of messages that arrived, and the number of all messages. ``arguments`` is the result of
    ``PacketFabric.flow_arguments``. ``traffic`` has the messages. Raises ``InputError`` for an invalid parameter.
    """
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
