"""The double binary tree and the broadcast."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.prediction.collectives.channels import SWITCH_AND_POST_PS
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tree import parents
from tests.prediction.collectives.plain import check, received_by_nic, seconds, sent_by_nic

MIB, GIB = 1 << 20, 1 << 30
TREE = {"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}


def test_trees_as_nccl_draws_them() -> None:
    """The pictures in NCCL's graph/trees.cc: 14, 12 and 13 nodes."""
    plain = [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12]
    assert parents(14)[0] == plain
    assert parents(12)[1] == [1, 3, 1, 11, 5, 7, 5, 3, 9, 7, 9, -1]
    assert parents(13)[1] == [9, -1, 3, 5, 3, 9, 7, 5, 7, 1, 11, 0, 11]


@given(st.integers(2, 300))
def test_inner_nodes_of_one_tree_are_leaves_of_the_other(servers: int) -> None:
    first, second = parents(servers)
    for parent in (first, second):
        assert parent.count(-1) == 1
        children = np.bincount([up for up in parent if up >= 0], minlength=servers)
        assert children.max() <= 2
        for server in range(servers):
            depth = 0
            while (server := parent[server]) >= 0:
                depth += 1
                assert depth <= servers.bit_length()
    if servers % 2 == 0:
        assert not {up for up in first if up > 0} & {up for up in second if 0 <= up < servers - 1}


@settings(deadline=None, max_examples=40)
@given(
    st.integers(2, 7),
    st.integers(1, 4),
    st.integers(1, 64 * MIB),
    st.sampled_from(["LL", "LL128", "Simple"]),
    st.booleans(),
)
def test_any_tree(servers: int, gpus: int, size: int, protocol: str, credit: bool) -> None:
    job = Job.of_servers(servers, gpus)
    found = program(job, "all-reduce", size, parameters({"NCCL_ALGO": "Tree", "NCCL_PROTO": protocol}), credit=credit)
    check(job, found)
    assert (found.algorithm, found.protocol) == ("Tree", protocol)
    sent, received = sent_by_nic(job, found), received_by_nic(job, found)
    assert (sent == received).all()  # what goes up an edge comes down it
    if protocol == "Simple":
        assert sent.sum() == 2 * size * (servers - 1)  # each edge of a tree, both ways


def test_bytes_of_each_nic() -> None:
    """Four servers, two channels a NIC, one on each tree: a NIC sends half of S / 8 by each edge of its server."""
    job = Job.of_servers(4)
    found = program(job, "all-reduce", 64 * MIB, parameters(TREE))
    edges = np.zeros(4, int)
    for parent in parents(4):
        for server, up in enumerate(parent):
            if up >= 0:
                edges[[server, up]] += 1
    assert (sent_by_nic(job, found).reshape(4, 8) == edges[:, None] * 4 * MIB).all()


def test_a_chunk_by_hand() -> None:
    """Two servers of two GPUs, one channel, one chunk: up with the sum of the server, then down."""
    job = Job.of_servers(2, 2)
    found = program(job, "all-reduce", 4096, parameters({**TREE, "NCCL_MAX_NCHANNELS": "1"}), launch_ps=0)
    assert found.connections.tolist() == [[2, 0, 0], [0, 2, 0]]
    assert found.after.tolist() == [0]
    hop = 4_000_000 + 4096 * 8000 / 2966.4
    assert found.delay_ps.tolist() == pytest.approx([hop, 14_000_000 - SWITCH_AND_POST_PS + hop], abs=2)
    assert found.tail_ps == pytest.approx(14_000_000 - SWITCH_AND_POST_PS + hop, abs=2)


def test_tree_takes_the_textbook_time() -> None:
    """Large sizes go at the speed of the busiest NIC: three edges in one tree, one in the other, half of S / 8 each."""
    job = Job.of_servers(4)
    found = program(job, "all-reduce", 2 * GIB, parameters(TREE))
    best = sent_by_nic(job, found).max() / 50e9
    assert best == pytest.approx(4 / 2 * 2 * GIB / 8 / 50e9)
    assert best < seconds(job, found) < best * 1.1


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 32 * MIB), st.data(), st.booleans())
def test_broadcast_reaches_every_server(servers: int, gpus: int, size: int, data: st.DataObject, credit: bool) -> None:
    job = Job.of_servers(servers, gpus)
    root = data.draw(st.integers(0, job.ranks - 1))
    found = program(job, "broadcast", size, parameters({"NCCL_PROTO": "Simple"}), root=root, credit=credit)
    check(job, found)
    received = received_by_nic(job, found).reshape(servers, gpus).sum(axis=1)
    at = root // gpus
    others = np.delete(received, at)
    assert (others == size).all()
    assert received[at] <= (size if gpus > 1 else 0)  # only channels whose ring begins before the root come round


def test_broadcast_by_hand() -> None:
    """Three servers of a GPU, from the second: 1 MiB in two chunks, one after the other over two hops."""
    job = Job.of_servers(3, 1)
    found = program(
        job, "broadcast", MIB, parameters({"NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": "1"}), root=1, launch_ps=7
    )
    assert found.connections.tolist() == [[1, 2, 0], [2, 0, 0]]
    assert found.bytes.tolist() == [MIB // 2] * 4
    assert found.after_start.tolist() == [0, 0, 0, 1, 2]
    assert found.after.tolist() == [0, 1]
    assert found.delay_ps.tolist() == [7, 7, *[14_000_000 - SWITCH_AND_POST_PS] * 2]
