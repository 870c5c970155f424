"""A campaign in a lab: packets between its servers, and what a router without a machine of its own cannot do by a command."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from railweave.counting import counted
from railweave.deploy.campaign.measuring import Seen
from railweave.lab.faults.kinds import effect
from railweave.lab.faults.prober import Prober
from railweave.lab.faults.traffic import queue_pairs, spread
from railweave.lab.frr import held_sessions

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.fault_targets import FaultTarget
    from railweave.lab.running import Running

FLOWS = 128


class LabPackets:
    """Packets of queue pairs between the servers of a lab."""

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
        """What became of them."""
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


def by_lab(lab: Running, target: FaultTarget) -> Callable[[], None] | None:
    """Make a fault as ``lab fault`` does; what undoes it."""
    made = effect(lab, target)
    made.begin()
    return made.end


def released(lab: Running, seconds: float) -> str:
    """Wait until every kernel forwards as designed, and release sessions that FRR does not take back by itself; how many those were."""
    before = len(lab.released)
    held_sessions.wait_and_release(lab, lab.control_plane.routes(), seconds)
    count = len(lab.released) - before
    return f"FRR did not take back {counted(count, 'session')} by itself" if count else ""
