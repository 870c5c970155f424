"""eAPI and RESTCONF by httpx: commands of EOS as JSON-RPC, and RESTCONF data by ``GET`` only (RFC 8040).

``Eapi.ask`` runs only commands that are known to be read-only. ``Eapi.ran`` runs any command; ``change_session`` uses it
to change configurations.

A certificate without a trusted authority is refused. Plain HTTP is allowed only for servers on this machine, because it
exposes the password.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any, Self, cast

import httpx

from railweave.live.reach.failure import MOST_BYTES, ReachError, UnreadableError, decoded, safe_line
from railweave.live.reach.ssh import closed, connected
from railweave.live.reach.target import on_this_machine
from railweave.model.state.question import Protocol, Question, reads_only
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    import asyncssh

    from railweave.live.reach.target import MachineLogin, Target


class _Web:
    """A device that is reached by HTTPS."""

    protocol: Protocol

    def __init__(
        self,
        client: httpx.AsyncClient,
        connections: list[asyncssh.SSHClientConnection],
        limit: float,
        address: str,
    ) -> None:
        self._client = client
        self._connections = connections
        self._limit = limit
        self._address = (
            address  # the name that its certificate is checked against, also where a jump host stands in between
        )

    @classmethod
    async def opened(cls, target: Target) -> Self:
        """Return a client for a device. The first query opens the connection.

        Raises ``ReachError`` if plain HTTP would expose the password, or if the login or the jump host cannot be used.
        """
        way, port = target.way, target.way.ports[cls.protocol]
        connections: list[asyncssh.SSHClientConnection] = []
        host = f"[{way.address}]" if ":" in way.address else way.address
        if way.jump is not None:
            from dataclasses import replace

            connections = await connected(replace(target, way=way.jump))
            listener = await connections[-1].forward_local_port("127.0.0.1", 0, way.address, port)
            host, port = "127.0.0.1", listener.get_port()
        if not way.tls and not on_this_machine(way.address):
            raise ReachError(
                "not asked", f"plain HTTP to {way.address} would show the password", "leave `tls` as it is"
            )
        client = httpx.AsyncClient(
            base_url=f"{'https' if way.tls else 'http'}://{host}:{port}",
            auth=(way.user, way.password.value() if way.password else ""),
            verify=_context(way) if way.tls else _ofon_this_machine(),
            timeout=httpx.Timeout(target.answer_s, connect=target.connect_s),
            trust_env=False,
        )
        return cls(client, connections, target.answer_s, way.address)

    async def _fetched(self, method: str, path: str, words: str, **more: Any) -> tuple[int, str]:  # noqa: ANN401 - httpx's own
        parts: list[bytes] = []
        size = 0
        try:
            async with (
                asyncio.timeout(self._limit),
                self._client.stream(method, path, extensions={"sni_hostname": self._address}, **more) as response,
            ):
                async for part in response.aiter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > MOST_BYTES:
                        break
        except httpx.ConnectTimeout:
            raise ReachError("unreachable", f"{self._client.base_url.netloc.decode()} does not answer") from None
        except (httpx.TimeoutException, TimeoutError):
            raise ReachError("late", f"`{words}`: no answer within {self._limit:g} s") from None
        except httpx.ConnectError as error:
            text = str(error)
            if "CERTIFICATE" in text.upper():
                fix = "name the file of the authority that signed it under `certificates`"
                raise ReachError("host key", f"its certificate is not trusted: {safe_line(text)}", fix) from None
            raise ReachError("unreachable", f"{self._client.base_url.netloc.decode()}: {safe_line(text)}") from None
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
            raise ReachError(
                "lost", f"`{words}`: the connection ended: {safe_line(str(error)) or type(error).__name__}"
            ) from None
        if response.status_code in {401, 403}:
            raise ReachError("login", f"it does not let the user in (HTTP {response.status_code})")
        return response.status_code, decoded(b"".join(parts))

    async def close(self) -> None:
        """Close the client and its connections."""
        with contextlib.suppress(Exception):
            await self._client.aclose()
        await closed(self._connections)


@cache
def _ofon_this_machine() -> ssl.SSLContext:
    """Return the TLS context with the certificate authorities that this machine trusts.

    The authorities are read only once, because reading them takes 20 ms. Connections without TLS use the same context;
    otherwise httpx would read the authorities for each connection.
    """
    return ssl.create_default_context()


def _context(way: MachineLogin) -> ssl.SSLContext:
    if way.certificates is None:
        return _ofon_this_machine()
    try:
        context = ssl.create_default_context(cafile=str(way.certificates))
    except (OSError, ssl.SSLError) as error:
        raise ReachError("host key", f"{way.certificates} holds no certificates: {safe_line(str(error))}") from None
    # A certificate names a host, and switches are reached by addresses: an authority of one's own vouches for all that it signed.
    context.check_hostname = not _is_address(way.address)
    return context


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


class Eapi(_Web):
    """A connection to an EOS switch by eAPI: JSON-RPC 2.0 with the method ``runCmds``."""

    protocol = "eapi"

    async def ask(self, question: Question) -> str:
        """Run the ``show`` command of the query ``question`` and return its answer, as JSON or as text.

        Raises ``ReachError`` if the command is refused, or is not known to be read-only.
        """
        words = question.asked["eapi"]
        if not reads_only("eapi", words):
            raise ReachError("not asked", f"`{words}` is not known to read only")
        command: object = {"cmd": words, "revision": question.revision} if question.revision else words
        form = "json" if question.form == "json" else "text"
        first = (await self.ran([command], form, words) or [None])[-1]
        if form == "json" and first is not None:
            return json.dumps(first, indent=1)
        if (output := shown(first)) is None:
            raise ReachError("refused", f"`{words}`: the answer has no result")
        return output

    async def ran(self, commands: Sequence[object], form: str, words: str) -> list[object]:
        """Run commands in one session, and return the answer to each.

        ``form`` is ``text`` or ``json``. ``words`` describes the commands in errors. Raises ``ReachError`` if a
        command fails; the commands before it have been carried out.
        """
        body = {
            "jsonrpc": "2.0",
            "method": "runCmds",
            "params": {"version": 1, "cmds": list(commands), "format": form},
            "id": "railweave",
        }
        status, text = await self._fetched("POST", "/command-api", words, json=body)
        try:
            answer: Any = parse_json(text)
        except ValueError:
            raise UnreadableError(
                "refused", f"`{words}`: the answer is no JSON (HTTP {status}): {text[:60]!r}"
            ) from None
        if not isinstance(answer, dict):
            raise UnreadableError("refused", f"`{words}`: the answer is no JSON-RPC: {text[:60]!r}")
        reply = cast("dict[str, Any]", answer)
        if isinstance(error := reply.get("error"), dict):
            raise ReachError(
                "refused", safe_line(str(cast("dict[str, Any]", error).get("message", "an error without a message")))
            )
        result: object = reply.get("result")
        return cast("list[object]", result) if isinstance(result, list) else []


def shown(result: object) -> str | None:
    """Return the text that a command printed, from its result in text format; None if the result has no text."""
    output: object = cast("dict[str, object]", result).get("output") if isinstance(result, dict) else None
    return output if isinstance(output, str) else None


class Restconf(_Web):
    """A connection by RESTCONF. It uses only ``GET`` of paths below ``/restconf/data``.

    If the requested data is not configured, the answer is empty; this is not an error.
    """

    protocol = "restconf"

    async def ask(self, question: Question) -> str:
        """Return the data below the path of the query ``question`` as JSON.

        Raises ``ReachError`` if the device cannot be reached, refuses the request or does not answer in time.
        """
        words = question.asked["restconf"]
        if not reads_only("restconf", words):
            raise ReachError("not asked", f"`{words}` is not a path of data")
        head = {"Accept": "application/yang-data+json"}
        status, text = await self._fetched("GET", f"/restconf/data/{words}", words, headers=head)
        if status == 404 and "Resource not found" in text:
            return "{}\n"
        if status != 200:
            raise ReachError("refused", f"`{words}`: HTTP {status}: {safe_line(text)[:120]}")
        return text
