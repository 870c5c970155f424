"""Thresholds for acceptance tests. ``make trial NAME=acceptance`` hands those of every example to the tools themselves."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

import railweave
from railweave import api
from railweave.errors import InputError
from railweave.operations.bench.plan import Plan
from railweave.operations.exports import acceptance
from tests.conftest import EXAMPLES
from tests.operations.exports.acceptance_run import NO_CVS, NO_GCM, cvs_check, health_check

pytestmark = pytest.mark.slow


@cache
def _files(name: str) -> dict[str, str]:
    return acceptance.files(railweave.load(EXAMPLES / f"{name}.yaml"))


def _rows(name: str) -> dict[tuple[str, str], dict[str, str]]:
    return {(row["test"], row["servers"]): row for row in csv.DictReader(io.StringIO(_files(name)["figures.csv"]))}


def test_a_threshold_is_the_lower_end_of_the_band_of_bench_plan() -> None:
    plan: Plan = api.bench_plan(EXAMPLES / "h100-rlb.yaml", suite="acceptance", parts=["queue-pairs", "cluster"])
    run = next(run for run in plan.runs if run.name == "cluster/all-reduce")
    low = next(each.low for each in run.predictions if (each.size_bytes, each.place) == (1 << 30, "in-place"))
    row = _rows("h100-rlb")["all-reduce", "all servers"]
    assert float(row["threshold"]) == pytest.approx(low, abs=0.01)
    assert float(row["threshold"]) <= low
    assert float(row["predicted"]) > low


def test_cases_that_were_not_compared_have_no_threshold() -> None:
    rows = _rows("h100-rlb")
    without = {key for key, row in rows.items() if not row["threshold"]}
    assert without == {(test, "one server") for test in ("reduce-scatter", "all-to-all", "send-recv")}
    assert all(
        "was not compared with published results whose limit is bandwidth" in rows[key]["left_out"] for key in without
    )
    assert "of B200 (here H100)" in rows["all-gather", "two servers of a stripe"]["beyond"]
    assert rows["all-reduce", "all servers"]["beyond"] == ""
    readme = _files("h100-rlb")["README.md"]
    for key in without:
        assert rows[key]["left_out"] in readme
    given = "".join(text for name, text in _files("h100-rlb").items() if name not in {"README.md", "figures.csv"})
    assert "loopback" in given


def test_files_follow_the_vendors() -> None:
    assert sorted(_files("h100-rlb")) == [
        "README.md",
        "figures.csv",
        "gcm/pair-across-all_gather.toml",
        "gcm/pair-across-all_reduce.toml",
        "gcm/pair-across-alltoall.toml",
        "gcm/pair-in-stripe-all_gather.toml",
        "gcm/pair-in-stripe-all_reduce.toml",
        "gcm/pair-in-stripe-alltoall.toml",
        "gcm/server-all_gather.toml",
        "gcm/server-all_reduce.toml",
        "l8k/validation.yaml",
        "nvsentinel/preflight-env.yaml",
    ]
    assert sorted(_files("sonic-mi355x")) == ["README.md", "cvs/rccl_config.json", "figures.csv"]
    assert "### gcm\n\nNo file: no server has GPUs of NVIDIA.\n" in _files("sonic-mi355x")["README.md"]


def test_the_only_threshold_of_l8k_is_that_of_the_slowest_pair() -> None:
    content = yaml.safe_load(_files("h100-rlb")["l8k/validation.yaml"])["validation"]
    rows = csv.DictReader(io.StringIO(_files("h100-rlb")["figures.csv"]))
    lows = [float(row["threshold"]) for row in rows if row["test"] == "ib_write_bw"]
    assert len(lows) > 1
    assert content["rdma"] == {"ibWriteSize": 65536, "ibWriteMinBandwidthGbps": min(lows)}


def test_nvsentinel_gets_the_job_of_all_servers() -> None:
    content = yaml.safe_load(_files("h100-rlb")["nvsentinel/preflight-env.yaml"])
    row, alone = (_rows("h100-rlb")["all-reduce", group] for group in ("all servers", "one server"))
    assert content == {
        "preflight-nccl-loopback": [
            {"name": "BW_THRESHOLD_GBPS", "value": alone["threshold"]},
            {"name": "TEST_SIZE_MB", "value": "1024"},
        ],
        "preflight-nccl-allreduce": [
            {"name": "BW_THRESHOLD_GBPS", "value": row["threshold"]},
            {"name": "MESSAGE_SIZES", "value": "1G"},
        ],
    }


def test_the_commands_of_nvsentinel_name_the_files_as_they_are_written() -> None:
    readme = _files("h100-rlb")["README.md"]
    assert 'load("nvsentinel/preflight-env.yaml")' in readme
    assert "Needs yq 4 of Mike Farah" in readme
    assert "one threshold for the cluster" not in readme
    files = _files("aidc-three-fabrics")
    values = {
        name: float(yaml.safe_load(text)["preflight-nccl-allreduce"][0]["value"])
        for name, text in files.items()
        if name.startswith("nvsentinel/")
    }
    assert len(values) > 1
    assert "nvsentinel/backend1-preflight-env.yaml" in values
    assert f'load("{min(values, key=lambda name: values[name])}")' in files["README.md"]
    assert "use the file with the lowest value, or install the chart per fabric" in files["README.md"]


def test_rows_of_the_readme_differ_and_have_units() -> None:
    lines = [line for line in _files("h100-rlb")["README.md"].splitlines() if line.startswith("|  |")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert len({tuple(row[:4]) for row in cells}) == len(cells)
    assert [row[2] for row in cells if row[1] == "ib_write_bw"] == ["two NICs, one leaf", "two NICs, across spines"]
    assert all(row[5].endswith(" Gb/s" if row[1] == "ib_write_bw" else " GB/s") for row in cells)


def test_cvs_finds_its_results_where_it_looks() -> None:
    config = json.loads(_files("sonic-mi355x")["cvs/rccl_config.json"])["rccl"]
    assert config["mpi_params"]["no_of_nodes"] == "8"
    results = config["cvs_params"]["results"]["ainic"]
    assert list(results) == ["all_reduce_perf-float-64", "alltoall_perf-float-64"]
    assert list(results["all_reduce_perf-float-64"]) == ["1073741824"]


@pytest.mark.validator
@pytest.mark.skipif(bool(NO_CVS), reason=NO_CVS)
def test_cvs_takes_the_thresholds_with_its_tolerance(tmp_path: Path) -> None:
    answer = cvs_check(tmp_path, _files("sonic-mi355x")["cvs/rccl_config.json"])
    assert answer["refused"], "CVS must not start before the values are filled in"
    assert answer["errors"] == {
        f"{program} {part}": int(part < 0.95)
        for program in ("all_reduce_perf", "alltoall_perf")
        for part in (1.0, 0.951, 0.949)
    }


@pytest.mark.validator
@pytest.mark.skipif(bool(NO_GCM), reason=NO_GCM)
@pytest.mark.parametrize("file", ["pair-across-all_reduce", "pair-in-stripe-alltoall"])
def test_gcm_is_critical_below_the_threshold(file: str, tmp_path: Path) -> None:
    config = _files("h100-rlb")[f"gcm/{file}.toml"]
    options = tomllib.loads(config)["health_checks"]["check-nccl"]
    threshold = options["critical_threshold"]
    code, runs = health_check(tmp_path, config, threshold + 0.01, "H100-01,H100-03")
    assert (code, len(runs)) == (0, 1)
    assert "--host H100-01:8,H100-03:8 --np 16" in runs[0]
    assert runs[0].endswith(options["nccl_topts"])
    assert "NCCL_P2P_DISABLE" not in runs[0]
    assert health_check(tmp_path, config, threshold - 0.01, "H100-01,H100-03")[0] == 2


def test_a_network_without_gpus_is_refused() -> None:
    with pytest.raises(InputError, match="has no server with a NIC that belongs to a GPU"):
        _files("frontend-mixed")


def test_each_tenant_has_files_of_its_own() -> None:
    names = set(_files("evpn-server-isolation"))
    assert {"gcm/tenant-1-pair-across-all_reduce.toml", "cvs/tenant-2-rccl_config.json"} < names
    readme = _files("evpn-server-isolation")["README.md"]
    (line,) = (
        line
        for line in readme.splitlines()
        if "gcm/tenant-1-pair-across-alltoall.toml" in line and "--hostlist" in line
    )
    assert line.startswith("- gcm/tenant-1-pair-across-all_reduce.toml, gcm/tenant-1-pair-across-all_gather.toml")
    assert line.endswith("`--hostlist H100-01,H100-03`")


def test_the_command_writes_what_the_function_returns(tmp_path: Path) -> None:
    names = api.export(EXAMPLES / "h100-rlb.yaml", tmp_path, target="acceptance")
    assert {name: (tmp_path / name).read_text() for name in names} == _files("h100-rlb")
