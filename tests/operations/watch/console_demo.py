"""``make trial NAME=pictures``: a lab is watched, a cable fails in it, and a browser shows what the console says; the pictures go into docs/images/console.

``python -m tests.operations.watch.console_demo FOLDER`` (root, FRR, Chromium). The pictures with traffic are of the same example without a lab: a lab's kernels carry too little
of 400G to be seen, so its load is made up (``tests/operations/watch/traffic.py``), and the page on pictures says so.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import QueuePair, queue_pairs, spread
from railweave.live.lab.running import Running
from tests.chromium import Chromium, browser
from tests.conftest import EXAMPLES, example
from tests.live.lab.drawn import KINDS
from tests.live.lab.machine import lab
from tests.operations.watch.console_trial import HERE, SHOWN_S, Console
from tests.operations.watch.lab_trial import LIMIT_S
from tests.operations.watch.test_console_browser import Served

FLOWS = 64
NETWORK, PART = "h100-rlb", "rails=2"
DRAWN = (("topology", "/", 1280, False), ("device", "/devices/stripe1-leaf1", 1280, False), ("path", "/path", 1280, False), ("rails", "/rails?of=uplinks", 800, True), ("history", "/history", 1280, False))  # fmt: skip


def picture(
    chromium: Chromium,
    address: str,
    file: Path,
    *,
    width: int = 1280,
    height: int = 900,
    dark: bool = False,
    until: str = "true",
) -> None:
    """What a window shows of a page once it is live and something is true."""
    page = chromium.open_url(address, width=width, height=height, dark=dark)
    page.wait_for("document.getElementById('connection').textContent === 'live'")
    page.wait_for(until)
    for _ in range(30):  # charts and the picture are drawn by then
        page.evaluate("new Promise(requestAnimationFrame)")
    page.screenshot(file)
    if page.errors:
        raise SystemExit("\n".join(page.errors))
    page.close()
    print(f"{file}: {file.stat().st_size:,} bytes", flush=True)


def some_pairs(running: Running) -> list[QueuePair]:
    """Queue pairs that have packets sent: those of every path color between some NICs."""
    return spread(queue_pairs(running, running.control_plane.routes())[0], FLOWS)


def of_lab(chromium: Chromium, place: Path, folder: Path) -> None:
    """A lab with packets of queue pairs, a link that is cut, and what the console shows of it."""
    fabric = place / f"{NETWORK}.yaml"
    shutil.copy(EXAMPLES / fabric.name, fabric)
    with lab(fabric, example(NETWORK), PART) as (_, running), Prober(running, some_pairs(running)):
        watch = Console(fabric, place / "samples.sqlite")
        try:
            if not watch.quiet(90):
                raise SystemExit(f"the lab is not quiet: {[(one['id'], one['where']) for one in watch.bad()]}")
            begun = time.monotonic()
            drawn = KINDS["link down"](random.Random(3), running)  # noqa: S311 - repeatable
            drawn.begin()
            while (change := watch.next(begun + LIMIT_S)) is not None:
                one = change[1]
                if one["change"] == "opened" and one["severity"] == "error" and not one["follows"]:
                    break
            else:
                raise SystemExit("the fault was not detected")
            took = watch.shown(one, SHOWN_S)
            print(
                f"{drawn.what}: {one['id']} at {one['where']} after {change[0] - begun:.1f} s, in the console {took:.2f} s later",
                flush=True,
            )
            picture(
                chromium,
                f"{HERE}/",
                folder / "lab-topology.png",
                height=1010,
                until="document.querySelector('.cable.error') !== null",
            )
            picture(
                chromium,
                f"{HERE}/anomalies",
                folder / "lab-anomalies.png",
                height=640,
                until="document.querySelector('article.error') !== null",
            )
            drawn.end()
        finally:
            watch.end()


def of_example(chromium: Chromium, place: Path, folder: Path) -> None:
    """The pages with traffic that is made up."""
    served = Served(place, seconds=880)
    try:
        for name, where, width, dark in DRAWN:
            until = "document.querySelectorAll('.chart canvas').length === 3" if name == "history" else "true"
            picture(
                chromium,
                served.address + where,
                folder / f"{name}.png",
                width=width,
                height=1010 if name == "topology" else 900,
                dark=dark,
                until=until,
            )
    finally:
        served.end()


def main(folder: Path) -> None:
    """Draw all of them."""
    with TemporaryDirectory() as place, browser() as chromium:
        of_example(chromium, Path(place), folder)
        of_lab(chromium, Path(place), folder)
    print("watch-demo: ok")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
