"""Broadcast: a pipeline along the ring, from the root on (NCCL 2.23 ``device/broadcast.h``).

Where the root is not the first GPU of its server in a channel's ring, the GPUs before it are reached last, over the network
from the server before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.channels import ring_order
from railweave.prediction.collectives.chunks import cut, on_the_wire, over_channels
from railweave.prediction.collectives.draft import Draft, refuse_beyond

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Rings
    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.pace import Pace
    from railweave.prediction.collectives.tuning import Choice


def broadcast(
    job: Job,
    nccl: Parameters,
    size_bytes: int,
    choice: Choice,
    rings: Rings,
    pace: Pace,
    root: int,
    *,
    whole: bool = False,
) -> Draft:
    """The messages of a broadcast from rank ``root``; ``whole``: one for all the bytes of a connection."""
    how = cut(nccl, choice.protocol, ring=False)
    servers, nics, gpus = len(job.servers), job.nics_per_server, job.gpus_per_server
    at, gpu = divmod(root, gpus)
    share = over_channels(size_bytes, rings.channels)
    chunk = int(share.max()) if whole else how.chunk
    count = max(1, -(-int(share.max()) // chunk))
    refuse_beyond(rings.channels * servers * count)
    sizes = on_the_wire(np.clip(share[:, None] - np.arange(count) * chunk, 0, chunk), choice.protocol)

    rows: list[tuple[int, int, int]] = []
    hops: list[int] = []  # inside the server, before the message
    for channel in range(rings.channels):
        order = ring_order(job, int(rings.enter[channel, at]), int(rings.leave[channel, at]))
        before_root = order.index(gpu)
        for step in range(servers if before_root else servers - 1):
            here, there = (at + step) % servers, (at + step + 1) % servers
            rows.append(
                (
                    here * nics + int(rings.leave[channel, here]),
                    there * nics + int(rings.enter[channel, there]),
                    channel,
                )
            )
            hops.append(rings.hops - (0 if step else before_root))
    connections = np.array(rows, np.int64).reshape(-1, 3)
    full = sizes[connections[:, 2]]  # connection, chunk
    number = np.arange(full.size).reshape(full.shape)
    first = np.r_[True, connections[1:, 2] != connections[:-1, 2]]
    since = np.where(first, pace.launch_ps, pace.network_hop_ps)[:, None]
    largest = int(sizes.max())
    return Draft(
        connections=connections,
        connection=np.repeat(np.arange(len(connections)), count),
        bytes=full.ravel(),
        delay_ps=(since + pace.hops(np.array(hops)[:, None], full)).ravel(),
        waiting=number[~first].ravel(),
        awaited=number[np.flatnonzero(~first) - 1].ravel(),
        window=how.window,
        consume_ps=pace.hops(1, largest),
        tail_ps=pace.hops(gpus - 1, largest) + pace.network_hop_ps,
    )
