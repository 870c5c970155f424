"""Rings: all-reduce, all-gather and reduce-scatter.

Source: NCCL 2.23 ``device/all_reduce.h``, ``all_gather.h``, ``reduce_scatter.h``. Every channel cuts its bytes into loops.
In a loop of an all-reduce each rank sends N - 1 chunks round the ring to be added up and N - 1 to be handed out; the other
two send N - 1. Only what the last GPU of a server sends becomes messages. What it sends in its first G steps (G GPUs in a
server) began in its own server; from then on it sends what came in G steps before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.chunks import GRAIN, cut, on_the_wire, over_channels, sliced
from railweave.prediction.collectives.draft import Draft, refuse_beyond

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.collectives.channels import Rings
    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.pace import Pace
    from railweave.prediction.collectives.tuning import Choice


def ring(
    job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice, rings: Rings, pace: Pace
) -> Draft:
    """The messages of a ring collective. ``size_bytes`` as nccl-tests has it."""
    how = cut(nccl, choice.protocol, ring=True)
    ranks, gpus, servers = job.ranks, job.gpus_per_server, len(job.servers)
    share = _shares(collective, size_bytes, choice.channels, ranks)
    if collective == "all-reduce":
        steps = 2 * (ranks - 1)
        chunks = _chunks_of_all_reduce(share, how.chunk, ranks, gpus, servers)
    else:
        steps = ranks - 1
        chunks = _chunks_of_gather(share, how.chunk, servers, steps)
    sizes = on_the_wire(sliced(chunks, how), choice.protocol)  # channel, server, loop, step, slice
    number = np.arange(sizes.size).reshape(sizes.shape)
    before = np.roll(number, 1, axis=1)  # what came in from the server before

    delay = pace.network_hop_ps + pace.hops(rings.hops, sizes)
    # In the first loop the first chunks come from GPUs of the same server.
    delay[:, :, 0, :gpus] = pace.launch_ps + pace.hops(np.arange(gpus)[:, None], sizes[:, :, 0, :gpus])
    # Later it is the end of the loop before that came in G steps before; a GPU begins a loop when it has all of that.
    begins = number[:, :, 1:, :gpus]
    ended = np.broadcast_to(before[:, :, :-1, steps - gpus :, -1:], begins.shape)
    waiting, awaited = number[..., gpus:, :], before[..., : steps - gpus, :]
    return Draft(
        connections=_connections(job, rings),
        connection=np.repeat(np.arange(rings.channels * servers), sizes[0, 0].size),
        bytes=sizes.ravel(),
        delay_ps=delay.ravel(),
        waiting=np.concatenate([waiting.ravel(), begins.ravel()]),
        awaited=np.concatenate([awaited.ravel(), ended.ravel()]),
        window=how.window,
        consume_ps=pace.hops(1, int(sizes.max())),
        tail_ps=pace.network_hop_ps,  # what comes in last is not handed on
    )


def ring_loads(
    job: Job, collective: Collective, size_bytes: int, choice: Choice, rings: Rings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The connections of a ring collective, and what each carries in all: the mean of its ranks' chunks, to a byte."""
    share = _shares(collective, size_bytes, choice.channels, job.ranks)
    data = share * 2 * (job.ranks - 1) // job.ranks if collective == "all-reduce" else share * (job.ranks - 1)
    return _connections(job, rings), np.repeat(on_the_wire(data, choice.protocol), len(job.servers))


def _shares(collective: Collective, size_bytes: int, channels: int, ranks: int) -> NDArray[np.int64]:
    """By channel: its bytes of the whole (all-reduce), or of what one rank gives or gets."""
    return over_channels(size_bytes if collective == "all-reduce" else -(-size_bytes // ranks), channels)


def inside_one_server(choice: Choice, steps: int) -> int:
    """How long the steps of a ring of GPUs take beyond what their links need for the bytes: latency, in ps."""
    return choice.launch_ps + steps * choice.gpu_hop_ps


def _connections(job: Job, rings: Rings) -> NDArray[np.int64]:
    """Rows of sending NIC, receiving NIC, channel: channel by channel, server by server."""
    servers, nics = len(job.servers), job.nics_per_server
    server = np.arange(servers)
    sending = server * nics + rings.leave
    receiving = np.roll(server * nics + rings.enter, -1, axis=1)
    channel = np.repeat(np.arange(rings.channels), servers)
    return np.stack([sending.ravel(), receiving.ravel(), channel], axis=1)


def _chunks_of_all_reduce(
    share: NDArray[np.int64], chunk: int, ranks: int, gpus: int, servers: int
) -> NDArray[np.int64]:
    """Bytes by channel, server, loop and step of what the last GPU of the server sends."""
    loops = max(1, -(-int(share.max()) // (ranks * chunk)))
    refuse_beyond(len(share) * servers * loops * 2 * (ranks - 1))
    left = np.clip(share[:, None] - np.arange(loops) * ranks * chunk, 0, None)  # channel, loop
    each = np.minimum(chunk, -(-left // (ranks * GRAIN)) * GRAIN)
    sender = np.arange(servers) * gpus + gpus - 1
    place = (sender[:, None] - 1 - np.arange(2 * (ranks - 1))) % ranks  # server, step
    begin = place[None, :, None, :] * each[:, None, :, None]
    return np.clip(left[:, None, :, None] - begin, 0, each[:, None, :, None])


def _chunks_of_gather(share: NDArray[np.int64], chunk: int, servers: int, steps: int) -> NDArray[np.int64]:
    """The same for what each rank gives or gets: every step of a loop is as large."""
    loops = max(1, -(-int(share.max()) // chunk))
    refuse_beyond(len(share) * servers * loops * steps)
    each = np.clip(share[:, None] - np.arange(loops) * chunk, 0, chunk)
    return np.broadcast_to(each[:, None, :, None], (len(share), servers, loops, steps)).copy()
