"""The tuner's table: what its rows may hold, and that the one the plugin is tested with on NCCL's core is this one."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from railweave.outputs.rendering.host.cluster import ANY_BYTES, COLLECTIVES, server_counts, tuner_rows, tuner_text
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from tests.conftest import ROOT

SPLIT = {"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_IB_SPLIT_DATA_ON_QPS": "1"}


def test_jobs_of_powers_of_two_and_of_all_servers_have_rows() -> None:
    assert server_counts(2) == [2]
    assert server_counts(12) == [2, 4, 8, 12]
    assert server_counts(1024)[-2:] == [512, 1024]


@pytest.mark.parametrize("paths", [1, 2, 3, 4, 8])
def test_rows_cover_every_size_with_whole_multiples_of_the_paths(paths: int) -> None:
    rows = tuner_rows(Job.of_servers, 6, parameters(SPLIT), paths)
    assert {(one.nodes, one.ranks) for one in rows} == {(2, 16), (4, 32), (6, 48)}
    for nodes in (2, 4, 6):
        for collective in COLLECTIVES:
            own = [one for one in rows if (one.collective, one.nodes) == (collective, nodes)]
            assert own[-1].max_bytes == ANY_BYTES
            assert all(one.max_bytes < other.max_bytes for one, other in pairwise(own))
    assert all(one.channels % paths == 0 and 0 < one.channels <= 16 for one in rows)
    assert rows == tuner_rows(Job.of_servers, 6, parameters(SPLIT), paths)


def test_a_job_with_fewer_channels_than_paths_is_left_to_nccl() -> None:
    assert tuner_rows(lambda servers: Job.of_servers(servers, gpus=1), 4, parameters(SPLIT), 8) == []


def test_large_tables_fit_into_the_plugin() -> None:
    """RW_TUNER_ROWS of plugin/src/tuner.h."""
    assert len(tuner_rows(Job.of_servers, 4096, parameters(SPLIT), 4)) <= 512


def test_the_table_of_the_test_on_nccls_core_is_as_a_build_writes_it() -> None:
    """Two and four servers of one GPU and one NIC with two paths (plugin/tests/nccl/run.sh)."""
    words = {"NCCL_IB_QPS_PER_CONNECTION": "2", "NCCL_IB_SPLIT_DATA_ON_QPS": "1"}
    rows = tuner_rows(lambda servers: Job.of_servers(servers, gpus=1, rate_mbps=100_000), 4, parameters(words), 2)
    text = tuner_text("test", 2, rows)
    assert text == (ROOT / "plugin" / "tests" / "nccl" / "tuner.json").read_text()
    assert {row["protocol"] for row in json.loads(text)["rows"]} == {"ll", "ll128", "simple"}
