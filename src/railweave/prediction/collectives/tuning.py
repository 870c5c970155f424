"""The algorithm and protocol that NCCL or RCCL chooses for a size, and the latencies of each algorithm and protocol.

The constants are those of NCCL 2.30.7 (``graph/tuning.cc``), in us and 10^9 byte/s; those by GPU are in ``search``. RCCL has its own base
latencies. If RCCL has a table for the GPU, ``rccl_estimate_us`` makes the choice. The hop latencies are NCCL's for both
libraries, except for those fitted to RCCL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.nccl import ALGORITHMS, PROTOCOLS, Parameters
from railweave.prediction.collectives.search import (
    BLACKWELL,
    generation,
    plain_trees,
    ring_graph,
    switch_graph,
    tree_graph,
)
from railweave.prediction.collectives.tree import latency_us

if TYPE_CHECKING:
    from railweave.prediction.collectives.channels import Collective
    from railweave.prediction.collectives.job import Job


RCCL_TUNED = ("MI300X",)

RCCL_BASE_US = {"LL": 12.0, "Simple": 17.0}
RCCL_GPU_HOP_US = {"Tree": {"LL": 0.9, "Simple": 2.3}, "Ring": {"LL": 0.8, "Simple": 2.1}}
RCCL_NETWORK_HOP_US = {"Tree": {"LL": 10.5, "Simple": 25.0}, "Ring": {"LL": 9.5, "Simple": 320.0}}
OF_THE_BUS = {
    "few": {"Tree": {"LL": 0.06, "Simple": 0.11}, "Ring": {"LL": 0.08, "Simple": 1.0}},
    "many": {"Tree": {"LL": 0.06, "Simple": 0.59}, "Ring": {"LL": 0.08, "Simple": 1.0}},
}
"""The fraction of the bus bandwidth that RCCL reaches, by number of servers, then by algorithm and protocol.

``few`` is for up to two servers, ``many`` for more.
"""

CORRECTION = {
    "Tree": {
        "LL": (0.1,) * 6 + (1.0,) * 5 + (0.6, 1.0, 0.9, 1.0, 1.0) + (0.1,) * 11,
        "Simple": (0.1,) * 15 + (0.7,) + (1.0,) * 10 + (0.8,),
    },
    "Ring": {
        "LL": (0.1,) * 11 + (1.0, 0.2, 1.0, 0.4, 0.4, 0.1, 0.2, 0.2) + (0.1,) * 8,
        "Simple": (0.1,) * 23 + (0.8, 1.0, 1.0, 1.0),
    },
}
"""RCCL's factors on the bandwidth, by algorithm and protocol: one for each power of two of the size, starting at 64 B.

Larger sizes use the last factor.
"""


def tree_share(job: Job, protocol: str) -> float:
    """Return the fraction of the rate of the links inside servers that a tree reaches.

    For RCCL's protocol Simple on more than two servers, it is RCCL's own value, which published results confirm. Otherwise it is 1: RCCL's
    values for two servers and for LL are weights that only choose.
    """
    measured = (
        job.library == "RCCL" and job.servers[0].gpu in RCCL_TUNED and protocol == "Simple" and len(job.servers) > 2
    )
    return OF_THE_BUS["many"]["Tree"][protocol] if measured else 1.0


def rccl_estimate_us(job: Job, collective: Collective, algorithm: str, protocol: str, size_bytes: int) -> float:
    """Return RCCL's own estimate of the time in us for a collective with the given algorithm and protocol.

    The estimate for LL128 is infinite, because RCCL does not use LL128 on the GPUs for which it has its own tables.
    """
    if protocol == "LL128":
        return float("inf")
    servers, ranks = len(job.servers), job.ranks
    server = job.servers[0]
    bus = server.link.gbps / 8
    if servers > 1:
        bus = min(bus, sum(nic.rate_mbps for nic in server.nics) / 8000)
    bus *= OF_THE_BUS["few" if servers <= 2 else "many"][algorithm][protocol]
    turns = {"all-reduce": 2 * (ranks - 1), "broadcast": ranks}.get(collective, ranks - 1)
    bus *= max(ranks, 2) / max(turns, 1) if algorithm == "Ring" else 0.5
    power = (size_bytes >> 6).bit_length() - 1
    factors = CORRECTION[algorithm][protocol]
    if algorithm == "Tree" or servers > 1:  # rings inside one server are not corrected (ncclTopoGetAlgoTime)
        bus *= factors[min(max(power, 0), len(factors) - 1)]
    inside, across = RCCL_GPU_HOP_US[algorithm][protocol], RCCL_NETWORK_HOP_US[algorithm][protocol]
    if algorithm == "Tree":
        latency = 2 * ((job.gpus_per_server - 1) * inside + (servers.bit_length() - 1) * across)
    else:
        crossing = 0 if servers == 1 else 2 * servers if collective == "all-reduce" else servers - 1
        if servers > 1:  # getNetOverhead, by CPU
            overhead = 2.0 if server.cpu == "AMD" else 1.0
            inside = max(inside, overhead * (3 if protocol == "Simple" else 1))
        latency = (turns - crossing) * inside + crossing * across
    return RCCL_BASE_US[protocol] + latency + size_bytes / (1000 * bus)


OF_SIMPLE_BASE = {"PAT": (0.0, 0.0, 8.0), "NVLS": (0.0, 0.0, 0.0), "NVLSTree": (0.0, 0.0, 0.0)}
BASE_US = {
    "NCCL": {"Tree": (6.8, 14.0, 8.4), "Ring": (6.6, 14.0, 8.4), **OF_SIMPLE_BASE},
    "RCCL": {"Tree": (12.0, 12.0, 17.0), "Ring": (12.0, 12.0, 17.0), **OF_SIMPLE_BASE},
}
"""The launch latency in us, by library and then by algorithm. Each tuple has the values of LL, LL128 and Simple."""
RCCL_PEER_US = 1.55
"""The time in us that RCCL's kernel spends on each peer at the beginning. The kernel handles peers one after another.

