"""The closed form behind the tuner's table, against runs of the packet engine on an example."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.outputs.rendering.host.cluster import tuner_rows, uncongested_ps
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.tuning import choice_of
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import SimulatedNetwork, bed_of
from tests.conftest import example

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Collective

QUEUE_PAIRS = {"NCCL_IB_QPS_PER_CONNECTION": "4"}
EVERY_CHANNEL = {"NCCL_NTHREADS": "64", "NCCL_LL128_NTHREADS": "160"}
"""So that the simulated NCCL does not take fewer channels than it is told, as one with a tuner does not."""


@pytest.fixture(scope="module")
def bed() -> SimulatedNetwork:
    return bed_of(example("h100-rlb"))


def run_us(bed: SimulatedNetwork, collective: str, size: int, **given: str) -> float:
    return predict(example("h100-rlb"), collective, size, nccl=given, bed=bed).time_ps / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("split", ["0", "1"])
@pytest.mark.parametrize(
    ("collective", "size", "algorithm", "protocol", "channels"),
    [
        ("all-reduce", 1 << 14, "Tree", "LL", 4),
        ("all-reduce", 1 << 17, "Ring", "LL", 4),
        ("all-reduce", 1 << 20, "Tree", "LL128", 16),
        ("all-reduce", 1 << 26, "Ring", "Simple", 16),
        ("all-reduce", 1 << 26, "Ring", "LL128", 16),
        ("all-gather", 1 << 20, "Ring", "LL128", 4),
        ("all-gather", 1 << 26, "Ring", "Simple", 4),
        ("reduce-scatter", 1 << 26, "Ring", "Simple", 16),
    ],
)
def test_is_close_to_packets_where_no_link_is_shared(
    bed: SimulatedNetwork, collective: Collective, size: int, algorithm: str, protocol: str, channels: int, split: str
) -> None:
    choice = choice_of(bed.job, algorithm, protocol, channels)
    pairs = {**QUEUE_PAIRS, "NCCL_IB_SPLIT_DATA_ON_QPS": split}
    closed_us = uncongested_ps(bed.job, parameters(pairs), collective, size, choice) / 1e6
    given = {**pairs, "NCCL_ALGO": algorithm, "NCCL_PROTO": protocol, "NCCL_MAX_NCHANNELS": str(channels)}
    # Whole messages are posted while credit is, which the closed form leaves out.
    wanted = pytest.approx(
        run_us(bed, collective, size, **given, **EVERY_CHANNEL), rel=1 / 6 if split == "1" else 1 / 5
    )
    assert closed_us == wanted


@pytest.mark.slow
@pytest.mark.parametrize("collective", ["all-reduce", "all-gather"])
@pytest.mark.parametrize("power", [12, 16, 18, 20, 22, 24, 26])
def test_the_table_loses_at_most_a_tenth_to_what_nccl_takes_by_itself(
    bed: SimulatedNetwork, collective: Collective, power: int
) -> None:
    rows = tuner_rows(lambda _: bed.job, 4, parameters({**QUEUE_PAIRS, "NCCL_IB_SPLIT_DATA_ON_QPS": "0"}), 4)
    row = next(r for r in rows if r.collective == collective and r.nodes == 4 and r.max_bytes >= 1 << power)
    given = {"NCCL_ALGO": row.algorithm, "NCCL_PROTO": row.protocol, "NCCL_MAX_NCHANNELS": str(row.channels)}
    by_table = run_us(bed, collective, 1 << power, **given, **EVERY_CHANNEL)
    # Of small sizes the credit of one channel's ring is posted by the NIC that sends another's.
    most = 1.25 if power < 18 else 1.1
    assert by_table <= most * run_us(bed, collective, 1 << power)
