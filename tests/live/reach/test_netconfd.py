"""The NETCONF half against a real server: yuma123's netconfd behind OpenSSH (Debian packages ``netconfd`` and ``openssh-server``).

It knows no Junos, so what is tried is what every server has: hello, framing, locks, candidate, validation, confirmed commit, errors, a lost session.
"""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from railweave.live.reach.change_session import NetconfShell, opened
from railweave.live.reach.failure import ReachError
from railweave.live.reach.target import MachineLogin, Target
from railweave.systems.transaction import RefusedError

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
NETCONFD, SUBSYSTEM = shutil.which("netconfd", path="/usr/sbin:/usr/bin"), "/usr/sbin/netconf-subsystem"
MODEL = """module port-mtu {
  namespace "urn:example:port-mtu"; prefix p; revision 2026-11-23;
  container ports { list port { key name; leaf name { type string; } leaf mtu { type uint16 { range "256..9216"; } } } }
}
"""
EDIT = (
    '<edit-config><target><candidate/></target><config><ports xmlns="urn:example:port-mtu">'
    "<port><name>et-0/0/0</name><mtu>{}</mtu></port></ports></config></edit-config>"
)
LOCK, UNLOCK = (f"<{one}><target><candidate/></target></{one}>" for one in ("lock", "unlock"))
READ = '<get-config><source><running/></source><filter><ports xmlns="urn:example:port-mtu"/></filter></get-config>'

pytestmark = [
    pytest.mark.skipif(NETCONFD is None, reason="netconfd is not installed (Debian: netconfd)"),
    pytest.mark.skipif(not Path(SSHD).exists(), reason="no sshd (Debian: openssh-server)"),
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd lets a user in only as root"),
]


@dataclass
class Server:
    """A running netconfd, and how it is reached."""

    target: Target
    process: subprocess.Popen[bytes]


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def until(done: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError(what)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    host, user = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    host.write_private_key(tmp_path / "host")
    user.write_private_key(tmp_path / "user")
    user.write_public_key(tmp_path / "authorized")
    for name in ("host", "user"):
        (tmp_path / name).chmod(0o600)
    models, where, port = tmp_path / "models", tmp_path / "socket", free_port()
    models.mkdir()
    (models / "port-mtu.yang").write_text(MODEL)
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{port} {host.export_public_key().decode()}")
    (tmp_path / "sshd").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/authorized\nStrictModes no\n"
        f"PidFile none\nSetEnv HOME={models}\nSubsystem netconf {SUBSYSTEM} --ncxserver-sockname={port}@{where}\n"
    )
    told = [
        f"--port={port}",
        "--module=port-mtu",
        "--target=candidate",
        "--with-validate=true",
        f"--superuser={getpass.getuser()}",
    ]
    told += [
        "--no-startup",
        f"--ncxserver-sockname={where}",
        f"--modpath={models}:/usr/share/yuma/modules",
        "--log-level=error",
    ]
    Path("/run/sshd").mkdir(exist_ok=True)
    with ExitStack() as stack:
        with (tmp_path / "log").open("wb") as log:
            real = subprocess.Popen(
                [str(NETCONFD), *told], stdin=subprocess.PIPE, stdout=log, stderr=log
            )  # it ends with its input
            stack.callback(ended, real)
            ssh = subprocess.Popen([SSHD, "-D", "-e", "-f", str(tmp_path / "sshd")], stderr=log)
            stack.callback(ended, ssh)
        until(where.exists, "netconfd does not come up")
        until(lambda: answers(port), "sshd does not come up")
        way = MachineLogin(
            "127.0.0.1",
            getpass.getuser(),
            {"netconf": port},
            key=tmp_path / "user",
            known_hosts=tmp_path / "known_hosts",
        )
        yield Server(Target("device", ("netconf",), way, 10, 10), real)


def ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def answers(port: int) -> bool:
    with closing(socket.socket()) as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


async def answering(server: Server) -> NetconfShell:
    """A new session that answers: netconfd now and then answers nothing to the first call of a session."""
    for _ in range(3):
        session = await opened(server.target, "netconf")
        assert isinstance(session, NetconfShell)
        try:
            await session.execute(READ)
        except ReachError:
            await session.close()
        else:
            return session
    raise AssertionError("three sessions, and no answer")


def told(server: Server, work: Callable[[NetconfShell], Awaitable[None]]) -> None:
    """Do something in a session of its own."""

    async def whole() -> None:
        session = await answering(server)
        try:
            await work(session)
        finally:
            await session.close()

    asyncio.run(whole())


def test_a_change_is_checked_committed_for_a_time_and_kept(server: Server) -> None:
    async def work(session: NetconfShell) -> None:
        for one in (LOCK, EDIT.format(9000)):
            assert "<ok/>" in await session.execute(one)
        await session.execute("<commit><confirmed/><confirm-timeout>600</confirm-timeout></commit>")
        assert "<mtu>9000</mtu>" in await session.execute(READ)
        await session.execute("<commit/>")
        await session.execute(UNLOCK)

    told(server, work)

    async def later(session: NetconfShell) -> None:
        assert "<mtu>9000</mtu>" in await session.execute(READ)

    told(server, later)


def test_what_nobody_confirms_goes_back_by_itself(server: Server) -> None:
    async def work(session: NetconfShell) -> None:
        await session.execute(EDIT.format(9000))
        await session.execute("<commit><confirmed/><confirm-timeout>1</confirm-timeout></commit>")
        for _ in range(30):
            await asyncio.sleep(1.5)  # its timers run only while nobody asks it anything
            if "<mtu>" not in await session.execute(READ):
                return
        raise AssertionError

    told(server, work)


def test_what_it_refuses_is_told_in_its_words(server: Server) -> None:
    async def work(session: NetconfShell) -> None:
        with pytest.raises(RefusedError, match=r"(?i)range|value"):
            await session.execute(EDIT.format(99))
        with pytest.raises(RefusedError):
            await session.execute("<no-such-call/>")
        assert "<ok/>" in await session.execute(LOCK)  # the session goes on

    told(server, work)


def test_a_lock_is_held_against_another_session(server: Server) -> None:
    async def work(session: NetconfShell) -> None:
        await session.execute(LOCK)
        other = await answering(server)
        try:
            with pytest.raises(RefusedError, match=r"(?i)lock"):
                await other.execute(LOCK)
        finally:
            await other.close()

    told(server, work)


def test_a_server_that_dies_is_lost_and_not_waited_for(server: Server) -> None:
    async def work(session: NetconfShell) -> None:
        await session.execute(READ)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        with pytest.raises(ReachError) as caught:
            await session.execute(READ)
        assert caught.value.kind == "lost"

    told(server, work)
