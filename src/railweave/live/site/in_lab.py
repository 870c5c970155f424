"""A lab as an emulation: packets between its servers, and faults for which a router without a machine of its own has no command."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from railweave.counting import counted
from railweave.live.lab.faults.kinds import effect
from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import queue_pairs, spread
from railweave.live.lab.frr import held_sessions
from railweave.live.site.packets import Seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.fault_targets import FaultTarget
    from railweave.live.lab.running import Running

FLOWS = 128


class InLab:
    """Packets of queue pairs between the servers of a lab, and its faults."""

    def __init__(self, lab: Running) -> None:
        self._lab = lab
        self._open = ExitStack()
        self._prober: Prober | None = None

    def start(self, seconds: float) -> None:
        """Send from now on, by a process of its own."""
        del seconds
        pairs, _ = queue_pairs(self._lab, self._lab.control_plane.routes())
        self._prober = self._open.enter_context(Prober(self._lab, spread(pairs, FLOWS)))

    def stop(self) -> Seen:
        """Return how many packets were sent and lost."""
        assert self._prober is not None  # noqa: S101 - `start` was called
        with self._open.pop_all():
            probed = self._prober.stop()
        lost = ~probed.arrived
        longest = 0
        for row in lost:
            edges = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
            longest = max(longest, int((edges[1::2] - edges[::2]).max(initial=0)))
        return Seen(lost.size, int(lost.sum()), longest * self._prober.interval_s)

    def drop(self) -> None:
        """End the process."""
        self._open.close()

    def broken(self, target: FaultTarget) -> Callable[[], None]:
        """Make a fault as ``lab fault`` does; return what undoes it."""
        made = effect(self._lab, target)
        made.begin()
        return made.end

    def released(self, seconds: float) -> str:
        """Wait until every kernel forwards as designed, and release sessions that FRR does not take back by itself; how many those were."""
        before = len(self._lab.released)
        held_sessions.wait_and_release(self._lab, self._lab.control_plane.routes(), seconds)
        count = len(self._lab.released) - before
        return f"FRR did not take back {counted(count, 'session')} by itself" if count else ""

    def close(self) -> None:
        """Close the sockets in the lab's namespaces."""
        self._lab.close()
