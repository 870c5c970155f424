"""How soon the console shows what is wrong: 15 different faults in a small lab of FRR routers, watched at an interval of 2 s.

``python -m tests.operations.watch.console_trial [SEED]`` (root). A fault is detected when ``railweave watch --json`` prints the anomaly that names it right: at the
device and port of the fault, with nothing that explains it. From then on it may take 5 s until the console's page of anomalies, which is followed by
the events that a browser follows it by, has it as a head with that cause, and its JSON too. Ends with ``console-trial: ok``.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from railweave.live.lab import hosts, life
from railweave.live.lab.frr import held_sessions
from railweave.live.lab.kernel.namespace import ip
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from tests.conftest import EXAMPLES, example
from tests.live.lab.drawn import KINDS, Drawn
from tests.live.lab.machine import lab
from tests.operations.watch.lab_trial import CLEAN_LIMIT_S, LIMIT_S, NETWORK, PART, Watch, named

PORT = 8487
HERE = f"http://127.0.0.1:{PORT}"
SHOWN_S = 5.0
NOT_SEEN_BY_SWITCHES = {"MTU of a NIC", "server's rule", "server's route", "no router advertisements"}
"""What only a server feels: the watch asks no servers in a lab. Router advertisements are lost behind the leaf that sends them."""
DAEMONS = ("zebra", "bgpd", "bfdd")
CARD = re.compile(r'<article[^>]* data-rule="([^"]*)" data-where="([^"]*)"')


def faults() -> list[tuple[str, Callable[[random.Random, Running], Drawn]]]:
    """The faults by name: every kind that a switch can see, a port that is shut by hand, and each daemon by itself."""
    found = [(name, draw) for name, draw in KINDS.items() if name not in {*NOT_SEEN_BY_SWITCHES, "daemon killed"}]

    def of_daemon(daemon: str) -> Callable[[random.Random, Running], Drawn]:
        def draw(dice: random.Random, running: Running) -> Drawn:
            while not (drawn := KINDS["daemon killed"](dice, running)).what.endswith(daemon):
                pass
            return drawn

        return draw

    return found + [("port shut", shut)] + [(f"{daemon} killed", of_daemon(daemon)) for daemon in DAEMONS]


def shut(dice: random.Random, running: Running) -> Drawn:
    """One end of a cable between switches, shut in its kernel."""
    wire = dice.choice([one for one in running.plan.wires if {one.a.device, one.b.device} <= set(running.plan.configs)])
    end = dice.choice([wire.a, wire.b])
    space = namespace(running.place.lab, end.device)
    at = [(one.device, one.interface) for one in (wire.a, wire.b)]

    def turn(way: str) -> None:
        ip(["link", "set", end.interface, way], inside=space)

    return Drawn(f"{end.device} {end.interface}", tuple(at), lambda: turn("down"), lambda: turn("up"))


class Console(Watch):
    """``railweave watch`` with its console, and what the console's page of anomalies says: heads with the time at which they came."""

    def __init__(self, fabric: Path, store: Path) -> None:
        super().__init__(fabric, store, "--listen", f"127.0.0.1:{PORT}")
        self.heads: list[tuple[str, str]] = []
        self.changed = threading.Condition()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Read the events of the page, as a browser does; it is tried again until the console is there."""
        while self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{HERE}/events?page=/anomalies", timeout=60) as answer:  # noqa: S310 - our own
                    for line in answer:
                        self._take(line)
            except OSError:
                if self.process.poll() is None:
                    self._process_wait()

    def _process_wait(self) -> None:
        try:
            self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            return

    def _take(self, line: bytes) -> None:
        if not line.startswith(b"data: "):
            return
        markup = json.loads(line[6:]).get("values", {}).get("anomalies")
        if markup is not None:
            with self.changed:
                self.heads = [(unescape(rule), unescape(where)) for rule, where in CARD.findall(markup)]
                self.changed.notify_all()

    def shown(self, one: dict[str, Any], limit_s: float) -> float | None:
        """How long it takes until an anomaly stands on the page as a head; None where it does not in time."""
        begun = time.monotonic()
        with self.changed:
            there = self.changed.wait_for(lambda: (one["id"], one["where"]) in self.heads, limit_s)
        return time.monotonic() - begun if there else None

    def anomalies(self) -> list[dict[str, Any]]:
        """What is wrong by its JSON."""
        with urllib.request.urlopen(f"{HERE}/api/anomalies", timeout=5) as answer:  # noqa: S310 - our own
            return json.loads(answer.read())


def try_one(
    watch: Console, fabric: Path, draw: Callable[[random.Random, Running], Drawn], dice: random.Random
) -> tuple[Drawn, str, bool]:
    """Make a fault, wait until it is detected and shown, and undo it. Gives it, what came of it in words, and whether that is good."""
    with life.attach(fabric)[1] as running:
        drawn = draw(dice, running)
        drawn.begin()
        begun, said, good = time.monotonic(), "NOT DETECTED", False
        try:
            while (change := watch.next(begun + LIMIT_S)) is not None:
                at, one = change
                if one["change"] == "closed" or one["severity"] == "info" or one["follows"] or not named(one, drawn):
                    continue
                took = watch.shown(one, SHOWN_S)
                first = watch.heads[:1] == [(one["id"], one["where"])]
                by_json = any(
                    (each["id"], each["where"], each["follows"]) == (one["id"], one["where"], "")
                    for each in watch.anomalies()
                )
                good = took is not None and by_json
                shown = "NOT SHOWN" if took is None else f"shown {took:.2f} s after its detection"
                said = f"{one['id']} at {one['where']}, detected after {at - begun:.1f} s, {shown}, {'first' if first else f'one of {len(watch.heads)} heads'}"
                break
        finally:
            drawn.end()
    with life.attach(fabric)[1] as again:
        held_sessions.wait_and_release(again, again.control_plane.routes(), CLEAN_LIMIT_S, poll_s=0.2)
        hosts.wait_for_addresses(again, CLEAN_LIMIT_S)
        hosts.apply_tables(again)
    return drawn, said, good


def run(seed: int) -> bool:
    """All faults, one after another. Gives whether each was shown in time."""
    dice, count, every = random.Random(seed), 0, faults()  # noqa: S311 - repeatable
    with TemporaryDirectory() as place:
        fabric = Path(place) / "slice.yaml"
        shutil.copy(EXAMPLES / f"{NETWORK}.yaml", fabric)
        with lab(fabric, example(NETWORK), PART):
            watch = Console(fabric, Path(place) / "samples.sqlite")
            try:
                print(f"quiet at first: {watch.quiet(60)}", flush=True)
                for number, (name, draw) in enumerate(every, 1):
                    drawn, said, good = try_one(watch, fabric, draw, dice)
                    count += good
                    calm = watch.quiet(CLEAN_LIMIT_S)
                    print(f"{number} {name}, {drawn.what}: {said}; quiet afterwards: {calm}", flush=True)
            finally:
                watch.end()
    print(
        f"console-trial: {'ok' if count == len(every) else 'FAILED'}, {count} of {len(every)} faults shown with the right head cause in {SHOWN_S:g} s"
    )
    return count == len(every)


if __name__ == "__main__":
    sys.exit(0 if run(int(sys.argv[1]) if len(sys.argv) > 1 else 31) else 1)
