"""The creation of the messages (``Program``) of a job's collective. This module is the entry point of the package.

The module itself makes the messages of rings, broadcasts and transfers between ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Problem
from railweave.prediction.collectives import schedule
from railweave.prediction.collectives.channels import (
    COLLECTIVES,
    Collective,
    Pace,
    bus_factor,
    channel_count,
    ring_hops,
    ring_order,
    rings,
)
from railweave.prediction.collectives.nccl import Parameters, parameters
from railweave.prediction.collectives.program import (
    GRAIN,
    Draft,
    Program,
    cut,
    empty,
    finished,
    on_the_wire,
    over_channels,
    refuse_beyond,
    sliced,
)
from railweave.prediction.collectives.tree import TREES, chunk_bytes, pat, streams, tree
from railweave.prediction.collectives.tuning import (
    SWITCHED,
    Choice,
    choose,
    launch_of_others_us,
    switched_gbytes,
    tree_share,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.channels import Rings
    from railweave.prediction.collectives.job import Job


SHARED_STEPS = 16
"""The number of buffers that all transfers of a channel share (`NCCL_SHARED_STEPS`)."""
PART_GRAIN = 4096
"""The unit in bytes of the size of parts. Parts begin at multiples of this number (`ncclP2pPartBounds`)."""


@dataclass(frozen=True)
class Transfers:
    """The transfers of point-to-point communication. In each transfer, one rank sends to another.

    - ``source``, ``target``: the sending and the receiving rank of each transfer.
    - ``turn``: the index of the round in which each transfer takes place.
    - ``size_bytes``: the size of each transfer. All transfers have the same size.
    - ``of_one``: True if only the transfers that the first server sends are listed. All other servers send in the same
      pattern, shifted by their distance from the first server.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    turn: NDArray[np.int64]
    size_bytes: int
    of_one: bool = False


def everyone(job: Job, size_bytes: int, turns: schedule.Rounds, *, of_one: bool = False) -> Transfers:
    """Return the transfers between servers of an all-to-all in which every rank sends ``size_bytes`` to every rank.

    ``turns`` are the rounds of the communication. With ``of_one``, return only the transfers that the first server sends.
    """
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


