"""All-to-all and send/recv: schedule, bytes, rails, batches."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job, Nic, Server
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.schedule import deltas, p2p_channels, parts_of, rccl_deltas, rounds
from tests.prediction.collectives.plain import check, received_by_nic, seconds, sent_by_nic

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_order_of_peers_as_nccl_has_it() -> None:
    assert deltas(16) == [0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]  # the comment in NCCL's init.cc
    assert deltas(4) == [0, 1, 3, 2]
    assert deltas(3) == [0, 1, 2]
    assert deltas(1) == [0]


@given(st.integers(1, 40), st.integers(1, 9))
def test_every_rank_meets_every_rank_once(servers: int, gpus: int) -> None:
    job = Job.of_servers(servers, gpus)
    turns = rounds(job, p2p_channels(job, parameters(), 16))
    assert len(set(zip(turns.server.tolist(), turns.gpu.tolist(), strict=True))) == job.ranks


def test_channels_of_32_ranks_by_hand() -> None:
    """16 channels, 2 a peer (2 x 32 <= 16 x 4), beginning with 1; server 1, 2 and 3 further begin at channel 8, 12 and 4."""
    job = Job.of_servers(4)
    p2p = p2p_channels(job, parameters(), 16)
    assert (p2p.total, p2p.per_peer, p2p.least) == (16, 2, 1)
    turns = rounds(job, p2p)
    assert turns.server[::8].tolist() == [0, 1, 3, 2]
    assert turns.base[::8].tolist() == [0, 8, 4, 12]
    assert p2p.of_part(turns.base[::8], 1).tolist() == [8, 0, 12, 4]
    assert parts_of(128 * KIB, p2p, 128 * KIB) == 1
    assert parts_of(128 * KIB + 1, p2p, 128 * KIB) == 2
    assert p2p_channels(Job.of_servers(64), parameters(), 16).per_peer == 1
    assert p2p_channels(job, parameters({"NCCL_NCHANNELS_PER_NET_PEER": "4"}), 16).per_peer == 4


def test_rounds_of_rccl_by_hand() -> None:
    """RCCL 2.21: a channel has one transfer at a time; server and GPU further, added, say which one (``ncclChannelComputeBase``)."""
    assert [rccl_deltas(count) for count in (1, 2, 3, 4, 8)] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 2, 1, 3],
        [0, 4, 1, 7, 3, 5, 2, 6],
    ]
    job = replace(Job.of_servers(4), library="RCCL")
    turns = rounds(job, p2p_channels(job, parameters(library="RCCL"), 32))
    assert turns.server[::8].tolist() == [0, 2, 1, 3]
    assert turns.gpu[:8].tolist() == list(range(8))
    assert turns.base[8] == turns.base[2] == turns.base[17] == 8  # 2 + 0, 0 + 2, 1 + 1: 2 backwards in five bits
    found = program(job, "all-to-all", 32 * MIB, parameters({"NCCL_MIN_NCHANNELS": "32"}, "RCCL"))
    check(job, found)
    assert np.diff(found.after_start.astype(int)).max() == 1


@given(st.integers(1, 40))
def test_rccl_meets_every_server_once(servers: int) -> None:
    assert sorted(rccl_deltas(servers)) == list(range(servers))


@pytest.mark.parametrize("disable", [0, 1])
def test_every_nic_sends_the_remote_share(disable: int) -> None:
    job = Job.of_servers(4)
    size = 64 * MIB
    found = program(job, "all-to-all", size, parameters({"NCCL_PXN_DISABLE": str(disable)}))
    assert (sent_by_nic(job, found) == size * 24 // 32).all()
    assert (received_by_nic(job, found) == size * 24 // 32).all()


def test_pxn_keeps_to_the_rail_and_shares_connections() -> None:
    job = Job.of_servers(4)
    with_pxn, without = (program(job, "all-to-all", MIB, parameters({"NCCL_PXN_DISABLE": str(off)})) for off in (0, 1))
    assert (with_pxn.connections[:, 0] % 8 == with_pxn.connections[:, 1] % 8).all()
    assert len(with_pxn.connections) == 4 * 3 * 8  # servers, other servers, rails
    assert len(without.connections) == 4 * 3 * 64
    own_rail = 768 // 8
    assert (with_pxn.delay_ps == with_pxn.delay_ps.min()).sum() == own_rail  # the rest goes over NVLink first
    assert len(set(without.delay_ps.tolist())) == 1


@pytest.mark.parametrize(
    ("pair", "chunk"), [(96 * KIB, 32 * KIB), (512 * KIB, 64 * KIB), (1024 * KIB, 128 * KIB), (4 * MIB, 128 * KIB)]
)
def test_chunks_by_size_of_the_transfer(pair: int, chunk: int) -> None:
    job = Job.of_servers(2, 2)
    found = program(job, "all-to-all", 4 * pair, parameters({"NCCL_MAX_NCHANNELS": "4"}))
    assert set(found.bytes.tolist()) == {chunk}
    assert found.messages == 4 * 2 * pair // chunk


@settings(deadline=None, max_examples=60)
@given(
    st.integers(2, 9),
    st.integers(1, 9),
    st.integers(1, 4 * MIB),
    st.sampled_from([0, 1]),
    st.booleans(),
    st.sampled_from([-1, 1, 4]),
)
def test_any_all_to_all(servers: int, gpus: int, size: int, disable: int, credit: bool, per_peer: int) -> None:
    job = Job.of_servers(servers, gpus)
    nccl = parameters({"NCCL_PXN_DISABLE": str(disable), "NCCL_NCHANNELS_PER_NET_PEER": str(per_peer)})
    found = program(job, "all-to-all", size, nccl, credit=credit)
    check(job, found)
    each = (size // job.ranks) * (job.ranks - gpus)
    assert (sent_by_nic(job, found) == each).all()
    assert (received_by_nic(job, found) == each).all()
    assert (found.bytes > 0).all()


def test_two_gpus_to_a_nic() -> None:
    """PXN needs a GPU beside the NIC on the rail; GPUs 0 and 1 share NIC 0, 2 and 3 NIC 1."""
    nics = (Nic("a", 0, 400_000), Nic("b", 1, 400_000))
    job = Job(tuple(Server(f"s{s}", nics, (0, 0, 1, 1)) for s in range(3)))
    found = program(job, "all-to-all", 12 * MIB)
    check(job, found)
    assert (found.connections[:, 0] % 2 == found.connections[:, 1] % 2).all()
    assert (sent_by_nic(job, found) == 2 * 8 * MIB).all()


def test_batches_of_64_servers_by_hand() -> None:
    """64 groups of 8 rounds on 16 channels: 4 batches each, and three quarters of the transfers wait for 8 or fewer."""
    job = Job.of_servers(64)
    found = program(job, "all-to-all", 512 * 16 * KIB)
    waits = np.diff(found.after_start.astype(int))
    assert found.messages == 512 * 504
    assert set(waits.tolist()) == {0, 8}
    # 15 channels have four groups of other servers, the one of the own server three and no wait for it.
    assert (waits == 8).sum() == 512 * 8 * (15 * 3 + 2)


def test_send_recv_crosses_at_the_last_gpu() -> None:
    job = Job.of_servers(3)
    found = program(job, "send-recv", 64 * MIB)
    check(job, found)
    sent = sent_by_nic(job, found).reshape(3, 8)
    assert sent[:, 0].tolist() == [64 * MIB] * 3  # PXN: on the rail of the next server's first GPU
    assert sent[:, 1:].sum() == 0
    straight = program(job, "send-recv", 64 * MIB, parameters({"NCCL_PXN_DISABLE": "1"}))
    assert sent_by_nic(job, straight).reshape(3, 8)[:, 7].tolist() == [64 * MIB] * 3


@pytest.mark.slow
def test_takes_no_less_than_its_nics_need() -> None:
    """On ideal links batches that wait for each other cost little."""
    job = Job.of_servers(4)
    for size in (256 * MIB, GIB):
        found = program(job, "all-to-all", size)
        best = size * 24 / 32 / 50e9
        assert best < seconds(job, found) < best * 1.05
    pairwise = program(job, "send-recv", GIB)
    assert GIB / 50e9 < seconds(job, pairwise) < GIB / 50e9 * 1.02


def test_words_of_credit_are_per_transfer() -> None:
    job = Job.of_servers(2, 1)
    found = program(job, "send-recv", 4 * MIB, parameters({"NCCL_NCHANNELS_PER_NET_PEER": "1"}), credit=True)
    words = int(found.credit[found.connection].sum())
    assert words == 2 * (32 - 8)
    for m in itertools.islice(range(found.messages), 8):
        assert found.after_start[m] == found.after_start[m + 1]
