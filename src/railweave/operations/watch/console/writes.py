"""Changes that readers of the console may make with the token of ``--write-token``: acknowledgements and silences of anomalies.

A request needs the token, and must come from the console's own pages or from no page at all: a foreign page cannot send
it through a reader's browser (CSRF). Everything is written with the name of the person and the reason.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from dataclasses import replace
from time import time
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl

from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from railweave.errors import InputError, OutputError
from railweave.operations.watch.console.guard import by_proxy
from railweave.operations.watch.silences import LONGEST_TEXT, TOKEN, Note, Silence, devices_of, seconds_of
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from railweave.json_values import JsonObject
    from railweave.operations.watch.anomalies import Anomaly
    from railweave.operations.watch.console.guard import Guard
    from railweave.operations.watch.watching import WatchedNetwork

MOST_BODY = 16 << 10
"""The largest body of a request, in bytes."""
WRONG_S = 1.0
"""The seconds that an answer to a wrong token takes, so that tokens cannot be guessed."""


class RefusedError(Exception):
    """The error of a request that is refused. ``status`` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message


async def _fields(request: Request, token: str) -> dict[str, str]:
    """Return the fields of a request, without the token. Raises ``RefusedError`` if the token or the form is wrong."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise RefusedError(413, f"the body is larger than {MOST_BODY} bytes")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    try:
        if kind == "application/json":
            given: Any = parse_json(body or b"{}", 1000)
            fields = {str(key): str(value) for key, value in cast("dict[str, Any]", given).items()}
        elif kind == "application/x-www-form-urlencoded":
            fields = dict(parse_qsl(body.decode("utf-8"), max_num_fields=20))
        else:
            raise RefusedError(415, "send JSON, or a form (application/x-www-form-urlencoded)")
    except (ValueError, AttributeError):
        raise RefusedError(400, "the body cannot be read") from None
    supplied = request.headers.get(TOKEN) or fields.pop("token", "")
    if not hmac.compare_digest(supplied.encode("utf-8", "replace"), token.encode()):
        await asyncio.sleep(WRONG_S)
        raise RefusedError(403, "the token is wrong or missing: it is the one of --write-token")
    given = {key: value.strip()[:LONGEST_TEXT] for key, value in fields.items() if value.strip()}
    if not all(value.isprintable() for value in given.values()):
        raise RefusedError(400, "a field has characters that cannot be shown")
    return given


def routes(watching: WatchedNetwork, guard: Guard) -> list[Route]:
    """Return the routes that change acknowledgements and silences; empty if ``guard`` has no token."""
    if guard.token is None:
        return []
    token, writer = guard.token, _Writer(watching, guard)

    def changing(act: Callable[[Request, dict[str, str]], Awaitable[JsonObject]]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            try:
                fields = await _fields(request, token)
                back = fields.pop("back", "")
                result = await act(request, fields)
            except RefusedError as error:
                return JSONResponse({"error": error.message}, error.status)
            except InputError as error:
                return JSONResponse({"error": "; ".join(map(str, error.problems))}, 400)
            except OutputError as error:
                return JSONResponse({"error": f"it holds until the watch ends, but is not kept: {error}"}, 507)
            if back.startswith("/") and not back.startswith(("//", "/\\")):
                return RedirectResponse(back, 303)
            return JSONResponse(result.to_json())

        return answer

    return [
        Route("/api/anomalies/{number:int}/acknowledge", changing(writer.acknowledge), methods=["POST"]),
        Route("/api/silences", changing(writer.silence), methods=["POST"]),
        Route("/api/silences/{number:int}/end", changing(writer.end), methods=["POST"]),
    ]


class _Writer:
    def __init__(self, watching: WatchedNetwork, guard: Guard) -> None:
        self._watching, self._guard = watching, guard

    def _who(self, request: Request, fields: dict[str, str]) -> tuple[str, str]:
        """Return (the person, the reason) of a request. The proxy's name of the person comes before the field."""
        proxy = self._guard.proxy
        through = proxy is not None and by_proxy(request.scope, dict(request.scope["headers"]), proxy)
        named = request.headers.get(proxy.header, "").strip() if proxy and through else ""
        by, why = named or fields.get("by", ""), fields.get("why", "")
        if not by or not why:
            raise RefusedError(400, "say who does this (by) and why")
        return by, why

    async def acknowledge(self, request: Request, fields: dict[str, str]) -> Anomaly:
        by, why = self._who(request, fields)
        changed = await self._watching.acknowledge(request.path_params["number"], Note(by, time(), why))
        if changed is None:
            raise RefusedError(404, "no open anomaly has this number")
        return changed

    async def silence(self, request: Request, fields: dict[str, str]) -> Silence:
        by, why = self._who(request, fields)
        until = time() + seconds_of(fields.get("for", ""))
        anomaly, rule = self._anomaly(fields.get("anomaly", "0")), fields.get("rule", "")
        scopes = {kind: fields[kind] for kind in ("device", "rack", "tenant") if kind in fields}
        devices = devices_of(self._watching.validator.network, scopes)
        given = [f"{kind} {name}" for kind, name in scopes.items()]
        if scopes and not devices:
            raise RefusedError(400, f"no device fits {' and '.join(given)}")
        given += [*([f"anomaly {anomaly}"] if anomaly else []), *([f"rule {rule}"] if rule else [])]
        known = self._watching.anomalies.with_number(anomaly) if anomaly else None
        count = known.count if known else 0
        if not given:
            raise RefusedError(400, "say what to silence: an anomaly, a rule, a device, a rack or a tenant")
        return await self._watching.silence(
            Silence(0, ", ".join(given), time(), until, by, why, anomaly, rule, devices, count)
        )

    def _anomaly(self, given: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", given):
            raise RefusedError(400, "anomaly: give its number")
        if int(given) and self._watching.anomalies.with_number(int(given)) is None:
            raise RefusedError(404, "no anomaly has this number")
        return int(given)

    async def end(self, request: Request, fields: dict[str, str]) -> Silence:
        by, why = self._who(request, fields)
        known = self._watching.anomalies.silences.get(request.path_params["number"])
        if known is None:
            raise RefusedError(404, "no silence has this number")
        return await self._watching.silence(replace(known, until=time(), by=by, why=f"{known.why}; ended: {why}"))
