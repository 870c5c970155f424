"""Rings: bytes against the textbook, small cases by hand, which NICs are used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.prediction.collectives.channels import SWITCH_AND_POST_PS, ring_order, rings
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from tests.prediction.collectives.plain import check, received_by_nic, seconds, sent_by_nic

MIB, GIB = 1 << 20, 1 << 30
RING = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}


@pytest.mark.parametrize("servers", [2, 3, 4, 8])
@pytest.mark.parametrize(("collective", "turns"), [("all-reduce", 2), ("all-gather", 1), ("reduce-scatter", 1)])
def test_every_nic_sends_the_textbook_share(servers: int, collective: str, turns: int) -> None:
    job = Job.of_servers(servers)
    size = job.ranks * 16 * MIB
    found = program(job, collective, size, parameters(RING))
    share = turns * (job.ranks - 1) * size // job.ranks // 8
    assert (sent_by_nic(job, found) == share).all()
    assert (received_by_nic(job, found) == share).all()


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["all-reduce", "all-gather", "reduce-scatter"]),
    st.integers(2, 5),
    st.integers(1, 5),
    st.integers(1, 40 * MIB),
    st.sampled_from(["LL", "LL128", "Simple"]),
    st.booleans(),
    st.sampled_from(["NCCL", "RCCL"]),
    st.sampled_from(
        [("NCCL_CROSS_NIC", "0"), ("NCCL_CROSS_NIC", "1"), ("NCCL_CROSS_NIC", "2"), ("NCCL_MAX_NCHANNELS", "3")]
    ),
)
def test_any_ring(
    collective: str,
    servers: int,
    gpus: int,
    size: int,
    protocol: str,
    credit: bool,
    library: str,
    word: tuple[str, str],
) -> None:
    job = Job.of_servers(servers, gpus, library=library)
    nccl = parameters({"NCCL_ALGO": "Ring", "NCCL_PROTO": protocol, word[0]: word[1]}, library)
    found = program(job, collective, size, nccl, credit=credit)
    check(job, found)
    assert found.protocol == protocol
    sent = sent_by_nic(job, found).reshape(servers, gpus).sum(axis=1)
    if collective == "all-reduce" and protocol == "Simple":
        # Every byte crosses from each server to the next twice, but for the chunks that end or begin beyond.
        assert sent.sum() <= 2 * size * servers
        assert (sent <= 2 * size).all()
        assert (sent >= 2 * size - 4 * (size // job.ranks + 16 * found.channels * (1 + size // (2 * MIB)))).all()
    elif protocol == "Simple":
        assert (sent == (job.ranks - 1) * -(-size // job.ranks)).all()
    assert (received_by_nic(job, found).reshape(servers, gpus).sum(axis=1) == np.roll(sent, 1)).all()


def test_two_ranks_by_hand() -> None:
    """1 MiB over two servers with a GPU each, one channel: a chunk is half, in two slices of 256 KiB."""
    job = Job.of_servers(2, 1)
    found = program(job, "all-reduce", MIB, parameters({**RING, "NCCL_MAX_NCHANNELS": "1"}), launch_ps=1000)
    assert found.connections.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert found.connection.tolist() == [0] * 4 + [1] * 4
    assert found.bytes.tolist() == [256 * 1024] * 8
    # Steps 0 of both go at once; step 1 hands out what came in from the other, slice by slice.
    assert found.after_start.tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 4]
    assert found.after.tolist() == [4, 5, 0, 1]
    assert found.delay_ps[[0, 1, 4, 5]].tolist() == [1000] * 4
    assert (
        found.delay_ps[[2, 3, 6, 7]] == 14_000_000 - SWITCH_AND_POST_PS
    ).all()  # NCCL's network hop; no other GPU in the server


def test_loops_wait_for_the_loop_before() -> None:
    """One channel, two ranks: a loop is 4 MiB, so 8 MiB take two, and the second begins when the first has come in."""
    job = Job.of_servers(2, 1)
    found = program(job, "all-reduce", 8 * MIB, parameters({**RING, "NCCL_MAX_NCHANNELS": "1"}))
    assert found.bytes.tolist() == [MIB] * 16
    second = slice(int(found.after_start[4]), int(found.after_start[5]))  # the first message of loop 2, server 0
    assert found.after[second].tolist() == [11]  # from server 1: loop 1, its last step, last slice


def test_sizes_that_do_not_divide() -> None:
    """100 bytes over four ranks: chunks of 32, of which the last has 4."""
    job = Job.of_servers(4, 1)
    found = program(job, "all-reduce", 100, parameters({**RING, "NCCL_MAX_NCHANNELS": "1"}))
    by_server = found.bytes.reshape(4, 6, 2)[:, :, 0].tolist()
    # The last GPU of server s begins with chunk s - 1 and goes backwards.
    chunks = [32, 32, 32, 4]
    assert by_server == [[chunks[(s - 1 - step) % 4] for step in range(6)] for s in range(4)]
    assert found.bytes.reshape(4, 6, 2)[:, :, 1].sum() == 0  # a slice is at least 32 KiB


def test_credit_is_four_slices() -> None:
    job = Job.of_servers(2, 1)
    nccl = parameters({**RING, "NCCL_MAX_NCHANNELS": "1"})
    plain, full = (program(job, "all-gather", 32 * MIB, nccl, credit=credit) for credit in (False, True))
    assert plain.bytes.tolist() == [MIB] * 32
    words = np.flatnonzero(full.credit[full.connection])
    assert len(words) == 2 * (16 - 4)
    assert (full.bytes[words] == 64).all()
    waits = full.after[int(full.after_start[4]) : int(full.after_start[5])].tolist()
    word = next(m for m in waits if m in words)
    assert full.after[int(full.after_start[word]) : int(full.after_start[word + 1])].tolist() == [0]
    assert full.connections[full.connection[word]].tolist() == [1, 0, 0]


def test_credit_binds_where_the_way_is_long() -> None:
    """Steps x slices of four channels in a round trip of 490 us: 16 MiB / 490 us a NIC, not 50 GB/s."""
    job = Job.of_servers(2, 1)
    nccl = parameters({**RING, "NCCL_CHUNK_STEPS": "4"})
    size = 2 * GIB
    found = program(job, "all-gather", size, nccl, credit=True)
    rate = size / 2 / seconds(job, found, delay_ps=245_000_000)
    assert rate == pytest.approx(16 * MIB / 490e-6, rel=0.25)
    assert rate < 16 * MIB / 490e-6


def test_rings_stay_on_their_rail_with_pxn() -> None:
    job = Job.of_servers(4)
    found = program(job, "all-reduce", GIB, parameters(RING))
    assert (found.connections[:, 0] % 8 == found.connections[:, 1] % 8).all()
    assert found.channels == 16
    assert sorted({int(nic) for nic in found.connections[:, 0]}) == list(range(32))


@pytest.mark.parametrize("key", ["NCCL_CROSS_NIC", "NCCL_PXN_DISABLE"])
def test_rings_that_change_nics_swap_on_every_second_server(key: str) -> None:
    job = Job.of_servers(4)
    way = rings(job, parameters({key: "1"}), 16)
    assert (way.enter != way.leave).all()
    assert (way.leave == np.roll(way.enter, -1, axis=1)).all()  # so rails are still not crossed
    found = program(job, "all-reduce", GIB, parameters({**RING, key: "1"}))
    assert (found.connections[:, 0] % 8 == found.connections[:, 1] % 8).all()


def test_rings_of_rccl_cross_rails_as_the_guide_logs() -> None:
    """Channel 0: 15 to 0; channel 1: 14 to 1 by NIC 6 (Thor2 guide, section 8.7.3.3)."""
    job = Job.of_servers(2, library="RCCL", gpu="MI300X", cpu="AMD")
    way = rings(job, parameters(library="RCCL"), 16)
    assert (way.enter[0, 0], way.leave[0, 1]) == (0, 7)
    assert (way.enter[1, 0], way.leave[1, 1]) == (1, 6)
    assert ring_order(job, 1, 6) == [1, 2, 3, 4, 5, 7, 0, 6]


@pytest.mark.parametrize("collective", ["all-reduce", "all-gather", "reduce-scatter"])
def test_takes_the_textbook_time_on_ideal_links(collective: str) -> None:
    job = Job.of_servers(4)
    size = 2 * GIB
    found = program(job, collective, size, parameters(RING))
    best = found.bus_factor * size / (8 * 50e9)
    assert best < seconds(job, found) < best * 1.05
