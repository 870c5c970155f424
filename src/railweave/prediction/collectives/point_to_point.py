"""Transfers between ranks: all-to-all and send/recv as grouped ncclSend and ncclRecv, with PXN.

A transfer is cut into parts, each on a channel, and these into chunks of 128 KiB, each a network message. With PXN the
sender's data goes over NVLink to the GPU beside the NIC on the destination's rail, and is sent from there (NCCL 2.23
``graph/paths.cc``, ``transport/net.cc``); transfers from different GPUs of a server to the same GPU then share a connection.
NCCL sends up to 8 chunks of such transfers with one completion; here each is a message (left out). What is for a GPU of
the same server does not go over the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.program import Draft, empty, refuse_beyond
from railweave.prediction.collectives.schedule import BATCH, P2pChannels, Rounds, batches, parts_of, rounds
from railweave.prediction.collectives.tuning import launch_of_others_us

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.pace import Pace

SHARED_STEPS = 16
"""Buffers of a channel's transfers in all (``NCCL_SHARED_STEPS``)."""
PART_GRAIN = 4096
"""Parts begin at multiples of this (``ncclP2pPartBounds``)."""


@dataclass(frozen=True)
class Transfers:
    """Who sends to whom: pairs of ranks, each ``size_bytes``. ``turn`` is the round in which they do.

    ``of_one``: they are those of the first server only, and every other server does the same with servers as far away.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    turn: NDArray[np.int64]
    size_bytes: int
    of_one: bool = False


def everyone(job: Job, size_bytes: int, turns: Rounds, *, of_one: bool = False) -> Transfers:
    """All-to-all: every rank sends ``size_bytes`` to every rank; here those of other servers."""
    gpus, servers = job.gpus_per_server, len(job.servers)
    senders = 1 if of_one else servers
    refuse_beyond(senders * gpus * job.ranks)
    # In order of connections with PXN, so that sorting by them later is quick.
    server, other, apart, gpu = np.ix_(range(senders), range(gpus), range(1, servers), range(gpus))
    there = np.where(apart <= server, apart - 1, apart)
    by_server, by_gpu = np.argsort(turns.server[::gpus]), np.argsort(turns.gpu[:gpus])
    turn = by_server[(there - server) % servers] * gpus + by_gpu[(other - gpu) % gpus]
    shape = turn.shape
    source = np.broadcast_to(server * gpus + gpu, shape)
    target = np.broadcast_to(there * gpus + other, shape)
    return Transfers(source.ravel(), target.ravel(), turn.ravel(), size_bytes, of_one)


def neighbors(job: Job, size_bytes: int, turns: Rounds) -> Transfers:
    """Send/recv as nccl-tests does it: every rank sends to the next one, the last to the first."""
    gpus = job.gpus_per_server
    source = np.arange(job.ranks)
    target = (source + 1) % job.ranks
    apart = (target // gpus - source // gpus) % len(job.servers)
    further = (target % gpus - source % gpus) % gpus
    turn = np.zeros_like(source)
    for rank in source:
        turn[rank] = np.flatnonzero((turns.server == apart[rank]) & (turns.gpu == further[rank]))[0]
    away = apart > 0
    return Transfers(source[away], target[away], turn[away], size_bytes)


def transfers(
    job: Job, nccl: Parameters, p2p: P2pChannels, wanted: Transfers, pace: Pace, *, all_pairs: bool, whole: bool = False
) -> Draft:
    """The messages of transfers.

    ``all_pairs``: those of a batch wait for the batch before on their channel. ``whole``: one message for all the bytes of a
    part.
    """
    count, size = len(wanted.source), wanted.size_bytes
    peers = job.ranks - 1 if all_pairs else 1
    if not count or not size:
        return empty(pace.launch_ps)
    step = min(nccl["NCCL_P2P_NET_CHUNKSIZE"], nccl["NCCL_BUFFSIZE"] // nccl["NCCL_STEPS"])
    parts = parts_of(size, p2p, step)
    part_bytes = -(-size // (parts * PART_GRAIN)) * PART_GRAIN
    chunk = part_bytes if whole else _chunk(nccl, size, step)
    refuse_beyond(count * -(-size // chunk))
    sizes = [int(min(max(size - part * part_bytes, 0), part_bytes)) for part in range(parts)]
    sizes = [each for each in sizes if each]
    chunks = max(-(-each // chunk) for each in sizes)
    by_chunk = np.array([[min(max(each - k * chunk, 0), chunk) for k in range(chunks)] for each in sizes])

    # A stream is a part of a transfer; streams are numbered part by part.
    parts = len(sizes)
    base = rounds(job, p2p).base[wanted.turn]
    channel = np.stack([p2p.of_part(base, part) for part in range(parts)])
    sending, receiving, relayed = _nics(job, nccl, wanted)
    if all_pairs:
        batch, waits = _batches(job, p2p, wanted, parts)
    else:
        batch, waits = np.zeros(parts * count, np.int64), np.full((parts * count, 1), -1)
    connections, connection, message = _numbers(job, channel, sending, receiving, batch, chunks)
    in_order = np.argsort(message[:, 0], kind="stable")
    awaits = waits[in_order]
    waiting = np.repeat(message[in_order, 0], (awaits >= 0).sum(axis=1))
    awaited = message[awaits[awaits >= 0], chunks - 1]

    total = message.size
    data = np.repeat(by_chunk, count, axis=0)
    delay = np.where(relayed, pace.hops(1, chunk), 0)
    late = np.tile(delay, parts) + np.where(
        (waits < 0).all(axis=1), np.tile(_launched_ps(job, wanted, pace, peers), parts), pace.gpu_hop_ps
    )
    draft = Draft(
        connections=connections,
        connection=_scatter(message, np.repeat(connection, chunks), total),
        bytes=_scatter(message, data.ravel(), total),
        delay_ps=_scatter(message, np.repeat(late, chunks), total),
        waiting=waiting,
        awaited=awaited,
        window=max(1, min(nccl["NCCL_STEPS"], SHARED_STEPS // BATCH[job.library] if all_pairs else nccl["NCCL_STEPS"])),
        consume_ps=pace.hops(1, chunk),
        tail_ps=pace.hops(1, chunk),
        stream=_scatter(message, np.repeat(np.arange(parts * count), chunks), total),
    )
    return _without_empty(draft) if bool((by_chunk == 0).any()) else draft


def _launched_ps(job: Job, wanted: Transfers, pace: Pace, peers: int) -> NDArray[np.int64]:
    """When the data of each transfer can leave: when the kernels of both of its GPUs run, the last of a process as ``launch_ps``.

    RCCL's kernels of a process begin one after another, so data of the first GPUs overlaps the launch of the last ones.
    """
    each_ps = (
        round(launch_of_others_us(job, peers) * 1e6) // max(job.gpus_per_process - 1, 1) if job.library == "RCCL" else 0
    )
    later = np.maximum(wanted.source % job.gpus_per_process, wanted.target % job.gpus_per_process)
    return pace.launch_ps - each_ps * (job.gpus_per_process - 1 - later)


def _chunk(nccl: Parameters, size: int, step: int) -> int:
    """Smaller chunks for small transfers, by their whole size (``addP2pToPlan``)."""
    if nccl["NCCL_CHUNK_SIZE"]:
        return min(nccl["NCCL_CHUNK_SIZE"], step)
    return step // 4 if size < step else step // 2 if size < 8 * step else step


def _nics(
    job: Job, nccl: Parameters, wanted: Transfers
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Places in ``Job.nics`` of the NICs of each transfer, and whether PXN takes it to another GPU first."""
    server = job.servers[0]
    nearest = np.array(server.nearest)
    rails = np.array([nic.rail for nic in server.nics])
    source, own = np.divmod(wanted.source, job.gpus_per_server)
    target, other = np.divmod(wanted.target, job.gpus_per_server)
    sending, receiving = nearest[own], nearest[other]
    relayed = np.zeros(len(sending), np.bool_)
    if not nccl["NCCL_PXN_DISABLE"]:
        beside = np.isin(np.arange(len(rails)), nearest)  # PXN needs a GPU beside the NIC
        on_rail = np.array([next((n for n in np.flatnonzero((rails == r) & beside)), -1) for r in rails])
        by_rail = np.where(rails[sending] == rails[receiving], sending, on_rail[receiving])
        relayed = (by_rail >= 0) & (by_rail != sending)
        sending = np.where(relayed, by_rail, sending)
    nics = job.nics_per_server
    return source * nics + sending, target * nics + receiving, relayed


