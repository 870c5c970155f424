"""Which algorithm and protocol RCCL takes for a size on a GPU that it has a table for.

The table of gfx942 (MI300X) of RCCL 2.21 (``graph/tuning.cc``, ``tuning_model_5``). Its figures are weights that AMD chose
so that the choice comes out as measured (a ring's network hop of 320 us, a tenth of the bandwidth up to 256 MiB): nothing
here is a prediction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.collectives.job import Job

RCCL_TUNED = ("MI300X",)

BASE_US = {"LL": 12.0, "Simple": 17.0}
GPU_HOP_US = {"Tree": {"LL": 0.9, "Simple": 2.3}, "Ring": {"LL": 0.8, "Simple": 2.1}}
NETWORK_HOP_US = {"Tree": {"LL": 10.5, "Simple": 25.0}, "Ring": {"LL": 9.5, "Simple": 320.0}}
OF_THE_BUS = {
    "few": {"Tree": {"LL": 0.06, "Simple": 0.11}, "Ring": {"LL": 0.08, "Simple": 1.0}},
    "many": {"Tree": {"LL": 0.06, "Simple": 0.59}, "Ring": {"LL": 0.08, "Simple": 1.0}},
}
"""Part of the bus bandwidth, for up to two servers and for more."""

CORRECTION = {
    "Tree": {
        "LL": (0.1,) * 6 + (1.0,) * 5 + (0.6, 1.0, 0.9, 1.0, 1.0) + (0.1,) * 11,
        "Simple": (0.1,) * 15 + (0.7,) + (1.0,) * 10 + (0.8,),
    },
    "Ring": {
        "LL": (0.1,) * 11 + (1.0, 0.2, 1.0, 0.4, 0.4, 0.1, 0.2, 0.2) + (0.1,) * 8,
        "Simple": (0.1,) * 23 + (0.8, 1.0, 1.0, 1.0),
    },
}
"""By power of two of the size from 64 B on; larger sizes have the last one."""


def rccl_estimate_us(job: Job, collective: Collective, algorithm: str, protocol: str, size_bytes: int) -> float:
    """RCCL's own estimate. LL128 it does not take on this GPU: infinite."""
    if protocol == "LL128":
        return float("inf")
    servers, ranks = len(job.servers), job.ranks
    server = job.servers[0]
    bus = server.link.gbps / 8
    if servers > 1:
        bus = min(bus, sum(nic.rate_mbps for nic in server.nics) / 8000)
    bus *= OF_THE_BUS["few" if servers <= 2 else "many"][algorithm][protocol]
    turns = {"all-reduce": 2 * (ranks - 1), "broadcast": ranks}.get(collective, ranks - 1)
    bus *= max(ranks, 2) / max(turns, 1) if algorithm == "Ring" else 0.5
    power = (size_bytes >> 6).bit_length() - 1
    factors = CORRECTION[algorithm][protocol]
    if algorithm == "Tree" or servers > 1:  # rings inside one server are not corrected (ncclTopoGetAlgoTime)
        bus *= factors[min(max(power, 0), len(factors) - 1)]
    inside, across = GPU_HOP_US[algorithm][protocol], NETWORK_HOP_US[algorithm][protocol]
    if algorithm == "Tree":
        latency = 2 * ((job.gpus_per_server - 1) * inside + (servers.bit_length() - 1) * across)
    else:
        crossing = 0 if servers == 1 else 2 * servers if collective == "all-reduce" else servers - 1
        if servers > 1:  # getNetOverhead, by CPU
            overhead = 2.0 if server.cpu == "AMD" else 1.0
            inside = max(inside, overhead * (3 if protocol == "Simple" else 1))
        latency = (turns - crossing) * inside + crossing * across
    return BASE_US[protocol] + latency + size_bytes / (1000 * bus)
