"""One request of OTLP over HTTP, and what its answer means (OTLP specification, "OTLP/HTTP Response")."""

from __future__ import annotations

import asyncio
import gzip
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import railweave
from railweave.operations.watch.otlp.encoding import read_failure, read_success

if TYPE_CHECKING:
    from httpx import AsyncClient, Response

    from railweave.operations.watch.otlp.settings import Receiver

RETRYABLE = frozenset({429, 502, 503, 504})
"""The status codes after which the same request may be sent again."""
MOST_WAIT_S = 600.0
"""The longest time in seconds that a receiver can ask for by ``Retry-After``."""
MOST_ANSWER = 1 << 16
"""The largest number of bytes of an answer that are read."""
_MOST_WORDS = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
PROTOBUF = "application/x-protobuf"


@dataclass(frozen=True)
class Outcome:
    """The result of one request.

    - ``why``: the reason if the request was not taken; empty otherwise.
    - ``status``: the HTTP status code, or 0 if there was no answer.
    - ``again``: True if it may be sent again.
    - ``after_s``: the seconds that the receiver wants to pass before the next request, or None.
    - ``rejected``, ``message``: how many data points or records of a request that was taken were refused, and why.
    """

    why: str = ""
    status: int = 0
    again: bool = False
    after_s: float | None = None
    rejected: int = 0
    message: str = ""


async def post(client: AsyncClient, receiver: Receiver, body: bytes) -> Outcome:
    """Send one encoded request, and return its outcome. Network errors are outcomes, too."""
    import httpx

    headers = {
        "user-agent": f"railweave/{railweave.__version__}",
        **receiver.headers,
        "content-type": PROTOBUF,
    }
    if receiver.gzip:
        headers["content-encoding"] = "gzip"
        body = await asyncio.to_thread(gzip.compress, body, 6)
    try:
        async with (
            asyncio.timeout(receiver.timeout_s),  # httpx limits each read, not the whole answer
            client.stream("POST", receiver.url, content=body, headers=headers) as answer,
        ):
            content = await _first(answer)
    except TimeoutError:
        return Outcome(f"no answer within {receiver.timeout_s:g} s", again=True)
    except httpx.HTTPError as error:
        return Outcome(_words(str(error)) or type(error).__name__, again=True)
    except (
        httpx.InvalidURL,
        UnicodeError,
    ):  # httpx reads the address of a redirect, too, although it does not follow it
        return Outcome("its host name, or the address of its redirect, cannot be used")
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if answer.is_success:
        partial = read_success(receiver.signal, content if kind == PROTOBUF else b"")
        return Outcome(status=answer.status_code, rejected=max(partial.rejected, 0), message=_words(partial.message))
    message = read_failure(content) if kind == PROTOBUF else _plain(content) if kind == "text/plain" else ""
    status: int = answer.status_code
    why = f"HTTP {status}" + (f": {_words(message)}" if message.strip() else "")
    if status not in RETRYABLE:
        return Outcome(why, status)
    return Outcome(why, status, again=True, after_s=wait_of(answer.headers.get("retry-after", ""), datetime.now(UTC)))


async def _first(answer: Response) -> bytes:
    """Return the body of an answer, up to ``MOST_ANSWER`` bytes."""
    content = b""
    async for part in answer.aiter_bytes():
        content += part[: MOST_ANSWER - len(content)]
        if len(content) >= MOST_ANSWER:
            break
    return content


def _plain(content: bytes) -> str:
    return next(iter(content.decode("utf-8", "replace").splitlines()), "")


def _words(text: str) -> str:
    """Return a receiver's text as one short line without control characters."""
    return _CONTROL.sub(" ", text).strip()[:_MOST_WORDS]


def wait_of(value: str, now: datetime) -> float | None:
    """Return the seconds that a ``Retry-After`` header names, as a number or as a date (RFC 9110, section 10.2.3); None for anything else."""
    value = value.strip()
    if value.isdecimal() and value.isascii():
        return min(float(value[:9]), MOST_WAIT_S)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return min(max((date - now).total_seconds(), 0.0), MOST_WAIT_S)
