"""What the network as a whole carried: kept beside the samples of its devices, as those of one more, or for a quarter of an hour in memory.

The page of the past reads some dozen series of one device in this way, where it would have to add up those of every port.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING

import numpy as np

from railweave.model.state.telemetry import METRICS, Series
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.stream import Round

if TYPE_CHECKING:
    from railweave.model.network.model import Network
    from railweave.operations.watch.console.links import Links
    from railweave.operations.watch.console.ports import Ports
    from railweave.operations.watch.store import Store

WHOLE = "the whole network"
"""What the device of these series is called in the store; no device has blanks in its name."""
MOST = 900
"""Points that are held in memory: a quarter of an hour at one a second."""
TOTALS = {"paused": "pfc_received", "marks": "ecn_marked", "drops": "in_discards", "errors": "in_errors"}
"""Columns of which the sum over all ports is kept, and the metric that it is kept as."""
CARRIED, BUSIEST = "out_octets", "queue_peak"
"""What links of a path color carry (bytes/s), and the load of the busiest (0 to 1), are kept as these metrics."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series of the past with a number for each time, None where there is none."""

    series: Series
    numbers: list[float | None]


def _absent(one: Series) -> float | None:
    """What a series is at a time that others have a number of: the store leaves out zeros of those by queue and priority."""
    return 0.0 if METRICS[one.metric].sparse else None


class Past:
    """``store`` keeps it where there is one."""

    def __init__(self, network: Network, store: Store | None) -> None:
        self._store = store
        self._layout = Layout(lambda _: None)
        self._recent: deque[tuple[float, dict[Series, float]]] = deque(maxlen=MOST)
        self._writing: set[asyncio.Task[int]] = set()
        self.colors = {
            (fabric.name, color.index): color.name for fabric in network.fabrics for color in fabric.colors
        } | {(fabric.name, None): "all" for fabric in network.fabrics if not fabric.colors}

    def add(self, at: float, ports: Ports, links: Links, load: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        """Take the numbers of a moment."""
        found: dict[Series, float] = {}
        for group in links.colors:
            one = links.of(group, load)
            name = self.colors.get((group.fabric, group.color), "none")
            if one is not None:
                found[Series(CARRIED, group.fabric, name)] = one.carried / 8
                found[Series(BUSIEST, group.fabric, name)] = one.most
        for column, metric in TOTALS.items():
            values = ports.numbers[column]
            if not np.isnan(values).all():
                found[Series(metric, "", column)] = float(np.nansum(values))
        if not found:
            return
        self._recent.append((at, found))
        if self._store is not None:
            places = np.array([self._layout.place(one) for one in found], np.intp)
            kept = Round(WHOLE, at, places, np.array(list(found.values())))
            task = asyncio.ensure_future(asyncio.to_thread(self._store.write, [(self._layout, kept)], at))
            self._writing.add(task)
            task.add_done_callback(self._written)

    def _written(self, task: asyncio.Task[int]) -> None:
        """A store that cannot be written ends the collector, which says why: here it is only not lost silently."""
        self._writing.discard(task)
        if not task.cancelled():
            task.exception()

    def lines(self, span_s: float) -> tuple[list[float], list[Line]]:
        """The times of a span that ends now, and each series at them."""
        since = time() - span_s
        by_time: dict[float, dict[Series, float]] = {}
        if self._store is not None:
            for one in self._store.samples(WHOLE, since=since, until=time() + 1):
                by_time.setdefault(one.time, {})[one.series] = one.number
        last = max(by_time, default=0.0)
        recent = list(self._recent)  # more may come while this is read
        by_time |= {at: those for at, those in recent if at >= max(since, last) and at not in by_time}
        times = sorted(by_time)
        known = sorted({one for those in by_time.values() for one in those})
        return times, [Line(one, [by_time[at].get(one, _absent(one)) for at in times]) for one in known]
