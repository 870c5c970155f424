"""``bench run``: perftest over SSH in real processes, what fails kept as a result, nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave import api
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.operations.bench.plan import Perftest, Plan
from railweave.operations.bench.running import pair, scripts
from railweave.operations.store.records import Run
from railweave.operations.store.store import opened
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.bench.running.cluster import FABRIC, FIRST_PORT, Cluster, planned


@pytest.fixture(scope="module")
def network() -> Network:
    return api.load(FABRIC)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: Network) -> Iterator[Cluster]:
    monkeypatch.setenv("FLEET_PASSWORD", PASSWORD)
    found = Cluster(tmp_path / "cluster", network)
    monkeypatch.setattr(scripts, "DEVICES", str(found.devices))
    monkeypatch.setattr(pair, "FIRST_PORT", FIRST_PORT)
    try:
        for server in network.servers:
            found.server(server.name)
        yield found
    finally:
        found.close()


def runs(store: Path) -> dict[str, Run]:
    """The latest of each run of a plan."""
    with opened(store) as found:
        return {dict(one.settings)["planned run"]: one for one in found.runs()}


def words(plan: Plan, folder: Path, cluster: Cluster, *more: str) -> list[str]:
    file = folder / "plan.json"
    file.write_bytes(plan.to_json())
    found = ["bench", "run", str(file), "--store", str(folder / "runs.db"), "--access", str(cluster.access())]
    return [*found, "--fabric", str(FABRIC), "--no-host-check", *more]


def until(true: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_pairs_are_measured_and_kept_with_what_was_found(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 2)
    done = CliRunner().invoke(app, [*words(plan, tmp_path, cluster), "--json"])
    assert done.exit_code == 0, done.output
    found = runs(tmp_path / "runs.db")
    assert sorted(found) == sorted(one.name for one in plan.runs)
    for planned_run in plan.runs:
        test, run = planned_run.test, found[planned_run.name]
        assert isinstance(test, Perftest)
        told = dict(run.settings)
        assert [one.value for one in run.samples if one.quantity == "bandwidth_gbps"] == [771.5]
        assert told["plan"] == plan.digest
        assert told["client"] == f"{test.client.host}:{test.client.nic}"
        assert told["client GID"] == f"3 of {test.client.host}-{test.client.nic} port 1"
        assert told["server GID"].endswith(f"of {test.server.host}-{test.server.nic} port 1")
        assert run.hosts == (test.client.host, test.server.host)
        assert dict(run.environment.versions)["perftest"] == "6.06"
        assert dict(run.environment.versions)["kernel"] == os.uname().release
        assert run.environment.design_digest == plan.design_digest
        assert run.began
        assert not run.failures
        assert "RDMA_Write Bidirectional BW Test" in Path(run.file).read_text()
        assert Path(run.file).with_suffix(".server.txt").exists()
    asked = cluster.ran()
    assert len(asked) == 4
    assert all(" -x 3 " in one for one in asked)
    assert len({one.split(" -p ")[1].split()[0] for one in asked}) == 2  # a port for each pair
    assert cluster.alive() == []


def test_what_is_kept_is_not_repeated(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 2)
    first = plan.runs[0]
    assert isinstance(first.test, Perftest)
    cluster.wrong(first.test.client.host, "fail")
    line = words(plan, tmp_path, cluster)
    done = CliRunner().invoke(app, [*line, "--only", first.name])
    assert done.exit_code == 1, done.output
    assert f"failed: {first.name}" in done.output
    assert "1 run kept" in done.output
    failed = runs(tmp_path / "runs.db")[first.name]
    assert any("status 12" in one or "12" in one for one in failed.failures)
    (cluster.folder / first.test.client.host).unlink()

    before = len(cluster.ran())
    assert CliRunner().invoke(app, line).exit_code == 0
    assert len(cluster.ran()) == before + 2  # the second run's two ends
    assert "2 were there already" in CliRunner().invoke(app, line).output
    assert len(cluster.ran()) == before + 2
    done = CliRunner().invoke(app, [*line, "--failed"])
    assert done.exit_code == 0, done.output
    again = runs(tmp_path / "runs.db")[first.name]
    assert not again.failures
    assert dict(again.settings)["attempt"] == "2"
    assert Path(again.file) != Path(failed.file)
    assert "Failed status" in Path(failed.file).read_text()
    assert "no run" not in CliRunner().invoke(app, [*line, "--failed"]).output
    assert len(cluster.ran()) == before + 4
    assert CliRunner().invoke(app, [*line, "--again"]).exit_code == 0
    with opened(tmp_path / "runs.db") as store:
        assert len(store.runs()) == 5


def test_a_gid_that_is_not_there_is_a_result(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 2)
    first, second = (one.test for one in plan.runs)
    assert isinstance(first, Perftest)
    assert isinstance(second, Perftest)
    server, client = f"{first.server.host}-{first.server.nic}", f"{second.client.host}-{second.client.nic}"
    for path in (cluster.devices / server / "ports/1/gids").iterdir():
        path.write_text(f"{scripts.written_gid('::')}\n")
    for path in (cluster.devices / client / "ports/1/gid_attrs/types").iterdir():
        path.write_text("IB/RoCE v1\n")
    done = CliRunner().invoke(app, words(plan, tmp_path, cluster))
    assert done.exit_code == 1, done.output
    found = runs(tmp_path / "runs.db")
    assert f"{first.server.host}: no RoCE v2 GID is {first.server.address}" in found[plan.runs[0].name].failures[0]
    assert f"{second.client.host}: no RoCE v2 GID is {second.client.address}" in found[plan.runs[1].name].failures[0]
    until(lambda: cluster.alive() == [])


def test_the_index_is_that_of_the_moment(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 1)
    test = plan.runs[0].test
    assert isinstance(test, Perftest)
    device = f"{test.client.host}-{test.client.nic}"
    (cluster.devices / device / "ports/1/gids/3").write_text(f"{scripts.written_gid('::')}\n")
    cluster.gid(device, 10, test.client.address, "IB/RoCE v1")
    cluster.gid(device, 11, test.client.address)
    assert CliRunner().invoke(app, words(plan, tmp_path, cluster)).exit_code == 0
    assert dict(runs(tmp_path / "runs.db")[plan.runs[0].name].settings)["client GID"] == f"11 of {device} port 1"


def test_what_does_not_end_is_ended(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 1)
    test = plan.runs[0].test
    assert isinstance(test, Perftest)
    cluster.wrong(test.client.host, "hang")
    done = CliRunner().invoke(app, words(plan, tmp_path, cluster, "--timeout", "1"))
    assert done.exit_code == 1, done.output
    [why] = runs(tmp_path / "runs.db")[plan.runs[0].name].failures[:1]
    assert why == f"{test.client.host}: it was ended after 1 s"
    until(lambda: cluster.alive() == [])


def test_servers_that_are_not_reached_are_results(
    network: Network, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(network, 2)
    test = plan.runs[0].test
    assert isinstance(test, Perftest)
    cluster.ports[test.server.host] = 1  # nobody listens there
    done = CliRunner().invoke(app, words(plan, tmp_path, cluster))
    assert done.exit_code == 1, done.output
    found = runs(tmp_path / "runs.db")[plan.runs[0].name]
    assert found.failures[0].startswith(f"{test.server.host}: 127.0.0.1 port 1")
    assert found.title == "ib_write_bw without a result"
    assert cluster.alive() == []


def test_dry_run_writes_nothing(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 2)
    line = words(plan, tmp_path, cluster, "--dry-run")
    before = sorted(tmp_path.rglob("*"))
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    test = plan.runs[0].test
    assert isinstance(test, Perftest)
    assert f"{test.client.host}: ib_write_bw -F --report_gbits -q 4" in done.output
    assert "2 runs would be carried out" in done.output
    assert sorted(tmp_path.rglob("*")) == before
    assert cluster.ran() == []


def test_runs_that_need_something_are_left_out_unless_named(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    plan = planned(network, 1, needs="`load_balancing: {mode: ecmp}` on the switches")
    line = words(plan, tmp_path, cluster)
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "left out: 1 run" in done.output
    assert "mode: ecmp" in done.output
    assert not (tmp_path / "runs.db").exists()
    assert CliRunner().invoke(app, [*line, "--only", "pairs"]).exit_code == 0
    assert dict(runs(tmp_path / "runs.db")[plan.runs[0].name].settings)["needs"].startswith("`load_balancing")
    refused = CliRunner().invoke(app, [*line, "--only", "nothing"])
    assert isinstance(refused.exception, InputError)
    assert "the plan has no such run" in str(refused.exception)


def test_another_design_is_refused(network: Network, cluster: Cluster, tmp_path: Path) -> None:
    line = words(planned(network, 1), tmp_path, cluster)
    line[line.index(str(FABRIC))] = str(FABRIC.with_name("h100-rlb-8up.yaml"))
    refused = CliRunner().invoke(app, line)
    assert isinstance(refused.exception, InputError)
    assert "its design has changed" in str(refused.exception)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_end_in_the_middle_leaves_no_server_and_loses_no_result(
    network: Network, cluster: Cluster, tmp_path: Path, how: signal.Signals
) -> None:
    plan = planned(network, 2)
    stuck, good = plan.runs
    assert isinstance(stuck.test, Perftest)
    cluster.wrong(stuck.test.client.host, "hang")
    line = words(plan, tmp_path, cluster)
    program = "from railweave.operations.bench.running import pair, scripts\n"
    program += f"scripts.DEVICES, pair.FIRST_PORT = {str(cluster.devices)!r}, {FIRST_PORT}\n"
    program += "from railweave.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", program, *line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    store = tmp_path / "runs.db"
    until(lambda: len(cluster.ran()) == 4 and store.exists() and _kept(store) == 1)
    assert len(cluster.alive()) == 2
    running.send_signal(how)
    out, _ = running.communicate(timeout=20)
    assert running.returncode in {130, -signal.SIGKILL}, out
    until(lambda: cluster.alive() == [])
    assert list(runs(store)) == [good.name]
    (cluster.folder / stuck.test.client.host).unlink()
    done = CliRunner().invoke(app, [*line, "--json"])
    assert done.exit_code == 0, done.output
    assert [one["name"] for one in json.loads(done.stdout)["runs"]] == [stuck.name]


def _kept(store: Path) -> int:
    with opened(store, make=True) as found:
        return len(found.settings())
