"""A collective of a job as a ``Program``: the way in to this room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Problem
from railweave.prediction.collectives.bus_bandwidth import COLLECTIVES, Collective, bus_factor
from railweave.prediction.collectives.channels import channel_count, ring_hops, ring_order, rings
from railweave.prediction.collectives.chunks import GRAIN, cut, on_the_wire, over_channels, sliced
from railweave.prediction.collectives.nccl import Parameters, parameters
from railweave.prediction.collectives.pace import Pace
from railweave.prediction.collectives.point_to_point import everyone, neighbors, transfers
from railweave.prediction.collectives.program import Draft, Program, empty, finished, refuse_beyond
from railweave.prediction.collectives.schedule import p2p_channels, rounds
from railweave.prediction.collectives.tree import TREES, pat, tree
from railweave.prediction.collectives.tuning import SWITCH_EFFICIENCY, Choice, choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.channels import Rings
    from railweave.prediction.collectives.job import Job


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
    """The messages of a collective of ``size_bytes``, as nccl-tests counts them.

    ``root`` is the rank a broadcast comes from. With ``credit`` the receivers' credit messages, that buffers are free, are sent
    too, which matters where the way is long. ``launch_ps`` replaces NCCL's figure for the time before the first byte.
    ``of_one``: of an all-to-all, what the first server sends alone; every other does the same with servers as far away.
    Raises ``InputError`` for a collective that is not known, a size below 1 or a root that is no rank.
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
        floor_ps=choice.launch_ps + links_need_ps(job, nccl, collective, size_bytes, choice),
        size_bytes=size_bytes,
        bus_factor=bus_factor(collective, job.ranks),
        algorithm=choice.algorithm,
        protocol=choice.protocol,
        channels=choice.channels,
    )


@dataclass(frozen=True)
class Loads:
    """What each connection carries in all, without messages: what a fluid model needs. Fields as in ``Program``."""

    connections: NDArray[np.uint32]
    bytes: NDArray[np.uint64]
    """By connection."""
    choice: Choice
    floor_ps: int
    bus_factor: float


def loads(job: Job, collective: Collective, size_bytes: int, nccl: Parameters | None = None, *, root: int = 0) -> Loads:
    """As ``program``, in bytes by connection; for jobs whose messages would be too many. Raises the same errors."""
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
        choice.launch_ps + links_need_ps(job, nccl, collective, size_bytes, choice),
        bus_factor(collective, job.ranks),
    )


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
        p2p = p2p_channels(job, nccl, choice.channels)
        turns = rounds(job, p2p)
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
    """How long the busiest GPU sends to others of its server, at the speed of its link."""
    gpus, ranks, alone = job.gpus_per_server, job.ranks, len(job.servers) == 1
    if collective == "all-to-all":
        # To the GPUs of its server, and with PXN what goes by NICs that are not its own.
        apart = gpus - 1 if alone or nccl["NCCL_PXN_DISABLE"] else (gpus - 1) * len(job.servers)
        moved = size_bytes * apart / ranks
    elif collective == "send-recv":
        moved = size_bytes if gpus > 1 else 0
    elif choice.algorithm in {"NVLS", "NVLSTree"}:
        # Switches pull what they add up and copy what they hand out: each GPU sends the whole once, and its own part of what was added.
        own = 1 / gpus if collective == "all-reduce" else 0.0
        moved = size_bytes * (1 + own) / SWITCH_EFFICIENCY[job.servers[0].gpu]
    elif choice.algorithm == "Tree":
        moved = 2 * size_bytes * (gpus - 1) / gpus
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
            Problem(Argument("collective"), f"{collective!r} is not known", f"use one of {', '.join(COLLECTIVES)}")
        )
    if size_bytes < 1:
        problems.append(Problem(Argument("size"), f"{size_bytes} bytes", "at least 1"))
    if not 0 <= root < job.ranks:
        problems.append(Problem(Argument("root"), f"rank {root} is not in the job", f"0 to {job.ranks - 1}"))
    if problems:
        raise InputError(problems)
