"""A process group as a job of its own: the servers that its ranks are on, with the GPUs and NICs that take part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.collective import RINGS, links_need_ps, loads, program
from railweave.prediction.collectives.job import Job, Server
from railweave.prediction.collectives.pace import Pace
from railweave.prediction.collectives.program import Program
from railweave.prediction.collectives.tuning import choose
from railweave.prediction.collectives.whole import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from railweave.prediction.collectives.bus_bandwidth import Collective
    from railweave.prediction.collectives.nccl import Parameters


@dataclass(frozen=True, eq=False)
class Group:
    """A group: its job, and the engine's host of each of the job's NICs."""

    job: Job
    hosts: NDArray[np.uint32]

    @property
    def shape(self) -> tuple[int, tuple[int, ...]]:
        """Groups of one shape have the same program: servers, and the NIC of each GPU."""
        return len(self.job.servers), self.job.servers[0].nearest


def group_of(job: Job, hosts: NDArray[np.uint32], ranks: Sequence[int]) -> Group:
    """The group of some ranks of a job. Raises ``JobError`` where the servers do not take part alike."""
    gpus, nics = job.gpus_per_server, job.nics_per_server
    members: dict[int, list[int]] = {}
    for rank in ranks:
        members.setdefault(rank // gpus, []).append(rank % gpus)
    servers: list[Server] = []
    taken: list[int] = []
    for number, own in members.items():
        server = job.servers[number]
        used = sorted({server.nearest[gpu] for gpu in own})
        own_nics = tuple(replace(server.nics[place], rail=at) for at, place in enumerate(used))
        nearest = tuple(used.index(server.nearest[gpu]) for gpu in own)
        servers.append(replace(server, nics=own_nics, nearest=nearest))
        taken += [number * nics + place for place in used]
    return Group(Job(tuple(servers), job.library), hosts[taken])


def inside_ps(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> int:
    """How long a collective takes inside one server."""
    if job.ranks == 1:
        return 0
    found = program(job, collective, size_bytes, nccl)
    return max(found.tail_ps, found.floor_ps)


def inside_bytes(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> int:
    """What the GPUs of a group send to others of their servers."""
    choice = choose(job, nccl, collective, size_bytes, channel_count(job, nccl))
    each = links_need_ps(job, nccl, collective, size_bytes, choice) * job.servers[0].link.gbps / 8000
    return round(each * job.ranks)


def between(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> Program:
    """A collective between servers, with a message for each connection; of ``send-recv`` from the first of two ranks to the second."""
    if collective in RINGS:
        return whole(job, collective, size_bytes, nccl)
    found = loads(job, collective, size_bytes, nccl)
    pace = Pace.of(job, choose(job, nccl, collective, size_bytes, channel_count(job, nccl)))
    kept = found.connections[:, 0] == 0 if collective == "send-recv" else np.ones(len(found.bytes), np.bool_)
    count = int(kept.sum())
    return Program(
        connections=found.connections[kept],
        credit=np.zeros(count, np.bool_),
        connection=np.arange(count, dtype=np.uint32),
        bytes=found.bytes[kept],
        delay_ps=np.full(count, found.choice.launch_ps, np.uint64),
        after_start=np.zeros(count + 1, np.uint64),
        after=np.zeros(0, np.uint32),
        after_delay_ps=np.zeros(0, np.uint64),
        tail_ps=pace.gpu_hop_ps,
        floor_ps=found.floor_ps,
        size_bytes=size_bytes,
        bus_factor=found.bus_factor,
        algorithm="point to point",
        protocol=found.choice.protocol,
        channels=found.choice.channels,
    )
