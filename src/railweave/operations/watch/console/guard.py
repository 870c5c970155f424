"""Access rules for the console's readers, and the security headers for browsers.

Only GET and HEAD are answered, and with a token for writers POST requests of the console's own pages (``writes``).

On loopback, every user of the machine may read. A different host name that resolves to loopback is refused, because a
foreign site could otherwise read the console through a reader's browser (DNS rebinding). Beyond loopback, readers need
a password (RFC 7617), or a proxy that identifies them.
"""

from __future__ import annotations

import base64
import hmac
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The content security policy: scripts only from this server, none inline, and no requests to other machines.

Inline styles are allowed, because the SVG picture contains its style.
"""
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
ASK = {"WWW-Authenticate": 'Basic realm="railweave", charset="UTF-8"'}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that identifies readers: its address, and the header in which it names the reader."""

    address: str
    header: str


@dataclass(frozen=True, slots=True)
class Guard:
    """The access rules.

    Without password and proxy, only requests to a loopback address or ``localhost`` are answered, and any user of the
    machine may read.
    """

    password: str | None = None
    proxy: Proxy | None = None
    token: str | None = None
    """The token that writers need; None if nothing can be changed."""

    def __post_init__(self) -> None:
        if self.password is not None and not self.password.strip():
            raise ValueError("the password is empty, so anyone could log in")

    def refusal(self, scope: Scope) -> PlainTextResponse | None:
        """Return the response that refuses a request, or None if the request is allowed. ``scope`` is the request's ASGI scope."""
        headers = dict(scope["headers"])
        if scope["method"] not in {"GET", "HEAD"}:
            if self.token is None:
                message = "nothing can be changed here: the watch was started without --write-token\n"
                return PlainTextResponse(message, 405, {"Allow": "GET, HEAD"})
            if scope["method"] != "POST":
                return PlainTextResponse("only POST changes something\n", 405, {"Allow": "GET, HEAD, POST"})
            if not same_origin(headers):
                return PlainTextResponse("this request comes from a page of another server\n", 403)
        if self.password is None and self.proxy is None:
            host = headers.get(b"host", b"").decode("latin-1")
            message = "this host name is not accepted: use 127.0.0.1 or localhost\n"
            return None if _is_here(host) else PlainTextResponse(message, 421)
        if self.proxy is not None and by_proxy(scope, headers, self.proxy):
            return None
        if self.password is None:
            return PlainTextResponse("only requests through the proxy are accepted, which names the user\n", 403)
        known = _known(headers.get(b"authorization", b""), self.password)
        return None if known else PlainTextResponse("a password is needed\n", 401, ASK)


def same_origin(headers: dict[bytes, bytes]) -> bool:
    """Return True if a request comes from a page of this server or from no page. ``headers`` are in lower case."""
    if headers.get(b"sec-fetch-site", b"same-origin") not in {b"same-origin", b"none"}:
        return False
    origin = headers.get(b"origin")
    return origin is None or urlsplit(origin.decode("latin-1")).netloc == headers.get(b"host", b"").decode("latin-1")


def guarded(inner: Any, guard: Guard) -> Any:  # noqa: ANN401 - ASGI applications
    """Return an application around ``inner``. It refuses requests that ``guard`` does not allow, and adds the security headers."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await inner(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", []))
                names = {name.lower() for name, _ in given}
                message["headers"] = given + [header for header in HEADERS if header[0] not in names]
                if b"cache-control" not in names:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        refused = guard.refusal(scope)
        await (inner if refused is None else refused)(scope, receive, with_headers)

    return application


def _is_here(host: str) -> bool:
    """Return True if a ``Host`` header names loopback: a loopback address, or ``localhost`` (RFC 6761)."""
    name = host.rpartition(":")[0] if host.rpartition("]")[2].startswith(":") or host.count(":") == 1 else host
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def by_proxy(scope: Scope, headers: dict[bytes, bytes], proxy: Proxy) -> bool:
    """Return True if a request comes from the proxy's address and its ``headers`` name the reader. ``scope`` is the request's ASGI scope."""
    client = scope.get("client")
    if client is None or not headers.get(proxy.header.lower().encode("latin-1"), b"").strip():
        return False
    try:
        client_address = ipaddress.ip_address(client[0])
    except ValueError:
        return False
    mapped = getattr(client_address, "ipv4_mapped", None)
    return ipaddress.ip_address(proxy.address) in {client_address, mapped}


def _known(header: bytes, password: str) -> bool:
    kind, _, given = header.partition(b" ")
    if kind.lower() != b"basic":
        return False
    try:
        _, _, supplied = base64.b64decode(given, validate=True).partition(b":")
    except ValueError:
        return False
    return hmac.compare_digest(supplied, password.encode())
