"""Devices that are none: servers on loopback that speak SSH, NETCONF, eAPI and RESTCONF, with answers by question and faults.

They run in a thread with a loop of their own, so that what is tested may have its own.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import asyncssh

T = TypeVar("T")
USER, PASSWORD = "reader", "swordfish-81"
_END = b"]]>]]>"
_HELLO = '<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities>{}</capabilities><session-id>1</session-id></hello>'
_BASE = "<capability>urn:ietf:params:netconf:base:1.{}</capability>"
_CHANGES = "".join(
    f"<capability>urn:ietf:params:netconf:capability:{one}:1.0</capability>"
    for one in ("candidate", "confirmed-commit", "validate")
)
"""What Junos says of itself (Juniper documentation, NETCONF XML Management Protocol Developer Guide, session start)."""


@dataclass
class StandIn:
    """One device: ``answers`` by the words of a question; what is not there is refused. ``asked`` is what it was asked.

    ``cut_after``: it drops the connection in the middle of the answer after so many, ``cuts`` times. ``late_s``: it waits before each
    answer; ``held``: it answers nothing before that is set. ``chunked``: it speaks NETCONF 1.1.
    """

    answers: dict[str, str]
    key: asyncssh.SSHKey
    cut_after: int | None = None
    cuts: int = 1_000
    late_s: float = 0
    held: threading.Event | None = None
    chunked: bool = True
    gone: bool = False
    """It lets nobody in any more."""
    calls: Callable[[ET.Element], str | None] | None = None
    """What answers remote procedure calls, where it answers one."""
    commands: Callable[[list[str], str], list[Any] | str | bytes] | None = None
    """What answers commands by eAPI in place of ``answers``: their results, what is refused, or the bytes to send."""
    shell: list[str] | None = None
    """Words before a command that ``answers`` has not, which is then run on this machine."""
    before: Callable[[str], None] = lambda _: None
    """Called with each command before it is run by ``shell``."""
    busy: int = 0
    """Commands that run by ``shell`` now."""
    files: Path | None = None
    """The folder that those who copy files to it see as its root."""
    port: int = 0
    asked: list[str] = field(default_factory=list)
    answered: int = 0
    logins: int = 0
    forwarded: int = 0
    connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)

    def known(self, host: str = "127.0.0.1") -> str:
        """The line of known_hosts that trusts it."""
        return f"[{host}]:{self.port} {self.key.export_public_key().decode()}"

    async def answer(self, words: str) -> tuple[str, bool]:
        """The answer, and whether the connection is to end in the middle of it."""
        self.asked.append(words)
        await asyncio.sleep(self.late_s)
        while self.held is not None and not self.held.is_set():
            await asyncio.sleep(0.01)
        cut = self.cut_after is not None and self.answered >= self.cut_after and self.cuts > 0
        if cut:
            self.cuts -= 1
            self.answered = 0
        else:
            self.answered += 1
        return self.answers.get(words, f"% Invalid input: {words}\n"), cut


class _Login(asyncssh.SSHServer):
    def __init__(self, device: StandIn) -> None:
        self._device = device

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._device.logins += 1
        self._device.connections.append(conn)
        if self._device.gone:
            conn.abort()

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        self._device.forwarded += 1
        return True


async def _handle(device: StandIn, process: asyncssh.SSHServerProcess) -> None:
    if process.subsystem == "netconf":
        await _netconf(device, process)
        return
    if device.shell is not None and (process.command or "") not in device.answers:
        await _run(device.shell, device, process)
        return
    answer, cut = await device.answer(process.command or "")
    if cut:
        process.stdout.write(answer[: len(answer) // 2].encode())
        process.channel.get_connection().abort()
        return
    process.stdout.write(answer.encode("utf-8", "surrogateescape"))
    process.exit(1 if answer.startswith("%") else 0)


async def _run(shell: list[str], device: StandIn, process: asyncssh.SSHServerProcess) -> None:
    device.asked.append(process.command or "")
    given = await process.stdin.read()
    device.busy += 1
    device.before(process.command or "")
    pipe = asyncio.subprocess.PIPE
    words = [*shell, "sh", "-c", process.command or ""]
    child = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe)
    out, wrong = await child.communicate(given)
    device.busy -= 1
    process.stdout.write(out)
    process.stderr.write(wrong)
    process.exit(child.returncode or 0)


async def _netconf(device: StandIn, process: asyncssh.SSHServerProcess) -> None:
    known = _BASE.format(0) + (_BASE.format(1) if device.chunked else "") + (_CHANGES if device.calls else "")
    process.stdout.write(_HELLO.format(known).encode() + _END)
    left, chunked = b"", False
    while part := await process.stdin.read(65536):
        left += part
        while True:
            mark = b"\n##\n" if chunked else _END
            message, found, left = left.partition(mark)
            if not found:
                left = message
                break
            text = message.split(b"\n", 2)[2] if chunked else message
            tree = ET.fromstring(text)  # noqa: S314 - from our own client
            if tree.tag.endswith("hello"):
                chunked = device.chunked
                continue
            answer, cut = await _replied(device, tree[0])
            reply = f'<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="{tree.get("message-id")}">{answer}</rpc-reply>'.encode()
            half = len(reply) // 2
            framed = b"\n#%d\n%b\n#%d\n%b\n##\n" % (half, reply[:half], len(reply) - half, reply[half:])
            process.stdout.write(framed[:half] if cut else framed if chunked else reply + _END)
            if cut:
                process.channel.get_connection().abort()
                return


async def _replied(device: StandIn, asked: ET.Element) -> tuple[str, bool]:
    if device.calls is not None and (found := device.calls(asked)) is not None:
        return found, False
    if asked.tag.endswith("get-configuration"):
        answer, cut = await device.answer("get-configuration set")
        return f"<configuration-set>{escape(answer)}</configuration-set>", cut
    if asked.tag.endswith("close-session"):
        return "<ok/>", False
    answer, cut = await device.answer(asked.text or "")
    if answer.startswith("%"):
        error = f"<error-severity>error</error-severity><error-message>{escape(answer)}</error-message>"
        return f"<rpc-error>{error}</rpc-error>", cut
    return (answer if asked.get("format") == "xml" else f"<output>{escape(answer)}</output>"), cut


async def _http(device: StandIn, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    try:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode():
            if device.gone:
                break
            first, *lines = head.split("\r\n")
            method, path, _ = first.split(" ")
            fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            device.logins += 1
            if fields.get("authorization") != f"Basic {wanted}":
                status, text, cut = 401, "{}", False
            elif method == "GET":
                words = path.removeprefix("/restconf/data/")
                text, cut = await device.answer(words)
                status = 200 if words in device.answers else 404
                text = (
                    text
                    if status == 200
                    else '{"ietf-restconf:errors":{"error":[{"error-message":"Resource not found"}]}}'
                )
            else:
                status, (text, cut) = 200, await _eapi(device, json.loads(body))
            data = text.encode()
            writer.write(
                f"HTTP/1.1 {status} x\r\nContent-Length: {len(data)}\r\n\r\n".encode()
                + data[: len(data) // (2 if cut else 1)]
            )
            await writer.drain()
            if cut:
                break
    except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
        pass
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _eapi(device: StandIn, call: dict[str, Any]) -> tuple[str, bool]:
    if device.commands is not None:
        found = device.commands([one for one in call["params"]["cmds"] if one != "enable"], call["params"]["format"])
        if isinstance(found, bytes):
            return found.decode(), False
        if isinstance(found, str):
            error = {"code": 1002, "message": f"CLI command failed: {found}", "data": [{"errors": [found]}]}
            return json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}), False
        return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": [{}, *found]}), False
    command = call["params"]["cmds"][0]
    words = command if isinstance(command, str) else f"{command['cmd']} revision {command['revision']}"
    answer, cut = await device.answer(words)
    if answer.startswith("garbage"):
        return answer, cut
    if answer.startswith("%"):
        error = {"code": 1002, "message": f"CLI command 1 of 1 '{words}' failed: invalid command", "data": []}
        return json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}), cut
    result = json.loads(answer) if call["params"]["format"] == "json" else {"output": answer}
    return json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": [result]}), cut


class StandIns:
    """The devices of a test, and their loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._servers: list[Any] = []
        self._devices: list[StandIn] = []
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result(60)

    def ssh(self, answers: dict[str, str], **faults: Any) -> StandIn:
        """A device that speaks SSH and NETCONF."""
        device = StandIn(answers, asyncssh.generate_private_key("ssh-ed25519"), **faults)

        async def begin() -> None:
            async def handle(process: asyncssh.SSHServerProcess) -> None:
                await _handle(device, process)

            def copies(channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
                return asyncssh.SFTPServer(channel, chroot=str(device.files).encode())

            server = await asyncssh.listen(
                "127.0.0.1",
                0,
                sftp_factory=copies if device.files else None,
                server_host_keys=[device.key],
                server_factory=lambda: _Login(device),
                process_factory=handle,
                encoding=None,
            )
            device.port = server.get_port()
            self._servers.append(server)
            self._devices.append(device)

        self._run(begin())
        return device

    def web(self, answers: dict[str, str], *, tls: ssl.SSLContext | None = None, **faults: Any) -> StandIn:
        """A device that speaks eAPI and RESTCONF."""
        device = StandIn(answers, asyncssh.generate_private_key("ssh-ed25519"), **faults)

        async def begin() -> None:
            async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await _http(device, reader, writer)

            server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
            device.port = server.sockets[0].getsockname()[1]
            self._servers.append(server)

        self._run(begin())
        return device

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers:
                server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for one in (each for device in self._devices for each in device.connections):
                one.abort()
                await one.wait_closed()

        self._run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()


@contextmanager
def stand_ins() -> Iterator[StandIns]:
    """Devices for as long as a test runs."""
    devices = StandIns()
    try:
        yield devices
    finally:
        devices.close()


def trusting(folder: Path, *devices: StandIn) -> Path:
    """A known_hosts file with the keys of devices."""
    path = folder / "known_hosts"
    path.write_text("".join(one.known() + "\n" for one in devices))
    return path
