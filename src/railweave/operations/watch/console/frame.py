"""The common frame of the console's pages: navigation and the state of the network. Also the server-sent events of a page."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from importlib.resources import files
from time import monotonic, time
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.operations.watch.console.view import Live, PageView, Values, changed, clock
from railweave.pages.shell import asset, element, html_page, text
from railweave.reading import packaged_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from railweave.operations.watch.console.state import Console


PAGES = (
    ("/", "Topology"),
    ("/anomalies", "Anomalies"),
    ("/devices", "Devices"),
    ("/path", "Path"),
    ("/rails", "Rails"),
    ("/history", "History"),
)
COMMUNICATORS = ("/communicators", "Communicators")
"""The page of the communicators of running jobs, if their records are read."""
_KINDS = {"css": "text/css", "js": "text/javascript"}
_NAMES = ("console.css", "live.js", "topology.js", "charts.js", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css")


def _static() -> dict[str, bytes]:
    folder = files("railweave.operations.watch.console").joinpath("static")
    return {"page.css": asset("page.css").encode(), **{name: packaged_bytes(folder.joinpath(name)) for name in _NAMES}}


STATIC = _static()
"""The files that pages load, by name below ``/static/``: the package's common style, and the console's style and scripts."""
_DIGEST = sha256(b"".join(STATIC.values())).hexdigest()[:12]


def address(name: str) -> str:
    """Return the path of a file of ``STATIC``. The path contains a digest and changes with the content, so browsers may cache the file."""
    return f"/static/{_DIGEST}/{name}"


def kind(name: str) -> str:
    """Return the media type, such as ``text/css``, of a file of ``STATIC``."""
    return _KINDS[name.rpartition(".")[2]]


def around(console: Console) -> tuple[str, Live]:
    """Return (markup below the heading of each page, the values in this markup that change while the page is open, by key).

    The markup shows the anomalies, the number of devices that are up, and the age of the numbers.
    """
    values = Values()
    stands = console.watching.standing()
    parts = [
        element("a", text(counted(number, severity)), href="/anomalies", class_=f"pill {severity}")
        for severity, number in (("error", stands.errors), ("warning", stands.warnings))
        if number
    ]
    if stands.state == "as designed":
        parts.append(element("span", "as designed", class_="pill good"))
    elif stands.not_known:
        label = f"not known: {len(stands.not_known):,} of {counted(stands.devices, 'device')}"
        parts.append(element("a", text(label), href="/devices", class_="pill not-known"))
    states = [device.state for device in console.devices.values()]
    label = f"{states.count('up')} of {counted(len(states), 'device')} up"
    parts.append(element("a", text(label), href="/devices", class_="pill error" if "down" in states else "pill"))
    markup = values.html("around", " ".join(parts), "span")
    when = values.word("around-at", clock(console.at), "time")
    state = element("span", "connecting", id="connection", class_="pill", role="status")
    return element(
        "p", markup, " ", element("span", "numbers of ", when, class_="pill"), " ", state, class_="around"
    ), values.live


def page(console: Console, shown: PageView, here: str) -> str:
    """Return the page ``shown`` as complete HTML. ``here`` is the path of the page's entry in the navigation."""
    status, _ = around(console)
    sheets: Sequence[str] = ["page.css", "uplot/uPlot.min.css", "console.css"]
    scripts = ["live.js", *shown.scripts]
    return html_page(
        f"{shown.title}: {console.network.name}",
        shown.styles,
        header=[
            element("a", "Skip to the content", href="#content", class_="skip"),
            element("h1", text(shown.heading or console.network.name)),
            status,
        ],
        main=[element("div", *shown.main, id="content", tabindex="-1")],
        links=PAGES if console.watching.inspector is None else (*PAGES, COMMUNICATORS),
        here=here,
        sheets=[address(sheet) for sheet in sheets],
        scripts=[f'<script src="{address(script)}" defer></script>' for script in scripts],
    )


STREAM_S = 900.0
"""Seconds after which a stream of events ends. The page then opens a new stream."""
QUIET_S = 15.0
"""Seconds without a change after which a comment is sent, to detect a lost connection."""


async def events(console: Console, live: Callable[[], Live | None]) -> AsyncGenerator[bytes]:
    """Yield the event stream of one page: first all values that the open page updates, then those that have changed.

    The stream ends with the watch, or after ``STREAM_S``. A value that no longer exists is sent as an empty text. ``live`` is a function
    that returns the page's current values, or None if the page no longer exists.
    """
    sent: Live = {}
    version = -1
    yield b"retry: 2000\n\n"
    end = monotonic() + STREAM_S
    while monotonic() < end:
        try:
            await asyncio.wait_for(console.next(version), QUIET_S)
        except TimeoutError:
            yield b": still here\n\n"
            continue
        if console.closed:
            return
        version = console.version
        page_values = live()
        if page_values is None:
            yield b"event: gone\ndata: {}\n\n"
            return
        now = page_values | around(console)[1]
        values = changed(sent, now) | dict.fromkeys(sent.keys() - now.keys(), "")
        sent = now
        if values:
            yield event(console.at, values)


def event(at: float, values: Live) -> bytes:
    """Return one event as bytes to send.

    The event contains ``at``, the time of the measurements, and ``sent``, the present time, both in seconds since 1970.
    """
    data = json.dumps({"at": at, "sent": time(), "values": values}, separators=(",", ":"), ensure_ascii=True)
    return f"event: values\ndata: {data}\n\n".encode()
