"""The choice of algorithm, protocol and channels against NCCL's own core: its cost table, and what its log says it takes.

NCCL 2.30.7 and 2.28.9 without a GPU (``make test-nccl``), on servers of one GPU (as an A100) and one NIC of 100G, which NCCL
counts as 12 of its 12.5 GB/s; LL128 is not offered there, the way from GPU to NIC being too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.job import GpuLink, Job, Nic, Server
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tuning import choose, estimate_us

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Collective

NCCL = parameters({"NCCL_PROTO": "LL,Simple"})


def job(servers: int) -> Job:
    one = Server("one", (Nic("eth0", 1, 96_000),), (0,), "A100", link=GpuLink("none", 400.0, "not used"))
    return Job((one,) * servers)


# us as a tuner of NCCL's gets them, for sizes in bytes.
COSTS: dict[tuple[int, Collective, str, str], dict[int, float]] = {
    (2, "all-reduce", "Tree", "LL"): {2048: 17.8, 8192: 21.5, 16384: 26.3},
    (2, "all-reduce", "Tree", "Simple"): {2048: 36.6, 16384: 38.9, 1 << 30: 114459.0},
    (2, "all-reduce", "Ring", "LL"): {2048: 16.9, 8192: 18.0, 16384: 19.3},
    (2, "all-reduce", "Ring", "Simple"): {2048: 51.1, 16384: 52.3, 1 << 30: 89529.4},
    (4, "all-reduce", "Tree", "LL"): {4096: 31.5, 1 << 30: 869638.7},
    (4, "all-reduce", "Tree", "Simple"): {1024: 64.6, 1 << 30: 228909.6},
    (4, "all-reduce", "Ring", "LL"): {8192: 38.6},
    (4, "all-reduce", "Ring", "Simple"): {65536: 137.6},
    (2, "all-gather", "Ring", "LL"): {4096: 11.9},
    (2, "reduce-scatter", "Ring", "Simple"): {1024: 22.4},
    (2, "all-gather", "PAT", "Simple"): {262144: 32.2},
    (4, "reduce-scatter", "Ring", "LL"): {16384: 23.6},
    (2, "broadcast", "Ring", "Simple"): {1024: 22.5, 262144: 44.2},
    (4, "broadcast", "Ring", "LL"): {1024: 9.5},
    (4, "broadcast", "Ring", "Simple"): {524288: 66.1},
}


@pytest.mark.parametrize("case", COSTS, ids=lambda case: "-".join(str(part) for part in case))
def test_the_estimate_is_nccls(case: tuple[int, Collective, str, str]) -> None:
    servers, collective, algorithm, protocol = case
    mine = job(servers)
    for size, us in COSTS[case].items():
        found = estimate_us(mine, NCCL, collective, algorithm, protocol, size)
        assert found == pytest.approx(us, abs=0.06, rel=1e-4), size


# NCCL_DEBUG_SUBSYS=TUNING: "N Bytes -> Algo A proto P channel{Lo..Hi}={..}". A ReduceScatter's bytes are those of one rank there.
TAKEN: dict[tuple[int, Collective], list[tuple[int, str, str, int]]] = {
    (2, "all-reduce"): [
        (1024, "Ring", "LL", 1),
        (8192, "Ring", "LL", 1),
        (16384, "Ring", "LL", 2),
        (262144, "Ring", "LL", 2),
        (1 << 20, "Ring", "Simple", 2),
    ],
    (4, "all-reduce"): [
        (1024, "Tree", "LL", 1),
        (8192, "Tree", "LL", 2),
        (16384, "Ring", "LL", 1),
        (65536, "Ring", "LL", 2),
        (262144, "Ring", "LL", 2),
        (1 << 20, "Ring", "Simple", 2),
    ],
    (2, "all-gather"): [(262144, "PAT", "Simple", 2)],
    (2, "reduce-scatter"): [(262144, "PAT", "Simple", 2)],
    (4, "reduce-scatter"): [
        (8192, "Ring", "LL", 1),
        (16384, "Ring", "LL", 1),
        (65536, "Ring", "LL", 2),
        (262144, "Ring", "LL", 2),
        (1 << 20, "Ring", "Simple", 2),
    ],
    (4, "broadcast"): [
        (1024, "Ring", "LL", 1),
        (16384, "Ring", "LL", 1),
        (65536, "Ring", "LL", 2),
        (262144, "Ring", "Simple", 2),
        (1 << 24, "Ring", "Simple", 2),
    ],
}


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: f"{case[0]}-{case[1]}")
def test_the_choice_is_nccls(case: tuple[int, Collective]) -> None:
    servers, collective = case
    mine = job(servers)
    found = [
        (size, choice.algorithm, choice.protocol, choice.channels)
        for size, *_ in TAKEN[case]
        for choice in [choose(mine, NCCL, collective, size, channel_count(mine, NCCL))]
    ]
    assert found == TAKEN[case]
