"""NCCL's parameters, the choice of algorithm and protocol, queue pairs, jobs that are wrong, bus bandwidth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.errors import InputError
from railweave.prediction.collectives.channels import bus_factor, channel_count
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job, JobError, Nic, Server
from railweave.prediction.collectives.nccl import LISTS, NUMBERS, NcclError, parameters
from railweave.prediction.collectives.queue_pairs import split, waits
from railweave.prediction.collectives.tuning import choose, estimate_us, used_channels
from railweave.prediction.simulation.settings import by_name

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def test_defaults_and_values() -> None:
    nccl = parameters(
        {"NCCL_BUFFSIZE": "8M", "NCCL_ALGO": "^tree", "NCCL_PROTO": "ll,Simple", "NCCL_NCHANNELS_PER_NET_PEER": "-1"}
    )
    assert nccl["NCCL_BUFFSIZE"] == 8 * MIB
    assert nccl["NCCL_P2P_NET_CHUNKSIZE"] == 128 * KIB
    assert nccl.names("NCCL_ALGO") == ("Ring", "NVLS", "NVLSTree", "PAT")
    assert nccl.names("NCCL_PROTO") == ("LL", "Simple")
    assert parameters()["NCCL_PXN_DISABLE"] == 0
    assert parameters(library="RCCL")["NCCL_PXN_DISABLE"] == 1
    assert parameters({"NCCL_PXN_DISABLE": "0"}, "RCCL")["NCCL_PXN_DISABLE"] == 0


def test_every_default_can_be_said_and_has_a_source() -> None:
    for key, number in NUMBERS.items():
        assert parameters({key: str(number.default)})[key] == number.default
        assert number.source
    assert all(names.source for names in LISTS.values())


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("NCCL_BUFSIZE=1M", "did you mean NCCL_BUFFSIZE?"),
        ("NCCL_DEBUG_FILE=x", "is not a parameter that changes the prediction"),
        ("NCCL_BUFFSIZE=big", "a whole number from 65536 to 1073741824"),
        ("NCCL_CROSS_NIC=3", "from 0 to 2"),
        ("NCCL_NCHANNELS_PER_NET_PEER=0", "or -1 to let the library decide"),
        ("NCCL_ALGO=CollNet", "one or more of Tree, Ring, NVLS, NVLSTree, PAT"),
        ("NCCL_PROTO=^LL,LL128,Simple", "one or more of LL, LL128, Simple"),
        ("NCCL_CHUNK_STEPS=3", "are not multiples of each other"),
    ],
)
def test_what_is_wrong_and_what_would_be_right(word: str, says: str) -> None:
    with pytest.raises(NcclError) as error:
        parameters(by_name([word], "--nccl"))
    assert says in str(error.value)
    assert str(error.value).startswith("--nccl: ")


def test_a_word_without_a_value() -> None:
    with pytest.raises(InputError) as error:
        by_name(["NCCL_BUFFSIZE"], "--nccl")
    assert "write KEY=VALUE" in str(error.value)
    assert str(error.value).startswith("--nccl: ")


def test_a_number_in_place_of_another() -> None:
    nccl = parameters({"NCCL_IB_QPS_PER_CONNECTION": "2"})
    assert nccl.with_number("NCCL_IB_QPS_PER_CONNECTION", 8)["NCCL_IB_QPS_PER_CONNECTION"] == 8
    with pytest.raises(NcclError, match="NCCL_IB_QPS_PER_CONNECTION cannot be '0'"):
        nccl.with_number("NCCL_IB_QPS_PER_CONNECTION", 0)


def test_all_that_is_wrong_at_once() -> None:
    with pytest.raises(NcclError) as error:
        parameters({"A": "1", "NCCL_STEPS": "x"})
    assert len(error.value.problems) == 2


@pytest.mark.parametrize(
    ("words", "channels"),
    [
        ({}, 16),
        ({"NCCL_MAX_NCHANNELS": "4"}, 4),
        ({"NCCL_MIN_NCHANNELS": "32"}, 32),
        ({"NCCL_MAX_CTAS": "8", "NCCL_MIN_CTAS": "2"}, 8),
    ],
)
def test_channels(words: dict[str, str], channels: int) -> None:
    assert channel_count(Job.of_servers(4), parameters(words)) == channels


def test_nccl_estimates_by_hand() -> None:
    """Ring, Simple, 32 ranks on 4 servers: 8.4 + 56 x max(3.4, 3 x 1) + 6 x 14 us, x 1.4, and 2 x 31/32 S at 8 x 48 GB/s."""
    job, nccl = Job.of_servers(4), parameters()
    found = estimate_us(job, nccl, "all-reduce", "Ring", "Simple", GIB)
    assert found == pytest.approx((8.4 + 56 * 3.4 + 6 * 14) * 1.4 + GIB * 62 / 32 / 384e3, rel=1e-9)
    # Tree, LL, 8 bytes: 6.8 + 2 x (7 x 0.6 + 2 x 5) us
    assert estimate_us(job, nccl, "all-reduce", "Tree", "LL", 8) == pytest.approx(6.8 + 2 * (7 * 0.6 + 2 * 5), rel=1e-4)
    # All-gather, LL, AMD: 28 hops inside at 2 us, what a network post costs, and 3 across
    amd = Job.of_servers(4, gpu="MI300X", cpu="AMD", library="RCCL")
    estimated = estimate_us(amd, parameters(library="RCCL"), "all-gather", "Ring", "LL", 64)
    assert estimated == pytest.approx(12 + 28 * 2.0 + 3 * 2.7, rel=1e-3)


def test_small_sizes_take_trees_and_few_channels() -> None:
    job, nccl = Job.of_servers(4), parameters()
    small, large = (choose(job, nccl, "all-reduce", size, 16) for size in (64, 8 * GIB))
    assert (small.algorithm, small.protocol, small.channels) == ("Tree", "LL", 1)
    assert (large.algorithm, large.protocol, large.channels) == ("Ring", "Simple", 16)
    assert used_channels(job, nccl, "Ring", "Simple", 5 * 512 * 64, 16) == 5
    assert used_channels(job, nccl, "Ring", "LL", 2 * 512 * 8 * 32, 16) == 2
    assert choose(job, nccl, "all-gather", 64, 16).algorithm == "Ring"
    assert choose(job, nccl, "all-to-all", 64, 16).protocol == "Simple"
    assert choose(job, nccl, "all-reduce", 64, 16, launch_ps=5).launch_ps == 5


def test_one_server_has_no_messages() -> None:
    """8 GiB over 8 MI300X: 2 x 7/8 x 8 GiB at 317 GB/s (7 links of 45.3); the guide's run took 47 ms."""
    job = Job.of_servers(1, gpu="MI300X", cpu="AMD", library="RCCL")
    found = program(job, "all-reduce", 8 * GIB)
    assert found.messages == 0
    assert found.floor_ps / 1e12 == pytest.approx(2 * 7 / 8 * 8 * GIB / 317.25e9, rel=0.001)
    assert found.floor_ps / 1e12 == pytest.approx(0.04713, rel=0.07)


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("all-reduce", 1.9375),
        ("all-gather", 0.96875),
        ("reduce-scatter", 0.96875),
        ("all-to-all", 0.96875),
        ("broadcast", 1),
        ("send-recv", 1),
    ],
)
def test_bus_bandwidth_as_nccl_tests_has_it(collective: str, factor: float) -> None:
    assert bus_factor(collective, 32) == factor
    found = program(Job.of_servers(4), collective, MIB)
    assert found.bus_bandwidth_gbytes(10**9) == pytest.approx(MIB / 1e6 * factor)


