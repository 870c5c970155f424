"""Received light of optical modules: its distance from the low alarm, from other ports of the kind, and from earlier readings."""

from __future__ import annotations

from collections import deque
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from railweave.live.check.living import OF_CABLE
from railweave.live.check.ports import of_port
from railweave.model.findings.registry import Rule
from railweave.operations.watch.grey.peers import LEAST_PEERS, SPREADS, Suspect, medians

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.ports import Optic
    from railweave.operations.watch.grey.peers import Flags, Numbers, PortKinds

    Light = NDArray[np.float32]

LIGHT = Rule(
    "light-unusual",
    "warning",
    "living",
    "A lane receives light near its low alarm, less than ports of its kind, or less than it did some hours ago.",
    why="the link still works, but a little more loss makes it fail",
    fix="clean and inspect the connectors; compare the light sent at the other end; then replace the cable or module",
    asked=OF_CABLE,
)

MARGIN_DB = 1.0
"""The least distance of received light from the module's low alarm. Modules warn before, at 1 to 4 dB above the alarm."""
PEERS_DB = 5.0
"""The least difference of received light from the median of other ports, if the module reports no alarm level.

A reading may be wrong by 3 dB (SFF-8472), and the loss of healthy links of a kind differs by 2 dB.
"""
TREND_DB = 2.0
"""The least loss of received light against earlier readings of the same lane. Temperature changes a reading by 1 dB at most."""
TREND_S = 6 * 3600.0
"""The seconds for which readings of light are kept."""
TREND_STEP_S = 600.0
"""The seconds between two readings of light that are kept: 36 readings of 100,000 lanes take 14 MB."""
TREND_LEAST = 6
"""The fewest earlier readings for a trend. The newest six readings (an hour) do not count as earlier."""
LANES = 8
"""The largest number of lanes of a module that are compared."""


class ReceivedLight:
    """The light in dBm that each lane of each port receives, with readings of the last ``TREND_S`` seconds."""

    def __init__(self, kinds: PortKinds) -> None:
        self._kinds = kinds
        size = len(kinds.ports)
        self._tables: dict[str, Mapping[str, Optic] | None] = {}
        self._serials: dict[int, str | None] = {}
        self._light: Light = np.full((size, LANES), np.nan, np.float32)
        self._alarm: Numbers = np.full(size, np.nan)
        self._kept: deque[tuple[float, Light]] = deque()
        self._brightest = self._light.copy()
        """The brightest of the earlier readings of each lane. No median exceeds it, so most lanes need no median."""

    def read(self, states: Mapping[str, DeviceState]) -> None:
        """Read the received light of all devices. The earlier readings of a module that was replaced are discarded."""
        for name, part in self._kinds.slices.items():
            state = states.get(name)
            optics = None if state is None else state.optics
            if name in self._tables and self._tables[name] is optics:
                continue
            self._tables[name] = optics
            self._light[part], self._alarm[part] = np.nan, np.nan
            for place in range(part.start, part.stop) if optics else ():
                try:
                    self._read(place, self._optic(place))
                except (AttributeError, TypeError, ValueError, OverflowError):
                    self._light[place], self._alarm[place] = np.nan, np.nan

    def _optic(self, place: int) -> Optic | None:
        port = self._kinds.ports[place]
        return of_port(self._tables.get(port.device) or {}, port.name)

    def _read(self, place: int, optic: Optic | None) -> None:
        if optic is None:
            return
        light = [lane.rx_dbm for lane in optic.lanes[:LANES]]
        self._light[place, : len(light)] = [np.nan if each is None or not isfinite(each) else each for each in light]
        if optic.rx_low_dbm is not None and isfinite(optic.rx_low_dbm):
            self._alarm[place] = optic.rx_low_dbm
        if self._serials.setdefault(place, optic.serial) != optic.serial:
            self._serials[place] = optic.serial
            self._brightest[place] = np.nan
            for _, earlier in self._kept:
                earlier[place] = np.nan

    def compare(self, time: float, suspects: list[Suspect]) -> Flags:
        """Return True for each port whose light is compared, and add the ports with too little light to ``suspects``.

        Light below the low alarm is left out, because another finding reports it. So are dark lanes.
        """
        light, alarm = self._light, self._alarm
        weak = np.fmin.reduce(light, axis=1).astype(np.float64)
        margin = weak - alarm
        near = (margin < MARGIN_DB) & (margin >= 0)
        by_peers = np.isfinite(weak) & np.isnan(alarm)
        median, spread, others = medians(np.where(by_peers, weak, np.nan), self._kinds.kind)
        by_peers &= others >= LEAST_PEERS
        below = by_peers & (median - weak > np.maximum(PEERS_DB, SPREADS * spread))
        # Two readings must be low, so that one wrong reading is no trend.
        steady = np.maximum(light, self._kept[-1][1]) if self._kept else light
        drop = self._brightest - steady
        fallen = np.fmax.reduce(drop, axis=1) >= TREND_DB
        for place in map(int, np.flatnonzero(near | below | fallen)):
            lane = int(np.nanargmin(light[place]))
            if near[place]:
                self._add(suspects, place, 0, lane, f"the low alarm is at {alarm[place]:.1f} dBm")
            elif fallen[place] and (trend := self._trend(place, steady[place], time)):
                self._add(suspects, place, 1, *trend)
            elif below[place]:
                usual, peers = self._kinds.peers(place, weak, by_peers)
                self._add(suspects, place, 2, lane, f"{peers} is {usual:.1f} dBm")
        self._keep(time)
        return np.isfinite(margin) | by_peers | np.isfinite(self._brightest - light).any(axis=1)

    def _add(self, suspects: list[Suspect], place: int, rank: int, lane: int, basis: str) -> None:
        optic = self._optic(place)
        name = lane if optic is None else optic.lanes[lane].number
        level = float(self._light[place, lane])
        number = f"receives {level:.1f} dBm"
        suspects.append(Suspect(place, rank, -level, f"lane {name} {number}; {basis}", number))

    def _trend(self, place: int, steady: Light, time: float) -> tuple[int, str] | None:
        """Return the lane of a port that lost most light, and text with its earlier readings; None if no lane lost much.

        ``steady`` is the higher of the last two readings of each lane.
        """
        earlier = [(at, light[place]) for at, light in list(self._kept)[:-TREND_LEAST]]
        drops: list[tuple[float, int, float, list[float]]] = []
        for lane in range(LANES):
            times = [at for at, light in earlier if np.isfinite(light[lane])]
            usual = float(np.median([light[lane] for _, light in earlier if np.isfinite(light[lane])] or [np.nan]))
            drop = usual - float(steady[lane])
            if len(times) >= TREND_LEAST and drop >= TREND_DB:
                drops.append((drop, lane, usual, times))
        if not drops:
            return None
        _, lane, usual, times = max(drops)
        hours = (time - times[0]) / 3600
        return lane, f"the median of its {len(times)} earlier readings since {hours:.0f} h ago is {usual:.1f} dBm"

    def _keep(self, time: float) -> None:
        if self._kept and time < self._kept[-1][0]:
            self._kept.clear()
        if self._kept and time < self._kept[-1][0] + TREND_STEP_S:
            return
        self._kept.append((time, self._light.copy()))
        while self._kept[0][0] < time - TREND_S:
            self._kept.popleft()
        earlier = [light for _, light in list(self._kept)[:-TREND_LEAST]]
        enough = len(earlier) >= TREND_LEAST
        self._brightest = np.fmax.reduce(earlier) if enough else np.full_like(self._light, np.nan)
