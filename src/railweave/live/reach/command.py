"""Access to a device of a lab on this machine. The commands of SSH queries run in the device's network namespace."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from typing import TYPE_CHECKING

from railweave.live.reach.failure import ReachError, all_of, decoded, printed
from railweave.model.state.question import Question, reads_only

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


ENDING_S = 5.0
"""The seconds to wait for the end of a killed program's output. A child outside its process group may keep the pipes open."""


async def ended(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of the killed program ``process``.

    asyncio reports the end only after the program's pipes are read to their end, or closed. No other code may read the pipes meanwhile.
    """
    try:
        async with asyncio.timeout(ENDING_S):
            for stream in (process.stdout, process.stderr):
                while stream is not None and await stream.read(1 << 16):
                    pass
    except TimeoutError:
        process._transport.close()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType] - asyncio has no other way
    await process.wait()


class Command:
    """A connection that runs commands on this machine.

    ``prefixes`` has the words to put before a command, such as those that enter a namespace, by the first word of the
    command. The empty key is the default.
    """

    def __init__(self, prefixes: Mapping[str, Sequence[str]], limit: float = 60) -> None:
        self._prefixes = prefixes
        self._limit = limit

    async def ask(self, question: Question) -> str:
        """Run the command of the query ``question`` and return its output.

        Raises ``ReachError`` if the command fails, or is not known to be read-only.
        """
        words = question.asked.get("ssh", "")
        if not reads_only("ssh", words):
            raise ReachError("not asked", f"`{words}` is not known to read only")
        return printed(words, *await self.ran(words))

    async def ran(self, words: str, given: str | None = None) -> tuple[int, str, str]:
        """Run a command, and return its exit status, output and error output.

        Raises ``ReachError`` if the program cannot be started, does not end in time or prints too much.

        ``given`` is the input of the command; None means no input.
        """
        parts = shlex.split(words)
        argv = [*self._prefixes.get(parts[0], self._prefixes.get("", ())), *parts]
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=nothing if given is None else pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as error:
            raise ReachError("unreachable", f"`{argv[0]}` cannot be run: {error.strerror}") from None
        try:
            async with asyncio.timeout(self._limit):
                if given is not None and process.stdin is not None:
                    with contextlib.suppress(ConnectionError):  # the command has ended already, and reads none of it
                        process.stdin.write(given.encode())
                        await process.stdin.drain()
                    process.stdin.close()
                assert process.stdout is not None  # noqa: S101 - both are pipes
                assert process.stderr is not None  # noqa: S101
                out, wrong = await all_of(process.stdout, process.stderr)
                await process.wait()
        except TimeoutError:
            raise ReachError("late", f"`{words}`: no answer within {self._limit:g} s") from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # its children too: they hold the pipes
                await ended(process)
        return process.returncode or 0, decoded(out), decoded(wrong)

    async def close(self) -> None:
        """Do nothing, because no connection stays open between queries."""
