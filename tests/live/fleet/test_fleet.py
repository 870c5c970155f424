"""``railweave fleet check``: real SSH, the real program on the other side, and what verdicts of many servers share."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest
import yaml
from typer.testing import CliRunner

from railweave import api
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.live.collect.access_file import read_access
from railweave.live.fleet import rdma
from railweave.live.fleet.checked import Place, checked
from railweave.live.fleet.comparison import unlike
from railweave.live.fleet.meshed import meshed
from railweave.live.fleet.page import page
from railweave.live.fleet.probes import plan
from railweave.live.fleet.running import Answer, Task, Verdict, check
from railweave.live.reach.target import MachineLogin, Target
from tests.conftest import ROOT
from tests.live.reach.stand_ins import PASSWORD, USER, StandIn, StandIns, trusting

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


def test_what_a_check_did_not_see_is_not_good() -> None:
    answers = [
        _answer("host1", ("link-speed", "nic0", "not seen", "ethtool is not installed", "", "", "")),
        _answer("host2", ("link-speed", "nic0", "ok", "400G", "", "", "")),
    ]
    result = checked("net", answers, {}, {}, SUBJECTS)
    assert (result.good, result.unseen) == (False, {"link-speed": ["host1"]})
    assert "not seen: link-speed: host1" in result.to_text()
    assert result.summary() == "2 servers: 0 with failures, 1 check not seen on some"
    assert all(replace(result, allowed=frozenset({name})).good for name in ("link-speed", "link"))


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


def _facts(server: str, **facts: str) -> Answer:
    answer = _answer(server, ("link-speed", "nic0", "ok", "400 Gbit/s"))
    answer.facts = {"machine": "ACME X8, NVIDIA 0x2330", "bios": "2.1", **facts}
    return answer


def test_without_a_design_the_odd_server_is_the_finding() -> None:
    answers = [_facts(name) for name in ("a", "b", "c")]
    answers[1].facts["bios"] = "1.9"
    answers += [_facts(name, machine="ACME Y4, AMD 0x74a1", bios="1.0") for name in ("x", "y")]
    assert [one.text for one in unlike(answers)] == ["b differs: bios is 1.9, and 2.1 on 2 of 3"]
    result = replace(checked("net", answers, {}, {}, SUBJECTS), odd=tuple(unlike(answers)), generic=True)
    assert not result.good
    assert result.summary() == "5 servers: 0 with failures, 1 unlike the others"
    assert "failed: b differs: bios" in result.to_text()
    del answers[4].facts["bios"]
    told = [one.text for one in unlike(answers) if one.server in {"x", "y"}]
    assert told == [
        "x differs: bios is 1.0, and no value has a majority of 2 servers",
        "y differs: bios is not seen, and no value has a majority of 2 servers",
    ]


def test_an_address_that_two_servers_have_is_a_failure() -> None:
    answers = [_facts(name) for name in ("a", "b", "c")]
    for answer in answers:
        answer.addresses = {"eth1": [f"10.0.0.{ord(answer.server)}"]}
    assert checked("net", answers, {}, dict.fromkeys("abc", "m"), SUBJECTS).good
    answers[2].addresses["eth2"] = ["10.0.0.97"]
    result = checked("net", answers, {}, dict.fromkeys("abc", "m"), SUBJECTS)
    assert not result.good
    assert "failed: 10.0.0.97 is on a (eth1), c (eth2): one server only may have it" in result.to_text()
    assert result.summary() == "3 servers: 0 with failures, 1 address on several servers"


def test_failures_with_several_parts_in_common_name_each() -> None:
    """Two leaves of six are bad, and one server elsewhere: most failures are at the two leaves."""
    names = [f"s{i}" for i in range(24)]
    places = {(name, "nic0"): Place(f"leaf{i // 4}", 0) for i, name in enumerate(names)}
    bad = {*names[:4], *names[8:12], "s23"}
    answers = [_answer(name, ("link-speed", "nic0", "failed" if name in bad else "ok", "200", "400")) for name in names]
    result = checked("net", answers, places, dict.fromkeys(names, "m"), SUBJECTS)
    assert [(one.what, len(one.members)) for one in result.shared] == [("leaf leaf0", 4), ("leaf leaf2", 4)]
    assert "most of this check at leaf leaf0 (4), leaf leaf2 (4): look there first" in result.to_text()


def test_failures_that_share_a_rack_or_firmware_are_told() -> None:
    names = [f"s{i}" for i in range(8)]
    racks = {name: f"rack{i // 4}" for i, name in enumerate(names)}
    hot = [_answer(name, ("link-speed", "", "failed" if i < 4 else "ok", "hot", "")) for i, name in enumerate(names)]
    one = checked("net", hot, {}, dict.fromkeys(names, "m"), SUBJECTS, racks=racks)
    assert [part.what for part in one.shared] == ["rack rack0"]
    versions = ["28.41" if i % 2 else "28.43" for i in range(8)]
    odd = [
        _answer(name, ("nic-firmware", "nic0", "ok", f"{version}, as on 4 of 8"),
                ("link-speed", "nic0", "failed" if version == "28.41" else "ok", "200"))
        for name, version in zip(names, versions, strict=True)
    ]  # fmt: skip
    two = checked("net", odd, {}, dict.fromkeys(names, "m"), SUBJECTS, racks=racks)
    assert [part.what for part in two.shared] == ["NIC firmware 28.41"]


def test_servers_are_compared_over_ssh_without_a_design(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real program on this machine, and two servers that answer otherwise; a list of hosts in a file."""
    one = servers.server(tmp_path / "one")
    said = {"results": [{"check": "link-mtu", "of": "eth1", "verdict": "ok", "seen": "9000"}], "facts": {"machine": "Z", "bios": "1"},
            "addresses": {"eth1": ["192.0.2.1"]}, "nics": [{"netdev": "eth1", "leaf": "leaf1"}]}  # fmt: skip
    other = {}
    for name, bios in (("b", "1"), ("c", "1"), ("d", "2")):
        text = json.dumps(
            {**said, "facts": {"machine": "Z", "bios": bios}, "addresses": {"eth1": [f"192.0.2.{ord(name)}"]}}
        )
        (tmp_path / f"{name}.json").write_text(text)
        other[name] = servers.server(tmp_path / name, python=f"cat {tmp_path / name}.json")
    file = access(tmp_path, monkeypatch, [one, *other.values()], a=one, **other)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("# GPU servers\na\n[b]  # odd names are refused\n")
    words = ["fleet", "check", "--generic", "--access", str(file), "--json"]
    assert isinstance(CliRunner().invoke(app, [*words, str(hosts)]).exception, InputError)
    hosts.write_text("a\nb, c\nd\n")
    done = CliRunner().invoke(app, [*words, str(hosts)])
    assert done.exit_code == 1, (done.output, done.exception)
    found = json.loads(done.stdout)
    assert found["generic"]
    assert [(row["server"], row["seen"], row["usual"]) for row in found["odd"]] == [("d", "2", "1")]
    assert {row["check"] for row in found["servers"]["a"]["results"]} > {"nic-present", "system-memlock"}
    assert not any(row["check"] in {"host-routes", "nic-mac"} for row in found["servers"]["a"]["results"])
    refused = CliRunner().invoke(app, [*words, "a", "--hosts", "b"])
    assert isinstance(refused.exception, InputError)


