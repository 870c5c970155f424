"""The channels that NCCL's search finds inside a server, and their bandwidths (NCCL 2.30.7, ``graph/search.cc``, ``graph/topo.h``).

NCCL tries bandwidths from a list and keeps the one with the largest product of bandwidth and number of channels. Its time estimates and its
number of channels follow from the result. This module computes the result for servers in which GPUs reach each other by NVSwitch and each
NIC is beside a GPU; ``make test-nccl`` compares it with NCCL's own search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.prediction.collectives.job import Job

BandwidthByServers = tuple[float, float, float]
"""A bandwidth in 10^9 byte/s for 1, for 2, and for more servers."""


@dataclass(frozen=True, slots=True)
class Generation:
    """NCCL's constants for the GPUs of a compute capability (``graph/topo.h``, ``graph/search.cc``, ``graph/tuning.cc``).

    - ``nvlink_part``: the rate of NVLink that NCCL counts, as a part of the catalog's usable rate (``gpu_link``).
    - ``pcie``: the bandwidth of a NIC's PCIe slot. ``shares_switch``: True if a PCIe switch joins two GPUs and their NICs.
    - ``inside``, ``across``: the bandwidths that the search tries for one server, and for several servers.
    - ``ll``: the most for LL in one server. The others are the most per channel of the search, by algorithm and protocol.
    - ``switch_efficiency``: the part of the rate that NVSwitches reach when they reduce data; 0 if they cannot.

    Bandwidths are in 10^9 byte/s.
    """

    nvlink_part: float
    pcie: float
    shares_switch: bool
    inside: tuple[float, ...]
    across: tuple[float, ...]
    ll: float
    tree: BandwidthByServers
    ring_ll128: BandwidthByServers
    tree_ll128: BandwidthByServers
    nvls_tree: BandwidthByServers
    switch_efficiency: float


AMPERE = Generation(
    nvlink_part=1.0,
    pcie=24.0,
    shares_switch=True,
    inside=(40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0),
    across=(48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12),
    ll=87.7,
    tree=(24.0, 23.6, 17.8),
    ring_ll128=(20.0, 20.0, 20.0),
    tree_ll128=(20.0, 20.0, 20.0),
    nvls_tree=(24.0, 23.6, 17.8),
    switch_efficiency=0.0,
)
HOPPER = Generation(
    nvlink_part=1.0,
    pcie=48.0,
    shares_switch=False,
    inside=(60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0),
    across=(48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12),
    ll=141.0,
    tree=(38.7, 41.4, 36.0),
    ring_ll128=(36.7, 36.7, 36.7),
    tree_ll128=(36.7, 36.7, 29.0),
    nvls_tree=(0.0, 57.7, 45.5),
    switch_efficiency=0.85,
)
BLACKWELL = Generation(
    nvlink_part=721.8 / 855,
    pcie=96.0,
    shares_switch=False,
    inside=(90.0, 80.0, 70.0, 60.0, 50.0, 45.0, 40.0, 30.0, 24.0, 20.0, 19.0, 18.0),
    across=(
        *(96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0),
        *(20.0, 17.5, 15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12),
    ),
    ll=282.0,
    tree=(70.0, 42.8, 24.0),
    ring_ll128=(40.0, 40.0, 40.0),
    tree_ll128=(55.6, 31.67, 20.0),
    nvls_tree=(0.0, 96.0, 80.0),
    switch_efficiency=0.74,
)
GENERATIONS = {
    **dict.fromkeys(("A100", "A800"), AMPERE),
    **dict.fromkeys(("H100", "H200", "H800", "H20"), HOPPER),
    **dict.fromkeys(("B200", "B300", "GB200", "GB300", "Rubin"), BLACKWELL),
}
"""NCCL's constants by GPU. For Rubin they are assumed to be Blackwell's."""

MOST_SEARCHED = 16
"""The largest number of channels of the search: half of the 32 channels that a communicator has by default in NCCL 2.23.

NCCL 2.30 allows 32 and 64, which only servers with more than 16 NICs would use.
"""
MOST_HEADS = 32
"""The largest number of GPUs of a domain that split a reduction in NVSwitches (`NCCL_MAX_NVLS_ARITY`)."""


def generation(job: Job) -> Generation:
    """Return NCCL's constants for the job's GPUs. GPUs that NCCL does not know have Hopper's (assumed)."""
    return GENERATIONS.get(job.servers[0].gpu, HOPPER)


@dataclass(frozen=True, slots=True)
class Graph:
    """The channels that the search finds for an algorithm.

    - ``inside``, ``across``: the bandwidth of one channel between GPUs, and between servers, in 10^9 byte/s.
    - ``crosses``: True if rings enter a server by one NIC and leave by another, because NVLink could not feed them otherwise.
    """

    channels: int
    inside: float
    across: float
    crosses: bool = False


@dataclass(frozen=True, slots=True)
class _Server:
    """A server as the search sees it. Bandwidths are in 10^9 byte/s."""

    constants: Generation
    gpus: int
    nics: int
    nic: float
    nvlink: float
    several: bool


