"""The loads of communications, simulated with the flow engine: the load on each link, and the time without other traffic on the network.

Each process group becomes a job. All groups of a communication run at the same time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.model.catalog.rdma import POST_COST_PS, QUEUE_PAIRS
from railweave.model.device.queue_pairs import designed_variables
from railweave.prediction.collectives.channels import Collective, Pace, channel_count
from railweave.prediction.collectives.collective import RINGS, links_need_ps, loads, program
from railweave.prediction.collectives.job import Job, Server
from railweave.prediction.collectives.nccl import Parameters, parameters
from railweave.prediction.collectives.program import Program
from railweave.prediction.collectives.queue_pairs import split
from railweave.prediction.collectives.single_message import messages, single_message_program
from railweave.prediction.collectives.tuning import choose
from railweave.prediction.simulation.engines.run import run_flows
from railweave.prediction.simulation.engines.traffic import Traffic, traffic_of
from railweave.prediction.simulation.model.ports import check_planes, usable
from railweave.prediction.simulation.settings import post_cost_ps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.jobs.graph import Communication
    from railweave.prediction.simulation.model.fabric import PacketFabric
    from railweave.prediction.simulation.model.outages import Timeline


@dataclass(frozen=True, eq=False)
class Group:
    """A process group: a job with the group's ranks, and the engine's host number of each of the job's NICs."""

    job: Job
    hosts: NDArray[np.uint32]

    @property
    def shape(self) -> tuple[int, tuple[int, ...], int]:
        """The shape of the group: (number of servers, NIC of each GPU, number of machines of a server).

        Groups of the same shape send the same messages.
        """
        return len(self.job.servers), self.job.servers[0].nearest, self.job.machines_per_server


