"""OpenSSH's own server as a jump host and as the machine behind it: the stand-ins of the other tests are asyncssh's."""

from __future__ import annotations

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened
from railweave.live.reach.target import PORTS, MachineLogin, Target
from railweave.model.state.question import Question

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
SHOW = Question("version", "text", {"ssh": "show version"})
pytestmark = pytest.mark.skipif(
    not os.access(SSHD, os.X_OK) or os.geteuid() != 0, reason="there is no sshd (openssh-server), or no root to run it"
)

# Every command is answered with who opened the connection: the client's address and port, then the server's (ssh(1)).
# The home is an empty one, so that no start file of the user's shell can hold a session up.
_CONFIG = """
SetEnv HOME={folder}
ForceCommand echo $SSH_CONNECTION
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {keys}
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
LogLevel DEBUG1
AllowTcpForwarding {forwarding}
"""


class _Server:
    """One sshd on a free port of loopback."""

    def __init__(self, folder: Path, keys: Path, forwarding: str = "yes") -> None:
        folder.mkdir()
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._key.write_private_key(folder / "host_key")
        (folder / "host_key").chmod(0o600)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = folder / "sshd_config"
        config.write_text(_CONFIG.format(port=self.port, folder=folder, keys=keys, forwarding=forwarding))
        self.log = folder / "log"
        self.process = subprocess.Popen([SSHD, "-D", "-f", str(config), "-E", str(self.log)])

    def wait(self) -> None:
        """Until it listens."""
        until = time.monotonic() + 60
        while True:
            assert self.process.poll() is None, self.log.read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            except OSError:
                assert time.monotonic() < until, self.log.read_text()
                time.sleep(0.05)
            else:
                return

    def known(self) -> str:
        """Its line of known_hosts."""
        return f"[127.0.0.1]:{self.port} {self._key.export_public_key().decode()}"

    def way(self, folder: Path, jump: MachineLogin | None = None) -> MachineLogin:
        """How it is logged in to."""
        ports = dict.fromkeys(PORTS, self.port)
        known = folder / "known_hosts"
        return MachineLogin("127.0.0.1", getpass.getuser(), ports, key=folder / "key", known_hosts=known, jump=jump)


@contextmanager
def _servers(folder: Path, **forwarding: str) -> Iterator[dict[str, _Server]]:
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd(8): what its unprivileged part is confined to
    login = asyncssh.generate_private_key("ssh-ed25519")
    login.write_private_key(folder / "key")
    (folder / "key").chmod(0o600)
    login.write_public_key(folder / "authorized_keys")
    running: dict[str, _Server] = {}
    try:
        for name, allowed in forwarding.items():
            running[name] = _Server(folder / name, folder / "authorized_keys", allowed)
        for one in running.values():
            one.wait()
        (folder / "known_hosts").write_text("".join(one.known() for one in running.values()))
        yield running
    finally:
        for one in running.values():
            one.process.terminate()
            one.process.wait(30)


def _ask(way: MachineLogin) -> str:
    async def run() -> str:
        transport = await opened(Target("leaf1", ("ssh",), way, connect_s=60, answer_s=60), "ssh")
        try:
            return await transport.ask(SHOW)
        finally:
            await transport.close()

    return asyncio.run(run())


@pytest.mark.slow
def test_openssh_is_a_jump_host(tmp_path) -> None:
    with _servers(tmp_path, jump="yes", device="yes", closed="no") as running:
        jump, device, closed = running["jump"], running["device"], running["closed"]
        through = jump.way(tmp_path)
        answer = _ask(device.way(tmp_path, jump=through)).split()
        assert answer[2:] == ["127.0.0.1", str(device.port)]
        assert f"port {answer[1]}" in device.log.read_text()
        assert "direct-tcpip" in jump.log.read_text()

        with pytest.raises(ReachError) as caught:
            _ask(device.way(tmp_path, jump=closed.way(tmp_path)))
        assert caught.value.kind == "unreachable", str(caught.value)

        only = tmp_path / "only"
        only.write_text(device.known())
        with pytest.raises(ReachError) as caught:
            _ask(device.way(tmp_path, jump=replace(through, known_hosts=only)))
        assert caught.value.kind == "host key"
