"""What the console costs at 8,192 GPUs: the first page, an update, and the memory of a browser that shows it.

``python -m benchmarks.console [--example scale-8k] [--updates 12]`` watches an example's switches with made-up traffic on every port, every 10 s, in
a process of its own, and looks at it with a headless Chromium. An update is measured from the moment at which the collector has the
numbers of all devices to the frame in which the browser shows them; both clocks are this machine's. Memory is what all processes of the browser hold as their own (anonymous and shared memory,
each byte once), as its own task manager counts it; beside it the proportional set size (PSS), which has the mapped files of the program in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.chromium import Page, browser
from tests.conftest import example
from tests.operations.watch.traffic import Traffic, network_watched

PORT = 8489
HERE = f"http://127.0.0.1:{PORT}"
EVERY_S = 10.0
LISTEN = """
window.seen = [];
document.addEventListener("values", (event) => {
  const { at, values } = event.detail;
  requestAnimationFrame(() => setTimeout(() => window.seen.push([at, Date.now() / 1000, Object.keys(values).length]), 0));
});
"""
"""Note when each update stands in a frame: what is put off in a callback of a frame runs after that frame is drawn."""


async def serve(name: str) -> None:
    """Watch an example, and print a line of JSON for each update: its time, and when the collector had the numbers."""
    import uvicorn

    from railweave.operations.watch.app import app

    watching = network_watched(example(name), every_s=EVERY_S)
    ready: dict[str, float] = {}

    def has_numbers(_: float) -> None:
        ready["at"] = time.time()

    watching.collector.after_each_step(has_numbers)
    application = app(watching)

    def shown_numbers(at: float) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"at": at, "ready": ready["at"], "measured": time.time(), "mb": used}), flush=True)

    watching.collector.after_each_step(shown_numbers)
    traffic = Traffic(watching)
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=PORT, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    due = time.time()
    for _ in range(1_000_000):
        traffic.feed(time.time())
        await watching.collector.step(time.time())
        due += EVERY_S
        await asyncio.sleep(max(due - time.time(), 0))
    await serving


def memory_mb(group: int) -> tuple[float, float, float]:
    """What all processes of a browser hold as their own, that of its largest page alone, and the PSS of all of them, in MB."""
    own, most, whole = 0.0, 0.0, 0.0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            if os.getpgid(int(folder.name)) != group:
                continue
            lines = (folder / "smaps_rollup").read_text().splitlines()
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        sizes = {line.split()[0]: float(line.split()[1]) / 1024 for line in lines[1:]}
        mb = sizes["Pss_Anon:"] + sizes["Pss_Shmem:"]
        own, whole = own + mb, whole + sizes["Pss:"]
        if b"--type=renderer" in words:
            most = max(most, mb)
    return own, most, whole


def first_page(page: Page) -> dict[str, Any]:
    """How long it took until the page was drawn and its scripts had run, in ms since the browser was told to go there."""
    page.wait_for("performance.getEntriesByName('first-contentful-paint').length > 0")
    return page.evaluate(
        "(() => { const n = performance.getEntriesByType('navigation')[0];"
        " return {answer: n.responseEnd, painted: performance.getEntriesByName('first-contentful-paint')[0].startTime, load: n.loadEventEnd, bytes: n.transferSize}; })()"
    )


def after_an_update(server: subprocess.Popen[str]) -> None:
    """Wait for the next update: traffic is made up by the process that serves, which answers nothing meanwhile."""
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    begun = time.time()
    while json.loads(server.stdout.readline())["at"] < begun:
        pass


def updates(page: Page, server: subprocess.Popen[str], count: int) -> list[tuple[float, int]]:
    """So many updates of a page: ms from the numbers to the frame, and how many values each changed."""
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    found: list[tuple[float, int]] = []
    page.evaluate(f"(() => {{ {LISTEN} }})()")
    begun = time.time()
    while len(found) < count:
        line = json.loads(server.stdout.readline())
        if line["at"] < begun:  # it came before anybody listened
            continue
        at = json.dumps(line["at"])
        page.wait_for(f"window.seen.some((one) => one[0] === {at})")
        seen = page.evaluate(f"window.seen.find((one) => one[0] === {at})")
        found.append(((seen[1] - line["ready"]) * 1000, seen[2]))
    return found


def main() -> None:
    """Print the figures."""
    given = argparse.ArgumentParser()
    given.add_argument("--example", default="scale-8k")
    given.add_argument("--updates", type=int, default=5)
    given.add_argument("--serve", action="store_true")
    words = given.parse_args()
    if words.serve:
        asyncio.run(serve(words.example))
        return
    command = [sys.executable, "-m", "benchmarks.console", "--serve", "--example", words.example]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            measure(server, words.updates)
        finally:
            server.kill()


def measure(server: subprocess.Popen[str], count: int) -> None:
    """All pages one after another, each in a tab of its own; the first one stays open beside them."""
    assert server.stdout is not None  # noqa: S101 - it is a pipe
    *_, line = [json.loads(server.stdout.readline()) for _ in range(3)]
    print(
        f"watch: {line['mb']:,.0f} MB at most; numbers taken up in {(line['measured'] - line['ready']) * 1000:.0f} ms"
    )
    with browser() as chromium:
        group = chromium.group
        empty = chromium.open_url("about:blank", width=1280, height=900)
        own, _, whole = memory_mb(group)
        print(f"browser with an empty page: {own:.0f} MB, PSS {whole:.0f} MB")
        empty.close()
        for where in ("/", "/rails", "/devices", "/devices/spine1", "/path", "/history", "/anomalies"):
            after_an_update(server)
            page = chromium.open_url(HERE + where, width=1280, height=900)
            page.wait_for("document.getElementById('connection').textContent === 'live'")
            drawn = first_page(page)
            found = updates(page, server, count)
            own, renderer, whole = memory_mb(group)
            late = sorted(ms for ms, _ in found)
            print(
                f"{where}: painted after {drawn['painted']:.0f} ms, loaded after {drawn['load']:.0f} ms, {drawn['bytes'] / 1000:,.0f} kB; "
                f"an update (up to {max(values for _, values in found):,} values) after {late[len(late) // 2]:.0f} ms, at most {late[-1]:.0f} ms; "
                f"browser {own:.0f} MB, of it the page {renderer:.0f} MB; PSS {whole:.0f} MB",
                flush=True,
            )
            page.close()


if __name__ == "__main__":
    main()
