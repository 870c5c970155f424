"""Shares of a switch's packet buffer: that of one port, and that which dynamic thresholds leave to several users."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel


LEAST_THRESHOLD = 0
"""The lowest index of a dynamic threshold: alpha 1/128."""

MOST_THRESHOLD = 10
"""The highest index of a dynamic threshold: alpha 8 (docs/fabric-file.md, ``qos``)."""


def alpha(index: int) -> float:
    """Return alpha of a dynamic threshold, 2^(index-7): 1/128 to 8 for an index of 0 to 10 (Broadcom).

    A configuration that was read may have an index outside this range, which no chip has. The nearest index then stands
    for it, and the check ``incomplete-config`` names it.
    """
    return 2.0 ** (min(max(index, LEAST_THRESHOLD), MOST_THRESHOLD) - 7)


def port_share_bytes(model: SwitchModel, percent: int, speed_gbps: int) -> int:
    """Return the bytes that fill levels are percent of: a port's part of an egress pool.

    The pool is ``percent`` of the buffer. All ports have the same part if they queue alike.
    ``speed_gbps`` is the speed of the switch's fastest cables. A published measurement decided which reading applies
    (docs/validation.md).
    """
    return round(model.buffer.shared_mb * 1e6 * percent / 100 / ports_at(model, speed_gbps))


def ports_at(model: SwitchModel, speed_gbps: int) -> int:
    """Return the number of ports of a speed that a switch has."""
    return max(1, sum(group.count * max(1, group.speed_gbps // max(1, speed_gbps)) for group in model.ports))


def held_share(index: int, users: int = 1) -> float:
    """The share of a pool that ``users`` equal users hold together when each reaches a dynamic threshold.

    A threshold is ``alpha`` times what is free of the pool.
    """
    return 1 / (1 + 1 / alpha(index) / users)
