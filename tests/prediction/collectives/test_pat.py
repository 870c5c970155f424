"""PAT: everything reaches everyone over binomial trees, few chunks far and many near, in as many steps as the tree has levels."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from railweave.prediction.collectives.channels import Collective, channel_count
from railweave.prediction.collectives.collective import loads, program
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.single_message import single_message_program
from railweave.prediction.collectives.tuning import choose
from tests.prediction.collectives.plain import check, received_by_nic, seconds, sent_by_nic

MIB = 1 << 20
PAT = parameters({"NCCL_ALGO": "PAT", "NCCL_PROTO": "Simple"})
RING = parameters({"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"})
BOTH: list[Collective] = ["all-gather", "reduce-scatter"]


@pytest.mark.parametrize("servers", [2, 3, 5, 8, 13])
@pytest.mark.parametrize("collective", BOTH)
@pytest.mark.parametrize("credit", [False, True])
def test_every_byte_is_sent_and_received_once(collective: Collective, servers: int, credit: bool) -> None:
    job = Job.of_servers(servers, 1)
    size = servers * 3 * MIB
    found = program(job, collective, size, PAT, credit=credit)
    assert found.algorithm == "PAT"
    check(job, found)
    wanted = size * (servers - 1) // servers
    assert (sent_by_nic(job, found) == wanted).all()
    assert (received_by_nic(job, found) == wanted).all()


@pytest.mark.parametrize("servers", [3, 8, 11])
def test_everyone_has_everything_in_the_end(servers: int) -> None:
    """Follow a chunk: what is handed on has come in before, and each server gets each of the others' once."""
    job = Job.of_servers(servers, 1)
    found = program(job, "all-gather", servers * 4096, PAT)
    held: defaultdict[tuple[int, int], list[int]] = defaultdict(list)  # by channel and server: whose data came in
    origin: dict[int, int] = {}
    for message in np.argsort(np.diff(found.after_start.astype(int)), kind="stable").tolist():
        origin[message] = -1
    waits = {m: found.after[int(found.after_start[m]) : int(found.after_start[m + 1])].tolist() for m in origin}

    def whose(message: int) -> int:
        before = waits[message]
        return whose(before[0]) if before else int(found.connections[found.connection[message], 0])

    for message in origin:
        _, to, channel = found.connections[found.connection[message]].tolist()
        if found.bytes[message]:
            held[channel, to].append(whose(message))
    for (_, to), got in held.items():
        assert sorted(got) == [one for one in range(servers) if one != to]


def test_few_chunks_go_far() -> None:
    job = Job.of_servers(8, 1)
    found = loads(job, "all-gather", 8 * MIB, PAT)
    far = (found.connections[:, 1].astype(int) - found.connections[:, 0].astype(int)) % 8
    carried = {int(one): int(found.bytes[far == one].sum()) for one in set(far.tolist())}
    assert carried == {1: 8 * 4 * MIB, 2: 8 * 2 * MIB, 4: 8 * MIB}
    messages = program(job, "all-gather", 8 * MIB, PAT)
    assert found.bytes.tolist() == np.bincount(messages.connection, messages.bytes, len(found.bytes)).tolist()
    assert single_message_program(job, "reduce-scatter", 8 * MIB, PAT).bytes.sum() == 8 * 7 * MIB


def test_small_ones_are_quicker_than_rings_and_large_ones_are_not_chosen() -> None:
    job = Job.of_servers(32, 1)
    small = 32 * 4096
    assert seconds(job, program(job, "all-gather", small, PAT)) < seconds(job, program(job, "all-gather", small, RING))
    for size, algorithm in ((32 << 16, "PAT"), (1 << 32, "Ring")):
        simple = parameters({"NCCL_PROTO": "Simple"})
        assert choose(job, simple, "all-gather", size, channel_count(job, simple)).algorithm == algorithm


@pytest.mark.parametrize(
    ("job", "given"),
    [
        (Job.of_servers(32, 8), {}),
        (Job.of_servers(32, 1), {"NCCL_PAT_ENABLE": "0"}),
        (Job.of_servers(32, 1, gpu="MI300X", library="RCCL"), {}),
    ],
    ids=["several GPUs", "before 2.23", "RCCL"],
)
def test_where_there_is_no_pat(job: Job, given: dict[str, str]) -> None:
    nccl = parameters({"NCCL_PROTO": "Simple", **given}, job.library)
    assert choose(job, nccl, "all-gather", 32 << 16, channel_count(job, nccl)).algorithm == "Ring"


def test_switches_reduce_inside_a_server() -> None:
    """An all-reduce of 8 H100: NCCL takes NVLS, and reaches the 476 GB/s that NVIDIA calls usual (nccl-tests, issue 290)."""
    job, size = Job.of_servers(1, 8, gpu="H100"), 1 << 34
    off = parameters({"NCCL_NVLS_ENABLE": "0"})
    ring, switched = program(job, "all-reduce", size, off), program(job, "all-reduce", size)
    assert (ring.algorithm, switched.algorithm) == ("Ring", "NVLS")
    assert switched.bus_bandwidth_gbytes(switched.floor_ps) == pytest.approx(476, rel=0.001)
    assert ring.bus_bandwidth_gbytes(ring.floor_ps) == pytest.approx(370.8, rel=0.001)
    a100 = Job.of_servers(1, 8, gpu="A100")
    assert program(a100, "all-reduce", size).algorithm == "Ring"
    assert parameters({"NCCL_ALGO": "^Ring"}).names("NCCL_ALGO") == ("Tree", "NVLS", "NVLSTree", "PAT")


def test_trees_of_switches_send_from_every_nic_on_every_channel() -> None:
    """Switches split a channel's data among the 8 GPUs, so that 16 channels have 128 streams, and the NICs carry as much as by a tree."""
    job, size = Job.of_servers(4, 8, gpu="H100"), 64 * MIB
    words = {"NCCL_PROTO": "Simple"}
    tree, switched = (
        program(job, "all-reduce", size, parameters({**words, "NCCL_ALGO": name})) for name in ("Tree", "NVLSTree")
    )
    assert switched.algorithm == "NVLSTree"
    check(job, switched)
    assert (sent_by_nic(job, switched) == sent_by_nic(job, tree)).all()
    assert (len(tree.connections), len(switched.connections)) == (16 * 6, 16 * 8 * 6)
    # 45.5 GB/s for each of 8 channels of the search, after a hop inside, two up and down the tree, and the first of 8 chunks
    assert switched.floor_ps == pytest.approx((25 + 4 * 20.9) * 1e6 + 9 / 8 * size * 62 / 32 / 364e9 * 1e12, rel=1e-6)
    large = single_message_program(job, "all-reduce", 1 << 30, parameters({**words, "NCCL_ALGO": "NVLSTree"}))
    assert large.algorithm == "NVLSTree"


@pytest.mark.parametrize(
    ("gpu", "servers", "size", "chunk"),
    [
        ("H100", 2, 1 << 28, 1 << 17),
        ("H100", 4, 1 << 28, 1 << 16),
        ("H100", 4, 1 << 20, 1 << 13),  # the whole share
        ("B200", 4, 1 << 28, 1 << 16),
    ],
)
def test_chunks_of_trees_of_switches(gpu: str, servers: int, size: int, chunk: int) -> None:
    job = Job.of_servers(servers, 8, gpu=gpu)
    found = program(job, "all-reduce", size, parameters({"NCCL_ALGO": "NVLSTree"}))
    assert found.bytes.max() == chunk
