"""Time that NCCL's proxies take to post messages, and the cost of splitting each message over all queue pairs of a connection.

A proxy posts one write after another for its NIC: each part of a message, and a word for each buffer that is free. Messages that
are not split take the queue pairs of their connection in turn, so several that are under way fill all paths as well.
"""

from __future__ import annotations

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
