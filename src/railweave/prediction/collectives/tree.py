"""Trees: the double binary tree (all-reduce of small and medium sizes) and parallel aggregated trees (PAT).

Source: NCCL 2.23 ``graph/trees.cc``, ``graph/connect.cc``, ``device/all_reduce.h``. Servers form two trees. The leaves
of the first tree are inner nodes of the second tree. The second tree is the first tree, mirrored (for an even number of
servers) or shifted by one server (for an odd number). Channels come in pairs: one channel uses the first tree, the
other the second. Chunks are summed on the way up, and the result is sent down again. Each chunk moves as soon as
possible. In a server, chunks pass along a chain of its GPUs. The first GPU of the chain sends and receives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.channels import Collective, Pace, nic_of_channel
from railweave.prediction.collectives.program import Draft, cut, on_the_wire, over_channels, refuse_beyond
from railweave.prediction.collectives.search import BLACKWELL, generation, ring_graph, switch_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
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
    """Return the messages of an all-gather or a reduce-scatter with PAT.

    ``choice`` has the protocol and the number of channels, and ``pace`` the durations of steps. With ``whole``, all bytes of a connection
    are sent in one message that does not wait. ``nccl`` has NCCL's parameters.
    """
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
    bits = np.array([int(offset).bit_count() for offset in place])
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
    """Return the connections as rows of sending NIC, receiving NIC and channel, sorted by channel, sender and distance.

    ``ways`` holds the distances from a sender to its receivers, counted in servers: 1, 2, 4 and so on. ``gathers`` is True for an
    all-gather, which sends forward; a reduce-scatter sends backward.
    """
    servers, nics = len(job.servers), job.nics_per_server
    nic = nic_of_channel(job, channels)[:, None, None]
    sender = np.arange(servers)[None, :, None]
    receiver = (sender + (ways if gathers else -ways)) % servers
    shape = (channels, servers, len(ways))
    rows = [sender * nics + nic, receiver * nics + nic, np.arange(channels)[:, None, None]]
    return np.stack([np.broadcast_to(row, shape).ravel() for row in rows], axis=1)


def latency_us(servers: int, hop_us: float) -> float:
    """Return NCCL's estimate of a tree's latency in us: a hop per level, plus a time per rank (``graph/tuning.cc``)."""
    return (servers.bit_length() - 1) * hop_us + servers * RANK_US


RANK_US = 2.8
"""The time that NCCL adds for each rank, in microseconds."""


TREES = ("Tree", "NVLSTree")


def streams(job: Job, choice: Choice) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the channel, the NIC and the tree (0 or 1) of each stream of a tree.

    A stream is a channel. In NVLSTree it is a channel of a head: NVSwitches split the data of a channel among the heads, the GPUs with a
    NIC, and channels take turns in the trees (`connectNvls`). ``choice`` has the algorithm and the number of channels.
    """
    channel = np.arange(choice.channels)
    if choice.algorithm == "Tree":
        return channel, nic_of_channel(job, choice.channels), channel // ring_graph(job).channels % 2
    heads = switch_graph(job).channels
    channel = np.repeat(channel, heads)
    return channel, np.tile(np.arange(heads), choice.channels), channel % 2


