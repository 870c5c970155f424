"""Errors in reaching a device, and the recognition of a device's refusals in its output."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Literal, Protocol, cast

from railweave.errors import RailweaveError
from railweave.model.config.gate import hidden
from railweave.model.state.question import NOT_RUNNING
from railweave.reading import CONTROL

if TYPE_CHECKING:
    from collections.abc import Generator

Kind = Literal["unreachable", "host key", "login", "lost", "late", "refused", "not asked"]
"""The kind of a failure.

- ``unreachable``: no connection to the device.
- ``host key``: the device's key or certificate is not known.
- ``login``: the device refuses the login.
- ``lost``: the connection ended.
- ``late``: no answer in time.
- ``refused``: the device refuses the query.
- ``not asked``: no supported protocol can send the query.
"""
_AGAIN = {"unreachable", "lost", "late"}
MOST_BYTES = 64 << 20
"""The largest answer that is accepted, in bytes."""
_COMPLAINT = re.compile(
    r"\s*(?:% ?\S[^\n]*|(?:error|Error|syntax error|Syntax error|invalid input|Invalid (?:input|command)|unknown command)\b[^\n]*"
    rf"|\w+ {NOT_RUNNING}"
    r"|(?:-?(?:ba)?sh|sudo|ip|vtysh|rbash)[^\n:]{0,20}: [^\n]*(?:not found|denied|required|refused|No such)[^\n]*)"
)


class ReachError(RailweaveError):
    """The error for a device that could not be reached, or for a query that it did not answer.

    ``what`` describes the error, ``fix`` the remedy.
    """

    def __init__(self, kind: Kind, message: str, fix: str = "") -> None:
        super().__init__(kind, message, fix)
        self.kind: Kind = kind
        self.what = safe_line(message)
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what

    @property
    def again(self) -> bool:
        """True if another attempt may succeed."""
        return self.kind in _AGAIN


class UnreadableError(ReachError):
    """The error for an answer that is not understood. The device may have carried out the request."""


def cause(error: BaseException) -> str:
    """Return type and message of an error as one line, with secrets hidden. For a group of errors, use the first one."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return safe_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def reason(error: Exception) -> str:
    """Return the text of an error for a report about one device. An unforeseen error is reported as an unreadable answer, with its type."""
    return str(error) if isinstance(error, RailweaveError) else f"the answer cannot be read: {cause(error)}"


@contextlib.contextmanager
def readable_answers() -> Generator[None]:
    """Raise ``UnreadableError`` in place of an unforeseen error in this context, which talks to one device.

    A device may answer anything, and code that reads an answer may then raise any error. Such an error must not end the work on
    other devices.
    """
    try:
        yield
    except RailweaveError:
        raise
    except Exception as error:
        raise UnreadableError("refused", reason(error)) from error


def safe_line(text: str) -> str:
    """Return a device's or library's text as one line of at most 300 characters, with secrets hidden."""
    return CONTROL.sub("?", hidden(" ".join(text.split())))[:300]


def complaint(answer: str) -> str | None:
    """Return the error message with which a device's output ``answer`` begins; None if the output does not begin with an error message."""
    match = _COMPLAINT.match(answer[:2000])
    return safe_line(match[0]) if match else None


def printed(words: str, status: int, answer: str, wrong: str) -> str:
    """Return the output ``answer`` of the command ``words``. Raises ``ReachError`` if the device refused the command.

    ``status`` is the exit status. ``wrong`` is the error output.
    """
    refused = complaint(answer) or (complaint(wrong) if status else None)
    # vtysh says of a daemon that is not running nothing but an error, and ends as if all were well.
    if refused or ((status or wrong.strip()) and not answer.strip()):
        raise ReachError("refused", f"`{words}`: {refused or safe_line(wrong) or f'exit status {status}'}")
    return answer


def endless() -> ReachError:
    """Return the error for an answer that exceeds ``MOST_BYTES``."""
    return UnreadableError("refused", f"the answer is longer than {MOST_BYTES >> 20} MiB")


class _Readable(Protocol):
    async def read(self, n: int, /) -> bytes: ...


async def limited(stream: _Readable) -> bytes:
    """Return all output of a program's stream. Raises ``ReachError`` as soon as the output exceeds ``MOST_BYTES``."""
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(1 << 16):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise endless()
    return b"".join(parts)


async def all_of(*streams: _Readable) -> list[bytes]:
    """Return all output of several streams of a program, which are read at the same time.

    Raises ``ReachError`` as soon as one output exceeds ``MOST_BYTES``.
    """
    readers = [asyncio.ensure_future(limited(stream)) for stream in streams]
    try:
        return await asyncio.gather(*readers)
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


def decoded(data: bytes) -> str:
    """Return the answer ``data`` as text, with replacement characters for invalid bytes.

    Raises ``ReachError`` if ``data`` is longer than ``MOST_BYTES``.
    """
    if len(data) > MOST_BYTES:
        raise endless()
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
