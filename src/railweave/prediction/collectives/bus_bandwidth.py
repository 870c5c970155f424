"""Bus bandwidth: what nccl-tests and rccl-tests multiply size / time with (nccl-tests, doc/PERFORMANCE.md).

The size is what they print: what each rank reduces or sends in all (all-reduce, all-to-all, broadcast, send/recv), what it
receives in all (all-gather), what it puts in (reduce-scatter).
"""

from __future__ import annotations

from typing import Literal, get_args

Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"]

COLLECTIVES: tuple[Collective, ...] = get_args(Collective)


def bus_factor(collective: Collective, ranks: int) -> float:
    """The factor for ``ranks`` ranks; with one rank it is 0 where nothing is moved."""
    if collective == "all-reduce":
        return 2 * (ranks - 1) / ranks
    if collective in {"broadcast", "send-recv"}:
        return 1.0
    return (ranks - 1) / ranks
