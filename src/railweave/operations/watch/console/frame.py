"""The frame of every page of the console: navigation, state of the network and the collector; and server-sent events."""

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
_KINDS = {"css": "text/css", "js": "text/javascript"}
_NAMES = ("console.css", "live.js", "topology.js", "charts.js", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css")


def _static() -> dict[str, bytes]:
    folder = files("railweave.operations.watch.console").joinpath("static")
    return {"page.css": asset("page.css").encode(), **{name: folder.joinpath(name).read_bytes() for name in _NAMES}}


STATIC = _static()
"""Files that pages load, by their names below ``/static/``: the style of all pages of the package, and the console's own."""
_DIGEST = sha256(b"".join(STATIC.values())).hexdigest()[:12]


def address(name: str) -> str:
    """Where a page finds a file of ``STATIC``: another version of it is elsewhere, so that browsers may keep it."""
    return f"/static/{_DIGEST}/{name}"


def kind(name: str) -> str:
    """The media type of a file of ``STATIC``."""
    return _KINDS[name.rpartition(".")[2]]


def around(console: Console) -> tuple[str, Live]:
    """Return the text below the heading of every page, and its live values: anomalies, devices that are up, the age of the numbers."""
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
        told = f"not known: {len(stands.not_known):,} of {counted(stands.devices, 'device')}"
        parts.append(element("a", text(told), href="/devices", class_="pill not-known"))
    states = [device.state for device in console.devices.values()]
    told = f"{states.count('up')} of {counted(len(states), 'device')} up"
    parts.append(element("a", text(told), href="/devices", class_="pill error" if "down" in states else "pill"))
    markup = values.html("around", " ".join(parts), "span")
    when = values.word("around-at", clock(console.at), "time")
    state = element("span", "connecting", id="connection", class_="pill", role="status")
    return element(
        "p", markup, " ", element("span", "numbers of ", when, class_="pill"), " ", state, class_="around"
    ), values.live


def page(console: Console, shown: PageView, here: str) -> str:
    """The whole page as HTML. ``here`` is the path of the page of the navigation that it belongs to."""
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
        links=PAGES,
        here=here,
        sheets=[address(sheet) for sheet in sheets],
        scripts=[f'<script src="{address(script)}" defer></script>' for script in scripts],
    )


STREAM_S = 900.0
"""A stream of events lasts so long; the page then asks for another."""
QUIET_S = 15.0
"""After so long without a change a comment is sent, so that a connection that is gone is found out."""


async def events(console: Console, live: Callable[[], Live | None]) -> AsyncGenerator[bytes]:
    """The stream of one page: all its values at first, then those that are new, until the watch ends, or ``STREAM_S``. A value that is gone is sent as an empty text.

    ``live`` gives the page's values as they are now, None where the page is no more.
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
    """One event as it is sent: ``at`` is when its numbers were taken, ``sent`` when it left, in seconds since 1970."""
    data = json.dumps({"at": at, "sent": time(), "values": values}, separators=(",", ":"), ensure_ascii=True)
    return f"event: values\ndata: {data}\n\n".encode()