class Hanging:
    """A server that takes files, and then answers nothing any more; removing the folder takes five seconds."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.waited = False

    async def run(self, line: str) -> tuple[int, str, str]:
        self.lines.append(line.split(maxsplit=1)[0])
        if line.startswith("rm "):
            await asyncio.sleep(5)
            self.waited = True
        elif not line.startswith("mktemp "):
            await asyncio.Event().wait()
        return 0, "/run/railweave.x\n", ""

    async def put(self, files: Mapping[str, bytes]) -> None:
        del files


def test_a_server_that_hangs_costs_its_time_once() -> None:
    """The time of a server counts for all that it is asked: it is not waited for again to remove its folder."""
    hanging, others = (
        Hanging(),
        [json.dumps({"results": [{"check": "link-mtu", "of": "eth1", "verdict": "ok", "seen": "9000"}]})] * 3,
    )

    class Answering(Hanging):
        async def run(self, line: str) -> tuple[int, str, str]:
            return 0, others[0] if "check" in line else "/run/railweave.x\n", ""

    @asynccontextmanager
    async def opened(target: Target) -> AsyncGenerator[Hanging]:
        yield hanging if target.name == "b" else Answering()

    tasks = [Task(Target(name, ("ssh",), MachineLogin(name, "root"), 0.1, 0.1), "", opened) for name in "abcd"]
    answers = check(tasks, generic=True, at_once=4, done=lambda _: None)
    assert [answer.error for answer in answers] == ["", "no answer within 0.2 s", "", ""]
    assert hanging.lines == ["mktemp", "python3", "rm"]
    assert not hanging.waited
    assert (
        answers[0].verdicts[0] is answers[3].verdicts[0]
    )  # of 1,024 servers that say the same, each thing is kept once


RDMA_PING = """#!/usr/bin/env python3
# Stands for the program: one end waits, the other prints its two paths.
import json, sys, time
if "--server" in sys.argv:
    print("waiting on port 1", flush=True)
    time.sleep(60)
