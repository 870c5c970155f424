"""Channels: their number, and the NICs through which the ring of each channel enters and leaves a server.

NCCL searches the server's PCIe tree for paths (``graph/search.cc``) and then doubles the paths that it found
(``graph/connect.cc``). This module does not search. For servers with a NIC next to every GPU the result of the search
is known:

- NCCL finds one search channel for each NIC and doubles it: two channels per NIC. Channel c uses NIC c modulo the number of NICs.
- With PXN, a ring stays on its rail. In each server, the last GPU in ring order passes its data over NVLink to the GPU next to
  the NIC through which the ring entered the server. With ``NCCL_CROSS_NIC`` 2, the default, a ring changes NICs only if this is
  an advantage. On servers with a NIC next to every GPU it is not, so 2 acts like 0.
- With ``NCCL_CROSS_NIC=1``, or 2 without PXN, a ring enters a server through one NIC and leaves it through another. Channels
  then form pairs, and every second server swaps the two NICs of a pair, so that rings stay on their rails between
  servers (`ncclTopoPostset`).
- Without PXN and with ``NCCL_CROSS_NIC=0``, a ring leaves a server through the NIC through which it entered, and
  crosses PCIe. PCIe is assumed to be as fast as NVLink.
- In an NVLink domain of several servers, each ring passes all GPUs of the domain, and NVLink limits the number of
  channels (``channel_nics``). The NICs of the first servers then carry all rings.
- RCCL has no PXN by default and crosses rails: the ring of channel c enters next to GPU c and leaves next to the c-th
  GPU from the end. Two lines of the log in the Thor2 guide (section 8.7.3.3) show this for channels 0 and 1; it is
  assumed for the other channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job, Server
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.tuning import Choice


FITTED_QPS = 8
"""The largest number of queue pairs per connection for which all-to-all was compared with published results.

