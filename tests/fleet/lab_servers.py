"""The servers of a lab with OpenSSH in front: each is logged in to on a port of its own, and is in its own namespace then."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncssh
import pytest
import yaml

from railweave.lab.names import namespace
from railweave.lab.running import Running

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
needs_sshd = pytest.mark.skipif(not os.access(SSHD, os.X_OK), reason="there is no sshd (openssh-server)")

_CONFIG = """
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
PidFile none
LogLevel ERROR
Subsystem sftp internal-sftp
SetEnv PATH={path}
"""


class _Door(threading.Thread):
    """Listens on loopback, and hands each connection to an sshd within the server's namespace, as inetd does."""

    def __init__(self, space: str, folder: Path) -> None:
        super().__init__(daemon=True)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.2)
        self.port = self._listening.getsockname()[1]
        self._words = ["ip", "netns", "exec", space, SSHD, "-i", "-e", "-f", str(folder / "sshd_config")]
        self._log = folder / "sshd.log"
        self._running: list[subprocess.Popen[bytes]] = []
        self._open = True

    def run(self) -> None:
        while self._open:
            try:
                taken, _ = self._listening.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            taken.settimeout(None)
            with taken, self._log.open("ab") as log:
                self._running.append(subprocess.Popen(self._words, stdin=taken, stdout=taken, stderr=log))

    def close(self) -> None:
        self._open = False
        self._listening.close()
        for one in self._running:
            try:
                one.wait(10)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
        self.join()


@contextmanager
def reachable(running: Running, folder: Path) -> Iterator[Path]:
    """SSH servers of a lab's servers; gives the ``access.yaml`` by which they are reached."""
    folder.mkdir()
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd(8): what its unprivileged part is confined to
    login = asyncssh.generate_private_key("ssh-ed25519")
    login.write_private_key(folder / "key")
    (folder / "key").chmod(0o600)
    doors: dict[str, _Door] = {}
    known: list[str] = []
    tools = f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    try:
        for name in running.plan.hosts:
            own = folder / name
            own.mkdir()
            key = asyncssh.generate_private_key("ssh-ed25519")
            key.write_private_key(own / "host_key")
            (own / "host_key").chmod(0o600)
            login.write_public_key(own / "authorized_keys")
            (own / "sshd_config").write_text(_CONFIG.format(folder=own, path=tools))
            doors[name] = _Door(namespace(running.place.lab, name), own)
            doors[name].start()
            public = key.export_public_key().decode().strip()
            known.append(f"[127.0.0.1]:{doors[name].port} {public}")
        (folder / "known_hosts").write_text("\n".join(known) + "\n")
        access = {
            "defaults": {"user": "root", "key": str(folder / "key"), "known_hosts": str(folder / "known_hosts")},
            "devices": {name: {"address": "127.0.0.1", "ports": {"ssh": one.port}} for name, one in doors.items()},
        }
        (folder / "access.yaml").write_text(yaml.safe_dump(access))
        yield folder / "access.yaml"
    finally:
        for one in doors.values():
            one.close()
