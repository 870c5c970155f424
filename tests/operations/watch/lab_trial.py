"""How soon ``railweave watch --lab`` sees what is wrong: faults in a small lab of FRR routers, at an interval of 2 s.

``python -m tests.operations.watch.lab_trial [FAULTS [SEED]]`` (root). A fault is seen where an anomaly opens that is no note; it is named right where
it is at the device and the port of the fault, and nothing explains it. Times are from the end of the injection to the line that is printed.
"""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from railweave.live.lab import hosts, life
from railweave.live.lab.frr import held_sessions
from tests.conftest import EXAMPLES, example
from tests.live.lab.drawn import KINDS, Drawn
from tests.live.lab.machine import lab

NETWORK, PART = "h100-rlb", "rails=1,spines=2"
INTERVAL_S = 2
LIMIT_S = 60
CLEAN_LIMIT_S = 90


class Watch:
    """``railweave watch`` as a process; its lines with the time at which they came."""

    def __init__(self, fabric: Path, store: Path, *more: str, environment: Mapping[str, str] | None = None) -> None:
        """``more`` are further words of the command line: where it listens, whom it tells."""
        words = ["watch", str(fabric), "--lab", "--json", "--interval", str(INTERVAL_S), "--store", str(store), *more]
        program = "import sys; from railweave.cli import main; sys.exit(main())"
        variables = os.environ | dict(environment or {})
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True, env=variables
        )
        self.lines: queue.Queue[tuple[float, dict[str, Any]]] = queue.Queue()
        self.open: dict[int, dict[str, Any]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            change = json.loads(line)
            if change["change"] != "network":  # the state of the whole network, which follows from the anomalies
                self.lines.put((time.monotonic(), change))

    def next(self, until: float) -> tuple[float, dict[str, Any]] | None:
        """The next change; None where none comes in time."""
        try:
            at, one = self.lines.get(timeout=max(until - time.monotonic(), 0.01))
        except queue.Empty:
            return None
        self.open.pop(one["number"], None)
        if one["change"] != "closed":
            self.open[one["number"]] = one
        return at, one

    def bad(self) -> list[dict[str, Any]]:
        return [one for one in self.open.values() if one["severity"] != "info"]

    def quiet(self, limit_s: float) -> bool:
        """Wait until nothing is wrong for three intervals."""
        until = time.monotonic() + limit_s
        calm = time.monotonic()
        while time.monotonic() < until:
            if self.next(min(until, calm + 3 * INTERVAL_S)) is not None and self.bad():
                calm = time.monotonic()
            elif not self.bad() and time.monotonic() >= calm + 3 * INTERVAL_S:
                return True
            elif self.bad():
                calm = time.monotonic()
        return False

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def named(one: dict[str, Any], drawn: Drawn) -> bool:
    """Whether an anomaly is at the device and port of a fault."""
    device, _, ports = one["where"].partition(" ")
    return any(device == where and (not port or port in ports.split(" and ")) for where, port in drawn.at)


def try_one(watch: Watch, fabric: Path, name: str, dice: random.Random) -> tuple[Drawn, float | None, list[str]]:
    """Make a fault and wait for its anomaly; then undo it, and wait until nothing is wrong."""
    with life.attach(fabric)[1] as running:
        drawn = KINDS[name](dice, running)
        drawn.begin()
        begun = time.monotonic()
        until, took, told = begun + LIMIT_S, None, list[str]()
        try:
            while took is None and (change := watch.next(until)) is not None:
                at, one = change
                if one["change"] == "closed" or one["severity"] == "info":
                    continue
                told.append(f"{one['id']} at {one['where']} after {at - begun:.1f} s")
                if named(one, drawn) and not one["follows"]:
                    took = at - begun
        finally:
            drawn.end()
    with life.attach(fabric)[1] as again:
        held_sessions.wait_and_release(again, again.control_plane.routes(), CLEAN_LIMIT_S, poll_s=0.2)
        hosts.wait_for_addresses(again, CLEAN_LIMIT_S)
        hosts.apply_tables(again)
    return drawn, took, told


def run(count: int, seed: int, kinds: list[str]) -> bool:
    """Faults of every kind in turn. Gives whether each was seen and named right."""
    dice, good = random.Random(seed), True  # noqa: S311 - repeatable
    with TemporaryDirectory() as place:
        fabric = Path(place) / "slice.yaml"
        shutil.copy(EXAMPLES / f"{NETWORK}.yaml", fabric)
        with lab(fabric, example(NETWORK), PART):
            watch = Watch(fabric, Path(place) / "samples.sqlite", "--listen", "none")
            try:
                print(
                    f"quiet at first: {watch.quiet(60)}", [(one["id"], one["where"]) for one in watch.bad()], flush=True
                )
                for turn in range(count):
                    name = kinds[turn % len(kinds)]
                    drawn, took, told = try_one(watch, fabric, name, dice)
                    calm = watch.quiet(CLEAN_LIMIT_S)
                    good = good and took is not None
                    seen = "NOT SEEN" if took is None else f"named right after {took:.1f} s"
                    print(f"{turn + 1} {name}, {drawn.what}: {seen}; {told[:3]}; quiet afterwards: {calm}", flush=True)
                    if not calm:
                        print("   ", [(one["id"], one["where"], one["what"][:100]) for one in watch.bad()], flush=True)
            finally:
                watch.end()
    return good


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 31
    kinds = (
        sys.argv[3].split(",")
        if len(sys.argv) > 3
        else [one for one in KINDS if "server" not in one and "NIC" not in one]
    )
    sys.exit(0 if run(count, seed, kinds) else 1)


if __name__ == "__main__":
    main()