def _numbers(
    job: Job,
    channel: NDArray[np.int64],
    sending: NDArray[np.int64],
    receiving: NDArray[np.int64],
    batch: NDArray[np.int64],
    chunks: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows of sending NIC, receiving NIC, channel; by stream its connection; by stream and chunk its message.

    Streams that share a connection go batch by batch, and take turns within a batch, chunk by chunk.
    """
    nics, channels, most = len(job.nics), int(channel.max()) + 1, int(batch.max()) + 1
    key = ((sending * nics + receiving) * channels + channel).ravel() * most + batch
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.r_[True, ordered[1:] != ordered[:-1]]
    begin = np.flatnonzero(first)
    member = np.cumsum(first) - 1
    sharing = np.diff(np.r_[begin, len(key)])[member]
    message = np.empty((len(key), chunks), np.int64)
    place = np.arange(len(key)) - begin[member]
    message[order] = (begin[member] * chunks + place)[:, None] + np.arange(chunks) * sharing[:, None]

    of_connection = ordered // most
    opens = np.r_[True, of_connection[1:] != of_connection[:-1]]
    connection = np.empty(len(key), np.int64)
    connection[order] = np.cumsum(opens) - 1
    pair, of_channel = np.divmod(of_connection[opens], channels)
    return np.stack([*np.divmod(pair, nics), of_channel], axis=1), connection, message


def _batches(job: Job, p2p: P2pChannels, wanted: Transfers, parts: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """By stream its batch, and up to 8 streams that must have arrived before it begins; -1 for none.

    A rank begins a batch of a channel when it has received the one before. That it also waits until its own sends are
    done is left out: they are not seen at its server.
    """
    turns = rounds(job, p2p)
    number, count = len(turns.base), len(wanted.source)
    turn, part = np.tile(np.arange(number), parts), np.repeat(np.arange(parts), number)  # a round that takes a channel
    channel = np.concatenate([p2p.of_part(turns.base, each) for each in range(parts)])
    batch, place = batches(turn * parts + part, channel, BATCH[job.library])
    members = np.full((p2p.total, int(batch.max()) + 2, BATCH[job.library]), -1, np.int64)
    members[channel, batch + 1, place] = np.arange(len(turn))
    before = members[channel, batch]  # by entry: those of the batch before
    receives = np.full((number + 1, job.ranks), -1, np.int64)  # by round and rank: what it receives from another server
    # what the first server receives in a round is what it sends in that round, from as far away on the other side
    receives[wanted.turn, wanted.target % job.gpus_per_server if wanted.of_one else wanted.target] = np.arange(count)
    entry = (wanted.turn + number * np.arange(parts)[:, None]).ravel()
    of_before = before[entry]
    received = receives[np.where(of_before < 0, number, turn[of_before]), np.tile(wanted.source, parts)[:, None]]
    waits = np.where(received < 0, -1, received + part[of_before] * count)
    return batch[entry], waits


def _scatter(message: NDArray[np.int64], values: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Values by stream and chunk as values by message."""
    placed = np.empty(total, np.int64)
    placed[message.ravel()] = values
    return placed


def _without_empty(draft: Draft) -> Draft:
    """Leaves out messages of no bytes, which the last part of a transfer can have; what waited for one, waits for the last before."""
    kept = draft.bytes > 0
    assert draft.stream is not None  # noqa: S101 - transfers always have streams
    number = np.cumsum(kept) - 1
    last = np.zeros(int(draft.stream.max()) + 1, np.int64)
    last[draft.stream[kept]] = np.flatnonzero(kept)  # the last assignment stays, and messages of a stream ascend
    return Draft(
        draft.connections,
        draft.connection[kept],
        draft.bytes[kept],
        draft.delay_ps[kept],
        number[draft.waiting],
        number[last[draft.stream[draft.awaited]]],
        draft.window,
        draft.consume_ps,
        draft.tail_ps,
        draft.stream[kept],
    )
