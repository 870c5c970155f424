"""Thresholds in bytes, for systems that do not take shares of a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.catalog.models import SwitchModel
    from railweave.spec.qos import Buffers


def queue_bytes(buffers: Buffers, model: SwitchModel, speeds_gbps: Iterable[int]) -> int:
    """What fill levels of drop profiles are percent of: a port's part of the egress pool if all ports queue alike.

    Thresholds of the chip are numbers of cells, set once, while what a queue may take changes all the time; Junos does not
    document what it takes for the whole. With this 55..90 % is 0.6..0.9 MB on a QFX5240 with 400G ports, near the 1..2 MB
    that other vendors configure on such chips. Which reading it is was decided by a published row (docs/validation.md).
    """
    speed = max(speeds_gbps, default=model.ports[0].speed_gbps)
    ports = max(1, sum(group.count * max(1, group.speed_gbps // speed) for group in model.ports))
    return round(model.buffer.shared_mb * 1e6 * buffers.egress_lossless / 100 / ports)


def in_cells(size: float, model: SwitchModel) -> int:
    """Bytes rounded up to whole cells, the unit in which the buffer is given out."""
    cell = model.buffer.cell_bytes
    return -(-int(size) // cell) * cell
