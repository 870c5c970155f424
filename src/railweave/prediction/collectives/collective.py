"""A collective of a job as a ``Program``: the way in to this room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Problem
from railweave.prediction.collectives.broadcast import broadcast
from railweave.prediction.collectives.bus_bandwidth import COLLECTIVES, Collective, bus_factor
from railweave.prediction.collectives.channels import channel_count, ring_hops, rings
from railweave.prediction.collectives.draft import Draft, empty, finished
from railweave.prediction.collectives.nccl import Parameters, parameters
from railweave.prediction.collectives.pace import Pace
from railweave.prediction.collectives.pat import pat
from railweave.prediction.collectives.point_to_point import everyone, neighbors, transfers
from railweave.prediction.collectives.program import Program
from railweave.prediction.collectives.ring import inside_one_server, ring, ring_loads
from railweave.prediction.collectives.schedule import p2p_channels, rounds
from railweave.prediction.collectives.tree import TREES, tree
from railweave.prediction.collectives.tuning import SWITCH_EFFICIENCY, Choice, choose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job

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