peer = sys.argv[1]
row = {"device": "mlx5_0", "peer_device": "mlx5_0", "sent": 20, "lost": 0, "dead": False, "reason": ""}
paths = json.load(open(sys.argv[0] + ".json"))[peer]
print(json.dumps([{**row, **one} for one in paths]))
"""


def test_rdma_is_tried_where_the_program_is(servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = api.load(FABRIC)
    probes = plan(network)
    able: dict[str, str] = {}
    devices: dict[str, StandIn] = {}
    for name in ("H100-01", "H100-02", "H100-03"):
        devices[name.replace("-", "_")] = servers.server(tmp_path / name)
        program = tmp_path / name / "rdma-ping"
        program.write_text(RDMA_PING)
        program.chmod(0o755)
        able[name] = str(program)
        said: dict[str, list[dict[str, object]]] = {}
        for one in probes:
            if one.server == name and one.nic == "gpu0_eth":
                lost = {"dead": True, "reason": "the peer does not answer"} if one.color == "blue" else {}
                said.setdefault(one.peer, []).append({"local": one.source, "remote": one.target, **lost})
        (tmp_path / name / "rdma-ping.json").write_text(json.dumps(said))
    file = access(tmp_path, monkeypatch, list(devices.values()), **devices)
    asked = rdma.pairs(probes, able)
    assert {(one.server, one.peer) for one in asked} >= {("H100-01", "H100-02"), ("H100-02", "H100-03")}
    assert len({(one.peer, one.port) for one in asked}) == len(asked)
    targets = {name: read_access(file).target(name, "server", "", name, ("ssh",)) for name in able}
    paths = [
        path
        for one in rdma.ping(asked, targets, able, at_once=4, done=lambda _: None)
        for path in rdma.read(network, one)
    ]
    assert {probe.color for probe, wrong in paths if wrong} == {"blue"}
    assert {probe.spines for probe, wrong in paths if wrong} == {(), ("spine2",)}
    assert {wrong for _, wrong in paths} == {"", "the peer does not answer"}
    found = meshed(network.name, {}, [], paths, "12 paths tried")
    assert found.common[0].what[0] == "color blue of backend"
    assert "RDMA writes are lost" in found.to_text()
    assert "RDMA: 12 paths tried" in found.to_text()
    with pytest.raises(ValueError, match="nothing answers"):
        rdma.read(network, rdma.PairOutput(asked[0], error="nothing answers on H100-02 port 18590"))
    with pytest.raises(ValueError, match="did not print"):
        rdma.read(network, rdma.PairOutput(asked[0], '[{"local": "fd00::1"}]'))


def test_the_mesh_of_real_servers_that_have_none_of_the_addresses(
    servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, quiet = servers.server(tmp_path / "one"), servers.server(tmp_path / "quiet", python="exit 3")
    file = access(tmp_path, monkeypatch, [one, quiet], H100_01=one, H100_02=quiet)
    html, junit = tmp_path / "mesh.html", tmp_path / "mesh.xml"
    words = ["fleet", "mesh", str(FABRIC), "--access", str(file), "--hosts", "H100-[01-02]", "--html", str(html)]
    done = CliRunner().invoke(app, [*words, "--junit", str(junit), "--json"])
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert list(found["silent"]) == ["H100-02"], found["silent"]
    assert {each["outcome"] for each in found["probes"]} <= {"refused", "not tried"}
    assert len(found["probes"]) == 8 * 8
    assert found["rdma"].startswith("not tried; no RDMA device")
    assert "no answer" in html.read_text()
    assert 'name="H100-02"' in junit.read_text()
    assert [each.name for each in tmp_path.glob("*/railweave.*")] == []
    refused = CliRunner().invoke(app, ["fleet", "mesh", str(FABRIC), "--hosts", "nobody"])
    assert isinstance(refused.exception, InputError)


def test_the_page_has_the_matrix_and_takes_nothing_that_servers_print_as_markup() -> None:
    bad = (
        "link-speed",
        "gpu0_eth",
        "failed",
        "<script>alert(1)</script>",
        "400 Gbit/s",
        "host.json",
        "look at the leaf",
    )
    silent = Answer("s2", "s2", error="no answer within 70 s")
    shown = page(checked("net", [_answer("s1", bad), silent], {}, {"s1": "m", "s2": "m"}, SUBJECTS))
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "FAIL 1" in shown
    assert shown.count("no answer") > 1
    assert "default-src 'none'" in shown.replace("&#39;", "'")
