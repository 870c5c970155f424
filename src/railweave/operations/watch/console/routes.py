"""Which address is which page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from railweave.operations.watch.console import device
from railweave.operations.watch.console.anomaly_list import anomalies
from railweave.operations.watch.console.device_list import device_list
from railweave.operations.watch.console.events import events
from railweave.operations.watch.console.frame import STATIC, address, kind, page
from railweave.operations.watch.console.history import chart_data, history, span_of
from railweave.operations.watch.console.path import path
from railweave.operations.watch.console.rails import rails
from railweave.operations.watch.console.topology import topology
from railweave.operations.watch.console.view import Shown, Values
from railweave.pages.markup import element, text
from railweave.pages.shell import section

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from starlette.requests import Request

    from railweave.operations.watch.console.state import Console
    from railweave.operations.watch.console.view import Live

_KEPT = {"Cache-Control": "private, max-age=31536000, immutable"}
_STREAM = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
DEVICE = "/devices/"


def shown(console: Console, where: str, query: Mapping[str, str], *, markup: bool = True) -> Shown | None:
    """The page at a path; None where there is none. Without ``markup`` only its live values are to be used."""
    values = Values(markup=markup)
    if where == "/":
        return topology(console, values)
    if where == "/anomalies":
        return anomalies(console, values)
    if where in {"/devices", "/path", "/rails", "/history"}:
        made = {"/devices": device_list, "/path": path, "/rails": rails, "/history": history}
        return made[where](console, query, values)
    name = where.removeprefix(DEVICE)
    if not where.startswith(DEVICE):
        return None
    if name in console.expected and name in console.devices:
        return device.switch(console, name, values)
    own = next((one for one in console.network.servers if one.name == name), None)
    return None if own is None else device.server(console, own, values)


def routes(console: Console) -> list[Route]:
    """The routes of all pages, what they load, and what keeps them up to date."""

    async def get_page(request: Request) -> Response:
        where = request.url.path
        found = shown(console, unquote(where), request.query_params)
        if found is None:
            said = section(
                "missing", "There is no such page", "", element("p", text(f"Nothing is at {where}."), class_="wrong")
            )
            return HTMLResponse(page(console, Shown("Not found", [said], {}), ""), 404)
        return HTMLResponse(page(console, found, "/devices" if where.startswith(DEVICE) else where))

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
            found = shown(console, unquote(parts.path), query, markup=False)
            return None if found is None else found.live

        async def stream() -> AsyncGenerator[bytes]:
            streams.add(own := object())
            try:
                async for one in events(console, live):
                    yield one
            finally:
                streams.discard(own)

        return StreamingResponse(stream(), media_type="text/event-stream", headers=_STREAM)

    def get_history(request: Request) -> Response:
        return JSONResponse(chart_data(console, span_of(request.query_params)))

    pages = ("/", "/anomalies", "/devices", "/devices/{name:path}", "/path", "/rails", "/history")
    return [
        *(Route(one, get_page) for one in pages),
        Route("/events", get_events),
        Route("/api/history", get_history),
        Route("/static/{digest}/{name:path}", get_static),
    ]
