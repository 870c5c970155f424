"""``railweave bench check``: is a number good, for servers that are named and not described by a fabric file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from railweave.api import bench_check
from railweave.errors import InputError, SpecError
from railweave.operations.bench.comparing.reported import reported
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from tests.operations.bench.test_cli import run
from tests.operations.bench.test_slow_servers import output

if TYPE_CHECKING:
    from pathlib import Path

PERFTEST = """\
                    RDMA_Write BW Test
 Device         : mlx5_0
 Number of qps   : 4
 Mtu             : 4096[B]
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    5000             {rate:.2f}             {rate:.2f}                0.005800
"""


def check(tmp_path: Path, text: str, **options: object) -> tuple[list[str], str]:
    """The outcome of each number, and the sentences."""
    file = tmp_path / "all_reduce.txt"
    file.write_text(text)
    result = bench_check([file], **{"gpus": 2, **options})  # type: ignore[arg-type]
    assert result.good == (bool(result.numbers) and all(number.outcome == "right" for number in result.numbers))
    return [number.outcome for number in result.numbers], " ".join(
        why for number in result.numbers for why in number.why
    )


def test_a_number_in_the_band_is_right_and_half_of_it_is_wrong(tmp_path: Path) -> None:
    """Two H100 servers with two GPUs and a 400G NIC each carry about 145 GB/s of bus bandwidth."""
    good = bench_check([_file(tmp_path, output(["a", "b"], 140.0))], gpus=2)
    assert good.good
    number = good.numbers[0]
    assert number.low is not None
    assert number.high is not None
    assert number.low < 140 < number.high < 180
    outcomes, why = check(tmp_path, output(["a", "b"], 70.0))
    assert outcomes == ["wrong", "wrong"]
    assert "busy for" in why  # what binds


def _file(folder: Path, text: str) -> Path:
    file = folder / "all_reduce.txt"
    file.write_text(text)
    return file


def test_what_cannot_be_told_is_not_good(tmp_path: Path) -> None:
    above, why = check(tmp_path, output(["a", "b"], 180.0))
    assert above == ["not-seen", "not-seen"]
    assert "above the predicted range" in why
    small, why = check(tmp_path, output(["a", "b"], 140.0).replace("1073741824", "4096").replace("67108864", "2048"))
    assert set(small) == {"not-seen"}
    assert "measure latency" in why
    more, why = check(tmp_path, output(["a", "b"], 140.0), gpus=1)
    assert set(more) == {"not-seen"}
    assert "--gpus" in why
    hypercube, why = check(tmp_path, output(["a", "b"], 140.0).replace("all_reduce_perf", "hypercube_perf"))
    assert set(hypercube) == {"not-seen"}
    assert "there is no prediction" in why


@pytest.mark.parametrize(
    ("gpu", "nic", "other"),
    [
        ("NVIDIA H100 80GB HBM3", "cx7", False),
        ("A100-SXM4-40GB", "cx7", True),
        ("NVIDIA H200", "hgx-h200", False),
        ("NVIDIA H100 80GB HBM3", "hgx-h200", True),
        ("NVIDIA GB200", "hgx-b200", True),
        ("AMD Instinct MI300X OAM", "mi300x", False),
        ("AMD Instinct MI355X", "mi300x", True),
        ("AMD Radeon Graphics", "mi300x", False),  # a driver without the marketing name
        ("AMD Radeon Graphics", "cx7", True),
        ("", "cx7", False),
    ],
)
def test_another_gpu_than_the_server_models_is_said(tmp_path: Path, gpu: str, nic: str, other: bool) -> None:
    text = output(["a", "b"], 140.0).replace("NVIDIA H100", gpu)
    result = bench_check([_file(tmp_path, text)], gpus=2, nic=nic)
    (*said,) = (note for note in result.notes if "names the GPU" in note)
    assert len(said) == other
    assert not other or (gpu in said[0] and "--nic" in said[0] and f"note: {said[0]}" in result.to_text())
    same = bench_check([_file(tmp_path, output(["a", "b"], 140.0))], gpus=2, nic=nic)
    assert [number.outcome for number in result.numbers] == [number.outcome for number in same.numbers]


def test_the_links_of_gpus_bind_one_server(tmp_path: Path) -> None:
    text = output(["a"], 365.0)
    assert check(tmp_path, text)[0] == ["right", "right"]
    assert check(tmp_path, text, nvlink=300)[0] == ["not-seen", "not-seen"]
    assert check(tmp_path, output(["a"], 290.0), nvlink=300)[0] == ["right", "right"]


@pytest.mark.parametrize(
    ("servers", "shape"), [(2, "(1 leaf, no spines)"), (33, "(8 leaves and 3 spines, load balancing rlb)")]
)
def test_the_assumed_network_is_named(tmp_path: Path, servers: int, shape: str) -> None:
    """A prediction for one switch says little about a network whose spines are chosen by a hash."""
    file = tmp_path / "all_reduce.txt"
    file.write_text(output([f"n{number}" for number in range(servers)], 140.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("railweave.operations.bench.comparing.expected._numbers", lambda *_: ())  # predicts nothing
        assert bench_check([file], gpus=8).servers.endswith(shape)


def test_a_failed_test_is_wrong(tmp_path: Path) -> None:
    text = output(["a", "b"], 140.0)
    cut = text[: text.index("# Out of bounds")]
    assert check(tmp_path, cut)[0] == ["wrong", "right", "right"]
    wrong = text.replace("140.00      0\n", "140.00      7\n")
    assert check(tmp_path, wrong)[0] == ["right", "wrong"]


@pytest.mark.parametrize(("rate", "outcome"), [(391.0, "right"), (196.0, "wrong"), (790.0, "not-seen")])
def test_perftest_is_held_against_its_nic(tmp_path: Path, rate: float, outcome: str) -> None:
    assert check(tmp_path, PERFTEST.format(rate=rate))[0] == [outcome]


def test_the_verb_exits_by_the_outcome(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(PERFTEST.format(rate=391.0))
    bad.write_text(PERFTEST.format(rate=100.0))
    assert run(capsys, monkeypatch, "check", good, "--gpus", 8)[0] == 0
    code, printed = run(capsys, monkeypatch, "check", bad, "--gpus", 8, "--json")
    assert code == 1
    answer = json.loads(printed)
    assert (answer["good"], answer["numbers"][0]["outcome"]) == (False, "wrong")
    with pytest.raises(SpecError):
        bench_check([_file(tmp_path, "nothing\n")], gpus=8)
    with pytest.raises(InputError):
        bench_check([good], gpus=8, nic="no-such-nic")
    with pytest.raises(InputError):
        bench_check([good], gpus=8, nvlink=-1)


def test_a_report_of_one_run_compares_nothing() -> None:
    runs = runs_of(read(output(["a", "b"], 140.0), "all_reduce.txt"), "", "")
    report = reported("runs.db", runs)
    assert not report.good
    assert "nothing is compared: there is only one run" in report.notes[0]
    assert "nothing is compared" in report.to_html()
    beside = reported("runs.db", runs, runs)
    assert beside.regressions == ()
    assert "no runs besides the runs of the baseline" in beside.notes[0]
