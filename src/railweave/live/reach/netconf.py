"""NETCONF over SSH (RFC 6241, RFC 6242): operational commands of Junos as ``<command>``, answered in XML or text.

``Netconf.ask`` sends only ``<command>`` with a ``show`` command, and ``<get-configuration>``, so it changes nothing.
``Netconf.called`` sends any call; ``change_session`` uses it to lock, load and commit configurations.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, unescape

import asyncssh

from railweave.live.reach.failure import MOST_BYTES, ReachError, decoded, endless, safe_line
from railweave.live.reach.ssh import closed, connected
from railweave.model.state.question import Question, reads_only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.live.reach.target import Target

_END = b"]]>]]>"
_NAMESPACE = "urn:ietf:params:xml:ns:netconf:base:1.0"
_CHUNKED = "urn:ietf:params:netconf:base:1.1"
_HELLO = (
    f'<?xml version="1.0" encoding="UTF-8"?><hello xmlns="{_NAMESPACE}"><capabilities>'
    f"<capability>urn:ietf:params:netconf:base:1.0</capability><capability>{_CHUNKED}</capability></capabilities></hello>"
)
_CONFIGURATION = '<get-configuration database="committed" format="set"/>'
_ERROR = re.compile(r"<(?:\w+:)?rpc-error\b")
_ERROR_END = re.compile(r"</(?:\w+:)?rpc-error>")
_SEVERITY = re.compile(r"<(?:\w+:)?error-severity>\s*(\w+)")
_MESSAGE = re.compile(r"<(?:\w+:)?error-message[^<>]*>(.*?)</", re.DOTALL)
_OUTPUT = re.compile(r"<(output|configuration-(?:set|text|output))\b[^<>]*>")


class Netconf:
    """A NETCONF session with a device."""

    def __init__(
        self, connections: list[asyncssh.SSHClientConnection], process: asyncssh.SSHClientProcess[bytes], limit: float
    ) -> None:
        self._connections = connections
        self._process = process
        self._limit = limit
        self._chunked = False
        self._number = 0
        self._left = bytearray()

    @classmethod
    async def opened(cls, target: Target) -> Netconf:
        """Return a NETCONF session after login and the exchange of capabilities.

        Raises ``ReachError`` if the device cannot be reached or refuses the login.
        """
        connections = await connected(target, "netconf")
        try:
            process = await connections[-1].create_process(subsystem="netconf", encoding=None)
            session = cls(connections, process, target.answer_s)
            async with asyncio.timeout(target.connect_s):
                session._send(_HELLO)
                hello = await session._message()
        except (OSError, asyncssh.Error, TimeoutError) as error:
            await closed(connections)
            raise ReachError("unreachable", f"no NETCONF: {safe_line(str(error)) or 'it says no hello'}") from None
        except BaseException:
            await closed(connections)
            raise
        session._chunked = _CHUNKED in hello
        return session

    def _send(self, text: str) -> None:
        data = text.encode()
        framed = b"\n#%d\n%b\n##\n" % (len(data), data) if self._chunked else data + _END
        self._process.stdin.write(framed)

    async def _more(self) -> None:
        part = await self._process.stdout.read(1 << 16)
        if not part:
            raise ReachError("lost", "the connection ended in the middle of an answer")
        self._left += part

    async def _until(self, mark: bytes) -> bytes:
        at = 0
        while (position := self._left.find(mark, at)) < 0:
            at = max(0, len(self._left) - len(mark))
            if at > MOST_BYTES:
                raise endless()
            await self._more()
        before = bytes(self._left[:position])
        del self._left[: position + len(mark)]
        return before

    async def _message(self) -> str:
        """Return the next message of the device, in the framing (RFC 6242) that both ends have agreed on."""
        if not self._chunked:
            return decoded(await self._until(_END))
        parts: list[bytes] = []
        size = 0
        while True:
            await self._until(b"\n#")
            head = await self._until(b"\n")
            if head == b"#":
                return decoded(b"".join(parts))
            if not head.isdigit() or len(head) > 10 or (size := size + int(head)) > MOST_BYTES:
                raise ReachError("lost", f"what it sends is not framed as NETCONF: {head[:20]!r}")
            while len(self._left) < int(head):
                await self._more()
            parts.append(bytes(self._left[: int(head)]))
            del self._left[: int(head)]

    async def ask(self, question: Question) -> str:
        """Run the command of the query ``question`` and return the answer.

        Raises ``ReachError`` if the device refuses the command, or the command is not known to be read-only.
        """
        words = question.asked["netconf"]
        if not reads_only("netconf", words):
            raise ReachError("not asked", f"`{words}` is not known to read only")
        form = "xml" if question.form == "xml" else "text"
        show = f'<command format="{form}">{escape(words)}</command>'
        answer = await self.called(_CONFIGURATION if words == "get-configuration set" else show, words)
        if form == "xml":
            return answer[answer.find("<rpc-reply") :] if "<rpc-reply" in answer else answer
        return output(answer)

    async def called(self, body: str, words: str) -> str:
        """Return the reply to a remote procedure call. ``body`` is the call as XML. ``words`` is its description in errors.

        Raises ``ReachError`` if the device refuses the call, with the device's message, or if the connection fails.
        """
        self._number += 1
        try:
            async with asyncio.timeout(self._limit):
                self._send(f'<rpc xmlns="{_NAMESPACE}" message-id="{self._number}">{body}</rpc>')
                answer = await self._message()
        except TimeoutError:
            raise ReachError("late", f"`{words}`: no answer within {self._limit:g} s") from None
        except (OSError, asyncssh.Error) as error:
            raise ReachError("lost", f"`{words}`: the connection ended: {safe_line(str(error))}") from None
        for error in _errors(answer):
            severity, message = _SEVERITY.search(error), _MESSAGE.search(error)
            if severity is None or severity[1] != "warning":
                raise ReachError(
                    "refused", f"`{words}`: {safe_line(message[1]) if message else 'error without a message'}"
                )
        return answer

    async def close(self) -> None:
        """End the session."""
        with contextlib.suppress(Exception):
            self._process.close()
        await closed(self._connections)


def _errors(answer: str) -> Iterator[str]:
    """Yield the elements ``rpc-error`` of a reply. Each part of the reply is searched once, whatever the device wrote there."""
    at = 0
    while (begin := _ERROR.search(answer, at)) and (end := _ERROR_END.search(answer, begin.end())):
        yield answer[begin.start() : end.end()]
        at = end.end()


def output(answer: str) -> str:
    """Return the text that a device printed, taken from its NETCONF reply ``answer``: the content of an element such as ``<output>``.

    If the reply has no such element, return the whole reply.
    """
    begin = _OUTPUT.search(answer)
    end = answer.rfind(f"</{begin[1]}>", begin.end()) if begin else -1
    if begin is None or end < 0:
        return answer
    return unescape(answer[begin.end() : end], {"&quot;": '"', "&apos;": "'"}).strip("\n") + "\n"
