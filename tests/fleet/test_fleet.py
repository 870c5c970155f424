"""``railweave fleet check``: real SSH, the real program on the other side, and what verdicts of many servers share."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest
import yaml
from typer.testing import CliRunner

from railweave import api
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.fleet.checked import checked
from railweave.fleet.running import Answer, Verdict
from railweave.fleet.sharing import Place
from tests.conftest import ROOT
from tests.reach.stand_ins import PASSWORD, USER, StandIn, StandIns, trusting

FABRIC = ROOT / "examples" / "h100-rlb.yaml"
SUBJECTS = {"link-speed": "link", "rdma-gids": "rdma", "nic-firmware": "nics", "system-kernel": "system"}


class Servers(StandIns):
    """Machines with an SSH server that runs commands, each with a folder of its own for temporary files."""

    def server(self, folder: Path, **faults: object) -> StandIn:
        """A server; ``python`` of the faults is what it runs in place of python3."""
        folder.mkdir()
        tools = folder / "bin"
        tools.mkdir()
        python = str(faults.pop("python", ""))
        if python:
            (tools / "python3").write_text(f"#!/bin/sh\n{python}\n")
            (tools / "python3").chmod(0o755)
        device = StandIn({}, asyncssh.generate_private_key("ssh-ed25519"))
        environment = {**os.environ, "TMPDIR": str(folder), "PATH": f"{tools}:{os.environ['PATH']}"}
        environment.pop("PYTHONPATH", None)  # the program stands alone there

        async def handle(process: asyncssh.SSHServerProcess[bytes]) -> None:
            shell = await asyncio.create_subprocess_shell(
                process.command or "true", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            out, wrong = await shell.communicate()
            process.stdout.write(out)
            process.stderr.write(wrong)
            process.exit(shell.returncode or 0)

        class Login(asyncssh.SSHServer):
            def password_auth_supported(self) -> bool:
                return True

            def validate_password(self, username: str, password: str) -> bool:
                return (username, password) == (USER, PASSWORD)

        async def begin() -> None:
            listening = await asyncssh.listen(
                "127.0.0.1", 0, server_host_keys=[device.key], server_factory=Login, process_factory=handle,
                sftp_factory=True, encoding=None,
            )  # fmt: skip
            device.port = listening.get_port()
            self._servers.append(listening)

        self._run(begin())
        return device


@pytest.fixture
def servers() -> Iterator[Servers]:
    found = Servers()
    try:
        yield found
    finally:
        found.close()


def access(folder: Path, monkeypatch: pytest.MonkeyPatch, known: list[StandIn], **devices: StandIn) -> Path:
    monkeypatch.setenv("FLEET_PASSWORD", PASSWORD)
    file = folder / "access.yaml"
    rows = {
        name.replace("_", "-"): {"address": "127.0.0.1", "ports": {"ssh": one.port}} for name, one in devices.items()
    }
    defaults = {"user": USER, "password": "env:FLEET_PASSWORD", "known_hosts": str(trusting(folder, *known))}
    file.write_text(yaml.safe_dump({"defaults": defaults, "devices": rows}))
    return file


def test_servers_are_checked_by_the_program_itself(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, stranger = servers.server(tmp_path / "one"), servers.server(tmp_path / "stranger")
    old, odd = (
        servers.server(tmp_path / "old", python="echo no python here >&2; exit 127"),
        servers.server(tmp_path / "odd", python="echo hello"),
    )
    file = access(tmp_path, monkeypatch, [one, old, odd], H100_01=one, H100_02=stranger, H100_03=old, H100_04=odd)
    junit = tmp_path / "fleet.xml"
    words = [
        "fleet",
        "check",
        str(FABRIC),
        "--access",
        str(file),
        "--only",
        "nics",
        "--only",
        "system",
        "--junit",
        str(junit),
    ]
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)["servers"]
    assert {each["check"] for each in found["H100-01"]["results"]} > {"nic-present", "system-memlock"}
    assert "host key" in found["H100-02"]["error"]
    assert "ssh-keyscan" in found["H100-02"]["fix"]
    assert "no python here" in found["H100-03"]["error"]
    assert "did not print" in found["H100-04"]["error"]
    assert [one.name for one in tmp_path.glob("*/railweave.*")] == []  # nothing stays
    text = junit.read_text()
    assert text.count("<testsuite ") == 4
    assert 'name="nic-present"' in text
    shown = CliRunner().invoke(app, [*words, "--hosts", "H100-01"])
    assert shown.exit_code == 1
    assert "failed: nic-present" in shown.stdout
    assert "1 server: 1 with failures" in shown.stdout


def test_a_name_that_is_no_server_or_check_is_refused() -> None:
    with pytest.raises(InputError, match="no such server"):
        api.fleet_check(FABRIC, hosts="H100-[07-09]")
    with pytest.raises(InputError, match="no such check"):
        api.fleet_check(FABRIC, only=["nothing"])


def _answer(server: str, *verdicts: tuple[str, ...]) -> Answer:
    return Answer(server, server, tuple(Verdict(*one) for one in verdicts))


def test_failures_that_share_a_leaf_or_a_rail_are_told_once() -> None:
    names = [f"s{i}" for i in range(4)]
    places = {
        (name, f"nic{rail}"): Place(f"leaf{1 + rail}-{i // 2}", rail)
        for i, name in enumerate(names)
        for rail in range(2)
    }
    slow = [
        _answer(
            name, *(("link-speed", f"nic{rail}", "failed" if rail == 1 else "ok", "200", "400") for rail in range(2))
        )
        for name in names
    ]
    found = checked("net", slow, places, dict.fromkeys(names, "m"), SUBJECTS)
    assert [(one.check, one.what) for one in found.shared] == [("link-speed", "rail 1")]
    assert "rail 1: look there first" in found.to_text()
    assert found.to_text().count("failed: link-speed") == 1
    one_server = [
        _answer(name, *(("rdma-gids", f"nic{i}", "failed" if name == "s2" else "ok", "0 of 4", "4") for i in range(3)))
        for name in names
    ]
    assert [one.what for one in checked("net", one_server, {}, dict.fromkeys(names, "m"), SUBJECTS).shared] == [
        "server s2"
    ]


def test_a_server_that_differs_from_its_like_is_named() -> None:
    names = [f"s{i}" for i in range(10)]
    answers = [
        _answer(name, ("nic-firmware", "nic0", "ok", "28.43" if name != "s7" else "28.41", "")) for name in names
    ]
    found = checked("net", answers, {}, dict.fromkeys(names, "m"), SUBJECTS)
    assert [(one.server, one.seen, one.usual, one.agree, one.of) for one in found.odd] == [
        ("s7", "28.41", "28.43", 9, 10)
    ]
    assert found.good
    assert "s7 differs: nic-firmware is 28.41, and 28.43 on 9 of 10" in found.to_text()
