"""SSH by asyncssh: each query is a command in a separate channel on one connection.

A host key that is not in known_hosts is refused, and this cannot be switched off. The user's ssh_config is not read;
only access.yaml applies.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from typing import TYPE_CHECKING, Any

import asyncssh

from railweave.live.reach.failure import ReachError, all_of, decoded, printed, safe_line
from railweave.model.state.question import Protocol, Question, reads_only
from railweave.reading import file_text

if TYPE_CHECKING:
    from railweave.live.reach.target import MachineLogin, Target

_DEFAULT_KNOWN_HOSTS = "~/.ssh/known_hosts"


async def connected(target: Target, protocol: Protocol = "ssh") -> list[asyncssh.SSHClientConnection]:
    """Return the connections to a device: the connections to its jump hosts, then the connection to the device.

    ``protocol`` determines the port of the device: NETCONF uses SSH on its own port. Raises ``ReachError`` if a machine cannot be reached,
    has an unknown host key or refuses the login.
    """
    connections: list[asyncssh.SSHClientConnection] = []
    ways = [*_jumps(target.way), target.way]
    try:
        for way in ways:
            port = way.ports["ssh"] if way is not target.way else way.ports[protocol]
            connections.append(await _login(way, port, target.connect_s, connections[-1] if connections else None))
    except BaseException:
        await closed(connections)
        raise
    return connections


def _jumps(way: MachineLogin) -> list[MachineLogin]:
    return [*_jumps(way.jump), way.jump] if way.jump else []


async def closed(connections: list[asyncssh.SSHClientConnection]) -> None:
    """Close connections, the last opened first."""
    for connection in reversed(connections):
        connection.close()
        with contextlib.suppress(Exception):
            await asyncio.wait_for(connection.wait_closed(), 2)


def _known_hosts(way: MachineLogin) -> tuple[str, asyncssh.SSHKnownHosts]:
    from pathlib import Path

    path = (way.known_hosts or Path(_DEFAULT_KNOWN_HOSTS)).expanduser()
    try:
        text = file_text(path, errors="replace")
        return str(path), asyncssh.import_known_hosts(text)
    except FileNotFoundError:
        return str(path), asyncssh.import_known_hosts("")
    except (OSError, ValueError) as error:
        raise ReachError("host key", f"{path} cannot be read: {safe_line(str(error))}") from None


async def _login(
    way: MachineLogin, port: int, limit: float, tunnel: asyncssh.SSHClientConnection | None
) -> asyncssh.SSHClientConnection:
    path, known = _known_hosts(way)
    options: dict[str, Any] = {"client_keys": [str(way.key)] if way.key else ()}
    if way.password is not None:
        options["password"] = way.password.value()
    if way.key is not None or way.password is not None:
        options["agent_path"] = None
    place = f"{way.address} port {port}"
    try:
        async with asyncio.timeout(limit):
            return await asyncssh.connect(
                way.address,
                port,
                username=way.user,
                known_hosts=known,
                tunnel=tunnel or (),
                config=None,
                keepalive_interval=30,
                **options,
            )
    except asyncssh.HostKeyNotVerifiable:
        raise _unknown(way, port, path, known) from None
    except asyncssh.PermissionDenied:
        raise ReachError("login", f"{place} does not let {way.user} in") from None
    except asyncssh.KeyImportError as error:
        raise ReachError("login", f"cannot log in with {way.key}: {safe_line(str(error))}") from None
    except TimeoutError:
        raise ReachError("unreachable", f"{place} does not answer within {limit:g} s") from None
    except (OSError, asyncssh.Error) as error:
        if isinstance(error, FileNotFoundError) and way.key is not None:
            raise ReachError("login", f"there is no such file: {way.key}") from None
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReachError("unreachable", f"{place}: {safe_line(reason) or type(error).__name__}") from None


def _unknown(way: MachineLogin, port: int, path: str, known: asyncssh.SSHKnownHosts) -> ReachError:
    """Return the error for a host key that is unknown or has changed, with the remedy.

    ``way`` is the login. ``path`` is the file of trusted host keys, and ``known`` its content. In the error's text, no word follows
    ``key``, because ``safe_line`` would hide that word as a secret.
    """
    name = way.address if port == 22 else f"[{way.address}]:{port}"
    add = f"ssh-keyscan -p {port} {shlex.quote(way.address)} >> {shlex.quote(path)}"
    if any(known.match(way.address, "", port)[:2]):
        message = f"{name} shows another host key; {path} has one of it: somebody may stand in between, or it was installed again"
        fix = f"ask whoever runs it; if the new key is its own: ssh-keygen -R {shlex.quote(name)} -f {shlex.quote(path)} && {add}"
        return ReachError("host key", message, fix)
    return ReachError(
        "host key", f"{name} is not in {path}: unknown host key", f"add it, and compare it with the device's: {add}"
    )


class Ssh:
    """An SSH connection to a device. Each query is a command."""

    def __init__(self, connections: list[asyncssh.SSHClientConnection], limit: float) -> None:
        self._connections = connections
        self._limit = limit

    @classmethod
    async def opened(cls, target: Target) -> Ssh:
        """Return a connection to a device after login.

        Raises ``ReachError`` if a machine cannot be reached, has an unknown host key or refuses the login.
        """
        return cls(await connected(target), target.answer_s)

    async def ask(self, question: Question) -> str:
        """Run the command of the query ``question`` and return its output.

        Raises ``ReachError`` if the command is refused, late or not known to be read-only, or if the connection ends.
        """
        words = question.asked["ssh"]
        if not reads_only("ssh", words):
            raise ReachError("not asked", f"`{words}` is not known to read only")
        try:
            async with asyncio.timeout(self._limit):
                return printed(words, *await self.ran(words))
        except TimeoutError:
            raise ReachError("late", f"`{words}`: no answer within {self._limit:g} s") from None
        except (OSError, asyncssh.Error) as error:
            raise ReachError("lost", f"`{words}`: the connection ended: {safe_line(str(error))}") from None

    async def ran(self, words: str, given: str | None = None) -> tuple[int, str, str]:
        """Run a command, and return its exit status, output and error output. ``given`` is the input of the command, or None.

        Raises ``ReachError`` if the connection ends before the command ends.
        """
        stdin = asyncssh.DEVNULL if given is None else asyncssh.PIPE
        process = await self._connections[-1].create_process(words, encoding=None, stdin=stdin)
        try:
            if given is not None:
                with contextlib.suppress(BrokenPipeError):  # the command has ended already, and reads none of it
                    process.stdin.write(given.encode())
                    process.stdin.write_eof()
            out, wrong = await all_of(process.stdout, process.stderr)
            await process.wait_closed()
        finally:
            process.close()
        status = process.exit_status
        if status is None and process.exit_signal is None and self._connections[-1].is_closed():
            raise ReachError("lost", f"`{words}`: the connection ended in the middle of the answer")
        return 1 if status is None else status, decoded(out), decoded(wrong)

    async def close(self) -> None:
        """Log out."""
        await closed(self._connections)
