"""The algorithm and protocol that NCCL or RCCL chooses for a size, and the latencies of each algorithm and protocol.

The constants are those of NCCL 2.23 (``graph/tuning.cc``), in us and 10^9 byte/s. RCCL has its own base latencies. If
RCCL has a table for the GPU, ``rccl_estimate_us`` makes the choice. The hop latencies are NCCL's for both libraries,
except for those fitted to RCCL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.prediction.collectives.channels import RACK_NVLINK_GBYTES, nvlink_gbytes
from railweave.prediction.collectives.nccl import ALGORITHMS, PROTOCOLS, Parameters
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
RCCL_PEER_US = 2.0
"""The time in us that RCCL's kernel spends on each peer at the beginning. The kernel handles peers one after another.

Fitted: docs/validation.md, "What was fitted".
"""
RCCL_NEXT_GPU_US, RCCL_NEXT_GPU_PEER_US = 1.52, 0.35
"""The extra launch time in us for each GPU of a process except the first: a fixed time, and a time for each peer that the GPU sends to.

A process launches the kernels of its GPUs one after another. Fitted: docs/validation.md, "What was fitted".
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
RACK_GPUS = tuple(RACK_NVLINK_GBYTES)
"""The GPUs whose rack is one NVLink domain. They need NCCL 2.25 or later, so the constants for them are NCCL's values for Blackwell."""

SWITCH_EFFICIENCY = {"H100": 0.85, "H200": 0.85, **dict.fromkeys(("B200", "B300", *RACK_GPUS), 0.74)}
"""The fraction of the link rate that NVSwitches reach when they reduce data (`nvlsEfficiency`), by GPU."""
PAT_GBYTES = 0.75
"""The fraction of the tree bandwidth that PAT reaches (``graph/tuning.cc``).

For two servers with one GPU each, the tree bandwidth is twice the NIC's.
"""
RCCL_TREE_HOP_US = {"LL": 2.2, "Simple": 25.0}
"""Latencies in us from one server to the next in RCCL's trees.

LL is fitted (docs/validation.md, "What was fitted"). Simple is from RCCL's own table. Most values of that table are only weights,
such as 320 us for a ring's Simple hop. Therefore, NCCL's latencies are used instead of them.
"""

THREADS = {"LL": "NCCL_NTHREADS", "LL128": "NCCL_LL128_NTHREADS", "Simple": "NCCL_NTHREADS"}
BYTES_PER_THREAD = {"LL": 8, "LL128": 8, "Simple": 64}
"""The smallest number of bytes per thread with which NCCL keeps all channels, by protocol. With fewer bytes, it uses fewer channels.

For LL in a ring, the number is multiplied by the number of ranks.
"""

SLOW_RING_GBYTES, SLOW_RING_THREADS = 12.5, 256
"""The bandwidth in 10^9 byte/s up to which a ring with protocol Simple uses fewer threads, and this smaller number of threads.

The bandwidth is that of PCIe 3.0 (`PCI_BW`). NCCL counts a 100G NIC as 12 GB/s instead of 12.5.
"""

LL_MOST_GBYTES = {"Intel": (39.0, 39.0, 20.4), "AMD": (87.7, 22.5, 19.0)}
"""The highest bandwidth of LL in 10^9 byte/s, by CPU: for 1, 2 and more servers.

For 1 server NCCL uses a value per GPU instead; for Hopper it is 141.
"""
LL_ONE_SERVER_GBYTES = {"A100": 87.7, **dict.fromkeys(RACK_GPUS, 282.0)}
LL_HOPPER_GBYTES = 141.0
TREE_MOST_GBYTES = {"A100": (24.0, 23.6, 17.8), **dict.fromkeys(RACK_GPUS, (70.0, 42.8, 24.0))}
TREE_HOPPER_GBYTES = (38.7, 41.4, 36.0)
LL128_MOST_GBYTES = {"A100": (20.0, 20.0, 20.0), **dict.fromkeys(RACK_GPUS, (40.0, 40.0, 40.0))}
LL128_HOPPER_GBYTES = (36.7, 36.7, 36.7)
TREE_LL128_GBYTES = {"A100": (20.0, 20.0, 20.0), **dict.fromkeys(RACK_GPUS, (55.6, 31.67, 20.0))}
TREE_LL128_HOPPER_GBYTES = (36.7, 36.7, 29.0)
"""The tree bandwidth of LL128 in 10^9 byte/s per channel, for 1, 2 and more servers with Hopper GPUs.

railweave also uses these values for GPUs for which NCCL has no values (assumed for MI300X).
"""

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
"""NCCL's factors on the bandwidth of a tree, one for each power of two of the size, starting at 64 B (`treeCorrectionFactor`)."""


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
            else estimate_us(job, collective, algorithm, protocol, size_bytes, channels),
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
    several, adds = len(job.servers) > 1, job.servers[0].gpu in SWITCH_EFFICIENCY and job.gpus_per_server > 1
    algorithms = ["Ring"]
    if collective == "all-reduce" and several:
        algorithms = ["Tree", "Ring", *(["NVLSTree"] if adds else [])]
    elif collective in {"all-gather", "reduce-scatter"} and several:
        single = job.gpus_per_server == 1 and job.library == "NCCL" and nccl["NCCL_PAT_ENABLE"]
        algorithms = ["Ring", *(["PAT"] if single else [])]
    elif collective in {"all-reduce", "all-gather", "reduce-scatter"} and adds:
        algorithms = ["Ring", "NVLS"]
    return algorithms