def nvlink_gbytes(job: Job) -> float:
    """Return the rate that NCCL counts for the links from one GPU of a server to its other GPUs, in 10^9 byte/s."""
    return job.servers[0].link.gbps / 8 * generation(job).nvlink_part


def _server(job: Job) -> _Server:
    first, constants = job.servers[0], generation(job)
    nic = min(first.nics[0].rate_mbps / 8000, constants.pcie)
    return _Server(
        constants, job.gpus_per_server, job.nics_per_server, nic, nvlink_gbytes(job), several=len(job.servers) > 1
    )


def ring_graph(job: Job, *, crossing: bool = True) -> Graph:
    """Return the channels for rings. ``crossing`` is False if rings may not change NICs (``NCCL_CROSS_NIC=0``).

    NCCL's list is not used for RCCL: each NIC has one channel of its rate.
    """
    if job.library == "RCCL":
        first = job.servers[0]
        count = min(job.nics_per_server, MOST_SEARCHED)
        bus = first.link.gbps / 8
        if len(job.servers) > 1:
            bus = min(bus, sum(nic.rate_mbps for nic in first.nics) / 8000)
        return Graph(count, bus / count, bus / count)
    return _ring(_server(job), crossing=crossing)


def tree_graph(job: Job) -> Graph:
    """Return the channels for trees. They are as many as those for rings."""
    return ring_graph(job) if job.library == "RCCL" else _tree(_server(job))


def switch_graph(job: Job) -> Graph:
    """Return the channels for NVLS and NVLSTree: one for each GPU that is a head, which has a NIC if there are several servers."""
    return _switch(_server(job))


def plain_trees(job: Job) -> bool:
    """Return True if NCCL finds only the plain pattern for trees, in which the same GPU sends and receives.

    With the balanced pattern a second GPU beside the NIC takes part. From Hopper on, NCCL takes the plain pattern if each NIC has one GPU.
    """
    return job.gpus_per_server == 1 or (
        len(job.servers) > 1 and job.library == "NCCL" and not generation(job).shares_switch
    )


@lru_cache
def _ring(server: _Server, *, crossing: bool) -> Graph:
    if not server.several:
        return _doubled(_best(server, server.constants.inside, server.nvlink, MOST_SEARCHED), server)
    graph = _best(server, server.constants.across, server.nic, MOST_SEARCHED, crossing=crossing)
    return _doubled(graph, server)


def _best(server: _Server, speeds: tuple[float, ...], most_speed: float, most: int, *, crossing: bool = False) -> Graph:
    """Return the channels with the largest total, of the first bandwidth of the list that reaches it (`ncclTopoCompute`)."""
    best = Graph(1, 0.1, 0.1)
    for speed in speeds:
        if speed > most_speed:
            continue
        if best.across > 1 and speed / best.across <= 0.49:
            break
        limit = min(most, server.nics * int(server.nic // speed)) if server.several else most
        fed = limit if server.gpus == 1 else min(limit, int(server.nvlink // speed))
        crossed = crossing and limit > fed and _spread(server, limit, speed)
        count = limit if crossed else fed
        if count * speed > best.channels * best.across:
            best = Graph(count, speed, speed, crossed)
        if best.channels * best.across >= server.nvlink:
            break
    return best


def _spread(server: _Server, count: int, speed: float) -> bool:
    """Return True if NVLink feeds ``count`` chains of all GPUs whose ends are spread evenly: the last GPU of a chain sends nothing on."""
    even = server.nics >= server.gpus and count % server.gpus == 0
    return even and server.nics > 1 and count * (server.gpus - 1) / server.gpus * speed <= server.nvlink


def _doubled(graph: Graph, server: _Server) -> Graph:
    """Return the channels after NCCL has split channels of high bandwidth in two (`ncclTopoDupChannels`)."""
    after_ampere = server.constants is not AMPERE
    if graph.inside < 25 or (after_ampere and graph.inside < 50 and graph.channels > 4):
        return graph
    count = min(2 * graph.channels, MOST_SEARCHED)
    parts = -(-count // graph.channels)
    return Graph(count, graph.inside / parts, graph.across / parts, graph.crosses)


@lru_cache
def _tree(server: _Server) -> Graph:
    ring = _ring(server, crossing=True)
    if not server.several:
        return ring
    fed = [
        speed
        for speed in server.constants.across
        if ring.across <= speed <= 2 * ring.across
        and (server.gpus == 1 or _spread(server, ring.channels, speed) or ring.channels * speed <= server.nvlink)
    ]
    return Graph(ring.channels, max(fed, default=ring.inside), ring.across)


@lru_cache
def _switch(server: _Server) -> Graph:
    heads = min(MOST_HEADS, server.gpus, server.nics if server.several else server.gpus)
    speeds, most = (server.constants.across, server.nic) if server.several else (server.constants.inside, server.nvlink)
    # A head's own links carry its part twice: up to the switch, and down (`ncclTopoSearchTryNvls`).
    inside = next((speed for speed in speeds if speed <= most and (heads + 1) * speed <= server.nvlink), 0.0)
    across = next((speed for speed in speeds if speed <= min(2 * inside, server.nic if server.several else most)), 0.0)
    return Graph(heads, inside, across)
