"""Limits of what listens: clients take no descriptor that collection needs, and none is waited for without end.

A client that sends no whole request within ``HEADERS_S`` is cut off, and at once where all connections are taken: those that wait
longest go first, so that somebody who asks gets in while others only hold connections open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from railweave.operations.watch.console.events import STREAM_S
from railweave.operations.watch.descriptors import MOST

if TYPE_CHECKING:
    import asyncio

    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

HEADERS_S = 10.0
"""For the first line and the headers of a request, from the connection's first moment or the request's first byte on."""
ANSWER_S = 120.0
"""For an answer to be taken."""
STREAMS = "/events"


class Limited(H11Protocol):
    """A connection of the console. ``most`` and ``opened``, oldest first, are those of its listener (``limited``)."""

    most: ClassVar[int] = MOST
    opened: ClassVar[dict[Limited, None]] = {}
    _timer: asyncio.TimerHandle | None = None
    busy = False
    """True while a request is being answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, in the place of the one that has waited longest where there are too many."""
        super().connection_made(transport)
        self.opened[self] = None
        if len(self.opened) > self.most:
            next(one for one in self.opened if not one.busy).cut_off()
        if self in self.opened:
            self._within(HEADERS_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.opened.pop(self, None)
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, within the time that a request may take."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """End an answer. The next request has its own time, from its first byte on."""
        self.busy = False
        self._stop()
        super().on_response_complete()
        if self._answers():  # another request was waiting
            self._look()

    def cut_off(self) -> None:
        """End the connection now, whatever was to be sent."""
        self.opened.pop(self, None)
        self._stop()
        self.transport.abort()

    def _look(self) -> None:
        busy = self._answers()
        if busy and not self.busy:
            self._stop()
            self._within(STREAM_S + ANSWER_S if self.scope["path"] == STREAMS else ANSWER_S)
        elif not busy and self._timer is None and not self.transport.is_closing():
            self._within(HEADERS_S)
        self.busy = busy

    def _answers(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _within(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self.cut_off)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def limited(most: int) -> type[Limited]:
    """Connections of a listener that has at most so many."""

    class Own(Limited):
        opened: ClassVar[dict[Limited, None]] = {}

    Own.most = most
    return Own
