"""How long runs take, and when they are ended."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from railweave.operations.bench.plan import Perftest
from railweave.operations.bench.planning.questions import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.bench.planning.wanted import Wanted
    from railweave.operations.store.records import Prediction

PERFTEST_START_S, NCCL_START_S = 3.0, 15.0
"""Assumed: to log in, start programs, exchange addresses, and for nccl-tests to set up communicators."""
ITERATIONS = 5_000
"""Of ``ib_write_bw`` for each size and queue pair."""
MESSAGES_PER_S = 4e6
"""Of small messages, where their rate is not predicted; assumed, about a Thor2's."""
NCCL_RUNS = 5 + 20
"""Of nccl-tests for each size and place: to warm up, and measured."""
CHECKED = 2.0
"""With its check of the result (``-c 1``), nccl-tests takes about twice as long; assumed."""
LEAST_US = 50.0
"""Of a collective that is not predicted; assumed."""
LEAST_TIMEOUT_S, PATIENCE = 60, 5
"""A run is ended after so many times what it should take."""


def estimate_s(run: Wanted, predictions: Sequence[Prediction]) -> float:
    """Seconds that a run should take: by what is predicted, else by the speed of its NICs."""
    test = run.test
    if isinstance(test, Perftest):
        if test.seconds is not None:
            return PERFTEST_START_S + test.seconds
        rate = {one.size_bytes: one.value for one in predictions}
        ways = 2 if test.both_ways else 1
        total = 0.0
        for size in sizes_of(test):
            messages = ITERATIONS * test.qps
            line_s = messages * size * 8 * ways / (rate.get(size, run.gbps * ways) * 1e9)
            total += max(line_s, messages / MESSAGES_PER_S)
        return round(PERFTEST_START_S + total, 1)
    known = {one.size_bytes: one.value for one in predictions if one.place}
    total = 0.0
    for size in sizes_of(test):
        # Bus bandwidth counts bytes as often as they move, at most twice.
        each_s = 2 * size / ((known.get(size) or run.gbps / 8) * 1e9)
        total += 2 * NCCL_RUNS * CHECKED * (each_s + (0 if size in known else LEAST_US / 1e6))
    return round(NCCL_START_S + total, 1)


def timeout_s(estimate: float) -> int:
    """When a run is ended."""
    return max(LEAST_TIMEOUT_S, math.ceil(PATIENCE * estimate))
