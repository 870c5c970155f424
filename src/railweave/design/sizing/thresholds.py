"""Dynamic thresholds with which ports pause their senders before a lossless queue is full."""

from __future__ import annotations

from railweave.model.catalog.shares import MOST_THRESHOLD, held_share

LOWEST = 1
"""The lowest threshold that every chip has, as an index: alpha 1/64 (lint ``eos-threshold``)."""


def pausing_threshold(ports: int, lossless: int, egress_lossless: int) -> int:
    """Return the highest ingress threshold with which all other ports pause before a queue with the ``MOST_THRESHOLD`` is full.

    ``ports`` is how many links a switch can have, so that the value holds when all are in use. The shares of lossless classes are percent
    of the packet buffer. The check ``lossless-queue-full`` compares the same two amounts.
    """
    queue = egress_lossless * held_share(MOST_THRESHOLD)
    fits = (index for index in range(MOST_THRESHOLD, LOWEST, -1) if lossless * held_share(index, ports - 1) <= queue)
    return next(fits, LOWEST)
