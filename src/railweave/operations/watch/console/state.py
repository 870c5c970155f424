"""The state that all pages of the console read: the network, its last measurements, and its anomalies."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic, time
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.operations.watch.console.history import SeriesHistory
from railweave.operations.watch.console.links import Links, Ports
from railweave.operations.watch.descriptors import MOST
from railweave.outputs.report.topology.picture import topology_svg
from railweave.pages.palette import network_strokes, swatch_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.operations.watch.anomalies import Anomaly, Change
    from railweave.operations.watch.watching import WatchedNetwork

MOST_ROWS = 24
"""The largest number of servers of a stripe that the picture draws one by one. Further servers are combined if all are alike."""
LATELY_S = 5.0
WORST = {"error": 0, "warning": 1, "info": 2}


@dataclass
class Console:
    """The shared state of the console's pages.

    ``watching`` is the watched network. ``runs`` is a store of benchmark runs to show on the time axis, or None.
    """

    watching: WatchedNetwork
    runs: str | None = None
    most_streams: int = MOST // 2
    """The largest number of pages that receive updates at the same time. Further pages are served without updates."""
    writable: bool = False
    """True if readers with the token may acknowledge and silence anomalies."""
    at: float = field(default_factory=time)
    """The time of the last measurements, in seconds since 1970."""
    version: int = 0
    """A number that increases whenever something may have changed."""
    closed: bool = False
    """True if the watch is about to end."""

    def __post_init__(self) -> None:
        self.network: Network = self.watching.validator.network
        self.expected = self.watching.validator.expected
        self.devices = self.watching.collector.devices
        self.ports = Ports(self.expected, self.devices)
        self.links = Links(self.network, self.ports)
        self.load: NDArray[np.float64] = np.full(len(self.network.cables), np.nan)
        self.past = SeriesHistory(self.network, self.watching.store)
        self._read: dict[str, tuple[float, list[Any]]] = {}
        self._waiting: set[asyncio.Event] = set()
        self.watching.collector.after_each_step(self.measured)
        self.watching.heard.append(self._heard)
        self.watching.ending.append(self.close)

    @property
    def fabric_file(self) -> Path | None:
        """The fabric file from which the network was designed, or None."""
        return self.watching.fabric

    @cached_property
    def picture(self) -> str:
        """The picture of the network, as SVG."""
        return topology_svg(self.network, MOST_ROWS)

    @cached_property
    def swatches(self) -> Mapping[tuple[str, int | None], str]:
        """The CSS class of each path color's swatch (a small mark in this color), by fabric and ``Color.index``."""
        strokes = network_strokes(self.network)
        return {
            (fabric, index): swatch_class(stroke)
            for fabric, fabric_strokes in strokes.items()
            for index, stroke in fabric_strokes.items()
        }

    @cached_property
    def roles(self) -> Mapping[str, str]:
        """The role of each switch, by name."""
        return {switch.name: switch.role for switch in self.network.switches}

    def measured(self, at: float) -> None:
        """Update the state with the current numbers, measured at ``at`` (seconds since 1970). The collector calls this after each step."""
        self.ports.read()
        self.links.read()
        self.load = self.links.load
        self.at = at
        self.past.add(at, self.ports, self.links, self.load)
        self._wake()

    def _heard(self, changes: Sequence[tuple[Change, Anomaly]]) -> None:
        self.at = time()
        if changes:
            self._wake()

    def _wake(self) -> None:
        self.version += 1
        for waiter in self._waiting:
            waiter.set()

    def close(self) -> None:
        """Wake up all waiting pages, so that they end."""
        self.closed = True
        self._wake()

    async def next(self, version: int) -> None:
        """Wait until the state is newer than ``version``."""
        if self.version > version:
            return
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            await event.wait()
        finally:
            self._waiting.discard(event)

    def anomalies(self) -> list[Anomaly]:
        """Return the open anomalies: first the causes, then the anomalies that follow from others. In both parts, the most severe are first."""
        return self.watching.anomalies.listed()

    def worst(self, listed: Sequence[Anomaly] | None = None) -> dict[str, str]:
        """Return, by device, the worst severity among its anomalies in ``listed``; None means all open anomalies.

        A device that has only notes is left out. Two states override the severity: ``silent`` if samples no longer arrive, and
        ``not-known`` if none ever arrived.
        """
        severities: dict[str, str] = {}
        for anomaly in self.anomalies() if listed is None else listed:
            known = severities.get(anomaly.device, "info")
            severities[anomaly.device] = min(known, anomaly.finding.severity, key=WORST.__getitem__)
        marks = {"down": "silent", "not known": "not-known"}
        severities |= {name: marks[device.state] for name, device in self.devices.items() if device.state in marks}
        return {device: severity for device, severity in severities.items() if severity != "info"}

    def lately(self, name: str, read: Callable[[Console], Iterable[Any]]) -> list[Any]:
        """Return the result of ``read``, a function that reads files. The result is cached under ``name`` for ``LATELY_S`` seconds."""
        at, known = self._read.get(name, (0.0, []))
        if monotonic() - at > LATELY_S:
            known = list(read(self))
            self._read[name] = monotonic(), known
        return known
