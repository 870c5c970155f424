"""A night of a lab: faults one after the other, and what ``railweave watch`` says of each, when and how often.

``python -m tests.operations.watch.night_trial [SEED]`` (root). Three of the faults flap, one is a frozen daemon, others are drawn
from the kinds of the lab. Targets: one fault is one cause, named at its device or the other end, in at most five lines. In the
middle the watch is killed and started again.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from railweave.live.lab import hosts, life
from railweave.live.lab.frr import held_sessions
from railweave.live.lab.running import Running
from tests.conftest import EXAMPLES, example
from tests.live.lab.drawn import KINDS, Drawn
from tests.live.lab.machine import lab
from tests.operations.watch.lab_trial import CLEAN_LIMIT_S, NETWORK, PART, Watch

LASTS_S, RESTS_S = 25, 45
MOST_LINES = 5


def flapping(drawn: Drawn, times: int = 5, down_s: float = 4, up_s: float = 8) -> Drawn:
    """The fault again and again."""

    def begin() -> None:
        for number in range(times):
            drawn.begin()
            time.sleep(down_s)
            if number < times - 1:
                drawn.end()
                time.sleep(up_s)

    return Drawn(f"{drawn.what}, {times} times", drawn.at, begin, drawn.end)


class Said:
    """The lines that the watch would print of what it told since ``begin``."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, str]] = []
        self.causes: dict[int, dict[str, Any]] = {}
        self._shown: dict[int, tuple[Any, ...]] = {}

    def add(self, at: float, one: dict[str, Any]) -> None:
        """Count a change as the command line prints it: causes only, and what it has said once only if it changes."""
        if one["follows"] or one["severity"] == "info":
            self.causes.pop(one["number"], None)
            return
        mark = (one["severity"], one["deploy"], one["silenced"], one["times"])
        if one["change"] == "changed" and self._shown.get(one["number"]) == mark:
            return
        self._shown[one["number"]] = mark
        if one["change"] != "closed":
            self.causes[one["number"]] = one
        self.lines.append(
            (at, f"{one['change']}: {one['id']} {one['where']}: {one['what'].partition('. This')[0][:90]}")
        )


def listen(watch: Watch, said: Said, until: float) -> None:
    """Take what the watch tells until a time."""
    while (change := watch.next(until)) is not None:
        said.add(*change)


def settled(fabric: Path) -> None:
    """Wait until the lab is as it was."""
    with life.attach(fabric)[1] as again:
        held_sessions.wait_and_release(again, again.control_plane.routes(), CLEAN_LIMIT_S, poll_s=0.2)
        hosts.wait_for_addresses(again, CLEAN_LIMIT_S)
        hosts.apply_tables(again)


Make = Callable[[random.Random, Running], Drawn]


def night(dice: random.Random) -> list[tuple[str, Make]]:
    """The faults: those that flap, then drawn ones of every kind that a lab has."""
    names = [name for name in KINDS if "server" not in name and "NIC" not in name]
    flaps = ["link down", "session shut down", "policy term"]
    rest = [name for name in names if name not in flaps]
    chosen = dice.sample(rest, min(9, len(rest)))
    faults: list[tuple[str, Make]] = [
        (f"{name}, flapping", lambda dice, running, name=name: flapping(KINDS[name](dice, running))) for name in flaps
    ]
    faults += [(name, KINDS[name]) for name in chosen]
    return faults


def main() -> None:
    """Run the night and print the table."""
    dice = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 61)  # noqa: S311 - repeatable
    rows: list[str] = []
    good = True
    with TemporaryDirectory() as place:
        fabric, store = Path(place) / "night.yaml", Path(place) / "samples.sqlite"
        shutil.copy(EXAMPLES / f"{NETWORK}.yaml", fabric)
        with lab(fabric, example(NETWORK), PART):
            watch = Watch(fabric, store, "--listen", "none")
            try:
                print(f"quiet at first: {watch.quiet(60)}", flush=True)
                for number, (name, make) in enumerate(night(dice), 1):
                    with life.attach(fabric)[1] as running:
                        drawn = make(dice, running)
                        said, begun = Said(), time.monotonic()
                        drawn.begin()
                        listen(watch, said, time.monotonic() + LASTS_S)
                        if number == 6:
                            watch.process.send_signal(signal.SIGKILL)
                            watch.process.wait()
                            watch = Watch(fabric, store, "--listen", "none")
                            listen(watch, said, time.monotonic() + 20)
                        causes = list(said.causes.values())
                        drawn.end()
                    settled(fabric)
                    listen(watch, said, time.monotonic() + RESTS_S)
                    right = any(one["where"].partition(" ")[0] == device for one in causes for device, _ in drawn.at)
                    first = said.lines[0][0] - begun if said.lines else float("nan")
                    fine = right and len(causes) == 1 and len(said.lines) <= MOST_LINES
                    good = good and fine
                    which = ", ".join(f"{one['id']} {one['where']}" for one in causes[:3]) or "nothing"
                    rows.append(
                        f"| {number} {name} | {drawn.what} | {first:.1f} s | {which} | {len(causes)} | {len(said.lines)} |"
                    )
                    print(rows[-1], "" if fine else "  <-- ", flush=True)
                    if not fine:
                        print("".join(f"      {at - begun:6.1f} {text}\n" for at, text in said.lines), flush=True)
            finally:
                watch.end()
    print(
        "\n| fault | what | first line after | cause at its height | causes | lines in all |\n|---|---|---|---|---|---|"
    )
    print("\n".join(rows))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
