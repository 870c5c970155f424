"""Headless Chromium without a library: the DevTools protocol over its own pipe, as far as pages of ours need it.

with browser() as chromium:
    page = chromium.open(Path("report.html"), width=1280, height=800, dark=True)
    page.evaluate("document.title")
    page.click("#zoom")
    page.screenshot(Path("page.png"))
    assert page.errors == []
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60.0
"""Longest wait for an answer: a machine that does much else at the same time is slow, not broken."""


def program() -> str | None:
    """The Chromium of this machine; None where there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class CommandError(RuntimeError):
    """The browser refused a command, or the page it was meant for has gone."""


class Chromium:
    """A running browser: commands go in, answers and events come out, each ended by a zero byte. ``group`` is that of its processes."""

    def __init__(self, into: int, out: int, group: int = 0) -> None:
        self._into, self._out, self.group = into, out, group
        self._ids = itertools.count(1)
        self._read = b""
        self.pages: dict[str, Page] = {}

    def send(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Do a command and give its result; events that come before it go to their pages."""
        number = next(self._ids)
        message: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._into, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise CommandError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._read:
            if not select.select([self._out], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium did not answer within {SECONDS:g} s")
            data = os.read(self._out, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended")
            self._read += data
        raw, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        page = self.pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.heard(message["method"], message["params"])
        return message

    def open(self, file: Path, *, width: int, height: int, dark: bool = False) -> Page:
        """A new tab with a file in a window of a size; returns once it is loaded and its scripts have run."""
        return self.open_url(file.resolve().as_uri(), width=width, height=height, dark=dark)

    def open_url(self, url: str, *, width: int, height: int, dark: bool = False) -> Page:
        """The same with an address."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.send("Emulation.setEmulatedMedia", features=[scheme])
        page.send("Page.navigate", url=url)
        while not page.loaded:
            self._next()
        return page


class Page:
    """A tab. ``errors`` are uncaught exceptions and everything its console was told; ``requests`` what it asked for."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session
        self.loaded = False
        self.errors: list[str] = []
        self.requests: list[str] = []

    def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """A command to this tab."""
        return self._browser.send(method, self._session, **parameters)

    def heard(self, method: str, event: dict[str, Any]) -> None:
        """Take note of an event."""
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            detail = event["exceptionDetails"]
            self.errors.append(str(detail.get("exception", {}).get("description", detail["text"])))
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(" ".join(str(one.get("value", one.get("description"))) for one in event["args"]))
        elif method == "Log.entryAdded":
            self.errors.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, a promise's once it is kept."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", expression))
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Until an expression is true, on this page or on the one that a link or form on it leads to."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            # A page that is left while it is asked answers no more: the next one is asked again.
            with contextlib.suppress(CommandError):
                if self.evaluate(expression):
                    return
                self.evaluate("new Promise(requestAnimationFrame)")
        raise TimeoutError(f"never true: {expression}")

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of the first element that a selector finds, brought into view."""
        code = json.dumps(selector)
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({code}); if (!e) return null;"
            "e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        if box is None:
            raise LookupError(f"nothing is {selector}")
        return box[0], box[1]

    def move(self, selector: str) -> None:
        """Point at an element."""
        x, y = self.place(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click an element where it is: whatever lies over it gets the click, as it would a reader's."""
        x, y = self.place(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector: str, words: str) -> None:
        """Click a field, empty it and type into it."""
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.send("Input.insertText", text=words)

    def close(self) -> None:
        """Close the tab, and with it what it keeps open: all tabs share six connections to a server."""
        self.send("Page.close")

    def screenshot(self, file: Path, *, whole: bool = False, clip: str | None = None) -> None:
        """A PNG of the window, of the ``whole`` page, or of the element that ``clip`` selects."""
        options: dict[str, object] = {}
        if clip:
            self.place(clip)
            area = self.evaluate(
                f"(() => {{ const b = document.querySelector({json.dumps(clip)}).getBoundingClientRect();"
                "return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}; })()"
            )
            options = {"clip": {**area, "scale": 1}, "captureBeyondViewport": True}
        elif whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            options = {"clip": {**size, "scale": 1}, "captureBeyondViewport": True}
        file.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png", **options)["data"]))


@contextmanager
def browser() -> Iterator[Chromium]:
    """A headless Chromium with an empty profile, gone at the end. Raises ``FileNotFoundError`` where there is none."""
    found = program()
    if found is None:
        raise FileNotFoundError(f"none of {', '.join(PROGRAMS)} is on the PATH")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()

        def pipes() -> None:
            # Chromium reads commands from descriptor 3 and answers on 4; what stands there now may be either pipe.
            read, write = os.dup(theirs_in), os.dup(theirs_out)
            high_read, high_write = os.dup2(read, 60), os.dup2(write, 61)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        process = subprocess.Popen(
            [
                found,
                "--headless=new",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "--no-sandbox",  # it opens our own files only, and root, whom CI may run as, has no sandbox
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--hide-scrollbars",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=pipes,  # noqa: PLW1509 - descriptors only, and no other thread
            close_fds=False,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Chromium(ours_out, ours_in, process.pid)
        finally:
            os.close(ours_out)
            os.close(ours_in)
            try:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