def test_published_times_and_bandwidths_agree_with_the_factor() -> None:
    """The guide's run of 4 GiB over 32 ranks: 24002.71 us are 346.69 GB/s."""
    found = program(Job.of_servers(4, gpu="MI300X", cpu="AMD", library="RCCL"), "all-reduce", 4 * GIB)
    assert found.bus_bandwidth_gbytes(24_002_710_000) == pytest.approx(346.69, abs=0.01)


def test_jobs_that_are_wrong() -> None:
    nic = Nic("a", 0, 1)
    good = Server("good", (nic,), (0,))
    for servers, says in [
        ((), "no server"),
        ((Server("x", (nic,), ()),), "x has no GPU"),
        ((Server("x", (), (0,)),), "x has no NIC"),
        ((Server("x", (nic,), (1,)),), "has an index without a NIC"),
        ((Server("x", (Nic("a", 0, 0),), (0,)),), "has a GPU link or a NIC without a rate"),
        ((good, Server("x", (Nic("a", 1, 1),), (0,))), "good and x differ"),
    ]:
        with pytest.raises(JobError, match=says):
            Job(servers)
    with pytest.raises(InputError, match="rank 9 is not in the job"):
        program(Job.of_servers(1), "broadcast", 1, root=9)
    with pytest.raises(InputError, match="'gather' is not a known collective"):
        program(Job.of_servers(1), "gather", 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="0 bytes"):
        program(Job.of_servers(1), "all-reduce", 0)


