"""The messages of a collective, and what each waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLEAR_TO_SEND_BYTES = 64
"""What a receiver writes to say that a buffer is free: ``struct ncclIbSendFifo`` (NCCL 2.23, ``net_ib.cc``)."""


@dataclass(frozen=True)
class Program:
    """What a collective puts on the network.

    Times are in ps, bytes are payload of RDMA messages (with the flags of LL and LL128). A message of 0 bytes is sent all
    the same, as NCCL does.
    """

    connections: NDArray[np.uint32]
    """Rows: sending NIC, receiving NIC, channel. A NIC is its place in ``Job.nics``."""
    credit: NDArray[np.bool_]
    """By connection: whether its messages are clear-to-send. They go back on the queue pairs of the data."""
    connection: NDArray[np.uint32]
    """By message. Those of a connection are in the order in which they are sent."""
    bytes: NDArray[np.uint64]
    delay_ps: NDArray[np.uint64]
    """By message: when it may be sent, or how long after the last of those it waits for arrived. With credit, messages that
    wait go by ``after_delay_ps`` alone: a credit message lets go at once, data only when the GPUs have passed it on."""
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    """Message m waits for ``after[after_start[m] : after_start[m + 1]]``, which arrive at NICs of its sender's server."""
    after_delay_ps: NDArray[np.uint64]
    """By entry of ``after``: how long after that arrival m may be sent. Without credit it is ``delay_ps[m]`` in every entry."""
    tail_ps: int
    """From the last arrival to the end: what is left to do inside servers."""
    floor_ps: int
    """The collective takes at least this: what the links between the GPUs of a server need for their share."""
    size_bytes: int
    """As nccl-tests counts it."""
    bus_factor: float
    """Bus bandwidth is size / time x this (``bus_bandwidth.py``)."""
    algorithm: str
    protocol: str
    channels: int

    @property
    def messages(self) -> int:
        """How many."""
        return len(self.bytes)

    def bus_bandwidth_gbytes(self, time_ps: int) -> float:
        """Bus bandwidth in 10^9 byte/s, as nccl-tests prints it, of a collective that took this long."""
        return self.size_bytes / time_ps * 1e3 * self.bus_factor


def csr(
    messages: int, waiting: NDArray[np.int64], awaited: NDArray[np.int64], delay_ps: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64]]:
    """``after_start``, ``after`` and ``after_delay_ps`` of pairs (message that waits, message it waits for), in any order."""
    start = np.zeros(messages + 1, np.uint64)
    start[1:] = np.cumsum(np.bincount(waiting, minlength=messages))
    if bool((waiting[1:] < waiting[:-1]).any()):
        order = np.argsort(waiting, kind="stable")
        awaited, delay_ps = awaited[order], delay_ps[order]
    return start, awaited.astype(np.uint32), delay_ps.astype(np.uint64)


def waiting_of(program: Program) -> NDArray[np.int64]:
    """The message that waits, for each entry of ``after``."""
    return np.repeat(np.arange(program.messages), np.diff(program.after_start.astype(np.int64)))
