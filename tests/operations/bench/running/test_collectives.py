"""Collectives: how they are started, in what order, and what is told of them. Real launchers are tried by ``make trial NAME=bench``."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave import api
from railweave.api.bench import bench_run
from railweave.cli.app import app
from railweave.model.network.model import Network
from railweave.operations.bench.plan import NcclTests, Plan
from railweave.operations.bench.running import shells
from railweave.operations.bench.running.carrying import ResultWriter, made, rounds_of, waiting
from railweave.operations.bench.running.pair import Launch, RunResult, launched, nccl_tests_words, perftest_words
from railweave.operations.bench.running.shells import Shells
from railweave.operations.store.records import Environment
from railweave.operations.store.store import opened
from tests.operations.bench.running.cluster import FABRIC
from tests.operations.bench.said import text_of

SHOWS = """#!/bin/sh
# Stands for a launcher: it prints how it was called, and a result in the form of nccl-tests.
echo "called: $0 $*"
[ -n "$SLURM_HOSTFILE" ] && echo "hosts: $(tr '\\n' ' ' < "$SLURM_HOSTFILE")"
case "$*" in *slow*) sleep 300 ;; *wrong*) echo "error: no such partition"; echo goodbye; exit 3 ;; esac
cat "$RESULT"
"""


@pytest.fixture(scope="module")
def network() -> Network:
    return api.load(FABRIC)


@pytest.fixture(scope="module")
def plan(network: Network) -> Plan:
    return api.bench_plan(network, "quick", predict=False, parts=["servers", "cluster"])


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``mpirun`` and ``srun`` on the path of this machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mpirun", "srun"):
        (folder / name).write_text(SHOWS)
        (folder / name).chmod(0o755)
    result = tmp_path / "result.txt"
    result.write_text(text_of("nccl-tests-2.9-all_reduce.txt"))
    monkeypatch.setenv("RESULT", str(result))
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    return folder


def came_of(plan: Plan, name: str, launch: Launch, limit_s: float = 20) -> RunResult:
    test = next(one.test for one in plan.runs if one.name == name)
    assert isinstance(test, NcclTests)
    return asyncio.run(launched(test, launch, Shells({}), limit_s))


def test_srun_has_the_servers_in_the_order_of_ranks(network: Network, plan: Plan, tools: Path) -> None:
    one = next(one for one in plan.runs if one.name == "cluster/all-reduce")
    assert isinstance(one.test, NcclTests)
    other = replace(one.test, hosts=tuple(reversed(one.test.hosts)), variables=(("NCCL_BUFFSIZE", "4194304"),))
    turned = replace(plan, runs=(replace(one, test=other),))
    launch = Launch("srun", "", folder="/opt/nccl-tests", options=("--partition=gpu",))
    came = came_of(turned, one.name, launch)
    assert came.failures == []
    called = came.text.splitlines()
    assert "--nodes=4 --ntasks=32 --distribution=arbitrary --kill-on-bad-exit=1 --partition=gpu" in called[0]
    assert "railweave host env -- env NCCL_BUFFSIZE=4194304 /opt/nccl-tests/all_reduce_perf" in called[0]
    assert called[1].split() == ["hosts:", *(host for host in other.hosts for _ in range(8))]
    kept = made(turned.runs[0], came, "x.txt", dt.datetime.now(dt.UTC), 1.0, Environment())
    assert kept.samples
    assert kept.hosts == other.hosts


def test_mpirun_is_started_by_what_build_writes(network: Network, tmp_path: Path, plan: Plan, tools: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(plan.to_json())
    line = [
        "bench",
        "run",
        str(file),
        "--store",
        str(tmp_path / "runs.db"),
        "--fabric",
        str(FABRIC),
        "--launch-on",
        "here",
    ]
    done = CliRunner().invoke(app, [*line, "--no-host-check", "--only", "cluster"])
    assert done.exit_code == 0, done.output
    with opened(tmp_path / "runs.db") as store:
        found = {dict(one.settings)["planned run"]: one for one in store.runs()}
    assert sorted(found) == ["cluster/all-reduce", "cluster/all-to-all"]
    run = found["cluster/all-reduce"]
    called = Path(run.file).read_text().splitlines()[0]
    assert "-np 32 --hostfile" in called
    assert "--map-by ppr:8:node" in called
    assert "-- all_reduce_perf -b" in called
    assert dict(run.settings)["started on"] == "this machine"
    assert run.environment.variables
    assert [one for one in tmp_path.rglob("railweave.*") if one.is_dir()] == []


@pytest.mark.parametrize(
    ("word", "why"),
    [("--slow", "srun: it was ended after 1 s"), ("--wrong", "srun: exit status 3: error: no such partition")],
)
def test_a_launcher_that_fails_or_does_not_end_is_a_result(
    network: Network, plan: Plan, tools: Path, tmp_path: Path, word: str, why: str
) -> None:
    found = bench_run(
        plan,
        tmp_path / "runs.db",
        fabric=FABRIC,
        only=["servers/H100-01/*"],
        launcher="srun",
        srun_options=[word],
        timeout_s=1,
        host_check=False,
    )
    assert not found.good
    [run] = found.runs
    assert run.failures == (why,)
    assert any("called:" in one for one in run.notes)
    assert run.title == "all-reduce without a result"


def test_no_launcher_is_a_result(plan: Plan, tools: Path) -> None:
    (tools / "srun").unlink()
    came = came_of(plan, "cluster/all-reduce", Launch("srun", ""))
    assert len(came.failures) == 1
    assert "srun" in came.failures[0]


def test_runs_go_round_by_round(plan: Plan) -> None:
    assert [[one.part for one in together] for together in rounds_of(plan.runs)] == [
        ["servers"] * 4,
        ["cluster"],
        ["cluster"],
    ]
    assert waiting(plan.runs, 4) == []
    assert waiting(plan.runs, 3) == [
        "servers: rounds of up to 4 runs, of which 3 go at once (--at-once): it takes longer than planned"
    ]


def test_buffers_in_gpus_are_asked_for_by_slot(network: Network) -> None:
    whole = api.bench_plan(network, "acceptance", predict=False, parts=["pairs"])
    test = whole.runs[0].test
    assert not isinstance(test, NcclTests)
    assert test.memory == "cuda"
    words = perftest_words(test, 3, "/opt/perftest/bin")
    assert words[:3] == ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "/opt/perftest/bin/ib_write_bw"]
    assert "--use_cuda=3" in words
    assert "-a" in words
    assert "-b" in words
    rocm = perftest_words(replace(test, memory="rocm", size_bytes=8 << 20, seconds=10), 0)
    assert rocm[0] == "ib_write_bw"
    assert "--use_rocm=0" in rocm
    assert rocm[rocm.index("-D") + 1] == "10"


def test_one_size_has_no_factor(plan: Plan) -> None:
    test = plan.runs[0].test
    assert isinstance(test, NcclTests)
    assert "-f" in nccl_tests_words(test)
    assert "-f" not in nccl_tests_words(replace(test, first_bytes=test.last_bytes))


def test_what_is_printed_stays_in_its_folder(plan: Plan, tmp_path: Path) -> None:
    run = replace(plan.runs[0], name="../../out/./there")
    with opened(tmp_path / "runs.db", make=True) as store:
        keeper = ResultWriter(store, plan.digest, tmp_path / "outputs")
        kept = keeper.keep(run, RunResult("hello\n"), dt.datetime.now(dt.UTC), 1.0, Environment())
        again = keeper.keep(run, RunResult("hello\n"), dt.datetime.now(dt.UTC), 1.0, Environment())
        assert keeper.had() == {run.name: True}
    assert Path(kept.file) == tmp_path / "outputs/out/there.txt"
    assert Path(again.file) == tmp_path / "outputs/out/there.2.txt"
    assert kept.failures == ("it printed no result",)
    assert kept.notes[-1].endswith("hello")


def test_what_does_not_end_when_it_is_asked_to_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that ``timeout`` runs is in a group of its own, and holds the pipes that are waited for."""
    monkeypatch.setattr(shells, "GRACE_S", 0.2)
    mark = tmp_path / "pid"
    script = f"timeout 300 sh -c 'trap \"\" TERM; echo $$ >{mark}; while :; do sleep 1; done' & wait"

    async def run() -> None:
        async with shells._here(script):
            while not mark.exists():
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 20))
    pid = int(mark.read_text())
    end = time.monotonic() + 10
    while (
        Path(f"/proc/{pid}/stat").exists()
        and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    ):
        assert time.monotonic() < end
