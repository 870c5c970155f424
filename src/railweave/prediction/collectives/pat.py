"""Parallel aggregated trees (PAT): all-gather and reduce-scatter of servers that take part with one GPU each.

Source: S. Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale" (2025), and NCCL from 2.23 on. Every server is the
root of a binomial tree over the others, counted from itself: server i has its data from the one that is its lowest set bit nearer, so that few
chunks go far and many go near. A reduce-scatter goes the same ways back. Chunks go as soon as they can; that NCCL sends several small ones as one
message is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.channels import nic_of_channel
from railweave.prediction.collectives.chunks import cut, over_channels
from railweave.prediction.collectives.draft import Draft, refuse_beyond

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.pace import Pace
    from railweave.prediction.collectives.tuning import Choice


def pat(
    job: Job,
    nccl: Parameters,
    collective: Collective,
    size_bytes: int,
    choice: Choice,
    pace: Pace,
    *,
    whole: bool = False,
) -> Draft:
    """The messages of an all-gather or a reduce-scatter; ``whole``: one for all the bytes of a connection, which waits for nothing."""
    servers, gathers = len(job.servers), collective == "all-gather"
    how = cut(nccl, choice.protocol, ring=False)
    share = over_channels(-(-size_bytes // servers), choice.channels)
    ways = np.array([1 << power for power in range((servers - 1).bit_length())])
    connections = _connections(job, choice.channels, ways, gathers=gathers)
    place = np.arange(1, servers)
    near = place & -place  # lowest set bit: how far the one is that has the data before
    if whole:
        count = (near[:, None] == ways).sum(axis=0)
        carried = (share[:, None, None] * np.ones((1, servers, 1), np.int64)) * count
        every = np.arange(len(connections))
        none = np.zeros(0, np.int64)
        delay = np.full(len(connections), pace.launch_ps, np.int64)
        return Draft(connections, every, carried.ravel(), delay, none, none, how.window, 0, pace.network_hop_ps)
    loops = max(1, -(-int(share.max()) // how.chunk))
    refuse_beyond(choice.channels * loops * servers * (servers - 1))
    bits = np.array([int(one).bit_count() for one in place])
    order = np.argsort(bits if gathers else -bits, kind="stable")
    place, near = place[order], near[order]
    before = place - near
    data = np.clip(share[:, None] - np.arange(loops) * how.chunk, 0, how.chunk)  # channel, loop
    shape = (choice.channels, loops, len(place), servers)
    number: NDArray[np.int64] = np.arange(choice.channels * loops * len(place) * servers).reshape(shape)
    sizes = np.broadcast_to(data[:, :, None, None], shape)
    # the tree of root s: from s + before to s + place; back for a reduce-scatter
    root = np.arange(servers)
    sender = (root + (before if gathers else place)[:, None]) % servers
    way = np.searchsorted(ways, near)
    each = sender * len(ways) + way[:, None]
    connection = np.arange(choice.channels)[:, None, None, None] * (servers * len(ways)) + each
    row = np.zeros(servers, np.int64)
    row[place] = np.arange(len(place))
    inner = np.flatnonzero(before)  # those whose data comes over another
    child, parent = number[:, :, inner, :], number[:, :, row[before[inner]], :]
    waiting, awaited = (child, parent) if gathers else (parent, child)
    first = np.zeros(len(place), np.bool_)  # what is there from the beginning
    first[before == 0 if gathers else ~np.isin(place, before)] = True
    delay = np.where(first, pace.launch_ps, pace.network_hop_ps)
    return Draft(
        connections=connections,
        connection=np.broadcast_to(connection, shape).ravel(),
        bytes=sizes.ravel().astype(np.int64),
        delay_ps=np.broadcast_to(delay[:, None], shape).ravel().astype(np.int64),
        waiting=waiting.ravel(),
        awaited=awaited.ravel(),
        window=how.window,
        consume_ps=pace.hops(1, int(sizes.max())),
        tail_ps=pace.network_hop_ps,
    )


def _connections(job: Job, channels: int, ways: NDArray[np.int64], *, gathers: bool) -> NDArray[np.int64]:
    """Rows of sending NIC, receiving NIC, channel: channel by channel, sender by sender, near ones first."""
    servers, nics = len(job.servers), job.nics_per_server
    nic = nic_of_channel(job, channels)[:, None, None]
    sender = np.arange(servers)[None, :, None]
    receiver = (sender + (ways if gathers else -ways)) % servers
    shape = (channels, servers, len(ways))
    rows = [sender * nics + nic, receiver * nics + nic, np.arange(channels)[:, None, None]]
    return np.stack([np.broadcast_to(one, shape).ravel() for one in rows], axis=1)


def latency_us(servers: int, hop_us: float) -> float:
    """NCCL's estimate of the steps: as many as the tree has levels, and a part for each rank (``graph/tuning.cc``)."""
    return (servers.bit_length() - 1) * hop_us + servers * RANK_US


RANK_US = 2.8
"""What NCCL counts for each rank."""