Fitted: docs/validation.md, "What was fitted".
"""
RCCL_NEXT_GPU_PEER_US = 0.44
"""The extra launch time in us of an all-to-all, for each GPU of a process except the first and for each peer that the GPU sends to.

A process prepares the transfers of its GPUs one after another. Fitted: docs/validation.md, "What was fitted". Collectives have no such
time: with 8 bytes, processes with one GPU and with eight need the same time.
"""
RCCL_LAUNCH_US = 21.5
"""The least time in us before the first byte of a collective of RCCL. It covers the launch of a kernel by HIP.

RCCL's own table has 12 us for LL and 17 us for Simple. Fitted: docs/validation.md, "What was fitted".
"""
GPU_HOP_US = {
    "Tree": (0.6, 1.25, 4.0),
    "Ring": (0.6, 1.9, 3.4),
    "PAT": (0.0, 0.0, 4.0),
    "NVLS": (0.0, 0.0, 25.0),
    "NVLSTree": (0.0, 0.0, 25.0),
}
"""Latencies in us from one GPU to the next over NVLink (`NCCL_HW_NVLINK`), by algorithm: for LL, LL128 and Simple."""
NETWORK_HOP_US = {
    "Tree": (5.0, 8.5, 14.0),
    "Ring": (2.7, 4.0, 14.0),
    "PAT": (0.0, 0.0, 4.0),
    "NVLS": (0.0, 0.0, 18.0),
    "NVLSTree": (0.0, 0.0, 20.9),
}
"""Latencies in us from one server to the next (`NCCL_HW_NET`), by algorithm: for LL, LL128 and Simple.

PAT's value is NCCL's 14 us divided by 3.5, because NCCL divides the latency of PAT's steps by this number. The values of PAT and NVLSTree
are those of NCCL 2.28.
"""
ONLY_SIMPLE = ("PAT", "NVLS", "NVLSTree")
SWITCHED = ("NVLS", "NVLSTree")
"""The algorithms in which NVSwitches reduce data."""
PAT_GBYTES = 0.75
"""The fraction of the tree bandwidth that PAT reaches (``graph/tuning.cc``).

For two servers with one GPU each, the tree bandwidth is twice the NIC's.
"""
RCCL_TREE_HOP_US = {"Simple": 25.0}
"""Latencies in us from one server to the next in RCCL's trees, from RCCL's own table.

Most values of that table are only weights, such as 320 us for a ring's Simple hop. Therefore, NCCL's latencies are used instead of them.
"""

THREADS = {"LL": "NCCL_NTHREADS", "LL128": "NCCL_LL128_NTHREADS", "Simple": "NCCL_NTHREADS"}
BYTES_PER_THREAD = {"LL": 8, "LL128": 8, "Simple": 64}
"""The smallest number of bytes per thread with which NCCL keeps all channels, by protocol. With fewer bytes, it uses fewer channels.

For LL in a ring, the number is multiplied by the number of ranks.
"""

SLOW_RING_GBYTES, SLOW_RING_THREADS = 12.0, 256
"""The bandwidth in 10^9 byte/s up to which a ring with protocol Simple uses fewer threads, and this smaller number of threads.

