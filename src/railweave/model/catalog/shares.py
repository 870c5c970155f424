"""Shares of a switch's packet buffer: the share of a port, and the share of queues or ports with dynamic thresholds together."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel


LEAST_THRESHOLD = 0
"""The lowest index of a dynamic threshold: alpha 1/128."""

MOST_THRESHOLD = 10
"""The highest index of a dynamic threshold: alpha 8 (docs/fabric-file.md, ``qos``)."""


def alpha(index: int) -> float:
    """Return alpha of a dynamic threshold from its index, 2^(index-7): 1/128 to 8 for an index of 0 to 10 (Broadcom).

    A configuration may contain an index outside this range, which no chip supports. The nearest valid index is then
    used, and the check ``incomplete-config`` reports the invalid index.
    """
    return 2.0 ** (min(max(index, LEAST_THRESHOLD), MOST_THRESHOLD) - 7)


def port_share_bytes(model: SwitchModel, percent: int, speed_gbps: int) -> int:
    """Return the size in bytes of one port's part of an egress pool. This size is the base (100 percent) of queue fill levels.

    The pool is ``percent`` of the buffer, divided equally among all ports at ``speed_gbps``, the speed of the switch's
    fastest cables. No vendor documents the base of the fill-level percentage. This base matches a published measurement
    (docs/validation.md).
    """
    return round(model.buffer.shared_mb * 1e6 * percent / 100 / ports_at(model, speed_gbps))


def ports_at(model: SwitchModel, speed_gbps: int) -> int:
    """Return the number of ports of a speed that a switch has if all its ports are split to this speed."""
    return max(1, sum(group.count * max(1, group.speed_gbps // max(1, speed_gbps)) for group in model.ports))


def held_share(index: int, users: int = 1) -> float:
    """Return the share (0 to 1) of a pool that ``users`` queues or ports fill together if each holds as much as its dynamic threshold allows.

    ``index`` is the index of the threshold (see ``alpha``). The threshold of each user is alpha times the part of the pool that is still
    free.
    """
    return 1 / (1 + 1 / alpha(index) / users)
