"""Channels: their number, and the NICs through which the ring of each channel enters and leaves a server.

NCCL searches the server for paths (``search``) and then doubles the channels that it found (``graph/connect.cc``). Channel c of
the search uses NIC c modulo the number of NICs.

- With PXN, a ring stays on its rail. In each server, the last GPU in ring order passes its data over NVLink to the GPU next to
  the NIC through which the ring entered the server. If two GPUs share the NIC's PCIe switch (A100), the ring ends at the second of them.
- If NVLink could not feed the rings then (H100 with eight NICs of 400G), or with ``NCCL_CROSS_NIC=1``, or 2 without PXN, a ring enters
  a server through one NIC and leaves it through another. Channels then form pairs, and every second server swaps the two NICs of a
  pair, so that rings stay on their rails between servers (`ncclTopoPostset`).
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
from typing import TYPE_CHECKING, Literal, get_args, overload

import numpy as np

from railweave.model.catalog.rdma import POST_COST_PS
from railweave.prediction.collectives.search import AMPERE, generation, ring_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.tuning import Choice


FITTED_QPS = 8
"""The largest number of queue pairs per connection for which all-to-all was compared with published results.

With more queue pairs, posting a message probably takes more time.
"""


SWITCH_AND_POST_PS = POST_COST_PS + 1_100_000
"""The part of a hop between servers that the engines add themselves: the post of a message, and the way through one switch."""


FLAGS_GBYTES = 22.0
"""The rate at which the proxy of a NIC reads data with the flags of LL, in 10^9 byte/s. It sends a chunk when it has seen every flag.

Fitted: docs/validation.md, "What was fitted".
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """The durations of the steps of one collective.

    - ``launch_ps``: the time before the first byte.
    - ``gpu_hop_ps``, ``network_hop_ps``: the latency of a hop to the next GPU of a server, and to the next server.
    - ``ps_per_byte``: the time per byte of one channel between GPUs. All channels are assumed to be busy, so each gets
      an equal part of the link.
    - ``by_line``: True if a GPU sends on each line of data as it arrives (LL), instead of whole chunks.
    - ``network_ps_per_byte``: the time per byte of one channel between servers, in addition to the engines' time. Only LL has
      such a time: its data crosses the memory of the hosts, where NCCL's proxies read every flag.
    """

    launch_ps: int
    gpu_hop_ps: int
    network_hop_ps: int
    ps_per_byte: float
    by_line: bool = False
    network_ps_per_byte: float = 0.0

    @classmethod
    def of(cls, job: Job, choice: Choice) -> Pace:
        """Return the durations of a job's steps with the algorithm, protocol and number of channels of ``choice``."""
        ps_per_byte = 8000 / job.servers[0].link.gbps * choice.channels
        network_hop_ps = max(choice.network_hop_ps - SWITCH_AND_POST_PS, 0)
        each_nic = -(-choice.channels // min(job.nics_per_server, choice.channels))
        flags = each_nic * 1e3 / FLAGS_GBYTES if choice.protocol == "LL" else 0.0
        return cls(choice.launch_ps, choice.gpu_hop_ps, network_hop_ps, ps_per_byte, choice.protocol == "LL", flags)

    @overload
    def crossing(self, size_bytes: int) -> int: ...
    @overload
    def crossing(self, size_bytes: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def crossing(self, size_bytes: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Return the time in ps that a hop between servers takes for ``size_bytes`` (with flags), in addition to the engines' time."""
        time = self.network_hop_ps + size_bytes * self.network_ps_per_byte
        return round(time) if isinstance(time, float | int) else time.astype("int64")

    @overload
    def hops(self, count: int, size_bytes: int) -> int: ...
    @overload
    def hops(self, count: int | NDArray[np.int64], size_bytes: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def hops(self, count: int | NDArray[np.int64], size_bytes: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Return the time in ps for ``count`` hops between GPUs of a server.

        In each hop, a GPU receives all ``size_bytes`` before it sends. With protocol LL, it waits only once.
        """
        stops = np.minimum(count, 1) if self.by_line else count
        time = count * self.gpu_hop_ps + stops * (size_bytes * self.ps_per_byte)
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
"""The largest number of channels of a communicator: ``MAXCHANNELS`` in NCCL 2.23 (64 in 2.30)."""


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


def channel_nics(job: Job) -> int:
    """Return how many NICs of each server NCCL's channels use: all of them or, in an NVLink domain, as many as NVLink can feed.

    Channels use the first NICs in the order of the GPUs (`ncclTopoPrefNetsGpuFirst`).
    """
    return min(job.nics_per_server, ring_graph(job).channels)


def channel_count(job: Job, nccl: Parameters) -> int:
    """Return the number of channels of the communicator: twice those of the search, within the configured limits (`ncclTopoPostset`).

    ``nccl`` has NCCL's parameters.
    """
    graph = ring_graph(job)
    count = 2 * graph.channels
    if len(job.servers) > 1 and generation(job) is not AMPERE and graph.inside > FAST_GBYTES and count < FEW_CHANNELS:
        count *= 2
    count = min(count, MOST_CHANNELS, nccl["NCCL_MAX_NCHANNELS"], nccl["NCCL_MAX_CTAS"])
    return max(count, nccl["NCCL_MIN_NCHANNELS"], nccl["NCCL_MIN_CTAS"])


def nic_of_channel(job: Job, channels: int) -> NDArray[np.int64]:
    """Return, for each channel, the index of its NIC within a server."""
    return np.arange(channels) % ring_graph(job).channels % job.nics_per_server


FAST_GBYTES, FEW_CHANNELS = 45.0, 16
"""From Hopper on, fewer than 16 channels are doubled again over several servers if a channel has more than 45 x 10^9 byte/s."""


def _crosses(job: Job, nccl: Parameters) -> bool:
    """Return True if a ring can enter a server through one NIC and leave the server through another.

    ``nccl`` has NCCL's parameters.
    """
    if nccl["NCCL_CROSS_NIC"] == 2:
        asked = nccl["NCCL_PXN_DISABLE"] == 1 or ring_graph(job).crosses
    else:
        asked = nccl["NCCL_CROSS_NIC"] == 1
    return job.nics_per_server > 1 and asked


def ring_hops(job: Job, nccl: Parameters) -> int:
    """Return the number of GPU-to-GPU hops in a server, from the receiving GPU to the sending GPU.

    There is one hop less than GPUs. If a ring leaves a server through the NIC through which it entered, there is one more hop, to the GPU
    next to this NIC, unless two GPUs are. ``nccl`` has NCCL's parameters.
    """
    gpus = job.gpus_per_server
    back = gpus > 1 and not _crosses(job, nccl) and not generation(job).shares_switch
    return gpus - 1 + int(back)


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