The bandwidth is that of PCIe 3.0 (`PCI_BW`).
"""

LL_MOST_GBYTES = {"Intel": (39.0, 20.4), "AMD": (22.5, 19.0)}
"""The highest bandwidth of LL over several servers in 10^9 byte/s, by CPU: for 2 and more servers."""

TREE_CORRECTION = {
    "LL": (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1),
    "LL128": (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1),
    "Simple": (
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.9,
        0.8,
        0.7,
        0.6,
        0.6,
        0.5,
        0.5,
        0.5,
        0.5,
        0.6,
        0.7,
        0.8,
        0.7,
        0.7,
        0.8,
        0.9,
        0.9,
    ),
}
"""NCCL's factors on the bandwidth of a tree, one for each power of two of the size, starting at 64 B (`treeCorrectionFactor`).

On Blackwell GPUs they also apply to NVLSTree, which has a further factor for the next size.
"""
NVLS_TREE_LAST = 0.9
"""NVLSTree's factor on Blackwell for sizes from 512 MiB to below 1 GiB."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The algorithm, protocol and channels of a collective, with their durations.

    ``launch_ps`` is the time before the first byte. The other times in ps are per hop.
    """

    algorithm: str
    protocol: str
    channels: int
    launch_ps: int
    gpu_hop_ps: int
    network_hop_ps: int
    time_us: float
    """NCCL's own estimate of the time, in microseconds, by which NCCL chooses. This is not railweave's prediction."""


def choose(
    job: Job, nccl: Parameters, collective: Collective, size_bytes: int, channels: int, launch_ps: int | None = None
) -> Choice:
    """Return NCCL's choice for a size: the allowed algorithm and protocol for which NCCL estimates the lowest time.

    ``channels`` is the number of channels of the communicator. ``launch_ps`` replaces the library's own launch time. All-to-all and
    send/recv are point-to-point and always use Simple over the network, because connections that share buffers have no buffers for
    LL (``transport/net.cc``).
    """
    if collective in {"all-to-all", "send-recv"}:
        peers = job.ranks - 1 if collective == "all-to-all" else 1
        return choice_of(job, "Ring", "Simple", channels, launch_ps, peers=peers)
    named = nccl.names("NCCL_ALGO") or ALGORITHMS
    algorithms = [candidate for candidate in possible(job, nccl, collective) if candidate in named] or ["Ring"]
    allowed = nccl.names("NCCL_PROTO") or tuple(p for p in PROTOCOLS if p != "LL128" or job.library == "NCCL")
    of_rccl = job.library == "RCCL" and job.servers[0].gpu in RCCL_TUNED
    estimates = [
        (
            rccl_estimate_us(job, collective, algorithm, protocol, size_bytes)
            if of_rccl
            else estimate_us(job, nccl, collective, algorithm, protocol, size_bytes),
            algorithm,
            protocol,
        )
        for algorithm in algorithms
        for protocol in allowed
        if protocol == "Simple" or algorithm not in ONLY_SIMPLE
    ] or [(0.0, "Ring", allowed[0])]
    time_us, algorithm, protocol = min(estimates, key=lambda entry: entry[0])
    used = used_channels(job, nccl, algorithm, protocol, size_bytes, channels)
    return choice_of(job, algorithm, protocol, used, launch_ps, time_us)


def possible(job: Job, nccl: Parameters, collective: Collective) -> list[str]:
    """Return the algorithms that NCCL can use for a collective on the servers of ``job``. ``nccl`` has NCCL's parameters."""
    several, adds = len(job.servers) > 1, switches_reduce(job, nccl)
    algorithms = ["Ring"]
    if collective == "all-reduce" and several:
        algorithms = ["Tree", "Ring", *(["NVLSTree"] if adds else [])]
    elif collective in {"all-gather", "reduce-scatter"} and several:
        single = job.gpus_per_server == 1 and job.library == "NCCL" and nccl["NCCL_PAT_ENABLE"]
        algorithms = ["Ring", *(["PAT"] if single else [])]
    elif collective in {"all-reduce", "all-gather", "reduce-scatter"} and adds:
        algorithms = ["Ring", "NVLS"]
    return algorithms


def switches_reduce(job: Job, nccl: Parameters) -> bool:
    """Return True if NCCL can let NVSwitches reduce data: it needs two heads and GPUs from Hopper on. ``nccl`` has NCCL's parameters.

    In a rack that is one NVLink domain, only if ``NCCL_ALGO`` names the algorithm: published rows of racks fit rings and trees.
    """
    named = {"NVLS", "NVLSTree"} & set(nccl.names("NCCL_ALGO"))
    return bool(
        job.library == "NCCL"
        and nccl["NCCL_NVLS_ENABLE"]
        and generation(job).switch_efficiency
        and switch_graph(job).channels > 1
        and (job.machines_per_server == 1 or named)
    )


