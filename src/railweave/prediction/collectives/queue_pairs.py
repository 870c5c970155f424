"""Splitting of a connection's messages into messages of queue pairs, as in NCCL's InfiniBand transport.

Source: NCCL 2.23 ``net_ib.cc``, `ncclIbMultiSend`. Without splitting, messages use the queue pairs of their connection
one after another. With splitting, every message uses all queue pairs, in equal parts rounded up to 128 bytes. Each part
is an RDMA write with immediate, and is sent even if it has no bytes. A clear-to-send message uses the first queue pair
of the data connection in the opposite direction.

NCCL can merge several ports into one device. Each port then has the full number of queue pairs, and consecutive queue
pairs are on consecutive ports. A message uses at least one queue pair of each port. Clear-to-send messages use the
first queue pair of each port in rotation (NCCL 2.30 ``net_ib/connect.cc`` and ``common.h``: `nqps`, `nDataQps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.program import Program

ALIGN = 128
"""The unit in bytes of the size of parts. With this unit, the flags of LL and LL128 stay with their data."""

MOST_QUEUE_PAIRS = 128
"""The largest number of queue pairs of one connection: ``NCCL_IB_MAX_QPS``."""


@dataclass(frozen=True)
class Split:
    """The parts into which messages are split.

    Part p belongs to message ``message[p]``. Parts of a queue pair are in sending order.
    """

    message: NDArray[np.uint32]
    connection: NDArray[np.uint32]
    queue_pair: NDArray[np.uint32]
    """The queue pair of each part, as an index within its connection."""
    bytes: NDArray[np.uint64]
    first: NDArray[np.uint64]
    """The index of the first part of each message. The parts of message m are ``first[m]`` to ``first[m + 1] - 1``."""


def parts_of(qps_per_connection: int, *, split_data: bool, ports: int = 1) -> int:
    """Return the number of queue pairs that a data message uses.

    ``qps_per_connection`` is the number of queue pairs on each of the NIC's ``ports``. With ``split_data``, a message uses all of them, and
    otherwise one per port.
    """
    return qps_per_connection * ports if split_data else ports


def split(program: Program, qps_per_connection: int, *, split_data: bool, ports: int = 1) -> Split:
    """Split the messages of a program over the queue pairs of their connections.

    ``qps_per_connection`` is the number of queue pairs on each port. With ``split_data``, every data message uses all of them. Queue pair q
    of a connection is on port q mod ``ports``. Raises ``InputError`` if a connection has too many queue pairs or no queue pair.
    """
    every = qps_per_connection * ports
    if not 1 <= every <= MOST_QUEUE_PAIRS:
        each = f" on each of {ports} ports" if ports > 1 else ""
        description = f"{qps_per_connection} queue pairs per connection{each}"
        raise InputError(
            [Problem(Argument("NCCL_IB_QPS_PER_CONNECTION"), description, f"1 to {MOST_QUEUE_PAIRS // ports}")]
        )
    messages = program.messages
    is_credit = program.credit[program.connection]
    over = parts_of(qps_per_connection, split_data=split_data, ports=ports)
    over_all = ~is_credit if over > 1 else np.zeros(messages, np.bool_)
    parts = np.where(over_all, over, 1)
    first = np.zeros(messages + 1, np.int64)
    first[1:] = np.cumsum(parts)
    message = np.repeat(np.arange(messages), parts)
    place: NDArray[np.int64] = np.arange(len(message)) - first[message]
    queue_pair = place
    if ports > 1 or not split_data:  # data takes the queue pairs in turn, clear-to-send the ports
        turn = _turn(program.connection)
        queue_pair = (place + np.where(is_credit, turn % ports, turn * over)[message]) % every
    sizes = program.bytes.astype(np.int64)[message]
    share = np.where(over_all[message], -(-sizes // over), sizes)
    share = np.where(over_all[message], -(-share // ALIGN) * ALIGN, share)
    parted: NDArray[np.int64] = np.clip(sizes - place * share, 0, share)
    return Split(
        message.astype(np.uint32),
        program.connection[message],
        queue_pair.astype(np.uint32),
        parted.astype(np.uint64),
        first.astype(np.uint64),
    )


def waits(program: Program, parts: Split) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64]]:
    """Return the dependencies between the ``parts`` of a program's messages as the arrays ``after_start``, ``after`` and ``after_delay_ps``.

    A part of message m waits for the parts ``after[after_start[m] : after_start[m + 1]]``. If message m waits for message n, all parts of m
    wait for all parts of n. ``after_delay_ps`` has a delay in ps for each member of ``after``.
    """
    first = parts.first.astype(np.int64)
    awaited = program.after.astype(np.int64)
    across = np.diff(first)[awaited]
    start = np.zeros(len(awaited) + 1, np.uint64)
    np.cumsum(across, out=start[1:])
    after = np.repeat((first[awaited] - start[:-1].astype(np.int64)).astype(np.int32), across)
    after += np.arange(len(after), dtype=np.int32)
    return start[program.after_start.astype(np.int64)], after.astype(np.uint32), program.after_delay_ps.repeat(across)


def _turn(connection: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return, for each message, the number of earlier messages on its connection."""
    order = np.argsort(connection, kind="stable")
    counts = np.bincount(connection)
    turn = np.empty(len(connection), np.int64)
    turn[order] = np.arange(len(connection)) - np.repeat(np.cumsum(counts) - counts, counts)
    return turn
