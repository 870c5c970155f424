"""RDMA messages: how a NIC splits them over queue pairs, and which MTU fits into IP packets."""

from __future__ import annotations

from typing import Literal

QUEUE_PAIRS, SPLIT = "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS"
"""NCCL's variables: queue pairs of a connection, and whether each message is split over all of them."""

POST_COST_PS = 670_000
"""Time that NCCL's network proxy takes, per NIC, for a message that it posts: a part of data on a queue pair, or a receiver's
credit message that a buffer is free. Fitted: docs/validation.md, "What was fitted"."""

POINT_TO_POINT_BYTES = 128 << 10
"""Bytes that an all-to-all sends at once: one network message (NCCL 2.23 ``init.cc``, P2pNetChunkSize)."""

COSTLY = 0.1
"""A setting that makes a collective longer by more than this part is named."""


def split_cost(port_gbps: float, ports: int, queue_pairs: int) -> float:
    """Return by what part an all-to-all takes longer if each message is split over all queue pairs, at most; 0: it does not.

    ``queue_pairs`` are those of a connection on each port. Either the wire or posting is the limit, of whole messages too. A
    prediction is nearer: it knows what else takes time (``tests/prediction/simulation/test_splitting.py`` lays both side by side).
    """
    wire_ps = POINT_TO_POINT_BYTES * 8e3 / (port_gbps * ports)
    whole_ps = (ports + 1) * POST_COST_PS
    split_ps = (queue_pairs * ports + 1) * POST_COST_PS
    return max(split_ps / max(wire_ps, whole_ps) - 1, 0.0)


RDMA_MTUS = (256, 512, 1024, 2048, 4096)
"""MTUs that InfiniBand defines for RDMA messages, bytes of payload."""

ADAPTIVE_WINDOW = 512
"""Packets a queue pair of a NIC with adaptive routing may have outstanding (long-haul article: 32 Gb/s over 490 us are 467
packets of 4194 bytes, and 512 the next power of two)."""

LONGEST_HEADER = {"ipv4": 20 + 8 + 12 + 28 + 4, "ipv6": 40 + 8 + 12 + 28 + 4}
"""IP, UDP, base transport, the longest extended transport header (atomic) and the invariant CRC."""


def rdma_mtu(ip_mtu: int, family: Literal["ipv4", "ipv6"]) -> int:
    """The largest RDMA MTU that fits in IP packets of ``ip_mtu`` bytes with its headers; the smallest where none does."""
    return max((size for size in RDMA_MTUS if size + LONGEST_HEADER[family] <= ip_mtu), default=RDMA_MTUS[0])