def used_channels(job: Job, nccl: Parameters, algorithm: str, protocol: str, size_bytes: int, channels: int) -> int:
    """Return the number of channels that NCCL uses for a size (``enqueue.cc``, `topoGetAlgoInfo`). Small sizes use fewer.

    ``channels`` is the number of channels of the communicator, and ``algorithm`` and ``protocol`` are NCCL's names.
    """
    if algorithm in SWITCHED:
        return switched_channels(job, nccl)
    threads, threshold = nccl[THREADS[protocol]], BYTES_PER_THREAD[protocol]
    if (algorithm, protocol) == ("Ring", "Simple") and _slow_ring(job):
        threads = min(threads, SLOW_RING_THREADS)
    if algorithm == "Ring" and protocol == "LL":
        threshold *= job.ranks
    return max(1, min(channels, size_bytes // (threads * threshold)))


def switched_channels(job: Job, nccl: Parameters) -> int:
    """Return the number of channels of NVLS and NVLSTree (``transport/nvls.cc``, `ncclNvlsTuning`). ``nccl`` has NCCL's parameters."""
    if generation(job) is not BLACKWELL:
        count = 16
    elif len(job.servers) == 1:
        count = 24
    else:
        count = 24 if len(job.servers) > 2 and _nic_gbytes(job) >= 48 else 32
    return max(nccl["NCCL_MIN_CTAS"], min(nccl["NCCL_MAX_CTAS"], count))


def _nic_gbytes(job: Job) -> float:
    return job.servers[0].nics[0].rate_mbps / 8000


def _slow_ring(job: Job) -> bool:
    graph = ring_graph(job)
    return graph.channels * graph.inside <= SLOW_RING_GBYTES


def estimate_us(
    job: Job, nccl: Parameters, collective: Collective, algorithm: str, protocol: str, size_bytes: int
) -> float:
    """Return NCCL's own estimate of a collective's time in microseconds (`ncclTopoTuneModel`, `ncclTopoGetAlgoTime`).

    The estimate is for the given algorithm and protocol. ``nccl`` has NCCL's parameters.
    """
    latency = _latency_us(job, collective, algorithm, protocol)
    gbytes = bandwidth_gbytes(job, collective, algorithm, protocol)
    power = (size_bytes >> 6).bit_length() - 1
    corrected = algorithm == "Tree" or (algorithm == "NVLSTree" and generation(job) is BLACKWELL)
    factors = TREE_CORRECTION[protocol] + ((NVLS_TREE_LAST,) if algorithm == "NVLSTree" else ())
    if corrected and 0 <= power < len(factors):
        gbytes *= factors[power]
    plateau = algorithm == "Ring" and protocol == "Simple" and len(job.servers) > 1 and collective == "all-reduce"
    if plateau and size_bytes // (channel_count(job, nccl) * job.ranks) >= 64:
        latency *= 1.4
    return latency + size_bytes / (1000 * gbytes)


def _latency_us(job: Job, collective: Collective, algorithm: str, protocol: str) -> float:
    place, servers, gpus = PROTOCOLS.index(protocol), len(job.servers), job.gpus_per_server
    base = BASE_US[job.library][algorithm][place]
    inside = GPU_HOP_US[algorithm][place]
    across = NETWORK_HOP_US["Tree" if gpus == 1 else algorithm][place]
    if algorithm == "PAT":
        return base + latency_us(servers, NETWORK_HOP_US["PAT"][place])
    if algorithm in {"NVLS", "NVLSTree"}:
        return base + inside + 2 * (servers.bit_length() - 1) * across
    if algorithm == "Tree":
        return base + 2 * ((gpus - 1) * inside + (servers.bit_length() - 1) * across)
    if collective == "broadcast" and (servers == 1 or job.nics_per_server == 1):
        hop = inside if servers == 1 else NETWORK_HOP_US["Ring"][place]
        return base + hop  # all channels go the same way (sameChannels): one hop is counted
    if collective == "broadcast":
        return base + job.ranks * NETWORK_HOP_US["Tree" if protocol == "Simple" else "Ring"][place]
    turns = 2 if collective == "all-reduce" else 1
    crossing = turns * (servers - 1)
    if servers > 1:
        overhead = 2.0 if job.servers[0].cpu == "AMD" else 1.0  # getNetOverhead
        inside = max(inside, overhead * (3 if protocol == "Simple" else 1))
    return base + (turns * (job.ranks - 1) - crossing) * inside + crossing * across


def bandwidth_gbytes(
    job: Job, collective: Collective, algorithm: str, protocol: str, channels: float | None = None
) -> float:
    """Return the bandwidth in 10^9 byte/s that NCCL assumes for a collective, before NCCL's correction for trees.

    ``channels`` replaces the number of channels of the search, which limits the bandwidth. The communicator has two channels for each.
    """
    several = min(len(job.servers), 3) - 1
    constants, ranks = generation(job), max(job.ranks, 2)
    if algorithm in SWITCHED:
        return switched_gbytes(job, collective, algorithm, network=True)
    graph = ring_graph(job) if algorithm == "Ring" else tree_graph(job)
    channels = graph.channels if channels is None else channels
    bus = graph.channels * (graph.inside if several < 2 else graph.across)
    if algorithm == "PAT":
        return PAT_GBYTES * bus
    least_ll = LL_MOST_GBYTES[job.servers[0].cpu][several - 1] if several else constants.ll
    if algorithm == "Ring":
        if protocol == "LL":
            bus = min(least_ll, bus * 0.5)
        elif protocol == "LL128":
            bus = min(bus * 0.92, channels * constants.ring_ll128[several])
        turns = {"all-reduce": 2 * (ranks - 1), "broadcast": ranks}.get(collective, ranks - 1)
        return bus * ranks / turns
    bus = min(bus * 0.92, channels * constants.tree[several])
    if protocol == "LL":
        bus = min(bus / 3.8, least_ll)
    elif protocol == "LL128":
        bus = min(bus * 120 / 128, channels * constants.tree_ll128[several])
    return bus * 0.5 * (0.85 if plain_trees(job) else 1)


def switched_gbytes(job: Job, collective: Collective, algorithm: str, *, network: bool) -> float:
    """Return the bandwidth in 10^9 byte/s that NCCL assumes for NVLS or NVLSTree. ``network`` is False for NVLink's part only.

    NVLink's part comes from NVIDIA's measurements: the efficiency of the switches, and the most that a channel of NVLSTree reaches.
    """
    graph, constants, servers = switch_graph(job), generation(job), len(job.servers)
    ranks, gpus = max(job.ranks, 2), job.gpus_per_server
    reduces = collective == "all-reduce"
    bus = graph.inside * constants.switch_efficiency * (graph.channels - 1) / graph.channels
    bus *= 2 if reduces else (gpus - 1) / gpus
    if algorithm == "NVLSTree":
        bus = min(bus, constants.nvls_tree[min(servers, 3) - 1])
        if network:
            bus = min(bus, graph.across * (2 if servers == 2 else 1))
    elif network:
        bus = min(bus, graph.across)
    return graph.channels * bus * (ranks / (2 * (ranks - 1)) if reduces else 1)


def choice_of(
    job: Job,
    algorithm: str,
    protocol: str,
    channels: int,
    launch_ps: int | None = None,
    time_us: float = 0.0,
    peers: int = 0,
) -> Choice:
    """Return the durations for a given algorithm and protocol on ``channels`` channels, instead of NCCL's own choice.

    ``launch_ps`` replaces the library's own launch time. ``time_us`` is the estimated time that the result holds. ``peers`` is the number
    of ranks that each rank sends to directly.
    """
    place = PROTOCOLS.index(protocol)
    launch_us, gpu_hop_us = BASE_US[job.library][algorithm][place], GPU_HOP_US[algorithm][place]
    network_hop_us = NETWORK_HOP_US[algorithm][place]
    if job.library == "RCCL":
        launch_us = max(launch_us, RCCL_LAUNCH_US) + RCCL_PEER_US * peers + launch_of_others_us(job, peers)
        if job.servers[0].gpu in RCCL_TUNED:
            gpu_hop_us = RCCL_GPU_HOP_US[algorithm].get(protocol, gpu_hop_us)
            network_hop_us = RCCL_TREE_HOP_US.get(protocol, network_hop_us) if algorithm == "Tree" else network_hop_us
    return Choice(
        algorithm,
        protocol,
        channels,
        round(launch_us * 1e6) if launch_ps is None else launch_ps,
        round(gpu_hop_us * 1e6),
        round(network_hop_us * 1e6),
        time_us,
    )


def launch_of_others_us(job: Job, peers: int) -> float:
    """Return the delay in microseconds between the kernel starts on the first and on the last GPU of a process.

    ``peers`` is the number of ranks that each rank sends to.
    """
    return (job.gpus_per_process - 1) * RCCL_NEXT_GPU_PEER_US * peers
