"""The failures between here and a device, and the texts by which a device refuses a question."""

from __future__ import annotations

import asyncio
import re
from typing import Literal, Protocol, cast

from railweave.errors import RailweaveError
from railweave.model.config.gate import hidden
from railweave.model.state.question import NOT_RUNNING
from railweave.reading import CONTROL

Kind = Literal["unreachable", "host key", "login", "lost", "late", "refused", "not asked"]
"""Not reached; its key or certificate is not known; it does not let in; the connection ended; no answer in time; it refuses the
question; nothing here can ask it."""
_AGAIN = {"unreachable", "lost", "late"}
MOST_BYTES = 64 << 20
"""Of one answer."""
_COMPLAINT = re.compile(
    r"\s*(?:% ?\S[^\n]*|(?:error|Error|syntax error|Syntax error|invalid input|Invalid (?:input|command)|unknown command)\b[^\n]*"
    rf"|\w+ {NOT_RUNNING}"
    r"|(?:-?(?:ba)?sh|sudo|ip|vtysh|rbash)[^\n:]{0,20}: [^\n]*(?:not found|denied|required|refused|No such)[^\n]*)"
)


class ReachError(RailweaveError):
    """A device could not be asked, or not this question: ``what`` is so, ``fix`` is what to do."""

    def __init__(self, kind: Kind, message: str, fix: str = "") -> None:
        super().__init__(kind, message, fix)
        self.kind: Kind = kind
        self.what = told(message)
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what

    @property
    def again(self) -> bool:
        """True if asking again may help."""
        return self.kind in _AGAIN


def cause(error: BaseException) -> str:
    """The first error of a group, or the error itself, in a few words; nothing of it is a secret."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return told(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def told(text: str) -> str:
    """Return what a device or a library says, as one line without the values of secrets."""
    return CONTROL.sub("?", hidden(" ".join(text.split())))[:300]


def complaint(answer: str) -> str | None:
    """Return what a device says in place of an answer; None if the text is an answer."""
    match = _COMPLAINT.match(answer[:2000])
    return told(match[0]) if match else None


def printed(words: str, status: int, answer: str, wrong: str) -> str:
    """Return what a command printed, from its exit status, output and errors.

    Raises ``ReachError`` if the output is a refusal.
    """
    refused = complaint(answer) or (complaint(wrong) if status else None)
    # vtysh says of a daemon that is not running nothing but an error, and ends as if all were well.
    if refused or ((status or wrong.strip()) and not answer.strip()):
        raise ReachError("refused", f"`{words}`: {refused or told(wrong) or f'exit status {status}'}")
    return answer


def endless() -> ReachError:
    """The error of an answer that is longer than any may be."""
    return ReachError("refused", f"the answer is longer than {MOST_BYTES >> 20} MiB")


class _Readable(Protocol):
    async def read(self, n: int, /) -> bytes: ...


async def limited(stream: _Readable) -> bytes:
    """All that a program prints. Raises ``ReachError`` as soon as it is more than an answer may be."""
    parts: list[bytes] = []
    size = 0
    while part := await stream.read(1 << 16):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise endless()
    return b"".join(parts)


async def all_of(*streams: _Readable) -> list[bytes]:
    """Read the output of a program on each stream at once. Where one raises, none of them is read any more. Raises ``ReachError``."""
    readers = [asyncio.ensure_future(limited(stream)) for stream in streams]
    try:
        return await asyncio.gather(*readers)
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


def decoded(data: bytes) -> str:
    """The text of an answer, with marks in the place of bytes that are none. Raises ``ReachError`` for one without end."""
    if len(data) > MOST_BYTES:
        raise endless()
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
