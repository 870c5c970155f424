"""Connections that can change a device, and the copying of files to a device. Only ``operations.deploy`` uses them, through a ``Site``."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import asyncssh

from railweave.errors import RailweaveError
from railweave.live.reach.failure import ReachError, UnreadableError, safe_line
from railweave.systems.transaction import RefusedError, Session

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from railweave.live.reach.command import Command
    from railweave.live.reach.netconf import Netconf
    from railweave.live.reach.ssh import Ssh
    from railweave.live.reach.target import Protocol as Spoken
    from railweave.live.reach.target import Target
    from railweave.live.reach.web import Eapi


async def opened(target: Target, protocol: Spoken) -> Session:
    """Return a connection that may change a device.

    Raises ``ReachError`` if the device cannot be reached or refuses the login, and ``RailweaveError`` if the Python library
    for the protocol is missing.
    """
    try:
        if protocol == "ssh":
            from railweave.live.reach.ssh import Ssh

            return Shell(await Ssh.opened(target), target.answer_s)
        if protocol == "netconf":
            from railweave.live.reach.netconf import Netconf

            return NetconfShell(await Netconf.opened(target))
        if protocol == "eapi":
            from railweave.live.reach.web import Eapi

            return Commands(await Eapi.opened(target))
    except ModuleNotFoundError as error:
        if error.name not in {"asyncssh", "httpx"}:
            raise
        raise RailweaveError(
            f"changing devices needs {error.name}, which is not installed: pip install 'railweave[live]'"
        ) from None
    raise ReachError("not asked", f"nothing is changed by {protocol}")


class Shell:
    """A connection that runs commands by SSH, or in a namespace of a lab."""

    def __init__(self, inside: Ssh | Command, limit: float = 60) -> None:
        self._inside = inside
        self._limit = limit

    async def execute(self, words: str, given: str = "") -> str:
        """Run the command ``words`` with the input ``given``, and return its output.

        Raises ``RefusedError`` if the command fails, and ``ReachError`` if the connection ends or the answer is late.
        """
        try:
            async with asyncio.timeout(self._limit):
                status, answer, wrong = await self._inside.ran(words, given)
        except TimeoutError:
            raise ReachError("late", f"`{_first(words)}`: no answer within {self._limit:g} s") from None
        except (OSError, asyncssh.Error) as error:
            raise ReachError("lost", f"`{_first(words)}`: the connection ended: {safe_line(str(error))}") from None
        if status:
            raise RefusedError(
                f"`{_first(words)}`: {wrong.strip() or answer.strip()[-300:] or f'exit status {status}'}"
            )
        return answer

    async def close(self) -> None:
        """Log out."""
        await self._inside.close()


class NetconfShell:
    """A connection that makes remote procedure calls by NETCONF."""

    def __init__(self, inside: Netconf) -> None:
        self._inside = inside

    async def execute(self, words: str, given: str = "") -> str:
        """Send the remote procedure call ``words``, and return the reply. If ``given`` is "text", return only the text in the reply.

        Raises ``RefusedError`` if the reply has an error other than a warning.
        """
        from railweave.live.reach.netconf import output

        with _refusals():
            name = words.lstrip("<").partition(">")[0].partition(" ")[0].rstrip("/")
            answer = await self._inside.called(words, name)
        return output(answer) if given == "text" else answer

    async def close(self) -> None:
        """End the session."""
        await self._inside.close()


class Commands:
    """A connection that runs commands by eAPI. Each call starts in privileged mode."""

    def __init__(self, inside: Eapi) -> None:
        self._inside = inside

    async def execute(self, words: str, given: str = "") -> str:
        """Run the lines of ``words`` as commands, and return a JSON list with the output of each command.

        Each output is text or, if ``given`` is "json", JSON. Raises ``RefusedError`` for a line that the device refuses; the lines before
        that line have been carried out.
        """
        from railweave.live.reach.web import shown

        form = "json" if given == "json" else "text"
        with _refusals():
            answers = (await self._inside.ran(["enable", *words.splitlines()], form, _first(words)))[1:]
        return json.dumps(answers if form == "json" else [shown(answer) or "" for answer in answers])

    async def close(self) -> None:
        """Close the connection."""
        await self._inside.close()


@contextmanager
def _refusals() -> Generator[None]:
    """Raise ``RefusedError`` if a device refuses a request in this context. Errors of the connection are raised unchanged.

    An unreadable answer is not a refusal: the device may have carried out the request.
    """
    try:
        yield
    except ReachError as error:
        if error.kind != "refused" or isinstance(error, UnreadableError):
            raise
        raise RefusedError(error.what) from None


def _first(words: str) -> str:
    line = words.strip().partition("\n")[0]
    return line if len(line) <= 80 else f"{line[:79]}…"


async def copied(target: Target, file: Path, place: str) -> None:
    """Copy a file to the path ``place`` on a device, unless a file of the same size exists there.

    Raises ``ReachError`` if the device cannot be reached or the copy fails.
    """
    from railweave.live.reach.ssh import closed, connected

    connections = await connected(target)
    try:
        async with asyncio.timeout(target.answer_s), connections[-1].start_sftp_client() as sftp:
            size = file.stat().st_size
            if await sftp.exists(place) and await sftp.getsize(place) == size:
                return
            await sftp.put(str(file), place)
    except TimeoutError:
        raise ReachError("late", f"{place} was not copied within {target.answer_s:g} s") from None
    except (OSError, asyncssh.Error) as error:
        raise ReachError("lost", f"{place} was not copied: {safe_line(str(error))}") from None
    finally:
        await closed(connections)
