"""RDMA messages in IP packets: which MTU fits."""

from __future__ import annotations

from typing import Literal

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