With more queue pairs, posting a message probably takes more time.
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations of the steps of one collective.

    - ``launch_ps``: the time before the first byte.
    - ``gpu_hop_ps``, ``network_hop_ps``: the latency of a hop to the next GPU of a server, and to the next server.
    - ``ps_per_byte``: the time per byte of one channel between GPUs. All channels are assumed to be busy, so each gets
      an equal part of the link.
    """

    launch_ps: int
    gpu_hop_ps: int
    network_hop_ps: int
    ps_per_byte: float

    @classmethod
    def of(cls, job: Job, choice: Choice) -> Pace:
        """Return the durations of a job's steps with the algorithm, protocol and number of channels of ``choice``."""
        ps_per_byte = 8000 / job.servers[0].link.gbps * choice.channels
        return cls(choice.launch_ps, choice.gpu_hop_ps, choice.network_hop_ps, ps_per_byte)

    @overload
    def hops(self, count: int, size_bytes: int) -> int: ...
    @overload
    def hops(self, count: int | NDArray[np.int64], size_bytes: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def hops(self, count: int | NDArray[np.int64], size_bytes: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Return the time in ps for ``count`` hops between GPUs of a server.

        In each hop, a GPU receives all ``size_bytes`` before it sends.
        """
        time = count * (self.gpu_hop_ps + size_bytes * self.ps_per_byte)
        return round(time) if isinstance(time, float | int) else time.astype("int64")


Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"]

COLLECTIVES: tuple[Collective, ...] = get_args(Collective)


def bus_factor(collective: Collective, ranks: int) -> float:
    """Return the factor from algorithm bandwidth to bus bandwidth for ``ranks`` ranks.

    With a single rank, most collectives move no data, and the factor is 0.
    """
    if collective == "all-reduce":
        return 2 * (ranks - 1) / ranks
    if collective in {"broadcast", "send-recv"}:
        return 1.0
    return (ranks - 1) / ranks


MOST_CHANNELS = 32
"""The largest number of channels of a communicator: ``MAXCHANNELS`` in NCCL 2.23."""


@dataclass(frozen=True)
class Rings:
    """The NICs that the ring of each channel uses.

    ``enter`` holds the NIC through which the ring enters each server, as an index within that server. The array ``enter`` has a row per
    channel and a column per server.
    """

    enter: NDArray[np.int64]
    leave: NDArray[np.int64]
    """The NIC through which the ring leaves each server, as an index within that server.

    The array has the shape of ``enter``.
    """
    hops: int
    """The number of GPU-to-GPU hops in a server, from the receiving GPU to the sending GPU."""

    @property
    def channels(self) -> int:
        """Return the number of channels."""
        return len(self.enter)


SEARCH_SPEEDS = (96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2)
"""The bandwidths per channel in 10^9 byte/s that NCCL tries, in this order.

The list is for Blackwell GPUs in jobs of several servers (`sm100SpeedArrayInter`).
"""
RACK_NVLINK_GBYTES = {"GB200": 721.8, "GB300": 721.8, "Rubin": 1443.6}
"""The NVLink rate of one GPU in 10^9 byte/s that NCCL assumes, for GPUs whose rack is one NVLink domain.

The rate is 18 links of 40.1 (`SM100_NVLINK_BW`). Rubin's number of links is assumed: twice as many, because its NVLink has twice
the rate.
"""


@lru_cache
def _nics_of_domain(nics: int, nic_mbps: int, link_gbytes: float) -> int:
    """Return the number of NICs that NCCL's channels use in an NVLink domain that has ``nics`` NICs.

    ``nic_mbps`` is the rate of one NIC in Mb/s, and ``link_gbytes`` the NVLink rate of one GPU in 10^9 byte/s. The ring of every channel
    passes all GPUs of the domain. So NVLink, and not the number of NICs, limits the number of channels. NCCL tries the bandwidths of
    ``SEARCH_SPEEDS`` and keeps the one with the largest product of bandwidth and number of channels (`ncclTopoCompute`).
    """
    best, count = 0.0, 1
    for speed in SEARCH_SPEEDS:
        channels = min(nics, MOST_CHANNELS // 2, int(link_gbytes / speed))
        if speed <= nic_mbps / 8000 and channels * speed > best:
            best, count = channels * speed, channels
    return count


def channel_nics(job: Job) -> int:
    """Return how many NICs of each server NCCL's channels use: all of them or, in an NVLink domain, as many as NVLink can feed.

    Channels use the first NICs in the order of the GPUs (`ncclTopoPrefNetsGpuFirst`).
    """
    if job.machines_per_server == 1:
        return job.nics_per_server
    server = job.servers[0]
    return _nics_of_domain(job.nics_per_server, server.nics[0].rate_mbps, nvlink_gbytes(server))


def nvlink_gbytes(server: Server) -> float:
    """Return the rate that NCCL assumes for the links from one GPU of a server to its other GPUs, in 10^9 byte/s."""
    return RACK_NVLINK_GBYTES.get(server.gpu, server.link.gbps / 8)


def channel_count(job: Job, nccl: Parameters) -> int:
    """Return the number of channels of the communicator: two per NIC, within the configured limits (`ncclTopoPostset`)."""
    count = min(2 * channel_nics(job), MOST_CHANNELS, nccl["NCCL_MAX_NCHANNELS"], nccl["NCCL_MAX_CTAS"])
    return max(count, nccl["NCCL_MIN_NCHANNELS"], nccl["NCCL_MIN_CTAS"])


def nic_of_channel(job: Job, channels: int) -> NDArray[np.int64]:
    """Return, for each channel, the index of its NIC within a server."""
    return np.arange(channels) % channel_nics(job)


def _crosses(job: Job, nccl: Parameters) -> bool:
    """Return True if a ring can enter a server through one NIC and leave the server through another.

    ``nccl`` has NCCL's parameters.
    """
    asked = nccl["NCCL_CROSS_NIC"] == 1 or (nccl["NCCL_CROSS_NIC"] == 2 and nccl["NCCL_PXN_DISABLE"] == 1)
    return job.nics_per_server > 1 and asked


def ring_hops(job: Job, nccl: Parameters) -> int:
    """Return the number of GPU-to-GPU hops in a server, from the receiving GPU to the sending GPU.

    There is one hop less than GPUs. If a ring leaves a server through the NIC through which it entered, there is one more hop, to the GPU
    next to this NIC. ``nccl`` has NCCL's parameters.
    """
    gpus = job.gpus_per_server
    return gpus - 1 + int(gpus > 1 and not _crosses(job, nccl))


def rings(job: Job, nccl: Parameters, channels: int) -> Rings:
    """Return the NICs that the rings of ``channels`` channels use in each server. ``nccl`` has NCCL's parameters."""
    servers, nics = len(job.servers), job.nics_per_server
    nic = nic_of_channel(job, channels)
    enter = np.repeat(nic[:, None], servers, axis=1)
    hops = ring_hops(job, nccl)
    if not _crosses(job, nccl):
        return Rings(enter, enter.copy(), hops)
    if job.library == "RCCL":
        return Rings(enter, nics - 1 - enter, hops)
    other = nic ^ 1
    other[other >= nics] = 0
    leave = np.repeat(other[:, None], servers, axis=1)
    if nics % 2 == 0:
        enter[:, 1::2], leave[:, 1::2] = leave[:, 1::2].copy(), enter[:, 1::2].copy()
    return Rings(enter, leave, hops)


def ring_order(job: Job, enter: int, leave: int) -> list[int]:
    """Return the GPUs of a server in ring order, for a ring that enters through NIC ``enter`` and leaves through NIC ``leave``.

    The ring begins at a GPU next to ``enter`` and ends at a GPU next to ``leave``. The other GPUs are between them, in
    ascending order (assumed: the order does not matter if all GPUs reach each other equally well). If ``enter`` and ``leave`` are the
    same NIC, only the ring's first GPU is next to it, and all other GPUs follow in ascending order.
    """
    gpus = job.gpus_per_server
    first = job.gpus_beside(enter)[0]
    order = [(first + step) % gpus for step in range(gpus)]
    if leave != enter:
        last = job.gpus_beside(leave)[-1]
        if last != first:
            order.remove(last)
            order.append(last)
    return order