def test_split_by_hand() -> None:
    """1000 bytes over 4 queue pairs: 250 round up to 256, the last has 232; 300 leave the last one empty."""
    job = Job.of_servers(2, 1)
    for size, parts in [(1000, [256, 256, 256, 232]), (300, [128, 128, 44, 0])]:
        found = program(job, "send-recv", size)
        pieces = split(found, 4, split_data=True)
        assert pieces.bytes[:4].tolist() == parts
        assert pieces.queue_pair[:4].tolist() == [0, 1, 2, 3]
        assert pieces.first[:3].tolist() == [0, 4, 8]
    with pytest.raises(InputError, match="1 to 128"):
        split(found, 129, split_data=True)


def test_in_turn_where_data_is_not_split() -> None:
    found = program(
        Job.of_servers(2, 1),
        "all-gather",
        12 * MIB,
        parameters({"NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": "1"}),
        credit=True,
    )
    pieces = split(found, 4, split_data=False)
    assert (pieces.bytes == found.bytes).all()
    data = ~found.credit[found.connection]
    assert pieces.queue_pair[data].tolist() == [0, 1, 2, 3, 0, 1, 2, 3][:6] * 2
    assert pieces.queue_pair[~data].tolist() == [0] * int((~data).sum())


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 16), st.booleans(), st.booleans(), st.integers(1, 16 * MIB))
def test_parts_are_the_message(queue_pairs: int, split_data: bool, credit: bool, size: int) -> None:
    found = program(Job.of_servers(3, 2), "all-reduce", size, parameters({"NCCL_ALGO": "Ring"}), credit=credit)
    pieces = split(found, queue_pairs, split_data=split_data)
    assert (np.bincount(pieces.message, pieces.bytes, found.messages) == found.bytes).all()
    assert (pieces.queue_pair < queue_pairs).all()
    start, after, delay = waits(found, pieces)
    assert start[-1] == len(after) == len(delay)
    for part in (0, len(pieces.message) // 2, len(pieces.message) - 1):
        message = pieces.message[part]
        mine = slice(int(found.after_start[message]), int(found.after_start[message + 1]))
        expected = {p for m in found.after[mine] for p in range(int(pieces.first[m]), int(pieces.first[m + 1]))}
        assert set(after[int(start[message]) : int(start[message + 1])].tolist()) == expected


def test_what_parts_wait_for_is_listed_once_for_all_of_them() -> None:
    found = program(Job.of_servers(4, 2), "all-gather", 16 * MIB, parameters({}), credit=True)
    once, eight = (len(waits(found, split(found, qps, split_data=True))[1]) for qps in (1, 8))
    assert eight <= 8 * once, "it grows with the queue pairs, not with their square"
