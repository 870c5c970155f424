"""railweave flows: the engine's own command, in this process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave import __version__
from railweave.cli import main
from tests.conftest import EXAMPLES

MAIN = [sys.executable, "-c", "from railweave.cli import main; main()", "flows"]
RAW = ("--topology", str(EXAMPLES / "raw" / "two-leaves.txt"), "--flows", str(EXAMPLES / "raw" / "flows.csv"))
ENDLESS = ("--topology", "fat-tree:k=8", "--traffic", "permutation:bytes=100GB", "--cc", "none", "--json", "--quiet")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the verb: exit code, standard output, standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["railweave", "flows", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capfd.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, printed.out, printed.err

    return call


def test_the_example_gives_what_the_page_says(run: Run) -> None:
    code, out, err = run(*RAW)
    page = (Path(__file__).parents[2] / "docs" / "engine.md").read_text()
    assert (code, err) == (0, "")
    assert len(out.splitlines()) > 8
    for line in out.splitlines():
        assert line.startswith("speed") or line in page


def test_json(run: Run) -> None:
    code, out, _ = run(*RAW, "--json")
    found: dict[str, Any] = json.loads(out)
    assert (code, found["complete"], found["end"], len(found["flows"])) == (0, True, "finished", 3)


def test_flows_that_do_not_finish(run: Run) -> None:
    code, out, err = run(*RAW, "--json", "--until", "20us")
    assert (code, json.loads(out)["end"]) == (1, "until")
    assert err == "error: 3 of 3 flows did not finish (until)\n"


def test_to_a_file(run: Run, tmp_path: Path) -> None:
    assert run(*RAW, "--json", "--output", str(tmp_path / "result.json")) == (0, "", "")
    assert json.loads((tmp_path / "result.json").read_text())["complete"] is True


def test_help_and_version(run: Run) -> None:
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert out.startswith("Usage: railweave flows --topology SHAPE|FILE ")
    assert run("-h") == run() == (0, out, "")
    assert run("--version") == (0, f"railweave flows {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("--flows", "x.csv"),
            "--topology: there is no network; give a shape such as fat-tree:k=8,speed=400G,delay=1us, or a file",
        ),
        (
            ("--topology", "star:hosts=4", "--set", "host.mtu=1"),
            "--set: host.mtu: 1 is too small; give 256 to 9KB",
        ),
    ],
)
def test_bad_use(run: Run, words: tuple[str, ...], error: str) -> None:
    assert run(*words) == (2, "", f"error: {error}\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--topologie", "x"), 'error: --topologie: there is no such option; did you mean "--topology"?'),
        (("--until",), "error: --until: the option needs a value; write --until TIME"),
        (("fabric.yaml", "--seed", "4"), "error: fabric.yaml: options only are understood"),
        (("--topology", "star:hosts=4", "--qps", "4"), "error: --qps: there is no such option"),
    ],
)
def test_words_that_do_not_go_together(run: Run, words: tuple[str, ...], error: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert error in err


def test_quiet_has_a_letter(run: Run) -> None:
    assert run(*RAW, "-q")[0] == 0
    assert "given twice" in run(*RAW, "-q", "--quiet")[2]


def test_a_file_whose_name_is_no_text() -> None:
    """Names of files are bytes; one that no text has is a file that is not there, and no traceback."""
    done = subprocess.run([*MAIN, "--topology", b"\xff"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --topology: ")
    assert "Traceback" not in done.stderr


def started(process: subprocess.Popen[str]) -> None:
    """Wait until the run is under way: the engine has done work for a while, so that its handler is there."""
    give_up = time.monotonic() + 60
    ticks = os.sysconf("SC_CLK_TCK")
    while time.monotonic() < give_up:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        if int(fields[11]) / ticks > 1.5:
            return
        time.sleep(0.05)
    raise AssertionError("the run never began")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_a_partial_result(number: signal.Signals, code: int) -> None:
    process = subprocess.Popen([*MAIN, *ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    found = json.loads(out)
    assert (found["complete"], found["end"]) == (False, "interrupted")
    assert found["data_packet_hops"] > 0
    assert err == "error: 128 of 128 flows did not finish (interrupted)\n"


@pytest.mark.slow
def test_signals_are_pythons_again_afterwards() -> None:
    """A second run in the same process is interrupted as the first was, and in between Ctrl-C raises as ever."""
    script = """
import signal, threading, time
from railweave._sim import command

words = ["--topology", "fat-tree:k=8", "--traffic", "permutation:bytes=100GB", "--cc", "none", "--quiet"]
for _ in range(2):
    threading.Timer(1, signal.raise_signal, [signal.SIGINT]).start()
    assert command("twice", words) == 130
    for _ in range(2):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            continue
        raise AssertionError("Ctrl-C was not seen")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "twice: 128 of 128 flows did not finish (interrupted)\n" * 2)
