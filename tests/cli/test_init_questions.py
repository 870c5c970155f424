"""``railweave init`` that asks: a real terminal (pty), its answers, Ctrl-C at every question, and no terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from railweave.cli.app import app
from tests.conftest import ROOT

PROGRAM = "import sys; from railweave.cli import main; sys.exit(main())"
QUESTIONS = (
    "folder for the files",
    "number of GPU servers",
    "server, GPU or NIC model",
    "switch vendor or model",
    "load balancing",
    "name of the network",
    "write the files?",
)
"""The questions, in order. That of load balancing is asked only where there is a choice: not in a fabric without spines."""
MANY = "64\n"
"""A number of servers whose fabric has spines."""


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.shown, self.at, self.end = "", 0, time.monotonic() + 300
        self.master, slave = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "dumb", "COLUMNS": "200"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "init", *words],
            cwd=folder,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: _controlled(slave),  # noqa: PLW1509 - Ctrl-C needs a controlling terminal
        )
        os.close(slave)

    def until(self, text: str) -> None:
        """Read until a text is shown after the last one that was waited for."""
        while text not in self.shown[self.at :]:
            assert time.monotonic() < self.end, f"not shown: {text}\n{self.shown}"
            self.shown += self._read()
        self.at = self.shown.index(text, self.at) + len(text)

    def _read(self) -> str:
        if select.select([self.master], [], [], 1)[0] and (more := self._read_rest()):
            return more
        assert self.process.poll() is None, self.shown
        return ""

    def answer(self, question: str, text: str) -> None:
        self.until(question)
        self.until(": ")
        os.write(self.master, text.encode())

    def code(self, pressed: bytes = b"") -> int:
        """Return the exit code, when all is read. ``pressed`` is a key that is pressed until the process ends.

        A signal between the prompt and readline's wait for a key is seen at the next key: a person presses Ctrl-C again.
        """
        while self.process.poll() is None:
            assert time.monotonic() < self.end, f"not ended\n{self.shown}"
            if select.select([self.master], [], [], 5)[0]:
                self.shown += self._read_rest()
            else:
                os.write(self.master, pressed)
        while select.select([self.master], [], [], 0)[0] and (more := self._read_rest()):
            self.shown += more
        return self.process.returncode

    def _read_rest(self) -> str:
        try:
            return os.read(self.master, 4096).decode()
        except OSError:  # all is read, and no process has the terminal
            return ""


def _controlled(slave: int) -> None:
    import fcntl
    import termios

    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # who runs the tests in the background ignores it, and children inherit that
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


def test_the_answers_are_in_the_files(tmp_path: Path) -> None:
    """A wrong model is refused with the nearest name, and is asked for again; the price of each load balancing is shown."""
    terminal = Terminal(tmp_path)
    for question, text in zip(QUESTIONS, ("mine\n", MANY, "dgx-h2000\n", "sn5600\n"), strict=False):
        terminal.answer(question, text)
        if question == "server, GPU or NIC model":
            terminal.until("did you mean 'dgx-h200'?")
            terminal.answer(question, "list\n")
            terminal.until("mi300x-8gpu-thor2")
            terminal.answer(question, "dgx-h200\n")
            terminal.until("dgx-h200: 8 x H200, 8 x connectx-7")
    terminal.until("the NCCL plugin")
    terminal.answer("load balancing", "rlb\n")
    terminal.answer("name of the network", "dc1\n")
    terminal.until("addresses, the first and the last of each kind:")
    assert not (tmp_path / "mine").exists()
    terminal.answer("write the files?", "\n")
    assert terminal.code() == 0, terminal.shown
    fabric = yaml.safe_load((tmp_path / "mine/dc1.yaml").read_text())
    assert fabric["name"] == "dc1"
    assert fabric["servers"] == [{"names": "gpu-[01-64]", "model": "dgx-h200"}]
    assert fabric["fabrics"]["backend"]["leaf"]["device"] == "sn5600"
    assert {file.name for file in (tmp_path / "mine").iterdir()} == {
        "dc1.yaml",
        "dc1.inventory.csv",
        "fabric.schema.json",
    }
    assert "one address" not in terminal.shown
    assert [line.split()[0] for line in terminal.shown.splitlines() if "routing tables a server" in line][-1] == "rlb"


def test_enter_takes_all_defaults_and_yes_asks_nothing(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    for question in QUESTIONS:
        if question != "load balancing":
            terminal.answer(question, "\n")
    assert terminal.code() == 0, terminal.shown
    (tmp_path / "yes").mkdir()
    silent = Terminal(tmp_path / "yes", "--yes")
    assert silent.code() == 0, silent.shown
    assert not any(question in silent.shown for question in QUESTIONS)
    asked, unasked = (sorted((tmp_path / part / "cluster").iterdir()) for part in ("", "yes"))
    assert [file.read_text() for file in asked] == [file.read_text() for file in unasked]


@pytest.mark.parametrize("last", QUESTIONS)
def test_ctrl_c_leaves_nothing(last: str, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    for question in QUESTIONS:
        terminal.answer(question, "\x03" if question == last else MANY if "servers" in question else "\n")
        if question == last:
            break
    assert (terminal.code(b"\x03"), list(tmp_path.iterdir())) == (130, []), terminal.shown
    assert "Traceback" not in terminal.shown


def test_no_writes_nothing(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    for question in QUESTIONS:
        terminal.answer(question, "n\n" if question == QUESTIONS[-1] else MANY if "servers" in question else "\n")
    assert (terminal.code(), list(tmp_path.iterdir())) == (2, []), terminal.shown
    assert "no file was written, as you asked" in terminal.shown
    assert "error" not in terminal.shown


def test_yes_refuses_an_unknown_model_at_once(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(tmp_path / "new"), "--yes", "--nic", "nonsense"])
    assert result.exit_code != 0
    assert "'nonsense' is not in the catalog" in str(result.exception) + result.output
    assert not (tmp_path / "new").exists()


def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", str(tmp_path / "new")])
    assert result.exit_code != 0
    assert not (tmp_path / "new").exists()
    assert not any(question in result.output for question in QUESTIONS)


def test_models_are_listed_by_server_gpu_and_nic() -> None:
    lines = CliRunner().invoke(app, ["init", "--nic", "list"], catch_exceptions=False).output.splitlines()
    assert any(line.split() == ["dgx-h200", "8", "x", "H200", "8", "x", "connectx-7"] for line in lines)
    rows = json.loads(CliRunner().invoke(app, ["init", "--nic", "list", "--json"], catch_exceptions=False).output)
    assert len(rows) == len(lines)
    assert {"server": "mi300x-8gpu-thor2", "gpus": "8 x MI300X", "nics": "8 x thor2"} in rows


RULES = """\
pools: {leaf_asn: 65001-65099, spine_asn: 65101-65199, router_id: 10.7.0.0/24}
naming: {leaf: "dc1-l{number:02d}", spine: "dc1-s{number:02d}"}
addressing: {server_pool: "fd42::/16"}
management: {pool: 172.16.5.0/24}
servers: node-[101-108]
"""


def sized(folder: Path, rules: str, *more: str) -> tuple[int, str]:
    (folder / "rules.yaml").write_text(rules)
    words = ["--gpus", "64", "--nic", "h200", "--switch", "sn5600", "--addresses", str(folder / "rules.yaml"), *more]
    result = CliRunner().invoke(app, ["init", str(folder / "new"), *words])
    return result.exit_code, result.output + (str(result.exception) if result.exception else "")


def test_ranges_and_names_are_those_of_the_file(tmp_path: Path) -> None:
    """A person can predict the ten addresses: the first and the last of each kind, in order of the switches' numbers."""
    code, out = sized(tmp_path, RULES, "--stripes", "2", "--tenants", "2", "--name", "dc1")
    assert code == 0, out
    lines = out.splitlines()
    first = lines.index("addresses, the first and the last of each kind:")
    shown = [line.strip() for line in lines[first + 1 : first + 11] if line.startswith("  ")]
    fabric = yaml.safe_load((tmp_path / "new/dc1.yaml").read_text())
    backend = fabric["fabrics"]["backend"]
    assert backend["pools"]["leaf_asn"] == "65001-65099"
    assert fabric["servers"][0]["names"] == "node-[101-108]"
    assert [tenant["members"] for tenant in backend["tenants"].values()] == [
        ["node-101", "node-102", "node-103", "node-104"],
        ["node-105", "node-106", "node-107", "node-108"],
    ]
    assert "management  dc1-l01: 172.16.5.10" in shown
    assert "router ID   dc1-l01 Loopback0: 10.7.0.1, AS 65001" in [line.replace("lo0", "Loopback0") for line in shown]
    assert any(line.startswith("NIC         node-108 gpu7_eth") and "fd42:" in line for line in shown), shown
    rows = (tmp_path / "new/dc1.inventory.csv").read_text().splitlines()
    assert {row.split(",")[0] for row in rows[1:]} == {f"node-{number}" for number in range(101, 109)}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("pools: {leaf_asn: 65001}\n", "rules.yaml:1: pools.leaf_asn: 65001 is not a range"),
        ("\npool: {}\n", "rules.yaml:2:"),
        ("naming: {leaf: '{nope}'}\n", "rules.yaml:1: naming.leaf: '{nope}' is not a field of this name"),
        ("servers: node-[1-7]\n", "servers 'node-[1-7]' has 7 names, and the network has 8 servers"),
    ],
)
def test_wrong_rules_are_refused_with_their_line(rules: str, message: str, tmp_path: Path) -> None:
    code, out = sized(tmp_path, rules)
    assert code != 0
    assert message in out, out
    assert not (tmp_path / "new").exists()
