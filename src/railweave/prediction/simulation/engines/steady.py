"""Stopping a long run when every round goes as the one before: the rest then takes as long as it did.

A quarter of a round is a window. A run is steady when three windows in a row each took as long as the same window one round
earlier, to ``EQUAL``, and all connections kept pace with each other; the first round, in which queues and congestion control
find their level, is not looked at. Nothing may be about to change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.simulation.engines.run import NEVER, Steady

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.simulation.engines.rounds import Rounds

WINDOWS = 4
"""Of a round."""

IN_A_ROW = 3

EQUAL = 0.01
"""How much of its time a window may differ; more is never stated."""

UNSEEN = 0.005
"""What the rest may be off by, though windows were alike: where proxies bind, one round of eight was seen to take 1.3 % less."""

LAST_ROUND = 0.03
"""How much sooner the last round may end, as part of a round: no other takes its share of links and proxies meanwhile. Seen: 0.2 %
where links bind, 1.8 % where proxies do."""


@dataclass(frozen=True, eq=False)
class Rest:
    """A run that was stopped: when every message arrived or would have, and what that is worth."""

    arrivals: NDArray[np.uint64]
    steady: Steady


class Watch:
    """Looks at a run until it is steady. ``changed_ps``: when the network changes last (-1: never)."""

    def __init__(self, repeated: Rounds, changed_ps: int = -1) -> None:
        self._rounds = repeated
        self._changed = changed_ps
        step = max(1, repeated.round // WINDOWS)
        self._step = step
        self._per_round = repeated.round // step
        # places that end windows; a round that does not divide evenly has its rest in its last window
        count = repeated.length // repeated.round * self._per_round
        window = np.arange(count)
        last_of_round = (window + 1) % self._per_round == 0
        inside = (window % self._per_round + 1) * step
        self._marks = window // self._per_round * repeated.round + np.where(last_of_round, repeated.round, inside) - 1
        self._next = self._per_round * 2 + IN_A_ROW - 1
        self._arrived = self._not_before = 0

    def due(self, arrived: int, now_ps: int) -> bool:
        """Whether arrivals are worth a look when so many messages have arrived."""
        per_place = (self._rounds.parts.size + len(self._rounds.credits)) / self._rounds.length
        ahead = self._next < len(self._marks) - self._per_round  # less than a round is not worth it
        self._arrived = arrived
        if arrived < self._not_before:
            return False
        return ahead and now_ps > self._changed and arrived >= (int(self._marks[self._next]) + 1) * per_place

    def rest(self, arrivals: NDArray[np.uint64], now_ps: int) -> Rest | None:
        """The rest of the run if it is steady by now; None if it is not, or not yet."""
        while self._next < len(self._marks):
            mark = int(self._marks[self._next])
            places = np.union1d(np.arange(mark + 1 - self._step, mark), self._compared(self._next))
            window = arrivals[self._rounds.parts[:, places]]
            if missing := int((window == NEVER).sum()):
                self._not_before = self._arrived + missing  # no look before so many more have arrived finds them all
                return None
            apart = self._apart(arrivals, self._next)
            if apart is not None:
                known = arrivals[self._rounds.parts]
                if (known[:, : mark + 1] == NEVER).any():
                    return None
                rest = self._extrapolated(arrivals, known, mark, apart, now_ps)
                if rest is not None and rest.steady.error <= EQUAL:
                    return rest
            self._next += 1
        return None

    def _compared(self, window: int) -> NDArray[np.int64]:
        """The places that end the windows which are compared with those a round before, and these."""
        return self._marks[window - IN_A_ROW - self._per_round : window + 1]

    def _apart(self, arrivals: NDArray[np.uint64], window: int) -> float | None:
        """How far the last windows are from those a round before; None: too far. Looks only at messages that end windows."""
        whole = arrivals[self._rounds.parts[:, self._compared(window)]].max(axis=2)
        ends = whole.max(axis=0).astype(np.float64)
        if ends[0] < self._changed:
            return None
        took = np.diff(ends)
        now, before = took[-IN_A_ROW:], took[:IN_A_ROW]
        shift = (whole[:, -1] - whole[:, -1 - self._per_round]).astype(np.float64)
        pace = float(shift.max() / shift.min()) - 1
        apart = max(float(np.abs(now / before - 1).max()), pace)
        return apart if apart <= EQUAL else None

    def _extrapolated(
        self, arrivals: NDArray[np.uint64], known: NDArray[np.uint64], mark: int, apart: float, now_ps: int
    ) -> Rest | None:
        """Every connection goes on at its own pace, and credit messages with their data; None: those are more than a round late."""
        length, whole = self._rounds.length, known.max(axis=2)
        shift = whole[:, mark] - whole[:, mark - self._rounds.round]
        ahead = np.arange(mark + 1, length)
        rounds = -(-(ahead - mark) // self._rounds.round)
        later = known[:, ahead - rounds * self._rounds.round] + (rounds[None, :] * shift[:, None].astype(np.int64))[
            :, :, None
        ].astype(np.uint64)
        guessed = np.where(known[:, ahead] == NEVER, later, known[:, ahead])
        found = arrivals.copy()
        found[self._rounds.parts[:, ahead]] = guessed
        if not self._credits(found, arrivals, mark, shift):
            return None
        end = int(found.max())
        off = (apart + UNSEEN) * max(0.0, 1 - now_ps / end) + LAST_ROUND * float(shift.mean()) / end
        return Rest(found, Steady(now_ps, float((arrivals != NEVER).mean()), off))

    def _credits(
        self, found: NDArray[np.uint64], arrivals: NDArray[np.uint64], mark: int, shift: NDArray[np.uint64]
    ) -> bool:
        """Fill in when credit messages arrive: at the pace of their data, from those of a round that was over. False: none came."""
        message, row, place = self._rounds.credits.T
        number = np.full((len(shift), self._rounds.length), -1)
        number[row, place] = message
        rounds = np.maximum(-(-(place - mark) // self._rounds.round) + 1, 0)
        before = arrivals[number[row, place - rounds * self._rounds.round]]
        missing = arrivals[message] == NEVER
        found[message[missing]] = (before + rounds.astype(np.uint64) * shift[row])[missing]
        return not bool((before[missing] == NEVER).any())
