"""The HTTP server of ``railweave watch``: the console for browsers, ``/metrics`` for Prometheus, and JSON.

Nothing can be changed, except acknowledgements and silences with the token of ``--write-token`` (``console.writes``).

The number of connections and the time of a request are limited. If the server listens beyond loopback, readers need a
password (RFC 7617), which browsers and Prometheus can send, or a proxy that identifies them. In that case, put TLS in
front of the server.
"""

from __future__ import annotations

import re
from time import time
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import unquote, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from railweave.model.state.telemetry import METRICS
from railweave.operations.watch.console import device, writes
from railweave.operations.watch.console.anomaly_list import anomalies
from railweave.operations.watch.console.anomaly_page import anomaly_page
from railweave.operations.watch.console.communicators import communicators
from railweave.operations.watch.console.device import device_list
from railweave.operations.watch.console.frame import COMMUNICATORS, STATIC, STREAM_S, address, events, kind, page
from railweave.operations.watch.console.guard import Guard, Proxy, guarded
from railweave.operations.watch.console.history import chart_data, history, span_of
from railweave.operations.watch.console.state import Console
from railweave.operations.watch.console.topology import path, rails, topology
from railweave.operations.watch.console.view import Live, PageView, Values
from railweave.operations.watch.descriptors import MOST
from railweave.operations.watch.exposition import CONTENT_TYPE, exposed, families_of, intended, prometheus_text
from railweave.pages.shell import element, section, text

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Mapping

    from starlette.requests import Request

    from railweave.operations.watch.collector import WatchedDevice
    from railweave.operations.watch.watching import WatchedNetwork


HEADERS_S = 10.0
"""The seconds within which the request line and headers must arrive.

The time is counted from the start of the connection, or from the first byte of a later request.
"""
ANSWER_S = 120.0
"""The seconds within which the client must have received an answer."""
STREAMS = "/events"


