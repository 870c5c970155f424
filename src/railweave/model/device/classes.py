"""Traffic classes of a device, the partition of its packet buffer, and the PFC watchdog.

What each field means, with its source, is in docs/fabric-file.md (``qos``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Ecn:
    """ECN marking of a queue: linear between two fill levels, percent, up to ``max_probability`` percent.

    ``min_bytes`` and ``max_bytes`` are the thresholds where a system counts bytes; None: the system's own.
    """

    min_fill: int = 55
    max_fill: int = 90
    max_probability: int = 100
    min_bytes: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A forwarding class: which DSCPs, which queue, how it is served and marked.

    ``transmit_percent`` is a weight, or the cap of a strict class, percent of the port's rate; ``buffer_percent`` the queue's
    dedicated buffer; ``dynamic_threshold`` an index, alpha = 2^(index - 7). None: the system's default.
    """

    queue: int
    dscp: tuple[int, ...] = ()
    lossless: bool = False
    pfc_priority: int | None = None
    priority: Literal["low", "strict-high"] = "low"
    transmit_percent: int | None = None
    buffer_percent: int | None = None
    dynamic_threshold: int | None = None
    ecn: Ecn | None = None


@dataclass(frozen=True, slots=True)
class Buffers:
    """Partition of the shared packet buffer, percent; ``dedicated_*`` are percent of the default, None: unchanged.

    ``egress`` ``system``: the egress partition is not configured, and ``egress_*`` are what the system has by itself.
    """

    lossless: int = 80
    headroom: int = 10
    lossy: int = 10
    egress: Literal["designed", "system"] = "designed"
    egress_lossless: int = 80
    egress_lossy: int = 10
    egress_multicast: int = 10
    ingress_dynamic_threshold: int = 7
    dedicated_ingress: int | None = None
    dedicated_egress: int | None = None


@dataclass(frozen=True, slots=True)
class Watchdog:
    """PFC watchdog: after ``detection`` polls (``poll_interval`` ms) it acts on a stuck queue for ``recovery`` ms."""

    poll_interval: int = 100
    detection: int = 2
    recovery: int = 200
    action: Literal["drop", "forward"] = "drop"
