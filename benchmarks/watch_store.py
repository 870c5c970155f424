"""A day of samples in the store of `railweave watch`: 192 switches of 64 ports, every 10 s, as fast as they can be written.

``python -m benchmarks.watch_store [--devices 192] [--hours 24]`` prints, hour by hour, the size of the file, the memory of the process and the
processor time of one step. Rates are random numbers: nothing compresses worse. Three queues of each port are busy, and one priority is paused.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from railweave.model.state.telemetry import Series
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.store import Store
from railweave.operations.watch.stream import Round

BEGIN = 1_800_000_000.0
ZERO = ("in_errors", "in_discards", "out_discards", "in_crc")
BUSY = ("queue_out_octets", "queue_sent", "queue_marked", "queue_peak")


def layout(ports: int) -> tuple[Layout, np.ndarray]:
    """A layout of a switch, and which of its series are never zero."""
    made = Layout(lambda _: None)
    busy: list[bool] = []
    for port in range(ports):
        name = f"et-0/0/{port}:0"
        series = [
            (Series(metric, name), metric not in ZERO) for metric in ("port_up", "in_octets", "out_octets", *ZERO)
        ]
        series += [
            (Series(metric, name, str(queue)), queue in {0, 3, 4})
            for queue in range(8)
            for metric in (*BUSY, "queue_dropped")
        ]
        series += [(Series(metric, name, "3"), True) for metric in ("pfc_received", "pfc_sent")]
        for one, full in series:
            made.place(one)
            busy.append(full and one.metric != "queue_dropped")
    return made, np.array(busy)


def resident_mb() -> float:
    """Memory that the process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    """Write it, and print a line for each hour."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=192)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--hours", type=int, default=24)
    given = parser.parse_args()
    made, busy = layout(given.ports)
    dice = np.random.default_rng(31)
    numbers = [np.where(busy, dice.uniform(1, 1e11, len(made)), 0.0) for _ in range(64)]
    places = np.arange(len(made))
    print(f"{given.devices} devices, {len(made)} series each, {int(busy.sum())} of them never zero")
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "samples")
        used, at = time.process_time(), BEGIN
        for hour in range(1, given.hours + 1):
            for _ in range(360):
                rounds = [
                    (made, Round(f"leaf{one}", at, places, numbers[dice.integers(64)])) for one in range(given.devices)
                ]
                store.write(rounds, at)
                at += 10
            step = (time.process_time() - used) / 360
            used = time.process_time()
            print(
                f"hour {hour}: {store.bytes / 1e6:,.0f} MB on disk, {resident_mb():.0f} MB in memory, {step * 1000:.0f} ms a step",
                flush=True,
            )
        begun = time.monotonic()
        rows = store.samples("leaf0", since=at - 86400, until=at, metrics=["in_octets"], port="et-0/0/0:0")
        print(f"a day of one series: {len(rows)} samples in {(time.monotonic() - begun) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
