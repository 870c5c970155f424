"""The servers of a fabric file as SSH servers on loopback, each with a stand-in of perftest: what they are told runs in real processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import yaml

from railweave import api
from railweave.model.network.model import Network
from railweave.operations.bench.plan import Perftest, Plan, PlannedRun
from railweave.operations.bench.running.scripts import written_gid
from tests.conftest import ROOT
from tests.live.reach.stand_ins import PASSWORD, USER, StandIn, StandIns, trusting

FABRIC = ROOT / "examples" / "h100-rlb.yaml"
PROGRAM = Path(__file__).with_name("ib_write_bw.py")
FIRST_PORT = 10000 + os.getpid() % 300 * 64
"""The servers of all processes that test share one loopback."""


class Cluster(StandIns):
    """``folder``: what is wrong on servers, and what ran there; ``devices``: what the kernels show of RDMA devices, of all servers together."""

    def __init__(self, folder: Path, network: Network) -> None:
        super().__init__()
        self.folder = folder
        self.devices = folder / "infiniband"
        self.known: list[StandIn] = []
        self.ports: dict[str, int] = {}
        tools = folder / "bin"
        tools.mkdir(parents=True)
        (tools / "ib_write_bw").write_text(f'#!/bin/sh\nexec {sys.executable} -SE {PROGRAM} "$@"\n')
        (tools / "ib_write_bw").chmod(0o755)
        for server in network.servers:
            for nic in server.nics:
                for index, one in enumerate(nic.addresses, 3):
                    self.gid(f"{server.name}-{nic.name}", index, one.address)

    def gid(self, device: str, index: int, address: str, kind: str = "RoCE v2") -> Path:
        """An entry of a table of GIDs."""
        port = self.devices / device / "ports" / "1"
        (port / "gids").mkdir(parents=True, exist_ok=True)
        (port / "gid_attrs" / "types").mkdir(parents=True, exist_ok=True)
        (port / "gids" / str(index)).write_text(written_gid(address) + "\n")
        (port / "gid_attrs" / "types" / str(index)).write_text(f"{kind}\n")
        return port / "gids" / str(index)

    def wrong(self, server: str, what: str) -> None:
        """Let the stand-in on a server do something else."""
        (self.folder / server).write_text(what)

    def ran(self) -> list[str]:
        """What stand-ins were called with: the server, then the words."""
        return sorted(path.read_text() for path in self.folder.glob("ran.*"))

    def alive(self) -> list[int]:
        """Stand-ins that still run."""
        found = [int(path.suffix[1:]) for path in self.folder.glob("ran.*")]
        return [pid for pid in found if Path(f"/proc/{pid}/cmdline").exists() and PROGRAM.name in _command(pid)]

    def server(self, name: str) -> None:
        """Let a server be logged in to."""
        device = StandIn({}, asyncssh.generate_private_key("ssh-ed25519"))
        environment = {**os.environ, "NAME": name, "STAND_IN": str(self.folder)}
        environment["PATH"] = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment["TMPDIR"] = str(self.folder)

        async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
            pipe = subprocess.PIPE
            shell = await asyncio.create_subprocess_shell(
                process.command or "true", env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT
            )
            assert shell.stdin
            assert shell.stdout
            given = asyncio.create_task(_given(process, shell.stdin))
            try:
                with suppress(BrokenPipeError):  # nobody is there any more
                    while part := await shell.stdout.read(65536):
                        process.stdout.write(part)
                process.exit(await shell.wait())
                await given
            finally:
                if shell.returncode is None:
                    shell.kill()
                    await shell.wait()

        class Login(asyncssh.SSHServer):
            def password_auth_supported(self) -> bool:
                return True

            def validate_password(self, username: str, password: str) -> bool:
                return (username, password) == (USER, PASSWORD)

            def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
                device.connections.append(conn)

        async def begin() -> None:
            listening = await asyncssh.listen(
                "127.0.0.1", 0, server_host_keys=[device.key], server_factory=Login, process_factory=handle, encoding=None,
            )  # fmt: skip
            device.port = listening.get_port()
            self._servers.append(listening)
            self._devices.append(device)

        self._run(begin())
        self.known.append(device)
        self.ports[name] = device.port

    def access(self) -> Path:
        """``access.yaml`` of those that can be logged in to; the others are at a port where nobody listens."""
        file = self.folder / "access.yaml"
        rows = {name: {"address": "127.0.0.1", "ports": {"ssh": port}} for name, port in self.ports.items()}
        defaults = {
            "user": USER,
            "password": "env:FLEET_PASSWORD",
            "known_hosts": str(trusting(self.folder, *self.known)),
        }
        file.write_text(yaml.safe_dump({"defaults": defaults, "devices": rows, "attempts": 1}))
        return file


async def _given(process: asyncssh.SSHServerProcess[bytes], to: asyncio.StreamWriter) -> None:
    """A command's input, which ends when the other side ends it, or goes away."""
    with suppress(asyncssh.Error, ConnectionError):
        while part := await process.stdin.read(65536):
            to.write(part)
    to.close()


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def planned(network: Network, count: int, **change: Any) -> Plan:
    """A plan of so many pairs of NICs, in one round, each on servers of its own; each run with ``change``."""
    whole = api.bench_plan(network, "quick", memory="host", predict=False, parts=["pairs"])
    taken, found = set[str](), list[PlannedRun]()
    for one in whole.runs:
        assert isinstance(one.test, Perftest)
        if not taken & {one.test.client.host, one.test.server.host}:
            found.append(replace(one, **change))
            taken |= {one.test.client.host, one.test.server.host}
    assert len(found) >= count
    return replace(whole, runs=tuple(found[:count]))
