"""Server-sent events: what has changed of the values on a page, whenever something has."""

from __future__ import annotations

import asyncio
import json
from time import monotonic, time
from typing import TYPE_CHECKING

from railweave.operations.watch.console.frame import around
from railweave.operations.watch.console.view import changed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from railweave.operations.watch.console.state import Console
    from railweave.operations.watch.console.view import Live

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
        own = live()
        if own is None:
            yield b"event: gone\ndata: {}\n\n"
            return
        now = own | around(console)[1]
        values = changed(sent, now) | dict.fromkeys(sent.keys() - now.keys(), "")
        sent = now
        if values:
            yield event(console.at, values)


def event(at: float, values: Live) -> bytes:
    """One event as it is sent: ``at`` is when its numbers were taken, ``sent`` when it left, in seconds since 1970."""
    data = json.dumps({"at": at, "sent": time(), "values": values}, separators=(",", ":"), ensure_ascii=True)
    return f"event: values\ndata: {data}\n\n".encode()
