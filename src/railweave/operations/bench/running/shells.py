"""Execution of scripts on servers over SSH, several at a time per connection, or on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import asyncssh

from railweave.errors import RailweaveError
from railweave.live.reach.command import ended
from railweave.live.reach.failure import MOST_BYTES, ReachError, reason, safe_line
from railweave.live.reach.ssh import closed, connected
from railweave.operations.bench.running.scripts import GRACE_S
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from railweave.live.reach.target import Target

AT_ONCE = 8
"""The largest number of scripts per connection. OpenSSH allows ten sessions per connection (MaxSessions)."""
LOGINS = 16
"""The largest number of simultaneous logins, over all servers."""
KEPT = 384
"""The largest number of connections kept open for the next round. A process is often limited to 1,024 open files."""
LONGEST = 1 << 16
"""The largest number of bytes of a line that is shown while a script runs."""
HERE = ""
"""The value that means this machine, in place of a server's name."""


class Source(Protocol):
    """The output of a running script."""

    async def read(self, n: int, /) -> bytes:
        """Return the next bytes of the output, at most ``n``; empty at the end of the output."""
        ...


@dataclass(slots=True)
class ScriptOutput:
    """The output of a script, its exit status, and its duration in seconds.

    ``lost`` is the reason why the exit status is unknown; empty if it is known.
    """

    text: str = ""
    status: int | None = None
    lost: str = ""
    seconds: float = 0


@dataclass(slots=True)
class _Running:
    """A running script: the source of its output, and a function that waits for its exit status."""

    source: Source
    ended: Callable[[], Awaitable[int | None]]


@dataclass(slots=True)
class _Line:
    """The SSH connections to a server (first those to its jump hosts, then its own), and the number of scripts that use them."""

    connections: list[asyncssh.SSHClientConnection]
    used: int = 0


@dataclass
class Shells:
    """Connections to the servers of a plan.

    - ``targets``: the address and login of each server, by name.
    - ``attempts``: the number of login attempts on a server that does not answer, with pauses of 1, 2, 4, … seconds between them.
      After that, every run on this server fails at once.
    """

    targets: Mapping[str, Target]
    attempts: int = 3
    pause_s: float = 1.0
    _lines: dict[str, list[_Line]] = field(default_factory=lambda: defaultdict(list[_Line]))
    _locks: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    _silent: dict[str, ReachError] = field(default_factory=dict[str, ReachError])
    _logins: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOGINS))

    async def ran(
        self, where: str, script: str, limit_s: float, seen: Callable[[str], None] | None = None
    ) -> ScriptOutput:
        """Run a script to its end, or for at most ``limit_s`` seconds, and return its output. ``seen`` is called with each line as the script prints it.

        ``where`` is the name of the server, or ``HERE`` (empty) for this machine. If the connection is lost, the output received so far
        is kept. A script that prints more than ``MOST_BYTES`` is ended. Raises ``ReachError`` if the server cannot be reached. Cancelling
        the call ends the script.
        """
        outcome, parts, began = ScriptOutput(), list[bytes](), monotonic()
        try:
            async with self._started(where, script) as running, asyncio.timeout(limit_s):
                if await _read(running.source, parts, seen):
                    outcome.status = await running.ended()
                else:
                    outcome.lost = f"its output is longer than {MOST_BYTES >> 20} MiB"
        except TimeoutError:
            outcome.lost = f"no end within {limit_s:g} s"
        except (OSError, asyncssh.Error) as error:
            outcome.lost = f"the connection ended: {safe_line(str(error)) or type(error).__name__}"
        except RailweaveError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one server does, the other runs go on
            outcome.lost = reason(error)
        outcome.seconds = monotonic() - began
        outcome.text = b"".join(parts).decode("utf-8", "replace")
        if outcome.status is None and not outcome.lost:
            outcome.lost = "the connection ended before the program did"
        return outcome

    @contextlib.asynccontextmanager
    async def _started(self, where: str, script: str) -> AsyncGenerator[_Running]:
        if where == HERE:
            async with _here(script) as running:
                yield running
            return
        line = await self._line(where)
        try:
            # Its standard input stays open: with it the script ends.
            async with line.connections[-1].create_process(f"sh -c {shlex.quote(script)}", encoding=None) as process:

                async def ended() -> int | None:
                    await process.wait_closed()
                    return process.exit_status

                yield _Running(process.stdout, ended)
        finally:
            line.used -= 1

    async def _line(self, where: str) -> _Line:
        """Return an SSH connection to a server on which one more script can run, and count that script as running.

        Open a new connection if all existing ones are in full use. Raises ``ReachError`` if the server cannot be
        reached.
        """
        async with self._locks[where]:
            self._lines[where] = [line for line in self._lines[where] if not line.connections[-1].is_closed()]
            line = next((line for line in self._lines[where] if line.used < AT_ONCE), None)
            if line is None:
                await self._make_room()
                line = _Line(await self._login(where))
                self._lines[where].append(line)
            line.used += 1
            return line

    async def _make_room(self) -> None:
        """Close idle connections if ``KEPT`` or more are open."""
        if sum(map(len, self._lines.values())) < KEPT:
            return
        for name, lines in list(self._lines.items()):
            idle = [line for line in lines if not line.used]
            self._lines[name] = [line for line in lines if line.used]
            await asyncio.gather(*(closed(line.connections) for line in idle))

    async def _login(self, where: str) -> list[asyncssh.SSHClientConnection]:
        if where in self._silent:
            raise self._silent[where]
        for attempt in range(1, self.attempts + 1):
            try:
                async with self._logins:
                    return await connected(self.targets[where])
            except ReachError as error:
                if not error.again or attempt == self.attempts:
                    self._silent[where] = error
                    raise
            await asyncio.sleep(self.pause_s * 2 ** (attempt - 1))
        raise AssertionError  # there is at least one attempt

    async def close(self) -> None:
        """Close all connections, which also stops all running scripts."""
        every = [line for lines in self._lines.values() for line in lines]
        self._lines.clear()
        await asyncio.gather(*(closed(line.connections) for line in every))