def group_of(job: Job, hosts: NDArray[np.uint32], ranks: Sequence[int]) -> Group:
    """Return the process group of the given ranks of a job. Raises ``JobError`` if the group's GPUs or NICs differ between servers."""
    gpus, nics = job.gpus_per_server, job.nics_per_server
    members: dict[int, list[int]] = {}
    for rank in ranks:
        members.setdefault(rank // gpus, []).append(rank % gpus)
    servers: list[Server] = []
    taken: list[int] = []
    for number, server_gpus in members.items():
        server = job.servers[number]
        used = sorted({server.nearest[gpu] for gpu in server_gpus})
        machines = _machines(server, server_gpus, used)
        each = len(used) // max(len(machines), 1)
        own_nics = tuple(replace(server.nics[place], rail=at % each) for at, place in enumerate(used))
        nearest = tuple(used.index(server.nearest[gpu]) for gpu in server_gpus)
        servers.append(replace(server, nics=own_nics, nearest=nearest, members=machines))
        taken += [number * nics + place for place in used]
    return Group(Job(tuple(servers), job.library), hosts[taken])


def _machines(server: Server, gpus: Sequence[int], nics: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the machines of an NVLink domain that contain the given GPUs and NICs (indexes in the domain).

    Return () for a single server, and for a domain whose machines take part with different numbers of GPUs or NICs.
    """
    if not server.members:
        return ()
    count = len(server.members)
    of_gpus = Counter(gpu * count // server.gpus for gpu in gpus)
    of_nics = Counter(nic * count // len(server.nics) for nic in nics)
    even = of_gpus.keys() == of_nics.keys() and len({*of_gpus.values()}) == len({*of_nics.values()}) == 1
    return tuple(server.members[number] for number in sorted(of_gpus)) if even else ()


def inside_ps(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> int:
    """Return the time of a collective inside one server, in ps. ``nccl`` has NCCL's parameters."""
    if job.ranks == 1:
        return 0
    inside_program = program(job, collective, size_bytes, nccl)
    return max(inside_program.tail_ps, inside_program.floor_ps)


def inside_bytes(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> int:
    """Return the bytes that the GPUs of a group send to other GPUs of their servers. ``nccl`` has NCCL's parameters."""
    choice = choose(job, nccl, collective, size_bytes, channel_count(job, nccl))
    each = links_need_ps(job, nccl, collective, size_bytes, choice) * job.servers[0].link.gbps / 8000
    return round(each * job.ranks)


def between(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> Program:
    """Return the messages of a collective between servers, with all bytes of a connection in one message.

    In ``send-recv``, only the first of two ranks sends, to the second. ``nccl`` has NCCL's parameters.
    """
    if collective in RINGS:
        return single_message_program(job, collective, size_bytes, nccl)
    load = loads(job, collective, size_bytes, nccl)
    pace = Pace.of(job, choose(job, nccl, collective, size_bytes, channel_count(job, nccl)))
    kept = load.connections[:, 0] == 0 if collective == "send-recv" else np.ones(len(load.bytes), np.bool_)
    count = int(kept.sum())
    return Program(
        connections=load.connections[kept],
        credit=np.zeros(count, np.bool_),
        connection=np.arange(count, dtype=np.uint32),
        bytes=load.bytes[kept],
        delay_ps=np.full(count, load.choice.launch_ps, np.uint64),
        after_start=np.zeros(count + 1, np.uint64),
        after=np.zeros(0, np.uint32),
        after_delay_ps=np.zeros(0, np.uint64),
        tail_ps=pace.gpu_hop_ps,
        floor_ps=load.floor_ps,
        size_bytes=size_bytes,
        bus_factor=load.bus_factor,
        algorithm="point to point",
        protocol=load.choice.protocol,
        channels=load.choice.channels,
    )


@dataclass(frozen=True, eq=False)
class CarriedCommunication:
    """The load of a communication without other traffic on the network.

    - ``alone_ps``: the time of the communication.
    - ``ports``: the ports that send, numbered across all nodes.
    - ``busy``: for each of these ports, the fraction of ``alone_ps`` for which it is busy.
    - ``bytes``: for each of these ports, the bytes that it sent, with headers.
    - ``bound``: the bottleneck.
    - ``complete``: True if every message arrived.
    - ``inside_bytes``: the bytes that GPUs sent inside servers.
    """

    alone_ps: int
    ports: NDArray[np.int64]
    busy: NDArray[np.float64]
    bytes: NDArray[np.float64]
    bound: str
    algorithm: str
    complete: bool
    inside_bytes: int = 0


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A job placed on a network. ``hosts`` has the engine's host number of each of the job's NICs.

    ``settings`` are engine parameters, and ``timeline`` has the faults during the run.
    """

    fabric: PacketFabric
    job: Job
    hosts: NDArray[np.uint32]
    nccl: Parameters
    timeline: Timeline
    settings: Mapping[str, str]

    def groups(self, communication: Communication) -> list[Group]:
        """Return the groups of a communication. Raises ``JobError`` if the GPUs or NICs of a group differ between servers."""
        return [group_of(self.job, self.hosts, ranks) for ranks in self._by_rail(communication)]

    def _by_rail(self, communication: Communication) -> tuple[tuple[int, ...], ...]:
        """Return the ranks of each group of a communication, after PXN has changed senders.

        With PXN, NCCL first moves a message for a different rail to the GPU on that rail. This GPU then sends the message, so its rank
        replaces the original sender in the group.
        """
        if communication.collective != "send-recv" or self.nccl["NCCL_PXN_DISABLE"]:
            return communication.groups
        gpus, each, server = self.job.gpus_per_server, self.job.gpus_per_machine, self.job.servers[0]
        rails = [server.nics[place].rail for place in server.nearest[:each]]
        groups: list[tuple[int, ...]] = []
        for source, target in communication.groups:
            source_gpu, rail = source % each, rails[target % each]
            beside = source_gpu if rails[source_gpu] == rail or source // gpus == target // gpus else rails.index(rail)
            groups.append((source - source_gpu + beside, target))
        return tuple(groups)

    def inside(self, communication: Communication) -> int | None:
        """Return the time of a communication in ps if every group is inside one server. Return None otherwise."""
        gpus = self.job.gpus_per_server
        if any(len({rank // gpus for rank in ranks}) > 1 for ranks in communication.groups):
            return None
        first = group_of(self.job, self.hosts, communication.groups[0])
        return inside_ps(first.job, communication.collective, communication.size_bytes, self.nccl)


def carried(placed: PlacedJob, communication: Communication) -> CarriedCommunication:
    """Run a communication on the network without other traffic, and return its load (time, and busy ports).

    ``placed`` is the job as placed on the network. Raises ``JobError`` if servers of a group differ, and the errors of ``run_flows``.
    """
    way = usable(placed.fabric, placed.timeline)
    known: dict[object, Program] = {}
    within: dict[object, int] = {}
    inside = 0
    traffics: list[Traffic] = []
    floor = 0
    posts = np.zeros(len(placed.fabric.wiring.nics), np.int64)
    algorithm = ""
    for group in placed.groups(communication):
        if group.shape not in within:
            within[group.shape] = inside_bytes(
                group.job, communication.collective, communication.size_bytes, placed.nccl
            )
        inside += within[group.shape]
        if len(group.job.servers) == 1:
            floor = max(floor, inside_ps(group.job, communication.collective, communication.size_bytes, placed.nccl))
            continue
        if group.shape not in known:
            known[group.shape] = between(group.job, communication.collective, communication.size_bytes, placed.nccl)
        program = known[group.shape]
        floor, algorithm = max(floor, program.floor_ps), program.algorithm
        over = placed.nccl["NCCL_IB_QPS_PER_CONNECTION"]
        # One flow stands for the messages of a connection. Split or whole and in turn, they are on all its queue pairs.
        parts = split(program, over, split_data=True, ports=group.job.ports)
        traffics.append(
            traffic_of(placed.fabric.addresses, group.hosts, program, parts, alone=True, ports=group.job.ports, way=way)
        )
        count = messages(group.job, communication.collective, communication.size_bytes, placed.nccl)
        posts[group.hosts] += -(-count // len(group.hosts))
    if not traffics:
        none = np.zeros(0)
        here = "links between the GPUs of a server"
        return CarriedCommunication(max(floor, 1), none.astype(np.int64), none, none, here, "", True, inside)
    traffic = _joined(traffics)
    check_planes(placed.fabric, traffic.pairs)
    arguments = placed.fabric.flow_arguments(traffic.pairs, placed.timeline)
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS}ps"} | arguments["parameters"] | dict(placed.settings)
    run = run_flows(arguments, traffic)
    tail = max(program.tail_ps for program in known.values())
    proxy = int(posts.max()) * post_cost_ps(arguments["parameters"])
    alone = max(run.last_ps + tail, floor, proxy, 1)
    wiring = placed.fabric.wiring
    rates = wiring.cables[wiring.port_cable, 2].astype(np.float64)
    busy = run.sent_bytes * 8e6 / rates / alone
    ports = np.flatnonzero(run.sent_bytes)
    bound = _bound(alone, run.last_ps + tail, floor, proxy, wiring.port_link(int(busy.argmax())))
    return CarriedCommunication(
        alone, ports, np.minimum(busy[ports], 1.0), run.sent_bytes[ports], bound, algorithm, run.complete, inside
    )


def _bound(alone: int, arrived: int, floor: int, proxy: int, link: str) -> str:
    if alone == proxy:
        return "the proxies of NICs, which post messages"
    if alone == floor and floor > arrived:
        return "steps that wait for each other, or links between the GPUs of a server"
    return f"link {link}"


def _joined(parts: list[Traffic]) -> Traffic:
    """Return the traffic of all groups (``parts``) as one object: their queue pairs and messages. No message waits for another."""
    first = np.cumsum([0, *(len(part.pairs) for part in parts[:-1])])
    rows: list[NDArray[np.uint64]] = []
    for begin, part in zip(first.tolist(), parts, strict=True):
        moved = part.messages.copy()
        moved[:, 0] += np.uint64(begin)
        rows.append(moved)
    joined = np.concatenate(rows)
    none = np.zeros(0, np.uint64)
    return Traffic(
        np.concatenate([part.pairs for part in parts]),
        joined,
        np.zeros(2, np.uint64),
        none.astype(np.uint32),
        none,
        np.concatenate([part.data for part in parts]),
        np.zeros(len(joined), np.uint32),
    )


def nccl_of(network: Network, settings: Mapping[str, str], job: Job, qps: int | None, colors: int) -> Parameters:
    """Return NCCL's parameters for a job: the parameters of the design, changed by ``qps`` (queue pairs) and ``settings``.

    ``colors`` is the number of path colors (classes of uplinks).
    """
    given = designed_variables(network, colors) | ({} if qps is None else {QUEUE_PAIRS: str(qps)})
    return parameters({**given, **settings}, job.library)
