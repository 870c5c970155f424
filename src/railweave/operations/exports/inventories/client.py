"""The REST API of an inventory server (NetBox, Nautobot) over HTTP: pages of objects, and lists of objects to create or change in one request.

- Certificates are checked. Plain HTTP is used only to this machine, because it would expose the token.
- Redirects are not followed: they could send the token to a different server.
- Requests that only read are repeated after a lost connection. Those that change something are not, because the server may
  have carried them out.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self, cast
from urllib.parse import quote, urlencode, urlsplit

from railweave.errors import FileLine, InputError, Option, Problem, RailweaveError
from railweave.live.reach.failure import MOST_BYTES, ReachError, safe_line
from railweave.live.reach.target import Password, on_this_machine
from railweave.reading import parse_json
from railweave.secret_url import holds_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from urllib.parse import SplitResult

    from railweave.operations.exports.inventories.objects import Product, Record

PAGE = 500
"""The objects that one request asks for. A server may be configured to send fewer (MAX_PAGE_SIZE)."""
_TIMEOUT_S = 300.0
"""Seconds to wait for an answer: NetBox may need a minute for a list of cables."""
_CONNECT_S = 20.0
_TRIES = 3
_QUERY = 1500
"""The longest query in characters. Web servers refuse request lines of more than 4,000 characters or so."""
_SHOWN = 5
_TOKEN = re.compile(r"[!-~]+")
"""Printable ASCII without blanks. Other characters are not possible in the header, and Python's error would show the token."""


class ServerError(RailweaveError):
    """A refused or failed request: its URL, the status and the server's message. The exit code differs from that of a plan with changes."""

    exit_code = 2


def token_of(product: Product, file: Path | str | None) -> str:
    """Return the API token: the content of a file that only its owner can read, or else of the product's variable.

    Raises ``InputError`` if there is no token, if other users can read the file, or if it has more than a token. The error never
    shows the token.
    """
    place = FileLine(str(file)) if file is not None else Option("--token-file")
    try:
        source = Password("env", product.token_variable) if file is None else Password("file", str(file))
        token = source.value().strip()
    except ReachError as error:
        fix = f"set {product.token_variable}, or give --token-file FILE (mode 600)" if file is None else error.fix
        message = f"no API token: {error.what}" if file is None else error.what
        raise InputError([Problem(place, message, fix)]) from None
    if not _TOKEN.fullmatch(token):
        name = product.token_variable if file is None else "the file"
        message = f"{name} has more than a token: a token is one line of printable ASCII characters without blanks"
        raise InputError([Problem(place, message, f"copy the token again from {product.name}, alone")])
    return token


