"""railweave sim: collectives on a designed network."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.cli import main
from tests.conftest import EXAMPLES

MAIN = [sys.executable, "-c", "from railweave.cli import main; main()", "sim"]

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
        (("--size", "x"), "--size: 'x' is not a size"),
        (("--set", "host.mtu"), "--set: 'host.mtu' does not have the form NAME=VALUE"),
        (("--set", "host.post-cost=soon"), "--set: host.post-cost: 'soon' is not a time"),
        (("--set", "host.mtu=long"), "--set: host.mtu: 'long' is not a size"),
        (("--compare", "qps=1,2", "--nccl", "NCCL_STEPS"), "--nccl: 'NCCL_STEPS' does not have the form NAME=VALUE"),
        (("--nope",), "No such option"),
        (("--engine", "flows"), "'flows' is not an engine"),
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
    assert "16M, 16MB and 16MiB all mean 16 x 2^20 bytes" in " ".join(out.split())


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
