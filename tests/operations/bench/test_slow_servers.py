"""Who is slow: pairs and groups of servers by nccl-tests, as a plan makes them and as a folder of outputs."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest

from railweave.operations.bench.comparing.reported import reported
from railweave.operations.bench.plan import NcclTests
from railweave.operations.bench.planning.jobs import Job
from railweave.operations.bench.planning.suites import PARTNERS, pairs_of_servers
from railweave.operations.bench.runs import import_files
from railweave.operations.store.store import opened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOSTS = [f"gpu-{number:02}" for number in range(1, 11)]


def output(hosts: Sequence[str], busbw: float, device: str = "") -> str:
    """An output of all_reduce_perf on these servers with two GPUs each."""
    ranks = "".join(
        f"#  Rank {rank:2} Group  0 Pid {4000 + rank} on {host:>10} device {rank % 2:2} [0x1b] NVIDIA H100\n"
        for rank, host in enumerate(host for host in hosts for _ in range(2))
    )
    log = f"{hosts[0]}:4000:4000 [0] NCCL INFO NCCL_IB_HCA set by environment to {device}\n" if device else ""
    rows = "".join(
        f"{size:13} {size // 4:13}     float     sum      -1 {size / busbw / 1e3:8.1f} {busbw:7.2f} {busbw:7.2f}      0 "
        f"{size / busbw / 1e3:8.1f} {busbw:7.2f} {busbw:7.2f}      0\n"
        for size in (64 << 20, 1 << 30)
    )
    return (
        "# Collective test starting: all_reduce_perf\n"
        "# nThread 1 nGpus 1 minBytes 67108864 maxBytes 1073741824 step: 16(factor) warmup iters: 5 iters: 20 validation: 1 graph: 0\n"
        f"#\n# Using devices\n{ranks}#\n{log}"
        "#                                                              out-of-place                       in-place\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        f"{rows}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw:.2f}\n#\n# Collective test concluded: all_reduce_perf\n"
    )


def suspects(folder: Path, tmp_path: Path) -> tuple[list[str], str]:
    """The parts that explain the slow outputs of a folder, and the page."""
    store = tmp_path / "runs.db"
    import_files([folder], store, None, "", gbits=None)
    with opened(store) as stored:
        report = reported("runs", stored.runs())
    return [suspect.part.to_text() for suspect in report.predicted.estimate.suspects], report.to_html()


def test_the_slow_server_of_a_folder_of_pairs(tmp_path: Path) -> None:
    chance = random.Random(11)  # noqa: S311
    folder = tmp_path / "out"
    folder.mkdir()
    for number, pair in enumerate(itertools.combinations(HOSTS, 2)):
        busbw = (24.0 if "gpu-07" in pair else 46.0) * chance.gauss(1, 0.02)
        (folder / f"{number}.txt").write_text(output(pair, busbw))
    (folder / "readme.txt").write_text("pairs of Tuesday\n")
    named, page = suspects(folder, tmp_path)
    assert named == ["server gpu-07"]
    assert 'class="chart pairs"' in page


def test_healthy_pairs_name_no_server(tmp_path: Path) -> None:
    chance = random.Random(12)  # noqa: S311
    folder = tmp_path / "out"
    folder.mkdir()
    for number, pair in enumerate(itertools.combinations(HOSTS, 2)):
        (folder / f"{number}.txt").write_text(output(pair, 46.0 * chance.gauss(1, 0.03)))
    assert suspects(folder, tmp_path)[0] == []


def test_the_slow_server_of_groups_of_four(tmp_path: Path) -> None:
    """Groups need not be pairs: each server is in several of them."""
    chance = random.Random(13)  # noqa: S311
    folder = tmp_path / "out"
    folder.mkdir()
    for number in range(24):
        group = chance.sample(HOSTS, 4)
        busbw = (30.0 if "gpu-03" in group else 46.0) * chance.gauss(1, 0.02)
        (folder / f"{number}.txt").write_text(output(group, busbw))
    assert suspects(folder, tmp_path)[0] == ["server gpu-03"]


def test_the_slow_nic_of_runs_over_one_device(tmp_path: Path) -> None:
    """NCCL_IB_HCA restricts a run to one device of each server: a NIC is then told from its server."""
    chance = random.Random(14)  # noqa: S311
    folder = tmp_path / "out"
    folder.mkdir()
    for number, (pair, device) in enumerate(
        itertools.product(itertools.combinations(HOSTS[:6], 2), ("mlx5_0", "mlx5_1", "mlx5_2"))
    ):
        busbw = (24.0 if "gpu-02" in pair and device == "mlx5_1" else 46.0) * chance.gauss(1, 0.02)
        (folder / f"{number}.txt").write_text(output(pair, busbw, f"={device}"))
    assert suspects(folder, tmp_path)[0] == ["NIC gpu-02:mlx5_1"]


@pytest.mark.parametrize("count", [2, 3, 5, 8, 24])
def test_the_plan_pairs_each_server_with_several_others(count: int) -> None:
    hosts = tuple(f"h{number}" for number in range(count))
    job = Job("", "", "any", hosts, 8, 3200, {host: f"stripe{number % 3}" for number, host in enumerate(hosts)})
    runs = pairs_of_servers(job)
    partners = dict.fromkeys(hosts, 0)
    for run in runs:
        assert isinstance(run.test, NcclTests)
        for host in run.test.hosts:
            partners[host] += 1
    least = min(PARTNERS, count - 1)
    assert all(least - (count % 2) <= number <= least for number in partners.values())
    assert len({run.name for run in runs}) == len(runs)
    for number in {run.round for run in runs}:
        together = [run.test for run in runs if run.round == number]
        busy = [host for test in together if isinstance(test, NcclTests) for host in test.hosts]
        assert len(busy) == len(set(busy))
