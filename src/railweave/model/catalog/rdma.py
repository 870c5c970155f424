"""RDMA messages: the cost of splitting messages over queue pairs, and the RDMA MTU that fits into IP packets."""

from __future__ import annotations

from typing import Literal

QUEUE_PAIRS, SPLIT = "NCCL_IB_QPS_PER_CONNECTION", "NCCL_IB_SPLIT_DATA_ON_QPS"
"""NCCL's variables for the queue pairs of a connection, and for splitting each message over all of them."""

PLUGIN = "railweave"
"""The name of railweave's net plugin in NCCL_NET_PLUGIN and NCCL_NET."""

POST_COST_PS = 670_000
"""Picoseconds that NCCL's network proxy takes, per NIC, to post a message.

A message carries data on one queue pair, or grants the sender a free buffer of the receiver. The value is fitted:
docs/validation.md, "What was fitted".
"""

POINT_TO_POINT_BYTES = 128 << 10
"""The size in bytes of a network message of an all-to-all (NCCL 2.23 ``init.cc``, P2pNetChunkSize)."""

COSTLY = 0.1
"""The relative slowdown of a collective above which a finding names the setting that causes the slowdown."""


def split_cost(port_gbps: float, ports: int, queue_pairs: int) -> float:
    """Return an upper bound of the relative slowdown of an all-to-all if each message is split over all queue pairs. 0 means no slowdown.

    ``port_gbps`` is the speed of a NIC's port, and ``ports`` the number of its ports. ``queue_pairs`` is the number of queue pairs of a
    connection on each port. With and without splitting, the time is limited either by the wire or by the posting of messages. Predictions
    include further costs, so they are more precise (``tests/prediction/simulation/test_splitting.py`` compares the two).
    """
    wire_ps = POINT_TO_POINT_BYTES * 8e3 / (port_gbps * ports)
    whole_ps = (ports + 1) * POST_COST_PS
    split_ps = (queue_pairs * ports + 1) * POST_COST_PS
    return max(split_ps / max(wire_ps, whole_ps) - 1, 0.0)


RDMA_MTUS = (256, 512, 1024, 2048, 4096)
"""The RDMA MTUs that InfiniBand defines, in bytes of payload."""

ADAPTIVE_WINDOW = 512
"""Packets that a queue pair may have outstanding on a NIC with adaptive routing.

Source: long-haul article. At 32 Gb/s and 490 us, 467 packets of 4194 bytes are outstanding; 512 is the next power of
two.
"""

LONGEST_HEADER = {"ipv4": 20 + 8 + 12 + 28 + 4, "ipv6": 40 + 8 + 12 + 28 + 4}
"""The longest headers of an RDMA packet in bytes, by address family.

The sum covers IP, UDP, the base transport header, the longest extended header (atomic) and the invariant CRC.
"""


def rdma_mtu(ip_mtu: int, family: Literal["ipv4", "ipv6"]) -> int:
    """Return the largest RDMA MTU whose packets, with headers, fit into IP packets of ``ip_mtu`` bytes.

    Return the smallest RDMA MTU if none fits.
    """
    return max((size for size in RDMA_MTUS if size + LONGEST_HEADER[family] <= ip_mtu), default=RDMA_MTUS[0])