class Client:
    """A connection to the API of one server. ``requests`` counts the requests."""

    def __init__(self, product: Product, url: str, token: str, authority: Path | str | None = None) -> None:
        """Prepare a connection; nothing is sent yet.

        ``authority`` is a file of certificates of a private authority. Raises ``InputError`` if the URL or the file is not valid.
        """
        parts, host, port = _parsed(url, product)
        self.product = product
        if parts.scheme == "http" and not on_this_machine(host):
            raise InputError([Problem(Option("--url", url), "plain HTTP would expose the token", "use https://")])
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/api')}"
        self.requests = 0
        self._base = f"{parts.path.rstrip('/').removesuffix('/api')}/api"
        self._host, self._port = host, port
        self._context = _tls(authority) if parts.scheme == "https" else None
        # Version 2 tokens of NetBox 4.5; its version 1 tokens, and Nautobot's.
        scheme = "Bearer" if token.startswith("nbt_") else "Token"
        self._headers = {
            "Authorization": f"{scheme} {token}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        self._connection: http.client.HTTPConnection | None = None
        self._options: dict[str, Record | None] = {}
        self._displayed: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def version(self) -> str:
        """Return the release of the server. Raises ``ServerError`` if it is not a server of the product, or if it refuses the token."""
        answer = self._ask("GET", "status/")
        version = cast("Record", answer).get(f"{self.product.target}-version") if isinstance(answer, dict) else None
        if not isinstance(version, str):
            raise ServerError(
                f"{self.url}: /api/status/ is not that of a {self.product.name} server; give --url the address of its web pages"
            )
        return version

    def fields(self, path: str) -> Record | None:
        """Return the fields that an object of a path can have, with the choices of each. None if the token may not create objects there."""
        if path not in self._options:
            answer = self._ask("OPTIONS", f"{path}/")
            actions: Record = cast("Record", answer).get("actions", {}) if isinstance(answer, dict) else {}
            self._options[path] = actions.get("POST")
        return self._options[path]

    def display(self, url: str) -> str:
        """Return the name of an object for people. ``url`` is the server's address of it."""
        if url not in self._displayed:
            answer = self._ask("GET", url.partition("/api/")[2])
            self._displayed[url] = str(cast("Record", answer).get("display")) if isinstance(answer, dict) else url
        return self._displayed[url]

    def objects(
        self, path: str, query: Mapping[str, str], name: str = "", values: Sequence[str | int] = ()
    ) -> Iterator[Record]:
        """Yield the objects of a path, page by page.

        - ``query``: conditions that all objects meet.
        - ``name`` and ``values``: a field and its values; objects with one of the values are yielded. Without a name, all
          objects are.
        """
        for part in _parts(name, values) if name else [""]:
            offset = 0
            while True:
                paged = urlencode({**self.product.query, **query, "limit": PAGE, "offset": offset})
                answer = self._ask("GET", f"{path}/?{'&'.join(filter(None, (paged, part)))}")
                page = cast("Record", answer) if isinstance(answer, dict) else {}
                results = cast("list[Record]", page.get("results", []))
                yield from results
                offset += len(results)
                if not results or offset >= int(page.get("count") or 0):
                    break

    def send(self, method: str, path: str, objects: Sequence[Record], names: Sequence[str]) -> list[Record]:
        """Create (POST) or change (PATCH) objects in one request, and return them as they are afterwards.

        ``names`` are the names of the objects in errors. Raises ``ServerError`` if the server refuses one of them: it then
        carries out none of the request. If its answer does not say which one, the objects are sent one by one, so that the
        valid ones before it are created or changed.
        """
        try:
            answer = self._ask(method, f"{path}/", list(objects))
        except _RefusedError as refused:
            reasons = _reasons(refused.answer, objects, names)
            answer = refused.answer
            if not reasons and isinstance(answer, dict) and "detail" not in cast("Record", answer):
                if len(objects) > 1:
                    pairs = zip(objects, names, strict=True)
                    return [record for body, name in pairs for record in self.send(method, path, [body], [name])]
                reasons = f"\n  {names[0]}: {_flat(cast('object', answer))}"
            raise ServerError(f"{refused.args[0]}{reasons}" if reasons else str(refused)) from None
        if not isinstance(answer, list):
            raise ServerError(f"{method} {self.url}/api/{path}/: the answer is not a list of objects")
        return cast("list[Record]", answer)

    def _ask(self, method: str, path: str, body: object = None) -> object:
        """Send a request and return its answer. Raises ``ServerError`` if that fails, with the URL and the server's message."""
        url = f"{self.url}/api/{path}"
        data = None if body is None else json.dumps(body).encode()
        reads = method in {"GET", "OPTIONS"}
        for tried in range(1, _TRIES + 1):
            try:
                status, text, location = self._exchange(method, f"{self._base}/{path}", data)
            except ssl.SSLCertVerificationError as error:
                fix = "name the file of the authority that signed it with --ca FILE"
                raise ServerError(f"{url}: its certificate is not trusted ({error.verify_message}); {fix}") from None
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if reads and tried < _TRIES:
                    time.sleep(tried)
                    continue
                reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
                unknown = (
                    ""
                    if reads
                    else f"; {self.product.name} may have carried it out: the next plan shows what is missing"
                )
                raise ServerError(f"{method} {url}: {reason}{unknown}") from None
            if status in {502, 503, 504} and reads and tried < _TRIES:
                time.sleep(tried)
                continue
            break
        else:  # pragma: no cover - the loop ends by break or by an error
            raise ServerError(url)
        if location:
            raise ServerError(
                f"{method} {url}: HTTP {status} redirects to {location}; give --url that server's address"
            )
        answer: object = None
        with suppress(ValueError):
            answer = parse_json(text)
        if status in {401, 403} and isinstance(answer, dict):
            detail = cast("Record", answer).get("detail", "")
            raise ServerError(f"{method} {url}: HTTP {status}: {detail} (check the token and the rights of its user)")
        if status >= 400:
            raise _RefusedError(f"{method} {_short(url)}: HTTP {status}", answer if answer is not None else text[:300])
        if answer is None and method != "DELETE":
            raise ServerError(f"{method} {_short(url)}: the answer (HTTP {status}) is not JSON: {text[:80]!r}")
        return answer

    def _exchange(self, method: str, path: str, data: bytes | None) -> tuple[int, str, str]:
        """Send one request; return the status, the text and the place that a redirect names."""
        if self._connection is None:
            if self._context is not None:
                connection = http.client.HTTPSConnection(
                    self._host, self._port, timeout=_CONNECT_S, context=self._context
                )
            else:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=_CONNECT_S)
            connection.connect()
            connection.sock.settimeout(_TIMEOUT_S)
            self._connection = connection
        self.requests += 1
        self._connection.request(method, path, body=data, headers=self._headers)
        response = self._connection.getresponse()
        text = response.read(MOST_BYTES).decode("utf-8", "replace")
        if response.will_close:  # http.client would connect again by itself, with the time limit for connecting
            self.close()
        moved = response.headers.get("Location", "") if 300 <= response.status < 400 else ""
        return response.status, text, moved


