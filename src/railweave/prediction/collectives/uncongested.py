"""How long a collective takes where no link of the network is shared, for any algorithm, protocol and number of channels.

In closed form, so that thousands of cases cost nothing. It is the longest of what a prediction counts with (the steps that
wait for one another, the bytes of a NIC, the bytes of the GPUs' links, what proxies take to post all messages), and the way of
the last chunk. On 4 servers it is within a quarter of the packet engine (``tests/prediction/simulation/test_uncongested.py``). Where
links are shared it is too short, for all algorithms alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.posting import POST_COST_PS
from railweave.prediction.collectives.chunks import cut
from railweave.prediction.collectives.collective import links_need_ps
from railweave.prediction.collectives.pace import Pace
from railweave.prediction.collectives.queue_pairs import parts_of
from railweave.prediction.collectives.tree import chunk_bytes, most_edges
from railweave.prediction.collectives.whole import ring_loops, ring_ps, ring_steps, wire_ps

if TYPE_CHECKING:
    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.tuning import Choice

WITH_FLAGS = {"LL": 2.0, "LL128": 128 / 120, "Simple": 1.0}
"""Bytes on the wire for a byte of data."""


def uncongested_ps(job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice) -> int:
    """The time of an all-reduce, all-gather or reduce-scatter over two servers or more."""
    pace, ring = Pace.of(job, choice), choice.algorithm == "Ring"
    how, share = cut(nccl, choice.protocol, ring=ring), -(-size_bytes // choice.channels)
    if ring:
        each = ring_loops(job, size_bytes, choice, how.chunk) * ring_steps(job, collective) * how.slices
        moved = share * ring_steps(job, collective) / job.ranks
        way = pace.network_hop_ps
        chain = ring_ps(job, nccl, collective, size_bytes, choice)
    else:
        servers = len(job.servers)
        chunk = chunk_bytes(choice.protocol, how.chunk, share, servers, job.gpus_per_server)
        edges = most_edges(servers, 2 if choice.channels > job.nics_per_server else 1)
        each = edges * -(-share // chunk)
        moved = share * edges
        way = _tree_way_ps(job, nccl, choice, pace, min(chunk, share))
        chain = way
    busiest = -(-choice.channels // job.nics_per_server)  # channels of a NIC
    posts = busiest * (each * _parts(job, nccl) + max(0, each - how.window)) * POST_COST_PS
    wire = wire_ps(job, round(busiest * moved * WITH_FLAGS[choice.protocol]))
    links = links_need_ps(job, nccl, collective, size_bytes, choice)
    return choice.launch_ps + round(max(chain, wire + way, posts + way, links))


def _parts(job: Job, nccl: Parameters) -> int:
    """How many parts each message is posted in."""
    split_data = bool(nccl["NCCL_IB_SPLIT_DATA_ON_QPS"])
    return parts_of(nccl["NCCL_IB_QPS_PER_CONNECTION"], split_data=split_data, ports=job.ports)


def _tree_way_ps(job: Job, nccl: Parameters, choice: Choice, pace: Pace, chunk: int) -> int:
    """The way of a chunk up a tree of servers and down again, and through the GPUs of both ends."""
    post = _parts(job, nccl) * POST_COST_PS
    wire = wire_ps(job, round(chunk * WITH_FLAGS[choice.protocol]))
    level = post + pace.network_hop_ps + pace.hops(1, chunk) + wire
    # On the way down a server posts to both of its children, one after the other.
    return (len(job.servers).bit_length() - 1) * (2 * level + post) + 2 * pace.hops(job.gpus_per_server - 1, chunk)
