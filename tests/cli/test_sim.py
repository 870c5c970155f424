"""railweave sim: the engine's own command, in this process."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave import __version__
from railweave._sim import command
from railweave.cli import main
from tests.conftest import EXAMPLES

MAIN = [sys.executable, "-c", "from railweave.cli import main; main()", "sim"]
RAW = ("--topology", str(EXAMPLES / "raw" / "two-leaves.txt"), "--flows", str(EXAMPLES / "raw" / "flows.csv"))
ENDLESS = ("--topology", "fat-tree:k=8", "--traffic", "permutation:bytes=100GB", "--cc", "none", "--json", "--quiet")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the verb: exit code, standard output, standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["railweave", "sim", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capfd.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, printed.out, printed.err

    return call


def test_the_example_gives_what_the_page_says(run: Run) -> None:
    code, out, err = run(*RAW)
    page = (Path(__file__).parents[2] / "docs" / "sim.md").read_text()
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
    assert out.startswith("Usage: railweave sim [OPTIONS] [fabric]\n")
    assert out.count("Usage:") == 1, "one parser"
    assert "\nOptions of raw flows, in place of a fabric file:\n  --topology SHAPE|FILE " in out
    assert run("-h") == (0, out, "")
    assert run("--version") == (0, f"railweave sim {__version__}\n", "")


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
        (("--topologie", "x"), "No such option: --topologie"),
        (("--until",), "--until"),
        ((), "error: sim: there is no network\n    give a fabric file, or --topology with a shape"),
        (("--topology", "star:hosts=4", "--qps", "4"), "error: --qps: it is of a designed network"),
        (("fabric.yaml", "--seed", "4"), "error: --seed: it is of raw flows"),
        (("--help-parameters", "--fabric", "x"), "error: --fabric: it is of a designed network"),
    ],
)
def test_words_that_do_not_go_together(run: Run, words: tuple[str, ...], error: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert error in err


def test_every_option_of_the_engine_is_one_of_the_verb(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    """The engine's command has a parser of its own, and the verb's is the only one that a user sees."""
    _, ours, _ = run("-h")
    assert command("railweave sim", ["--help"]) == 0
    engines = capfd.readouterr().out
    own = set(re.findall(r"^  (--[a-z-]+)", engines, re.MULTILINE)) - {"--version"}
    assert len(own) > 20
    assert own <= set(re.findall(r"(--[a-z-]+)", ours))
    assert engines.partition("Shapes:")[2].split() == ours.partition("Shapes:")[2].split()


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


FABRIC = str(EXAMPLES / "h100-rlb.yaml")


def test_a_collective_on_a_designed_network(run: Run) -> None:
    code, out, _ = run(FABRIC, "--collective", "all-reduce", "--size", "8M", "--qps", "4", "--json", "--quiet")
    found = json.loads(out)
    assert code == 0
    assert found["engine"] == "packet"
    assert found["complete"]
    assert found["bus_bandwidth_GBps"] == pytest.approx(found["alg_bandwidth_GBps"] * 2 * 31 / 32)
    assert found["bottleneck"]["kind"] in {"link", "proxy", "server"}
    assert found["flows"][0].keys() == {"src", "dst", "bytes", "start_us", "fct_us"}


def test_the_engine_of_flows(run: Run) -> None:
    code, out, _ = run(FABRIC, "--size", "8M", "--engine", "flow", "--json", "--quiet")
    found = json.loads(out)
    assert code == 0
    assert (found["engine"], found["complete"], found["packet_hops"], found["steady_state"]) == (
        "flow",
        True,
        None,
        None,
    )
    assert found["engine_reason"].startswith("asked for; about ")


def test_several_sizes_are_a_list(run: Run) -> None:
    code, out, _ = run(FABRIC, "--size", "1M..2M", "--json", "--quiet")
    assert code == 0
    assert [one["size_bytes"] for one in json.loads(out)] == [1 << 20, 2 << 20]


def test_a_collective_for_people(run: Run) -> None:
    code, out, _ = run(FABRIC, "--size", "1M", "--quiet")
    assert code == 0
    assert out.startswith("all-reduce of 1048576 bytes: ")
    assert "bound by" in out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--size", "x"), "--size: 'x' is no size"),
        (("--set", "host.mtu"), "--set: 'host.mtu' is no NAME=VALUE"),
        (("--set", "host.post-cost=soon"), "--set: host.post-cost: 'soon' is not a time"),
        (("--set", "host.mtu=long"), "--set: host.mtu: 'long' is not a size"),
        (("--compare", "qps=1,2", "--nccl", "NCCL_STEPS"), "--nccl: 'NCCL_STEPS' is no NAME=VALUE"),
        (("--nope",), "No such option"),
        (("--engine", "flows"), "'flows' is no engine"),
        (("--measured", "nofile.csv"), "--measured: goes with --compare"),
    ],
)
def test_mistakes_of_a_collective(run: Run, words: tuple[str, ...], error: str) -> None:
    code, _, err = run(FABRIC, *words)
    assert code == 2
    assert error in err


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("host.mtuu=1,2", '--set: parameters: there is no parameter "host.mtuu"; did you mean "host.mtu"?'),
        ("NCCL_BUFFSIZE=1,2", "--nccl: NCCL_BUFFSIZE cannot be "),
        ("hosts=2,H100-[01-09]", "--compare: hosts=H100-[01-09]: there is no server 'H100-05' in this job"),
        ("hosts=H100-01,H100-02;x", "--compare: hosts=x: there is no server 'x' in this job"),
        ("hosts=2,4 per-host=1,3", "--compare: per-host=3: 3 processes cannot share 8 GPUs evenly"),
        ("lb=dlb:min=x;dlb:min=y", "--lb: profiles[0]: dlb.min: "),
    ],
)
def test_a_mistake_that_another_process_finds_is_told_as_any_other(run: Run, given: str, error: str) -> None:
    """`--compare` runs each value in a process of its own."""
    code, out, err = run(FABRIC, "--size", "1M", "--compare", given, "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert error in err
    assert "Traceback" not in err


def test_a_page_is_refused_before_the_run_and_named_after_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, out, err = run(FABRIC, "--size", "1M", "-o", str(tmp_path / "file" / "page.html"), "--quiet")
    assert (code, out) == (1, "")
    assert "Not a directory" in err
    page = tmp_path / "new" / "page.html"
    for words in ((), ("--compare", "qps=1,2")):
        code, out, _ = run(FABRIC, "--size", "1M", "-o", str(page), "--quiet", *words)
        assert code == 0
        assert out.endswith(f"wrote {page}\n")
    assert page.exists()


@pytest.mark.parametrize("text", ["16M", "16MB", "16MiB"])
def test_sizes_of_a_collective_are_binary_as_the_help_says(run: Run, text: str) -> None:
    _, out, _ = run(FABRIC, "--size", text, "--quiet")
    assert out.startswith("all-reduce of 16777216 bytes: ")
    _, out, _ = run("--help")
    assert "Binary, other than for raw flows: 16M, 16MB and 16MiB are all 16 x 2^20" in " ".join(out.split())


@pytest.mark.slow
def test_orders_of_servers_are_compared_from_the_command_line(run: Run) -> None:
    code, out, err = run(FABRIC, "--size", "1M", "--compare", "hosts=H100-01,H100-03;stripes-alternate", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["compare"] == "hosts"
    orders = [one["result"]["rank_order"] for one in found["variants"]]
    assert orders[0].startswith("H100-01, H100-03; 8 processes each; 2 of 2 hops")
    assert orders[1].startswith("H100-01, H100-03, H100-02, H100-04; 8 processes each; 4 of 4 hops")


def test_no_such_fabric(run: Run) -> None:
    code, _, err = run("nowhere.yaml")
    assert code == 2
    assert "nowhere.yaml" in err
