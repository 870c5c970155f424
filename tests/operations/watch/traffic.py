"""A network of an example that is watched, with traffic that is made up here: for the pages of the console, and for its benchmark.

Counters rise by a sine that differs by path color; one leaf's uplink is hot, one server's NIC pauses its leaf. All numbers come by the streams that
subscriptions fill, so that everything after them is what runs in earnest.
"""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path
from zlib import crc32

from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.model.state.telemetry import Series
from railweave.operations.watch.anomalies import Anomalies
from railweave.operations.watch.collector import Collector, WatchedDevice
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import SubscriptionState
from railweave.operations.watch.store import Store
from railweave.operations.watch.stream import Stream
from railweave.operations.watch.validator import Validator
from railweave.operations.watch.watching import WatchedNetwork

LOSSLESS = "3"


class Silent:
    """A source of numbers that brings none by itself."""

    def __init__(self) -> None:
        self.reached = SubscriptionState()

    async def run(self) -> None:
        await asyncio.Event().wait()


def network_watched(
    network: Network, store: Path | None = None, *, every_s: float = 10, fabric: Path | None = None
) -> WatchedNetwork:
    """All switches of a network as devices that are watched and up, without numbers yet."""
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    validator = Validator(network, configs, window_s=3 * every_s)
    layouts = {one.nos: Layout(lambda _: None) for one in network.switches}
    devices: list[WatchedDevice] = []
    for one in network.switches:
        source = Silent()
        source.reached.turn(up=True)
        source.reached.heard = time.monotonic()
        devices.append(WatchedDevice(one.name, one.nos, one.role, Stream(one.name, layouts[one.nos]), [source]))
    names = frozenset(one.name for one in (*network.switches, *network.servers))
    kept = None if store is None else Store(store)
    return WatchedNetwork(
        Collector(devices, kept, every_s=every_s), validator, Anomalies(names, 3 * every_s), kept, every_s, fabric
    )


class Traffic:
    """What the ports of a network carry. ``feed`` gives every stream its counters at a time."""

    def __init__(self, watching: WatchedNetwork) -> None:
        self._watching = watching
        self._totals: dict[tuple[str, str, str], float] = {}
        self._last: float | None = None
        network = watching.validator.network
        self._cables = {one.name: one for one in network.cables}
        self._hot = next((one.name for one in network.cables if one.kind == "fabric"), "")
        self._slow = next((one.name for one in network.cables if one.kind == "server"), "")

    def share(self, link: str, at: float) -> float:
        """How much of a link's bandwidth is used at a time."""
        if link == self._hot:
            return 0.97
        if link not in self._cables:  # to a router outside
            return 0.05
        cable = self._cables[link]
        wave = math.sin(at / 60 + (cable.color or 0) + crc32(cable.a.port.encode()) % 7 / 7)
        return 0.35 + 0.08 * (cable.color or 0) % 0.4 + 0.12 * wave

    def feed(self, at: float) -> None:
        """Bring every counter to what it is at a time (seconds since 1970)."""
        passed = 0.0 if self._last is None else at - self._last
        self._last = at
        for name, expected in self._watching.validator.expected.items():
            device = self._watching.collector.devices[name]
            if not device.reached.up:
                continue
            said: list[tuple[Series, float]] = []
            for port in expected.ports:
                speed = port.speed_gbps * 1e9 / 8
                carried = self.share(port.link, at) * speed
                rates = {"in_octets": carried, "out_octets": 0.9 * carried, "in_errors": 0.0, "out_discards": 0.0}
                rates["ecn_marked"] = 900.0 if port.link == self._hot else 3.0
                said += [
                    (Series(metric, port.name), self._count(name, port.name, metric, rate * passed))
                    for metric, rate in rates.items()
                ]
                said.append((Series("port_up", port.name), 1))
                paused = 1250.0 if port.link == self._slow else 0.0
                by_queue = {"pfc_received": paused, "pfc_sent": 0.0, "queue_sent": carried / 4096, "queue_dropped": 0.0}
                said += [
                    (Series(metric, port.name, LOSSLESS), self._count(name, port.name, metric, rate * passed))
                    for metric, rate in by_queue.items()
                ]
                said.append((Series("queue_peak", port.name, LOSSLESS), round(2e6 * self.share(port.link, at) ** 4)))
            said += [(Series("bgp_state", "", one.session.interface), 6) for one in expected.sessions]
            device.stream.offer(said, int(at * 1e9), at)
            source = device.sources[0].reached
            source.heard = time.monotonic()

    def _count(self, device: str, port: str, metric: str, rose: float) -> int:
        key = device, port, metric
        self._totals[key] = self._totals.get(key, 0.0) + rose
        return int(self._totals[key])


async def filled(watching: WatchedNetwork, seconds: float = 60) -> None:
    """Let traffic run for some time that has just passed."""
    traffic, now = Traffic(watching), time.time()
    steps = int(seconds / watching.every_s)
    for step in range(steps + 1):
        at = now - (steps - step) * watching.every_s
        traffic.feed(at)
        await watching.collector.step(at)
