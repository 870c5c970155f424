"""How fast communications go that go on at the same time: max-min fair over the links that they share.

A communication moves as one: its collectives wait for their slowest link. So it has one pace, 1 where it goes as fast as alone, and takes of each
link that part of its time times the pace. Paces rise together until a link is full; those on it stay, the others rise on (progressive filling,
Bertsekas and Gallager, Data Networks, section 6.5.2). Where two communications meet with as many queue pairs each, this is what fair queues give.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from railweave.prediction.simulation.training.loads import Carried

LEAST = 1e-4
"""A port that is busy for less of the time slows nobody down."""
GRAIN = 1e-3
"""Links whose use differs by less are one."""
MOST_TAKEN = 0.5
"""Of a link: what traffic of others keeps from jobs at most."""
LEAST_PACE = 1e-9


class Shared:
    """The communications of all jobs, on their links. A ``Network`` as ``prediction.jobs.run`` takes it."""

    def __init__(self, carried: Sequence[Carried], taken: NDArray[np.float64] | None = None) -> None:
        """``carried``: by number of the communication; ``taken``: by port, the part that traffic of others asks for."""
        self._alone = [one.alone_ps for one in carried]
        much = [one.busy > LEAST for one in carried]
        met = [one.ports[keep] for one, keep in zip(carried, much, strict=True)]
        ports = np.unique(np.concatenate(met or [np.zeros(0, np.int64)]))
        use = np.zeros((len(carried), len(ports)))
        for number, (one, keep) in enumerate(zip(carried, much, strict=True)):
            use[number, np.searchsorted(ports, one.ports[keep])] = one.busy[keep]
        room = np.ones(len(ports)) if taken is None else 1 - np.minimum(taken[ports], MOST_TAKEN)
        full = use.sum(axis=0) > room  # a link that has room for all at once slows nobody down
        use, room = use[:, full], room[full]
        if use.size:
            alike = np.unique(np.vstack([np.ceil(use / GRAIN), np.floor(room / GRAIN)]).astype(np.int64), axis=1)
            use, room = alike[:-1] * GRAIN, alike[-1] * GRAIN
        self._use, self._room = use, room

    def alone_ps(self, communication: int) -> int:
        """How long one takes alone."""
        return self._alone[communication]

    def paces(self, active: tuple[int, ...]) -> list[float]:
        """How fast each of these goes while all of them go on."""
        use = self._use[list(active)]
        pace = np.ones(len(active))
        if not use.size:
            return pace.tolist()
        pace[:] = 0.0
        rising = np.ones(len(active), np.bool_)
        room = self._room.copy()
        level = 0.0
        while rising.any():
            wanted = use[rising].sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                more = np.where(wanted > 0, room / wanted, np.inf)
            step = min(float(more.min(initial=np.inf)), 1.0 - level)
            level += step
            room = np.maximum(room - wanted * step, 0.0)
            pace[rising] = level
            if level >= 1.0 - 1e-12:
                break
            full = more <= step * (1 + 1e-9) + 1e-15
            rising &= ~(use[:, full] > 0).any(axis=1)
        return np.maximum(pace, LEAST_PACE).tolist()
