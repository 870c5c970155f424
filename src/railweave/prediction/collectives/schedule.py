"""NCCL's order of peers in grouped sends and receives, and the channels of each transfer.

Source: NCCL 2.23 ``init.cc`` (p2pSchedule), ``include/channel.h`` (ncclP2pChannelBaseForRound), ``include/device.h``
(ncclP2pChannelForPart), ``enqueue.cc`` (addP2pToPlan, scheduleP2pTasksToPlan), ``graph/paths.cc``
(ncclTopoComputeP2pChannels). In round r every rank sends to one peer and receives from another. A channel works on up
to 8 rounds at a time, and begins the next 8 when these are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters

BATCH = {"NCCL": 8, "RCCL": 1}
"""The number of rounds that a channel works on at a time, by library.

NCCL: `NCCL_MAX_DEV_WORK_P2P_PER_BATCH`. In RCCL 2.21, a channel works on one send and one receive at a time
(`NCCL_MAX_WORK_ELEMENTS_P2P` 2, ``include/device.h``).
"""


def deltas(count: int) -> list[int]:
    """Return the distance from sender to receiver in each round, for ``count`` servers or GPUs.

    The distances are triangular numbers (0, 1, 3, 6, …) modulo a power of two, the smallest that is not below ``count``. Results of
    ``count`` or more are left out. For ``count`` 16, the distances are 0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8.
    """
    power = 1 << (count - 1).bit_length()
    return [delta for turn in range(power) if (delta := turn * (turn + 1) // 2 % power) < count]


def rccl_deltas(count: int) -> list[int]:
    """Return the distance from sender to receiver in each round in RCCL 2.21 (``init.cc``).

    First come 0 and half of ``count``. Then, for s = 1, 2 and so on, come s, ``count`` - s, half - s and half + s. For ``count`` 8, the
    result is 0, 4, 1, 7, 3, 5, 2, 6.
    """
    order = [
        delta
        for step in range(count // 4 + 1)
        for delta in (step, (count - step) % count, count // 2 - step, (count - (count // 2 - step)) % count)
    ]
    return list(dict.fromkeys(order))


@dataclass(frozen=True)
class Rounds:
    """The rounds of point-to-point communication. Each array has one value per round; in a round, all ranks send over the same distance.

    - ``server``: the distance from the sender's server to the receiver's server, as a difference of indexes in the job.
    - ``gpu``: the distance from the sender's position in its server to the receiver's position in its server, in GPUs.
    - ``base``: the index of the channel that carries the first part of each transfer. NCCL splits a transfer into
      parts, one per channel.

    Distances wrap around: after the last server, or the last GPU of a server, comes the first.
    """

    server: NDArray[np.int64]
    gpu: NDArray[np.int64]
    base: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class P2pChannels:
    """The numbers of channels for point-to-point communication. All are powers of two.

    - ``total``: the number of all channels.
    - ``least``: the number of channels that a transfer normally uses, one for each of its parts. A small transfer uses fewer.
    - ``per_peer``: the largest number of channels that one transfer may use. A transfer uses more than ``least`` if its
      parts would be larger than a chunk.
    """

    total: int
    per_peer: int
    least: int

    def of_part(self, base: NDArray[np.int64], part: int) -> NDArray[np.int64]:
        """Return the channel of part ``part`` of transfers whose first part is on channel ``base``."""
        return (base + _reversed(np.array(part), self.total)) % self.total


def p2p_channels(job: Job, nccl: Parameters, channels: int) -> P2pChannels:
    """Return the numbers of channels that point-to-point communication uses. ``nccl`` has NCCL's parameters."""
    total = max(min(channels, nccl["NCCL_MAX_P2P_NCHANNELS"]), nccl["NCCL_MIN_P2P_NCHANNELS"])
    per_peer = nccl["NCCL_NCHANNELS_PER_NET_PEER"]
    if per_peer < 0:
        per_peer = 2
        while per_peer * job.ranks > total * 4 and per_peer > 1:
            per_peer //= 2
    total, per_peer = _power_above(total), _power_above(min(per_peer, total))
    least = per_peer
    while least * job.ranks > total and least > 1:
        least //= 2
    return P2pChannels(total, per_peer, least)


def rounds(job: Job, p2p: P2pChannels) -> Rounds:
    """Return all rounds of a job, in the order in which its library runs them. ``p2p`` has the numbers of channels."""
    turn = np.arange(job.ranks)
    group, local = np.divmod(turn, job.gpus_per_server)
    if job.library == "RCCL":  # NCCL's before 2.23: ncclChannelComputeBase
        servers, gpus = np.array(rccl_deltas(len(job.servers))), np.arange(job.gpus_per_server)
        base = (servers[group] + local) % p2p.total
    else:
        servers, gpus = np.array(deltas(len(job.servers))), np.array(deltas(job.gpus_per_server))
        base = group * -(-job.gpus_per_server // BATCH["NCCL"]) + local // BATCH["NCCL"]
    return Rounds(servers[group], gpus[local], _reversed(base, p2p.total))


def parts_of(size_bytes: int, p2p: P2pChannels, step: int) -> int:
    """Return the number of parts into which NCCL splits a transfer, each on a separate channel. ``step`` is the chunk size in bytes.

    ``p2p`` has the numbers of channels.
    """
    parts = min(p2p.least, max(1, -(-size_bytes // (step // 2))))
    part = max(step // 2, -(-size_bytes // parts))
    while part > step and parts <= p2p.per_peer // 2:
        parts *= 2
        part = -(-size_bytes // parts)
    return parts


def batches(
    order: NDArray[np.int64], channel: NDArray[np.int64], each_batch: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two arrays with a value for each use (of one channel in one round): the index of its batch, and its position in that batch.

    A batch is a group of ``each_batch`` successive uses of a channel. ``channel`` has the channel of each use, and ``order`` a number by
    which the uses of a channel are sorted.
    """
    turn = np.empty(len(order), np.int64)
    for each in np.unique(channel):
        mine = np.flatnonzero(channel == each)
        turn[mine[np.argsort(order[mine], kind="stable")]] = np.arange(len(mine))
    return turn // each_batch, turn % each_batch


def _power_above(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _reversed(number: NDArray[np.int64], power: int) -> NDArray[np.int64]:
    """Return each number with its low bits in reverse order. The number of reversed bits is the logarithm of ``power`` (a power of two)."""
    backwards = np.zeros_like(number)
    for bit in range(power.bit_length() - 1):
        backwards = backwards * 2 + (number >> bit & 1)
    return backwards