def neighbors(job: Job, size_bytes: int, turns: schedule.Rounds) -> Transfers:
    """Return the transfers between servers in the send/recv test of nccl-tests: each rank sends to the next one, the last rank to the first.

    ``turns`` are the rounds of the communication.
    """
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
    job: Job,
    nccl: Parameters,
    p2p: schedule.P2pChannels,
    wanted: Transfers,
    pace: Pace,
    *,
    all_pairs: bool,
    whole: bool = False,
) -> Draft:
    """Return the messages of transfers between ranks.

    - ``nccl``: NCCL's parameters. ``p2p``: the numbers of channels. ``wanted``: the transfers. ``pace``: the durations of steps.
    - ``all_pairs``: True for an all-to-all. The messages of a batch of rounds then wait for the previous batch on their channel.
    - ``whole``: True to send each part of a transfer as a single message, instead of one message per chunk.
    """
    count, size = len(wanted.source), wanted.size_bytes
    peers = job.ranks - 1 if all_pairs else 1
    if not count or not size:
        return empty(pace.launch_ps)
    step = min(nccl["NCCL_P2P_NET_CHUNKSIZE"], nccl["NCCL_BUFFSIZE"] // nccl["NCCL_STEPS"])
    parts = schedule.parts_of(size, p2p, step)
    part_bytes = -(-size // (parts * PART_GRAIN)) * PART_GRAIN
    chunk = part_bytes if whole else _chunk(nccl, size, step)
    refuse_beyond(count * -(-size // chunk))
    sizes = [int(min(max(size - part * part_bytes, 0), part_bytes)) for part in range(parts)]
    sizes = [each for each in sizes if each]
    chunks = max(-(-each // chunk) for each in sizes)
    by_chunk = np.array([[min(max(each - k * chunk, 0), chunk) for k in range(chunks)] for each in sizes])

    # A stream is a part of a transfer; streams are numbered part by part.
    parts = len(sizes)
    base = schedule.rounds(job, p2p).base[wanted.turn]
    channel = np.stack([p2p.of_part(base, part) for part in range(parts)])
    sending, receiving, relayed = _nics(job, nccl, wanted, channel)
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
        window=max(
            1, min(nccl["NCCL_STEPS"], SHARED_STEPS // schedule.BATCH[job.library] if all_pairs else nccl["NCCL_STEPS"])
        ),
        consume_ps=pace.hops(1, chunk),
        tail_ps=pace.hops(1, chunk),
        stream=_scatter(message, np.repeat(np.arange(parts * count), chunks), total),
    )
    return _without_empty(draft) if bool((by_chunk == 0).any()) else draft


def _launched_ps(job: Job, wanted: Transfers, pace: Pace, peers: int) -> NDArray[np.int64]:
    """Return the time in ps from which the data of each transfer can leave: the kernels of both its GPUs must be running.

    A process of RCCL launches the kernels of its GPUs one after another. The last kernel runs after ``launch_ps``. GPUs whose kernels run
    earlier also send earlier. NCCL's kernels all begin after ``launch_ps``. ``wanted`` are the transfers, ``pace`` has ``launch_ps``, and
    ``peers`` is the number of ranks that each rank sends to.
    """
    each_ps = (
        round(launch_of_others_us(job, peers) * 1e6) // max(job.gpus_per_process - 1, 1) if job.library == "RCCL" else 0
    )
    later = np.maximum(wanted.source % job.gpus_per_process, wanted.target % job.gpus_per_process)
    return pace.launch_ps - each_ps * (job.gpus_per_process - 1 - later)


def _chunk(nccl: Parameters, size: int, step: int) -> int:
    """Return the chunk size in bytes for a transfer of ``size`` bytes (``addP2pToPlan``). ``step`` is the largest chunk size.

    Small transfers have smaller chunks. The parameter ``NCCL_CHUNK_SIZE`` overrides this rule.
    """
    if nccl["NCCL_CHUNK_SIZE"]:
        return min(nccl["NCCL_CHUNK_SIZE"], step)
    return step // 4 if size < step else step // 2 if size < 8 * step else step


def _nics(
    job: Job, nccl: Parameters, wanted: Transfers, channel: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return, for each transfer of ``wanted``, its sending NIC, its receiving NIC, and True if PXN first moves its data to a different GPU.

    NICs are indexes in ``Job.nics``. A transfer has several parts, and ``channel`` has the channel of each part of each transfer. If GPUs
    have several NICs, the channel of a part decides which NIC the part uses (`ncclTopoGetLocalNet`); the arrays of NICs then have a row per
    part. PXN only uses GPUs of the sending machine (`ncclTopoDevToRank`).
    """
    server = job.servers[0]
    nearest = np.array(server.nearest)
    rails = np.array([nic.rail for nic in server.nics])
    source, source_gpu = np.divmod(wanted.source, job.gpus_per_server)
    target, other = np.divmod(wanted.target, job.gpus_per_server)
    sending, receiving = nearest[source_gpu], nearest[other]
    relayed = np.zeros(len(sending), np.bool_)
    if not nccl["NCCL_PXN_DISABLE"]:
        here = rails[: job.nics_per_machine]
        beside = np.isin(np.arange(len(here)), nearest)  # PXN needs a GPU beside the NIC
        on_rail = {rail: next(iter(np.flatnonzero((here == rail) & beside)), -1) for rail in np.unique(rails)}
        there = np.array([on_rail[rail] for rail in rails])[receiving]
        there = np.where(there < 0, -1, sending // job.nics_per_machine * job.nics_per_machine + there)
        by_rail = np.where(rails[sending] == rails[receiving], sending, there)
        relayed = (by_rail >= 0) & (by_rail != sending)
        sending = np.where(relayed, by_rail, sending)
    nics = job.nics_per_server
    sending, receiving = source * nics + sending, target * nics + receiving
    if job.nics_per_gpu > 1:
        sending, receiving = (nic + channel % job.nics_per_gpu for nic in (sending, receiving))
    return sending, receiving, relayed


def _numbers(
    job: Job,
    channel: NDArray[np.int64],
    sending: NDArray[np.int64],
    receiving: NDArray[np.int64],
    batch: NDArray[np.int64],
    chunks: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (the connections, the connection of each stream, the message number of each chunk of each stream).

    A stream is one part of a transfer. A connection is a row of sending NIC, receiving NIC and channel. On a connection,
    streams are sent batch by batch, and the streams of one batch alternate chunk by chunk. ``batch`` has the batch of each stream, and
    ``chunks`` is the number of chunks of a stream.
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


def _batches(
    job: Job, p2p: schedule.P2pChannels, wanted: Transfers, parts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each stream, (the batch of the stream, the streams that must arrive before that batch begins).

    A stream is one part of a transfer in ``wanted``; ``parts`` is the number of parts of a transfer. A batch is a group of rounds that one
    channel works on together. The second array has a row of up to 8 streams for each stream, filled up with -1. A rank begins a batch of a
    channel when it has received the previous batch. NCCL also waits for the rank's own sends. The model omits this, because the receiving
    server cannot see when these sends are done. ``p2p`` has the numbers of channels.
    """
    turns = schedule.rounds(job, p2p)
    number, count = len(turns.base), len(wanted.source)
    turn, part = np.tile(np.arange(number), parts), np.repeat(np.arange(parts), number)  # a round that takes a channel
    channel = np.concatenate([p2p.of_part(turns.base, each) for each in range(parts)])
    batch, place = schedule.batches(turn * parts + part, channel, schedule.BATCH[job.library])
    members = np.full((p2p.total, int(batch.max()) + 2, schedule.BATCH[job.library]), -1, np.int64)
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
    """Return ``values`` as an array with ``total`` places, with each value at the place of its message.

    ``values`` is in the order of ``message``, which has the message number of each chunk of each stream.
    """
    placed = np.empty(total, np.int64)
    placed[message.ravel()] = values
    return placed


def _without_empty(draft: Draft) -> Draft:
    """Return the messages of ``draft`` without messages of 0 bytes. The last part of a transfer can have such empty messages.

    A message that waited for an empty message then waits for the last message before the empty one in the same stream.
    """
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
    """Return the messages of a broadcast from rank ``root``.

    ``choice`` has the protocol, ``rings`` the NICs of each channel's ring, and ``pace`` the durations of steps. With ``whole``, all bytes
    of a connection are sent in one message. ``nccl`` has NCCL's parameters.
    """
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
    since = np.where(first[:, None], pace.launch_ps, pace.crossing(full))
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
        tail_ps=pace.hops(gpus - 1, largest) + pace.crossing(largest),
    )


def ring(
    job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice, rings: Rings, pace: Pace
) -> Draft:
    """Return the messages of a ring collective.

    ``size_bytes`` is the size as nccl-tests counts it. ``choice`` has the protocol and the number of channels, ``rings`` the NICs of each
    channel's ring, and ``pace`` the durations of steps.
    """
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

    delay = pace.crossing(sizes) + pace.hops(rings.hops, sizes)
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
        tail_ps=pace.crossing(int(sizes.max())),  # what comes in last is not handed on
    )


def ring_loads(
    job: Job, collective: Collective, size_bytes: int, choice: Choice, rings: Rings
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the connections of a ring collective as (sending NIC, receiving NIC, channel), and the total bytes of each.

    The bytes are computed from the mean chunk of the ranks, rounded to a byte. ``choice`` has the algorithm, protocol and channels.
    """
    share = _shares(collective, size_bytes, choice.channels, job.ranks)
    data = share * 2 * (job.ranks - 1) // job.ranks if collective == "all-reduce" else share * (job.ranks - 1)
    return _connections(job, rings), np.repeat(on_the_wire(data, choice.protocol), len(job.servers))


def _shares(collective: Collective, size_bytes: int, channels: int, ranks: int) -> NDArray[np.int64]:
    """Return the number of bytes that each channel carries, as an array by channel.

    For all-reduce, the channels share the whole size. For other collectives, they share the bytes that one rank sends
    or receives.
    """
    return over_channels(size_bytes if collective == "all-reduce" else -(-size_bytes // ranks), channels)


def inside_one_server(choice: Choice, steps: int) -> int:
    """Return the latency in ps of ``steps`` steps in a ring of GPUs.

    ``choice`` has the latency of each step. The latency is added to the time that the links between the GPUs need for the bytes.
    """
    return choice.launch_ps + steps * choice.gpu_hop_ps


def _connections(job: Job, rings: Rings) -> NDArray[np.int64]:
    """Return the connections of rings as rows of sending NIC, receiving NIC and channel, sorted by channel and then by server."""
    servers, nics = len(job.servers), job.nics_per_server
    server = np.arange(servers)
    sending = server * nics + rings.leave
    receiving = np.roll(server * nics + rings.enter, -1, axis=1)
    channel = np.repeat(np.arange(rings.channels), servers)
    return np.stack([sending.ravel(), receiving.ravel(), channel], axis=1)


def _chunks_of_all_reduce(
    share: NDArray[np.int64], chunk: int, ranks: int, gpus: int, servers: int
) -> NDArray[np.int64]:
    """Return the bytes that the last GPU of each server sends in an all-reduce, as an array by channel, server, loop and step.

    ``share`` has the bytes of each channel, and ``chunk`` is the largest number of bytes that a rank contributes to one loop.
    """
    loops = max(1, -(-int(share.max()) // (ranks * chunk)))
    refuse_beyond(len(share) * servers * loops * 2 * (ranks - 1))
    left = np.clip(share[:, None] - np.arange(loops) * ranks * chunk, 0, None)  # channel, loop
    each = np.minimum(chunk, -(-left // (ranks * GRAIN)) * GRAIN)
    sender = np.arange(servers) * gpus + gpus - 1
    place = (sender[:, None] - 1 - np.arange(2 * (ranks - 1))) % ranks  # server, step
    begin = place[None, :, None, :] * each[:, None, :, None]
    return np.clip(left[:, None, :, None] - begin, 0, each[:, None, :, None])


def _chunks_of_gather(share: NDArray[np.int64], chunk: int, servers: int, steps: int) -> NDArray[np.int64]:
    """Return the bytes that the last GPU of each server sends in a gather or scatter, as an array by channel, server, loop and step.

    All steps of a loop have the same size. ``share`` has, for each channel, the bytes that one rank sends or receives. ``chunk`` is the
    largest number of bytes that a rank contributes to one loop.
    """
    loops = max(1, -(-int(share.max()) // chunk))
    refuse_beyond(len(share) * servers * loops * steps)
    each = np.clip(share[:, None] - np.arange(loops) * chunk, 0, chunk)
    return np.broadcast_to(each[:, None, :, None], (len(share), servers, loops, steps)).copy()


RINGS: tuple[Collective, ...] = ("all-reduce", "all-gather", "reduce-scatter")


def program(
    job: Job,
    collective: Collective,
    size_bytes: int,
    nccl: Parameters | None = None,
    *,
    root: int = 0,
    credit: bool = False,
    launch_ps: int | None = None,
    of_one: bool = False,
) -> Program:
    """Return the messages of a collective of ``size_bytes``, as nccl-tests counts the size.

    - ``nccl``: NCCL's parameters; None means their defaults.
    - ``root``: the rank that a broadcast comes from.
    - ``credit``: True to include the messages by which receivers report free buffers. They matter on long paths.
    - ``launch_ps``: the time in ps before the first byte. None means NCCL's own figure.
    - ``of_one``: True to return only the messages that the first server sends in an all-to-all. All other servers send in the same pattern.

    Raises ``InputError`` if the collective is unknown, the size is below 1 or the root is not a rank.
    """
    _look_at(job, collective, size_bytes, root)
    nccl = nccl or parameters(library=job.library)
    channels = channel_count(job, nccl)
    choice = choose(job, nccl, collective, size_bytes, channels, launch_ps)
    pace = Pace.of(job, choice)
    draft = _draft(job, nccl, collective, size_bytes, choice, pace, root, of_one=of_one)
    pieces = finished(draft, credit=credit)
    return Program(
        connections=pieces.connections.astype(np.uint32),
        credit=pieces.credit,
        connection=pieces.connection.astype(np.uint32),
        bytes=pieces.bytes.astype(np.uint64),
        delay_ps=pieces.delay_ps.astype(np.uint64),
        after_start=pieces.after_start,
        after=pieces.after,
        after_delay_ps=pieces.after_delay_ps,
        tail_ps=draft.tail_ps,
        floor_ps=_floor_ps(job, nccl, collective, size_bytes, choice),
        size_bytes=size_bytes,
        bus_factor=bus_factor(collective, job.ranks),
        algorithm=choice.algorithm,
        protocol=choice.protocol,
        channels=choice.channels,
    )


@dataclass(frozen=True)
class Loads:
    """The total bytes of each connection of a collective, without single messages.

    They are the input of an engine that computes with steady flows. All fields except ``bytes`` have the same meaning as in ``Program``.
    """

    connections: NDArray[np.uint32]
    bytes: NDArray[np.uint64]
    """The bytes that each connection carries."""
    choice: Choice
    floor_ps: int
    bus_factor: float


def loads(job: Job, collective: Collective, size_bytes: int, nccl: Parameters | None = None, *, root: int = 0) -> Loads:
    """Return the total bytes of each connection of a collective. Use this function if a job has too many messages for ``program``.

    The arguments (such as NCCL's parameters, and the ``root`` of a broadcast) and the errors are those of ``program`` in this module.
    """
    _look_at(job, collective, size_bytes, root)
    nccl = nccl or parameters(library=job.library)
    choice = choose(job, nccl, collective, size_bytes, channel_count(job, nccl))
    pace = Pace.of(job, choice)
    if len(job.servers) > 1 and choice.algorithm == "Ring" and collective in RINGS:
        connections, carried = ring_loads(job, collective, size_bytes, choice, rings(job, nccl, choice.channels))
    else:
        draft = _draft(job, nccl, collective, size_bytes, choice, pace, root, whole=True)
        connections = draft.connections
        carried = np.zeros(len(connections), np.int64)
        np.add.at(carried, draft.connection, draft.bytes)
    return Loads(
        connections.astype(np.uint32),
        carried.astype(np.uint64),
        choice,
        _floor_ps(job, nccl, collective, size_bytes, choice),
        bus_factor(collective, job.ranks),
    )


def _floor_ps(job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice) -> int:
    """Return the shortest possible time in ps: the launch, and the time that links between GPUs need for the data.

    NVLS and NVLSTree also have their latency. In NVLSTree, switches reduce the first chunks before they hand any out.
    """
    links = links_need_ps(job, nccl, collective, size_bytes, choice)
    latency = choice.gpu_hop_ps if choice.algorithm in SWITCHED else 0
    if choice.algorithm == "NVLSTree":
        latency += 2 * (len(job.servers).bit_length() - 1) * choice.network_hop_ps
        share = -(-size_bytes // len(streams(job, choice)[0]))
        first = min(share, chunk_bytes(job, choice, cut(nccl, choice.protocol, ring=False).chunk, share))
        latency += links * first // share
    return choice.launch_ps + latency + links


def _draft(
    job: Job,
    nccl: Parameters,
    collective: Collective,
    size_bytes: int,
    choice: Choice,
    pace: Pace,
    root: int,
    *,
    whole: bool = False,
    of_one: bool = False,
) -> Draft:
    if len(job.servers) == 1:
        steps = {"all-reduce": 2 * (job.ranks - 1), "all-to-all": 1, "send-recv": 1}.get(collective, job.ranks - 1)
        steps = 1 if choice.algorithm == "NVLS" else steps
        return empty(inside_one_server(choice, steps) + links_need_ps(job, nccl, collective, size_bytes, choice))
    if collective in {"all-to-all", "send-recv"}:
        p2p = schedule.p2p_channels(job, nccl, choice.channels)
        turns = schedule.rounds(job, p2p)
        everybody = collective == "all-to-all"
        each = size_bytes // job.ranks
        wanted = everyone(job, each, turns, of_one=of_one) if everybody else neighbors(job, size_bytes, turns)
        return transfers(job, nccl, p2p, wanted, pace, all_pairs=everybody, whole=whole)
    if choice.algorithm == "PAT":
        return pat(job, nccl, collective, size_bytes, choice, pace, whole=whole)
    if choice.algorithm in TREES:
        return tree(job, nccl, size_bytes, choice, pace, whole=whole)
    way = rings(job, nccl, choice.channels)
    if collective == "broadcast":
        return broadcast(job, nccl, size_bytes, choice, way, pace, root, whole=whole)
    return ring(job, nccl, collective, size_bytes, choice, way, pace)


def links_need_ps(job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice) -> int:
    """Return the time in ps in which the busiest GPU sends its data to the other GPUs of its server at link speed.

    ``nccl`` has NCCL's parameters, and ``choice`` the algorithm, protocol and channels of the collective.
    """
    gpus, ranks, alone = job.gpus_per_server, job.ranks, len(job.servers) == 1
    if collective == "all-to-all":
        # To the GPUs of its server, and with PXN what goes by NICs that are not its own.
        apart = gpus - 1 if alone or nccl["NCCL_PXN_DISABLE"] else (gpus - 1) * len(job.servers)
        moved = size_bytes * apart / ranks
    elif collective == "send-recv":
        moved = size_bytes if gpus > 1 else 0
    elif choice.algorithm in SWITCHED:
        return round(size_bytes * 1000 / switched_gbytes(job, collective, choice.algorithm, network=False))
    elif choice.algorithm == "Tree":
        moved = 2 * size_bytes * (gpus - 1) / gpus / tree_share(job, choice.protocol)
    else:
        # Of each channel every GPU but the one that sends over the network; that one too where it hands over by PXN.
        inside = 1.0 if alone else ring_hops(job, nccl) / gpus
        moved = bus_factor(collective, ranks) * size_bytes * inside
    flags = {"LL": 2.0, "LL128": 128 / 120}.get(choice.protocol, 1.0)
    return round(moved * flags * 8000 / job.servers[0].link.gbps)


def _look_at(job: Job, collective: str, size_bytes: int, root: int) -> None:
    problems: list[Problem] = []
    if collective not in COLLECTIVES:
        problems.append(
            Problem(
                Argument("collective"),
                f"{collective!r} is not a known collective",
                f"use one of {', '.join(COLLECTIVES)}",
            )
        )
    if size_bytes < 1:
        problems.append(Problem(Argument("size"), f"{size_bytes} bytes", "at least 1"))
    if not 0 <= root < job.ranks:
        problems.append(Problem(Argument("root"), f"rank {root} is not in the job", f"0 to {job.ranks - 1}"))
    if problems:
        raise InputError(problems)
