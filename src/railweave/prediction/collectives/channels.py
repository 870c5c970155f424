"""Channels: their number, and the NICs by which the ring of each channel enters and leaves a server.

NCCL searches the server's PCIe tree for paths (``graph/search.cc``) and then doubles the paths that it found
(``graph/connect.cc``). This module does not search. For servers with a NIC next to every GPU the result of the search
is known:

- NCCL finds one search channel for each NIC and doubles it: two channels per NIC, with channel c on NIC c modulo NICs.
- With PXN the last GPU of the ring hands its data over NVLink to the GPU next to the NIC by which the ring came in, so
  a ring stays on its rail. ``NCCL_CROSS_NIC`` 2, the default, lets a ring change NICs only if that gains something.
  Here it gains nothing, so 2 acts like 0.
- With ``NCCL_CROSS_NIC=1``, or 2 without PXN, a ring leaves by a different NIC from the one it came in by. Channels are
  then taken in pairs, and every second server swaps the two, so that rails are not crossed (`ncclTopoPostset`).
- Without PXN and with 0, a ring leaves by the NIC it came in by, over PCIe. PCIe is assumed to be as fast as NVLink.
- RCCL has no PXN by default and crosses rails: its ring of channel c comes in next to GPU c and leaves next to the c-th
  GPU from the end. Two lines of the log in the Thor2 guide (section 8.7.3.3) show this for channels 0 and 1; it is
  assumed for the other channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters
    from railweave.prediction.collectives.tuning import Choice


FITTED_QPS = 8
"""Queue pairs of a connection up to which all-to-all was compared with published rows; beyond, a post is likely to cost more."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of one collective. Each channel has an equal part of the link between GPUs (assumed: all are busy)."""

    launch_ps: int
    gpu_hop_ps: int
    network_hop_ps: int
    ps_per_byte: float

    @classmethod
    def of(cls, job: Job, choice: Choice) -> Pace:
        """The pace of a choice in a job."""
        ps_per_byte = 8000 / job.servers[0].link.gbps * choice.channels
        return cls(choice.launch_ps, choice.gpu_hop_ps, choice.network_hop_ps, ps_per_byte)

    @overload
    def hops(self, count: int, size_bytes: int) -> int: ...
    @overload
    def hops(self, count: int | NDArray[np.int64], size_bytes: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def hops(self, count: int | NDArray[np.int64], size_bytes: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Store and forward over ``count`` hops inside a server."""
        time = count * (self.gpu_hop_ps + size_bytes * self.ps_per_byte)
        return round(time) if isinstance(time, float | int) else time.astype("int64")


Collective = Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"]

COLLECTIVES: tuple[Collective, ...] = get_args(Collective)


def bus_factor(collective: Collective, ranks: int) -> float:
    """The factor for ``ranks`` ranks; with one rank it is 0 where nothing is moved."""
    if collective == "all-reduce":
        return 2 * (ranks - 1) / ranks
    if collective in {"broadcast", "send-recv"}:
        return 1.0
    return (ranks - 1) / ranks


MOST_CHANNELS = 32
"""``MAXCHANNELS`` of NCCL 2.23."""


@dataclass(frozen=True)
class Rings:
    """The ring of each channel. Both arrays have a row for each channel and a column for each server."""

    enter: NDArray[np.int64]
    leave: NDArray[np.int64]
    """Places of NICs in their server."""
    hops: int
    """Hops between GPUs of a server from the one that receives to the one that sends."""

    @property
    def channels(self) -> int:
        """Return the number of channels."""
        return len(self.enter)


def channel_count(job: Job, nccl: Parameters) -> int:
    """Return the number of channels of the communicator: two per NIC, within the configured limits (`ncclTopoPostset`)."""
    count = min(2 * job.nics_per_server, MOST_CHANNELS, nccl["NCCL_MAX_NCHANNELS"], nccl["NCCL_MAX_CTAS"])
    return max(count, nccl["NCCL_MIN_NCHANNELS"], nccl["NCCL_MIN_CTAS"])


def nic_of_channel(job: Job, channels: int) -> NDArray[np.int64]:
    """By channel: the place of its NIC."""
    return np.arange(channels) % job.nics_per_server


def _crosses(job: Job, nccl: Parameters) -> bool:
    """Return whether a ring leaves a server by a different NIC from the one it came in by."""
    asked = nccl["NCCL_CROSS_NIC"] == 1 or (nccl["NCCL_CROSS_NIC"] == 2 and nccl["NCCL_PXN_DISABLE"] == 1)
    return job.nics_per_server > 1 and asked


def ring_hops(job: Job, nccl: Parameters) -> int:
    """Hops between GPUs of a server from the one that receives to the one that sends; PXN is one more."""
    gpus = job.gpus_per_server
    return gpus - 1 + int(gpus > 1 and not _crosses(job, nccl))


def rings(job: Job, nccl: Parameters, channels: int) -> Rings:
    """Return the NICs that the rings of ``channels`` channels use in each server."""
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
    """The GPUs of a server in the order of a ring that comes in and leaves by these NICs.

    From a GPU beside the first to one beside the second; between them, and where both are the same NIC, in order from the
    first on (assumed: any order does as well where all GPUs reach each other alike).
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
