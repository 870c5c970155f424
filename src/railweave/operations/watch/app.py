"""What is served by HTTP: the console for browsers, ``/metrics`` for Prometheus, and JSON. Nothing can be changed through it.

Beyond loopback a password is asked for (RFC 7617), which Prometheus and browsers can give, or a proxy says who asks; put TLS in front of it there.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from railweave.model.state.telemetry import METRICS
from railweave.operations.watch.console.guard import Guard, guarded
from railweave.operations.watch.console.routes import routes
from railweave.operations.watch.console.state import Console
from railweave.operations.watch.descriptors import MOST
from railweave.operations.watch.exposition import CONTENT_TYPE, exposed, received, whole
from railweave.operations.watch.intended import intended

if TYPE_CHECKING:
    from starlette.requests import Request

    from railweave.operations.watch.collector import Watched
    from railweave.operations.watch.console.guard import Proxy
    from railweave.operations.watch.watching import Watching

MOST_SAMPLES = 200_000
"""Of one answer."""
MOST_EVENTS = 5000


def app(
    watching: Watching,
    password: str | None = None,
    *,
    proxy: Proxy | None = None,
    runs: str | None = None,
    most: int = MOST,
) -> Any:  # noqa: ANN401 - an ASGI application
    """The application. ``password`` is what is asked for, with any user's name, ``proxy`` who asks in its place; ``runs`` is a store of benchmark runs.

    ``most`` is the number of connections that its listener may have.
    """
    roles = {name: one.role for name, one in watching.collector.devices.items()}
    design = intended(watching.validator.expected, roles)  # it does not change while a network is watched

    def metrics(_: Request) -> Response:
        text = exposed(watching.collector.devices.values(), watching.anomalies.counts()) + whole(watching.standing())
        text += "" if watching.syslog is None else received(watching.syslog)
        return PlainTextResponse(text + design, media_type=CONTENT_TYPE)

    def metrics_of(request: Request) -> Response:
        device = watching.collector.devices.get(request.path_params["device"])
        if device is None:
            return _wrong(404, "there is no such device")
        return PlainTextResponse(exposed([device]), media_type=CONTENT_TYPE)

    async def devices(_: Request) -> Response:
        found = watching.collector.devices.items()
        return JSONResponse({name: _device(one, compared=name in watching.compared) for name, one in found})

    async def network(_: Request) -> Response:
        return JSONResponse(watching.standing().to_json())

    async def anomalies(request: Request) -> Response:
        closed = request.query_params.get("closed") == "1"
        return JSONResponse([one.to_json() for one in watching.anomalies.listed(closed=closed)])

    async def events(request: Request) -> Response:
        if watching.syslog is None:
            return _wrong(404, "syslog is not received: start with --syslog ADDRESS:PORT")
        found = watching.syslog.events(request.query_params.get("device", ""), request.query_params.get("kind"))
        return JSONResponse([one.to_json() for one in found[:MOST_EVENTS]])

    def samples(request: Request) -> Response:
        return _samples(watching, request)

    made = Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/metrics/{device}", metrics_of),
            Route("/api/network", network),
            Route("/api/devices", devices),
            Route("/api/anomalies", anomalies),
            Route("/api/events", events),
            Route("/api/samples", samples),
            *routes(Console(watching, runs, most_streams=max(1, most // 2))),
        ]
    )
    return guarded(made, Guard(password, proxy))


def _device(one: Watched, *, compared: bool) -> dict[str, object]:
    reached = one.reached
    return {
        "system": one.system,
        "role": one.role,
        "up": reached.up,
        "state": one.state,
        "compared": compared,
        "since": reached.since,
        "age_seconds": reached.age_s,
        "why": reached.why,
        "streams": one.streams,
        "refused": reached.refused,
        "updates": one.stream.updates,
    }


def _samples(watching: Watching, request: Request) -> Response:
    asked = request.query_params
    device = asked.get("device", "")
    if watching.store is None:
        return _wrong(404, "samples are not kept: start with --store")
    if device not in watching.collector.devices:
        return _wrong(404, "there is no such device: give ?device=NAME")
    metrics = asked.getlist("metric")
    if unknown := [one for one in metrics if one not in METRICS]:
        return _wrong(400, f"there is no metric {unknown[0]}; there are {', '.join(METRICS)}")
    try:
        until = float(asked.get("until", time()))
        since = float(asked.get("since", until - 900))
    except ValueError:
        return _wrong(400, "since and until are seconds since 1970")
    rows = watching.store.samples(device, since=since, until=until, metrics=metrics, port=asked.get("port"))
    if len(rows) > MOST_SAMPLES:
        return _wrong(400, f"these are {len(rows):,} samples: ask for a metric, a port or a shorter time")
    table = [[one.time, one.series.metric, one.series.port, one.series.index, one.number] for one in rows]
    return JSONResponse({"device": device, "columns": ["time", "metric", "port", "index", "number"], "samples": table})


def _wrong(status: int, what: str) -> Response:
    return JSONResponse({"error": what}, status_code=status)