def used_channels(job: Job, nccl: Parameters, algorithm: str, protocol: str, size_bytes: int, channels: int) -> int:
    """Return the number of channels that NCCL uses for a size (``enqueue.cc``, `topoGetAlgoInfo`). Small sizes use fewer.

    ``channels`` is the number of channels of the communicator, and ``algorithm`` and ``protocol`` are NCCL's names. The rule is NCCL's for
    rings and trees. It is applied to NVLS and NVLSTree too, although NCCL does not reduce their channels there.
    """
    threads, threshold = nccl[THREADS[protocol]], BYTES_PER_THREAD[protocol]
    if (algorithm, protocol) == ("Ring", "Simple") and _ring_gbytes(job) <= SLOW_RING_GBYTES:
        threads = min(threads, SLOW_RING_THREADS)
    if algorithm == "Ring" and protocol == "LL":
        threshold *= job.ranks
    return max(1, min(channels, size_bytes // (threads * threshold)))


def estimate_us(
    job: Job, collective: Collective, algorithm: str, protocol: str, size_bytes: int, channels: int
) -> float:
    """Return NCCL's own estimate of a collective's time in microseconds (`ncclTopoTuneModel`, `ncclTopoGetAlgoTime`).

    The estimate is for the given algorithm and protocol on ``channels`` channels.
    """
    latency = _latency_us(job, collective, algorithm, protocol)
    gbytes = bandwidth_gbytes(job, collective, algorithm, protocol, channels)
    power = (size_bytes >> 6).bit_length() - 1
    if algorithm == "Tree" and 0 <= power < len(TREE_CORRECTION[protocol]):
        gbytes *= TREE_CORRECTION[protocol][power]
    plateau = algorithm == "Ring" and protocol == "Simple" and len(job.servers) > 1 and collective == "all-reduce"
    if plateau and size_bytes // (channels * job.ranks) >= 64:
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
    if collective == "broadcast" and servers > 1 and job.nics_per_server == 1:
        return base + NETWORK_HOP_US["Ring"][place]  # all channels go the same way (sameChannels): one hop is counted
    if collective == "broadcast":
        hop = inside if servers == 1 else NETWORK_HOP_US["Tree" if protocol == "Simple" else "Ring"][place]
        return base + job.ranks * hop
    turns = 2 if collective == "all-reduce" else 1
    crossing = turns * (servers - 1)
    if servers > 1:
        overhead = 2.0 if job.servers[0].cpu == "AMD" else 1.0  # getNetOverhead
        inside = max(inside, overhead * (3 if protocol == "Simple" else 1))
    return base + (turns * (job.ranks - 1) - crossing) * inside + crossing * across


def _ring_gbytes(job: Job) -> float:
    """Return the bandwidth of a ring in 10^9 byte/s.

    The links between GPUs limit it, and with several servers also the NICs of a server.
    """
    server = job.servers[0]
    bus = nvlink_gbytes(server)
    return min(bus, sum(nic.rate_mbps for nic in server.nics) / 8000) if len(job.servers) > 1 else bus


def bandwidth_gbytes(job: Job, collective: Collective, algorithm: str, protocol: str, channels: int) -> float:
    """Return the bandwidth in 10^9 byte/s that NCCL assumes for a collective, before NCCL's correction for trees.

    The bandwidth depends on the algorithm, the protocol and the number of ``channels``.
    """
    server = job.servers[0]
    several = min(len(job.servers), 3) - 1
    bus = _ring_gbytes(job)
    if algorithm == "PAT":
        return PAT_GBYTES * bus * (2 if len(job.servers) == 2 else 1)
    if algorithm in {"NVLS", "NVLSTree"}:
        inside = nvlink_gbytes(server) * SWITCH_EFFICIENCY[server.gpu] * (2 if collective == "all-reduce" else 1)
        both = min(inside, bus * (2 if several == 1 else 1)) if several else inside
        return both * max(job.ranks, 2) / (max(job.ranks, 2) - 1) / (2 if collective == "all-reduce" else 1)
    least_ll = (
        LL_MOST_GBYTES[server.cpu][several] if several else LL_ONE_SERVER_GBYTES.get(server.gpu, LL_HOPPER_GBYTES)
    )
    if algorithm == "Ring":
        if protocol == "LL":
            bus = min(least_ll, bus * 0.5)
        elif protocol == "LL128":
            bus = min(bus * 0.92, channels * LL128_MOST_GBYTES.get(server.gpu, LL128_HOPPER_GBYTES)[several])
        ranks = max(job.ranks, 2)
        turns = {"all-reduce": 2 * (ranks - 1), "broadcast": ranks}.get(collective, ranks - 1)
        return bus * ranks / turns
    one_gpu = job.gpus_per_server == 1
    if one_gpu and len(job.servers) == 2:
        bus *= 2  # graph/search.cc gives trees up to twice the NICs' rate inside a server; over two servers that counts
    bus = min(bus * 0.92, channels * TREE_MOST_GBYTES.get(server.gpu, TREE_HOPPER_GBYTES)[several])
    if protocol == "LL":
        bus = min(bus / 3.8, least_ll)
    elif protocol == "LL128":
        most = TREE_LL128_GBYTES.get(server.gpu, TREE_LL128_HOPPER_GBYTES)[several]
        bus = min(bus * 120 / 128, channels * most)
    # graph/search.cc knows only the plain tree for a single GPU; graph/tuning.cc then takes off 15 %.
    return bus * 0.5 * (0.85 if one_gpu else 1)


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
        launch_us += RCCL_PEER_US * peers + launch_of_others_us(job, peers)
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
    return (job.gpus_per_process - 1) * (RCCL_NEXT_GPU_US + RCCL_NEXT_GPU_PEER_US * peers)