class _RefusedError(ServerError):
    """A request that the server refused. ``answer`` is its explanation."""

    def __init__(self, message: str, answer: object) -> None:
        super().__init__(message, answer)
        self.answer = answer

    def __str__(self) -> str:
        return f"{self.args[0]}: {_flat(self.answer)}"


def _reasons(answer: object, objects: Sequence[Record], names: Sequence[str]) -> str:
    """Return the server's reasons by object; empty if the answer has no such form.

    NetBox 4.7 answers a refused list with ``errors``: entries with the ``index`` of an object to create, or with the ``id`` of an
    object to change. Earlier releases, and Nautobot for objects to create, answer with a list that has an entry for each object,
    which is empty for a valid object. Nautobot answers changes with the reasons of one object, without its id.
    """
    numbers = {body.get("id"): number for number, body in enumerate(objects)}
    wrong: list[tuple[int | None, object]] = []
    if isinstance(answer, list):
        wrong = [(number, entry) for number, entry in enumerate(cast("list[object]", answer)) if entry]
    elif isinstance(answer, dict) and isinstance(errors := cast("Record", answer).get("errors"), list):
        for entry in cast("list[Record]", errors):
            wrong.append((entry.get("index", numbers.get(entry.get("id"))), entry.get("errors")))
    lines = [
        f"\n  {names[number] if number is not None and number < len(names) else 'an object'}: {_flat(entry)}"
        for number, entry in wrong[:_SHOWN]
    ]
    more = f"\n  and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return "".join(lines) + more


def _flat(answer: object) -> str:
    """Return an explanation of the server on one line."""
    if isinstance(answer, dict):
        entries = cast("Record", answer)
        return "; ".join(
            _flat(value) if key in {"detail", "__all__", "non_field_errors"} else f"{key}: {_flat(value)}"
            for key, value in entries.items()
        )
    if isinstance(answer, list):
        return ", ".join(_flat(value) for value in cast("list[object]", answer) if value)
    return safe_line(" ".join(str(answer).split()))


def _short(url: str) -> str:
    return url.partition("?")[0]


def _parts(name: str, values: Sequence[str | int]) -> Iterator[str]:
    """Yield queries for values of a field, each at most ``_QUERY`` characters long."""
    words: list[str] = []
    length = 0
    for value in values:
        word = f"{name}={quote(str(value), safe='')}"
        if words and length + len(word) > _QUERY:
            yield "&".join(words)
            words, length = [], 0
        words.append(word)
        length += len(word) + 1
    if words:
        yield "&".join(words)


def _parsed(url: str, product: Product) -> tuple[SplitResult, str, int | None]:
    """Return the parts of a URL, its host and its port. Raises ``InputError`` if it is not the URL of a server."""
    fix = f"write it as https://{product.target}.example.net"
    if "@" in url or holds_secret(url):  # the URL is not shown
        message = f"it has a user name or a password, which {product.name} does not use"
        raise InputError([Problem(Option("--url"), message, f"{fix}; the token goes into {product.token_variable}")])
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host, port = parts.hostname or "", parts.port
        host.encode("idna")  # as the connection will do
    except ValueError as error:
        message = f"it is not the URL of a server: {error}"
        raise InputError([Problem(Option("--url", url), message, fix)]) from None
    printable = _TOKEN.fullmatch(parts.path or "/") and url.isprintable() and " " not in url
    if parts.scheme not in {"https", "http"} or not host or not printable or parts.query:
        raise InputError([Problem(Option("--url", url), "it is not the URL of a server", fix)])
    return parts, host, port


def _tls(authority: Path | str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if authority is None else str(authority))
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or str(error)
        raise InputError(
            [
                Problem(
                    Option("--ca", str(authority)), f"no certificates can be read from it: {reason}", "name a PEM file"
                )
            ]
        ) from None