async def _read(source: Source, parts: list[bytes], seen: Callable[[str], None] | None) -> bool:
    """Read the output of a script into ``parts``. Return False as soon as the output exceeds ``MOST_BYTES``.

    ``seen`` is called with each line, and with the first ``LONGEST`` bytes of a longer line.
    """
    size, line = 0, b""
    while part := await source.read(1 << 16):
        size += len(part)
        if size > MOST_BYTES:
            return False
        parts.append(part)
        if seen is not None:
            *lines, last = part.split(b"\n")
            for end in lines:
                seen((line + end)[:LONGEST].decode("utf-8", "replace"))
                line = b""
            line = (line + last)[:LONGEST]
    if seen is not None and line:
        seen(line.decode("utf-8", "replace"))
    return True


@contextlib.asynccontextmanager
async def _here(script: str) -> AsyncGenerator[_Running]:
    """Run a script on this machine in a separate session, while the context lasts.

    The session is separate so that Ctrl-C reaches only railweave. railweave then ends the script.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", script, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    assert process.stdin is not None  # noqa: S101 - it was asked for
    assert process.stdout is not None  # noqa: S101 - the same
    try:
        yield _Running(process.stdout, process.wait)
    finally:
        process.stdin.close()  # which the script ends by
        try:
            async with asyncio.timeout(GRACE_S * 2):
                await process.wait()
        except TimeoutError:
            _kill_session(process.pid)
            await ended(process)


def _kill_session(leader: int) -> None:
    """Kill every process of the session whose first process has the id ``leader``.

    Killing one process group is not enough: ``timeout`` leads a separate group, and its programs keep the output pipes open.
    """
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                after_name = file_text(entry / "stat", errors="replace").rpartition(")")[2].split()
                if int(after_name[3]) == leader:  # state, parent, group, session (proc_pid_stat(5))
                    os.kill(int(entry.name), signal.SIGKILL)
