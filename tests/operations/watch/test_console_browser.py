"""The console in Chromium: pages keep themselves up to date, answer to the keyboard, and ask nothing of another machine."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn

from railweave.model.findings import Finding
from railweave.operations.watch.app import app
from railweave.operations.watch.inspector.instruments import JobInstruments
from railweave.operations.watch.watching import WatchedNetwork
from tests.chromium import Chromium, Page, browser, program
from tests.conftest import ROOT, example
from tests.operations.watch.traffic import Traffic, filled, network_watched

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(program() is None, reason="there is no Chromium on the PATH (Debian: apt install chromium)"),
]
LEAF = "stripe1-leaf2"


class Served:
    """A console that is served by a thread of its own; ``step`` gives it new numbers."""

    def __init__(self, folder: Path, *, seconds: float = 20) -> None:
        self.watching: WatchedNetwork = network_watched(example("h100-rlb"), folder / "samples.sqlite", every_s=2)
        jobs = folder / "jobs"
        jobs.mkdir()
        for file in (ROOT / "tests/operations/bench/instruments/job").glob("*.jsonl"):
            (jobs / file.name).write_bytes(file.read_bytes())
        self.watching.inspector = JobInstruments(jobs, self.watching.validator.network, every_s=2)
        self.watching.inspector.look(time.time())
        application = app(self.watching)
        self._loop = asyncio.new_event_loop()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(application, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self.do(filled(self.watching, seconds))
        self.traffic = Traffic(self.watching)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._server.serve(sockets=[self._socket]))

    def do(self, what: object) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(30)  # type: ignore[arg-type]

    def step(self) -> None:
        async def one() -> None:
            self.traffic.feed(time.time())
            await self.watching.collector.step(time.time())

        self.do(one())

    def wrong(self, *findings: Finding) -> None:
        """Make anomalies, or take them back, and have the console hear of it as it does in earnest."""

        async def one() -> None:
            self.watching.compared = frozenset(self.watching.collector.devices)
            changes = self.watching.anomalies.see(findings, time.time() + (0 if findings else 60))
            for call in self.watching.heard:
                call(changes)

        self.do(one())

    def hang_up(self) -> None:
        """End every connection, as the end of a process does."""

        async def all_of_them() -> None:
            for one in list(self._server.server_state.connections):
                one.transport.abort()

        self.do(all_of_them())

    def end(self) -> None:
        self.hang_up()
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()
        self._loop.close()
        assert self.watching.store is not None
        self.watching.store.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("console"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with browser() as running:
        yield running


@pytest.fixture
def visit(chromium: Chromium, served: Served) -> Iterator[object]:
    pages: list[Page] = []

    def opened(where: str, *, width: int = 1280, dark: bool = False) -> Page:
        page = chromium.open_url(served.address + where, width=width, height=900, dark=dark)
        pages.append(page)
        page.wait_for("document.getElementById('connection').textContent === 'live'")
        return page

    yield opened
    for page in pages:
        assert page.errors == []
        assert {urlsplit(one).netloc for one in page.requests if not one.startswith("data:")} == {
            urlsplit(served.address).netloc
        }
        page.close()


PAGES = (
    "/",
    "/anomalies",
    "/devices",
    f"/devices/{LEAF}",
    "/devices/H100-01",
    "/path",
    "/rails",
    "/history",
    "/communicators",
)


@pytest.mark.parametrize("width", [1280, 800])
@pytest.mark.parametrize("where", PAGES)
def test_no_page_is_wider_than_its_window(visit, where: str, width: int) -> None:
    page = visit(where, width=width, dark=width == 800)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_what_changes_is_drawn(visit, served: Served) -> None:
    page = visit("/")
    place = next(n for n, one in enumerate(served.watching.validator.network.cables) if one.kind == "fabric")
    wide = f"parseFloat(getComputedStyle(document.querySelector('[data-link=\"{place}\"] .line')).strokeWidth)"
    for _ in range(2):
        served.step()  # rates of now, whichever test of this file ran before, and when
    page.wait_for(f"{wide} > 7")  # the hot link
    assert page.evaluate("document.querySelectorAll('.device.error').length") == 0
    port = served.watching.validator.expected[LEAF].ports[-1]
    served.wrong(Finding("port-down", "error", f"{LEAF} {port.name}", "it is down"))
    page.wait_for(f"document.querySelector('[data-device=\"{LEAF}\"]').classList.contains('error')")
    link = next(n for n, one in enumerate(served.watching.validator.network.cables) if one.name == port.link)
    assert page.evaluate(f"document.querySelector('[data-link=\"{link}\"]').classList.contains('error')")
    assert page.evaluate("document.querySelector('.around').textContent").startswith("1 error")
    served.wrong()
    page.wait_for("document.querySelectorAll('.device.error, .cable.error').length === 0")
    page.wait_for("document.querySelector('.around').textContent.startsWith('as designed')")


def test_numbers_move_and_an_open_list_stays_open(visit, served: Served) -> None:
    port = served.watching.validator.expected[LEAF].ports[-1].name
    cause = Finding("port-down", "error", f"{LEAF} {port}", "it is down")
    after = Finding("bgp-down", "info", f"{LEAF} {port}", "no session", f"it follows from port-down at {LEAF} {port}")
    served.wrong(cause, after)
    page = visit(f"/devices/{LEAF}")
    page.wait_for("document.querySelector('article details') !== null")
    page.click("article summary")
    assert page.evaluate("document.querySelector('article details').open")
    page.evaluate("document.querySelector('article h3 a').focus()")
    before = page.evaluate("document.querySelector('#ports tbody').innerText")
    served.wrong(cause, after, Finding("server-pauses", "warning", f"{LEAF} {port}", "it pauses"))
    for _ in range(3):
        served.step()
    page.wait_for("document.querySelectorAll('#content article').length === 2")
    page.wait_for(f"document.querySelector('#ports tbody').innerText !== {json.dumps(before)}")
    assert page.evaluate("document.querySelector('article details').open"), "what was opened stays so"
    assert page.evaluate("document.activeElement.matches('article h3 a')"), "and what had the focus keeps it"
    served.wrong()


def press(page: Page, key: str, code: int) -> None:
    for kind in ("keyDown", "keyUp"):
        page.send(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            code=key,
            windowsVirtualKeyCode=code,
            text="\r" if key == "Enter" else "",
        )


def test_everything_is_reached_by_the_keyboard(visit) -> None:
    page = visit("/")
    press(page, "Tab", 9)
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    seen: list[str] = []
    for _ in range(60):
        press(page, "Tab", 9)
        seen.append(page.evaluate("document.activeElement.dataset.device || document.activeElement.textContent"))
        if seen[-1] == LEAF:
            break
    assert {"Topology", "History"} <= {*seen}
    assert seen[-1] == LEAF
    press(page, "Enter", 13)
    page.wait_for(f"location.pathname === '/devices/{LEAF}' && document.querySelector('h1')?.textContent === '{LEAF}'")


def test_charts_are_drawn(visit, served: Served) -> None:
    page = visit("/history", dark=True)
    page.wait_for("document.querySelectorAll('.chart canvas').length === 3")
    labels = page.evaluate("[...document.querySelectorAll('#chart-carried .u-label')].map((one) => one.textContent)")
    assert labels[1:] == ["blue", "green", "orange", "red"]
    port = visit(f"/devices/{LEAF}")
    port.wait_for("document.querySelector('#chart-device canvas') !== null")
    ink = "(() => { const c = document.querySelector('#chart-device canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((one) => one !== 0); })()"
    port.wait_for(ink)


def test_a_form_is_answered_without_a_script(visit) -> None:
    page = visit("/path")
    page.type("[name=dst]", "H100-03:gpu0_eth")
    page.click("form button")
    page.wait_for(
        "location.search.includes('dst=H100-03') && document.querySelectorAll('section[id^=qp]').length === 4"
    )


def test_a_server_that_is_gone_is_said(chromium: Chromium, tmp_path: Path) -> None:
    own = Served(tmp_path)
    page = chromium.open_url(f"{own.address}/devices", width=1280, height=900)
    page.wait_for("document.getElementById('connection').textContent === 'live'")
    own.end()
    page.wait_for("document.getElementById('connection').textContent.startsWith('not connected')")
    page.close()
