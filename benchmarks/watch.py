"""What `railweave watch` costs: 192 gNMI targets over TLS with 64 ports and 8 queues each, every 10 s, in processes of their own.

``python -m benchmarks.watch [--targets 192] [--ports 64] [--pack port|queue] [--seconds 60]`` prints the processor time and the memory of the
collector alone, with its store. Then the targets stop sending, and what they sent is compared with what came and what was kept. At last
one target is stopped, and half of them are halted as they stand, and it is measured how long it takes until they are down, and up again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.live.reach.gnmi import Gnmi
from railweave.live.reach.target import MachineLogin, Target
from railweave.operations.watch.collector import Collector, WatchedDevice
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import Subscriber
from railweave.operations.watch.store import Store
from railweave.operations.watch.stream import Stream
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESSES = 2
LEAVES = 6 + 8 * 4
"""Of a port, that are sent with every sample."""


class Targets:
    """The targets, in processes of their own, each with the port that it listens on."""

    def __init__(self, folder: Path, count: int, ports: int, pack: str) -> None:
        self.processes: list[subprocess.Popen[str]] = []
        self.ports: dict[str, int] = {}
        self.of: dict[str, int] = {}
        each = count // PROCESSES
        for number in range(PROCESSES):
            words = ["--targets", each, "--first", number * each, "--ports", ports, "--pack", pack]
            command = [sys.executable, "-m", "tests.operations.watch.gnmi_target", str(folder), *map(str, words)]
            self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for number, one in enumerate(self.processes):
            found: dict[str, int] = json.loads(one.stdout.readline()) if one.stdout else {}
            self.ports |= found
            self.of |= dict.fromkeys(found, number)

    def command(self, line: str, number: int) -> dict[str, int]:
        """Tell one process a line; it answers how many updates each of its targets has sent."""
        process = self.processes[number]
        if process.stdin is None or process.stdout is None:
            return {}
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    def end(self) -> None:
        """End them."""
        for one in self.processes:
            one.send_signal(signal.SIGCONT)
            one.kill()
            one.wait()


def devices(targets: Targets, folder: Path, every_s: float) -> list[WatchedDevice]:
    """The targets as devices that are watched, begun one after another within one interval."""
    telemetry = system("dell_sonic").telemetry
    if telemetry is None:
        raise SystemExit(1)
    layout = Layout(telemetry.series)
    found: list[WatchedDevice] = []
    for number, (name, port) in enumerate(targets.ports.items()):
        way = MachineLogin("127.0.0.1", "watcher", certificates=folder / "ca.pem")
        target = Target(name, (), way)
        stream = Stream(name, layout)

        def opened(target: Target = target, port: int = port) -> object:
            return Gnmi.opened(target, port)

        later = number * every_s / len(targets.ports)
        source = Subscriber(stream, telemetry, opened, every_s=every_s, begin_after_s=later)
        found.append(WatchedDevice(name, "dell_sonic", "leaf", stream, [source]))
    return found


async def until(what: Callable[[], bool], limit_s: float) -> float:
    """How long it takes until something is so."""
    begun = time.monotonic()
    while not what():
        if time.monotonic() - begun > limit_s:
            return float("inf")
        await asyncio.sleep(0.1)
    return time.monotonic() - begun


async def measured(given: argparse.Namespace, folder: Path) -> None:
    """Run it, and print the figures."""
    targets = Targets(folder, given.targets, given.ports, given.pack)
    try:
        watched = devices(targets, folder, given.every)
        store = Store(folder / "samples.sqlite")
        collector = Collector(watched, store, every_s=given.every)
        running = asyncio.create_task(collector.run())
        await asyncio.sleep(given.every * 1.5)
        print(f"up: {sum(one.reached.up for one in watched)} of {len(watched)} targets", flush=True)
        used, begun, updates = time.process_time(), time.monotonic(), sum(one.stream.updates for one in watched)
        await asyncio.sleep(given.seconds)
        wall = time.monotonic() - begun
        share = (time.process_time() - used) / wall
        rate = (sum(one.stream.updates for one in watched) - updates) / wall
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"collector: {share:.2f} of a processor, {most:.0f} MB at most, {rate:,.0f} updates a second", flush=True)
        print(f"steps: {collector.figures.steps}, at most {collector.figures.late_s:.2f} s late", flush=True)
        for number in range(PROCESSES):
            targets.command("pause", number)
        await asyncio.sleep(2)  # what is on its way; before the collector takes them for dead
        sent = targets.command("counts", 0) | targets.command("counts", 1)
        came = {one.name: one.stream.updates for one in watched}
        print(
            f"sent {sum(sent.values()):,} updates, came {sum(came.values()):,}: {'none lost' if sent == came else 'LOST'}"
        )
        await collector.step(time.time())
        print(
            f"samples of a counter that were sent and are not in the store: {missing(watched, store, sent, given.ports)}"
        )
        print(f"store: {store.bytes / 1e6:.1f} MB")
        running.cancel()
        await asyncio.wait([running])
        await deaths(given, targets, folder)
    finally:
        targets.end()


def missing(watched: list[WatchedDevice], store: Store, sent: dict[str, int], ports: int) -> int:
    """How many samples of a counter of each device were sent and are not kept. The first one of a counter has no rate, and is not."""
    found = 0
    for one in watched:
        samples = sent[one.name] // (ports * LEAVES)
        rows = store.samples(
            one.name, since=time.time() - 890, until=time.time(), metrics=["in_octets"], port="et-0/0/0:0"
        )
        found += samples - 1 - len(rows)
    return found


async def deaths(given: argparse.Namespace, targets: Targets, folder: Path) -> None:
    """Stop one target, and halt half of them, while all are watched by a new collector."""
    targets.end()
    targets = Targets(folder, given.targets, given.ports, given.pack)
    try:
        watched = devices(targets, folder, given.every)
        collector = Collector(watched, None, every_s=given.every)
        running = asyncio.create_task(collector.run())
        await until(lambda: all(one.reached.up for one in watched), 60)
        first = watched[0]
        targets.command(f"stop {first.name}", 0)
        down = await until(lambda: not first.reached.up, 60)
        targets.command(f"start {first.name}", 0)
        print(
            f"a target that ends: down after {down:.1f} s, up {await until(lambda: first.reached.up, 60):.1f} s after it is back"
        )
        half = [one for one in watched if targets.of[one.name] == 1]
        targets.processes[1].send_signal(signal.SIGSTOP)
        down = await until(lambda: not any(one.reached.up for one in half), 60)
        targets.processes[1].send_signal(signal.SIGCONT)
        up = await until(lambda: all(one.reached.up for one in half), 60)
        others = all(one.reached.up for one in watched if targets.of[one.name] == 0)
        print(
            f"{len(half)} targets that hang: all down after {down:.1f} s, all up {up:.1f} s after they go on; others up: {others}"
        )
        running.cancel()
        await asyncio.wait([running])
    finally:
        targets.end()


def main() -> None:
    """Make certificates, and measure."""
    from tests.operations.watch.gnmi_target import certificates

    parser = argparse.ArgumentParser()
    parser.add_argument("--targets", type=int, default=192)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--every", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pack", choices=("port", "queue"), default="port")
    given = parser.parse_args()
    print(
        f"{given.targets} targets x {given.ports} ports x 8 queues every {given.every:g} s, a notification for each {given.pack}; {os.cpu_count()} processors"
    )
    with tempfile.TemporaryDirectory() as name:
        certificates(Path(name))
        asyncio.run(measured(given, Path(name)))


if __name__ == "__main__":
    main()