class LimitedProtocol(H11Protocol):
    """A connection of a client to the console's HTTP server.

    ``most`` is the largest number of connections of the listener, and ``opened`` has its open connections, oldest
    first.
    """

    most: ClassVar[int] = MOST
    opened: ClassVar[dict[LimitedProtocol, None]] = {}
    _timer: asyncio.TimerHandle | None = None
    busy = False
    """True while a request is being answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection ``transport``. If the listener has too many, abort the oldest connection that waits for a request."""
        super().connection_made(transport)
        self.opened[self] = None
        if len(self.opened) > self.most:
            next(connection for connection in self.opened if not connection.busy).cut_off()
        if self in self.opened:
            self._within(HEADERS_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the list of open connections."""
        self.opened.pop(self, None)
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process received data, and apply the time limit of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Mark the answer as complete. The time limit of the next request starts with its first byte."""
        self.busy = False
        self._stop()
        super().on_response_complete()
        if self._answers():  # another request was waiting
            self._look()

    def cut_off(self) -> None:
        """Abort the connection immediately, and discard unsent data."""
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


def limited(most: int) -> type[LimitedProtocol]:
    """Return a subclass of ``LimitedProtocol`` for the connections of a listener that accepts at most ``most`` connections."""

    class ConsoleConnection(LimitedProtocol):
        opened: ClassVar[dict[LimitedProtocol, None]] = {}

    ConsoleConnection.most = most
    return ConsoleConnection


_KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
_STREAM = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
DEVICE = "/devices/"
ANOMALY = "/anomalies/"


def shown(console: Console, where: str, query: Mapping[str, str], *, markup: bool = True) -> PageView | None:
    """Return the page at the path ``where``, or None if there is no such page. ``query`` has the query parameters.

    If ``markup`` is False, only the values that are updated in the open page are built.
    """
    values = Values(markup=markup)
    if where == "/":
        return topology(console, values)
    if where == "/anomalies":
        return anomalies(console, values)
    if where.startswith(ANOMALY):
        number = where.removeprefix(ANOMALY)
        return anomaly_page(console, int(number), values) if re.fullmatch(r"[0-9]{1,9}", number) else None
    if where == COMMUNICATORS[0]:
        return communicators(console, values)
    if where in {"/devices", "/path", "/rails", "/history"}:
        made = {"/devices": device_list, "/path": path, "/rails": rails, "/history": history}
        return made[where](console, query, values)
    name = where.removeprefix(DEVICE)
    if not where.startswith(DEVICE):
        return None
    if name in console.expected and name in console.devices:
        return device.switch(console, name, values)
    server = next((server for server in console.network.servers if server.name == name), None)
    return None if server is None else device.server(console, server, values)


def routes(console: Console) -> list[Route]:
    """Return the routes of all pages, of the static files that they load, and of the event streams that update them."""

    async def get_page(request: Request) -> Response:
        where = request.url.path
        content = shown(console, unquote(where), request.query_params)
        if content is None:
            notice = section(
                "missing", "There is no such page", "", element("p", text(f"Nothing is at {where}."), class_="wrong")
            )
            return HTMLResponse(page(console, PageView("Not found", [notice], {}), ""), 404)
        return HTMLResponse(
            page(
                console,
                content,
                "/devices" if where.startswith(DEVICE) else "/anomalies" if where.startswith(ANOMALY) else where,
            )
        )

    async def get_static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC or request.url.path != address(name):
            return JSONResponse({"error": "there is no such file"}, 404)
        return Response(STATIC[name], media_type=kind(name), headers=_KEPT)

    streams: set[object] = set()

    async def get_events(request: Request) -> Response:
        if len(streams) >= console.most_streams:
            return JSONResponse({"error": "too many pages are open"}, 503, {"Retry-After": "30"})
        parts = urlsplit(request.query_params.get("page", "/"))
        query = QueryParams(parts.query)

        def live() -> Live | None:
            content = shown(console, unquote(parts.path), query, markup=False)
            return None if content is None else content.live

        async def stream() -> AsyncGenerator[bytes]:
            streams.add(token := object())
            try:
                async for event in events(console, live):
                    yield event
            finally:
                streams.discard(token)

        return StreamingResponse(stream(), media_type="text/event-stream", headers=_STREAM)

    def get_history(request: Request) -> Response:
        return JSONResponse(chart_data(console, span_of(request.query_params)))

    pages = (
        "/",
        "/anomalies",
        "/anomalies/{number}",
        "/devices",
        "/devices/{name:path}",
        "/path",
        "/rails",
        "/history",
        COMMUNICATORS[0],
    )
    return [
        *(Route(page_path, get_page) for page_path in pages),
        Route("/events", get_events),
        Route("/api/history", get_history),
        Route("/static/{digest}/{name:path}", get_static),
    ]


MOST_SAMPLES = 200_000
"""The largest number of samples in one answer."""
MOST_EVENTS = 5000


def app(
    watching: WatchedNetwork,
    password: str | None = None,
    *,
    proxy: Proxy | None = None,
    runs: str | None = None,
    most: int = MOST,
    token: str | None = None,
) -> Any:  # noqa: ANN401 - an ASGI application
    """Return the ASGI application that serves the watched network ``watching``.

    - ``password``: the password that readers need, with any user name.
    - ``proxy``: the proxy that identifies readers, in place of a password.
    - ``runs``: a store of benchmark runs, which the console shows.
    - ``most``: the largest number of connections of the listener.
    - ``token``: the token that writers need; None if nothing can be changed.
    """
    roles = {name: watched.role for name, watched in watching.collector.devices.items()}
    design = list(intended(watching.validator.expected, roles))  # it does not change while a network is watched

    def metrics(_: Request) -> Response:
        return PlainTextResponse(prometheus_text(families_of(watching, design)), media_type=CONTENT_TYPE)

    def metrics_of(request: Request) -> Response:
        device = watching.collector.devices.get(request.path_params["device"])
        if device is None:
            return _wrong(404, "there is no such device")
        return PlainTextResponse(prometheus_text(exposed([device])), media_type=CONTENT_TYPE)

    async def devices(_: Request) -> Response:
        named_devices = watching.collector.devices.items()
        return JSONResponse(
            {name: _device(watched, compared=name in watching.compared) for name, watched in named_devices}
        )

    async def network(_: Request) -> Response:
        return JSONResponse(watching.standing().to_json())

    async def subjects(_: Request) -> Response:
        return JSONResponse(watching.validator.seen.to_json())

    async def rates(_: Request) -> Response:
        if watching.inspector is None:
            return _wrong(404, "NCCL Inspector's records are not read: start with --inspector FOLDER")
        return JSONResponse([row.to_json() for row in watching.inspector.rows])

    async def events(request: Request) -> Response:
        if watching.syslog is None:
            return _wrong(404, "syslog is not received: start with --syslog ADDRESS:PORT")
        recent = watching.syslog.events(request.query_params.get("device", ""), request.query_params.get("kind"))
        return JSONResponse([event.to_json() for event in recent[:MOST_EVENTS]])

    def samples(request: Request) -> Response:
        return _samples(watching, request)

    guard = Guard(password, proxy, token)
    made = Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/metrics/{device}", metrics_of),
            Route("/api/network", network),
            Route("/api/devices", devices),
            *_of_anomalies(watching),
            *writes.routes(watching, guard),
            Route("/api/subjects", subjects),
            Route("/api/communicators", rates),
            Route("/api/events", events),
            Route("/api/samples", samples),
            *routes(Console(watching, runs, most_streams=max(1, most // 2), writable=token is not None)),
        ]
    )
    return guarded(made, guard)


def _of_anomalies(watching: WatchedNetwork) -> list[Route]:
    """Return the routes of anomalies, their silences and their changes, as JSON."""

    async def anomalies(request: Request) -> Response:
        closed = request.query_params.get("closed") == "1"
        return JSONResponse([anomaly.to_json() for anomaly in watching.anomalies.listed(closed=closed)])

    async def anomaly(request: Request) -> Response:
        known = watching.anomalies.with_number(request.path_params["number"])
        return _wrong(404, "there is no such anomaly") if known is None else JSONResponse(known.to_json())

    async def silences(_: Request) -> Response:
        return JSONResponse([silence.to_json() for silence in watching.anomalies.silences.values()])

    def changes(request: Request) -> Response:
        span = _span(request)
        if watching.store is None:
            return _wrong(404, "changes are not kept: start with --store")
        if span is None:
            return _wrong(400, "since and until are seconds since 1970")
        return JSONResponse([event.to_json() for event in watching.store.events(*span)])

    return [
        Route("/api/anomalies", anomalies),
        Route("/api/anomalies/{number:int}", anomaly),
        Route("/api/silences", silences, methods=["GET"]),
        Route("/api/changes", changes),
    ]


def _span(request: Request) -> tuple[float, float] | None:
    """Return (since, until) of a request, by default the last 15 minutes; None if they are no numbers."""
    asked = request.query_params
    try:
        until = float(asked.get("until", time()))
        return float(asked.get("since", until - 900)), until
    except ValueError:
        return None


def _device(watched: WatchedDevice, *, compared: bool) -> dict[str, object]:
    reached = watched.reached
    return {
        "system": watched.system,
        "role": watched.role,
        "up": reached.up,
        "state": watched.state,
        "compared": compared,
        "since": reached.since,
        "age_seconds": reached.age_s,
        "why": reached.why,
        "streams": watched.streams,
        "refused": reached.refused,
        "updates": watched.stream.updates,
    }


def _samples(watching: WatchedNetwork, request: Request) -> Response:
    asked = request.query_params
    device = asked.get("device", "")
    if watching.store is None:
        return _wrong(404, "samples are not kept: start with --store")
    if device not in watching.collector.devices:
        return _wrong(404, "there is no such device: give ?device=NAME")
    metrics = asked.getlist("metric")
    if unknown := [metric for metric in metrics if metric not in METRICS]:
        return _wrong(400, f"there is no metric {unknown[0]}; there are {', '.join(METRICS)}")
    span = _span(request)
    if span is None:
        return _wrong(400, "since and until are seconds since 1970")
    since, until = span
    rows = watching.store.samples(device, since=since, until=until, metrics=metrics, port=asked.get("port"))
    if len(rows) > MOST_SAMPLES:
        return _wrong(400, f"these are {len(rows):,} samples: ask for a metric, a port or a shorter time")
    table = [[row.time, row.series.metric, row.series.port, row.series.index, row.number] for row in rows]
    return JSONResponse({"device": device, "columns": ["time", "metric", "port", "index", "number"], "samples": table})


def _wrong(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)