def inside_ps(job: Job, choice: Choice, pace: Pace, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the time in ps that chunks of ``sizes`` bytes take between the first GPU of a server and its other GPUs.

    - Tree: a chain has a hop from each GPU to the next.
    - NVLSTree: NVSwitches reduce or hand out the chunks of all heads together. NCCL's latency of a hop is that of both directions.

    ``choice`` has the algorithm, protocol and channels, and ``pace`` the durations of steps.
    """
    if choice.algorithm == "Tree":
        return pace.hops(job.gpus_per_server - 1, sizes)
    together = sizes * switch_graph(job).channels
    return pace.hops(1, together) - choice.gpu_hop_ps // 2


def step_ps(choice: Choice, pace: Pace, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the time in ps from the arrival of chunks of ``sizes`` bytes at a server until it can send them on.

    In NVLSTree the GPU that receives also sends. ``choice`` has the algorithm, and ``pace`` the durations of steps.
    """
    return pace.crossing(sizes) + (pace.hops(1, sizes) if choice.algorithm == "Tree" else np.zeros_like(sizes))


def parents(servers: int) -> tuple[list[int], list[int]]:
    """Return the parent of each server in the first tree and in the second. The root has the parent -1."""
    plain = [_parent(server, servers) for server in range(servers)]
    if servers % 2 == 0:
        last = servers - 1
        return plain, [-1 if plain[last - s] < 0 else last - plain[last - s] for s in range(servers)]
    shifted = [plain[(s - 1) % servers] for s in range(servers)]
    return plain, [-1 if up < 0 else (up + 1) % servers for up in shifted]


def _parent(server: int, servers: int) -> int:
    """Return the parent of a server in the plain binary tree. Return -1 for the root, server 0.

    Servers with odd numbers are leaves. A number that is divisible by a higher power of two is higher in the tree.
    """
    if server == 0:
        return -1
    bit = server & -server
    above = (server ^ bit) | (bit << 1)
    return above if above < servers else server ^ bit


@lru_cache
def most_edges(servers: int, trees: int) -> float:
    """Return the number of tree edges (links to parent and children) over which the busiest server sends per channel.

    If ``trees`` is 1, only the first tree counts. If it is 2, the result is the mean of both trees.
    """
    sends = np.zeros(servers, np.int64)
    for parent in parents(servers)[:trees]:
        above = np.array(parent)
        sends += above >= 0
        np.add.at(sends, above[above >= 0], 1)
    return float(sends.max()) / trees


def tree(job: Job, nccl: Parameters, size_bytes: int, choice: Choice, pace: Pace, *, whole: bool = False) -> Draft:
    """Return the messages of a tree all-reduce over two or more servers.

    ``choice`` has the algorithm and protocol, and ``pace`` the durations of steps. With ``whole``, all bytes between a server and its
    parent or child are sent in one message. ``nccl`` has NCCL's parameters.
    """
    how = cut(nccl, choice.protocol, ring=False)
    servers, nics, edges = len(job.servers), job.nics_per_server, len(job.servers) - 1
    channel, nic, second = streams(job, choice)
    channels = len(channel)
    share = over_channels(size_bytes, channels)
    chunk = int(share.max()) if whole else chunk_bytes(job, choice, how.chunk, int(share.max()))
    count = max(1, -(-int(share.max()) // chunk))
    data = np.clip(share[:, None] - np.arange(count) * chunk, 0, chunk)  # channel, chunk
    sizes = on_the_wire(data, choice.protocol)
    refuse_beyond(channels * 2 * edges * count)
    shape = (channels, 2 * edges, count)  # edges up, then edges down; an edge is that of its child
    full = np.ascontiguousarray(np.broadcast_to(sizes[:, None, :], shape))
    number = np.arange(full.size).reshape(shape)

    connections = np.zeros((channels, 2 * edges, 3), np.int64)
    connections[..., 2] = channel[:, None]
    delay = step_ps(choice, pace, full)
    waiting: list[NDArray[np.int64]] = []
    awaited: list[NDArray[np.int64]] = []
    for which, parent in enumerate(parents(servers)):
        mine = np.flatnonzero(second == which)
        children = np.array([server for server in range(servers) if parent[server] >= 0])
        above = np.array(parent)[children]
        lower, upper = (children[None, :] * nics + nic[mine, None], above[None, :] * nics + nic[mine, None])
        connections[mine, :edges, 0], connections[mine, :edges, 1] = lower, upper
        connections[mine, edges:, 0], connections[mine, edges:, 1] = upper, lower
        pairs = _pairs(parent, children)
        waiting.append(number[mine][:, pairs[:, 0], :].ravel())
        awaited.append(number[mine][:, pairs[:, 1], :].ravel())
        leaves = np.flatnonzero(~np.isin(children, above))
        delay[np.ix_(mine, leaves)] = pace.launch_ps + inside_ps(job, choice, pace, full[np.ix_(mine, leaves)])
    largest = sizes.max(keepdims=True)
    return Draft(
        connections=connections.reshape(-1, 3),
        connection=np.repeat(np.arange(channels * 2 * edges), count),
        bytes=full.ravel(),
        delay_ps=delay.ravel(),
        waiting=np.concatenate(waiting),
        awaited=np.concatenate(awaited),
        window=how.window,
        consume_ps=int(step_ps(choice, pace, largest).item()) - pace.crossing(int(sizes.max())),
        tail_ps=int(inside_ps(job, choice, pace, largest).item()) + pace.crossing(int(sizes.max())),
    )


def _pairs(parent: list[int], children: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of edges (links of the trees, in one direction). The first edge of a pair waits for the second.

    - Upward, the edge from a server waits for the edges from its children.
    - Downward, the edge from a server waits for the edge from its parent.
    - The edges down from the root wait for all edges up to it.

    ``parent`` has the parent of each server.
    """
    edge = {int(child): place for place, child in enumerate(children)}
    edges = len(children)
    pairs = [(edge[up], place) for child, place in edge.items() if (up := parent[child]) in edge]
    pairs += [(edges + place, edges + edge[up]) for child, place in edge.items() if (up := parent[child]) in edge]
    top = [place for child, place in edge.items() if parent[child] not in edge]
    pairs += [(edges + down, up) for down in top for up in top]
    return np.array(pairs, np.int64).reshape(-1, 2)


def chunk_bytes(job: Job, choice: Choice, chunk: int, share: int) -> int:
    """Return the chunk size in bytes of a tree (``enqueue.cc``). Small transfers have smaller chunks, so that all tree levels work at once.

    ``choice`` has the algorithm and protocol, ``chunk`` is the largest size, and ``share`` is the number of bytes of one stream.
    """
    servers, gpus, protocol = len(job.servers), job.gpus_per_server, choice.protocol
    if choice.algorithm == "NVLSTree":
        chunk = min(chunk, _most_switched_bytes(job))
        for times, least in ((32, 262_144), (16, 131_072), (4, 65_536), (1, 32_768)):
            if share < times * chunk and chunk > least:
                chunk = least
        return chunk
    if protocol == "Simple":  # NCCL has whole steps from 2.20 on
        depth = gpus - 1 + servers.bit_length() - 1
        for times, least in ((8, 131_072), (4, 65_536), (1, 32_768)) if job.library == "RCCL" else ():
            while share // chunk < depth * times and chunk > least:
                chunk //= 2
        return chunk
    if protocol == "LL":
        return chunk
    levels = servers.bit_length() + 0.1 * gpus
    while share // chunk < levels * 64 / gpus and chunk > 131_072:
        chunk //= 2
    while share // chunk < levels * 16 / gpus and chunk > 32_768:
        chunk //= 2
    return chunk


def _most_switched_bytes(job: Job) -> int:
    """Return the largest chunk in bytes of NVLSTree (``transport/nvls.cc``, `ncclNvlsTuning`)."""
    servers, gpus, nic = len(job.servers), job.gpus_per_server, job.servers[0].nics[0].rate_mbps / 8000
    if generation(job) is not BLACKWELL or nic < 48:
        return 65_536 if servers >= 4 else 131_072
    if servers == 2:
        return 262_144 if gpus <= 4 else 65_536 if gpus >= 16 or nic < 96 else 131_072
    if nic >= 96:
        return 262_144 if gpus <= 8 else 131_072 if gpus < 32 else 65_536
    return 65_536
