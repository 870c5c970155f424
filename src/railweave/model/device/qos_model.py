"""Quality of service of a switch as it is configured: traffic classes, shares of queues, marking, PFC and buffers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


@dataclass(frozen=True, slots=True)
class PfcProfile:
    """PFC as ports of one cable length, MRU and speed need it. ``headroom_bytes`` is the most that one of them may take, whole cells."""

    name: str
    cable_length_m: int
    mru_bytes: int
    headroom_bytes: int
    ports: tuple[str, ...]


def pfc_profiles(ports: Mapping[tuple[int, int, int], tuple[int, Sequence[str]]]) -> tuple[PfcProfile, ...]:
    """Profiles of ports by cable length, MRU and speed, with their headroom; names say no more than tells profiles apart."""
    mrus = {mru for _, mru, _ in ports}
    speeds = Counter((length, mru) for length, mru, _ in ports)
    return tuple(
        PfcProfile(
            f"pfc-{length}m" + (f"-{mru}" if len(mrus) > 1 else "") + (f"-{speed}g" if speeds[length, mru] > 1 else ""),
            length,
            mru,
            headroom,
            tuple(names),
        )
        for (length, mru, speed), (headroom, names) in sorted(ports.items())
    )


@dataclass(frozen=True, slots=True)
class Marking:
    """ECN marking of a queue by its length in bytes: from ``first`` on, with ``probability`` percent at ``last``."""

    first: int
    last: int
    probability: int


@dataclass(frozen=True, slots=True)
class QosConfig:
    """QoS of a device. ``ports`` are the ports it is bound to: no wildcard, so no headroom goes to unused ports.

    ``default_class`` takes every DSCP that no class names. ``marking`` is by class, on systems whose thresholds are
    bytes; on others a class's own fill levels count.
    ``moved`` are classes that the file gives a queue of its own, with that and the one that the system has for them.
    Without ``shared_buffer`` the platform has no partitions to set; ``buffers`` is then what the fabric file wants of others.
    Without ``ipv6_classifiers`` packets of both families go by the classifier for IPv4.
    """

    classes: dict[str, TrafficClass]
    default_class: str
    marking: dict[str, Marking]
    buffers: Buffers
    profiles: tuple[PfcProfile, ...]
    xon_offset_cells: int | None
    watchdog: Watchdog | None
    buffer_monitor: bool
    ports: tuple[str, ...]
    shared_buffer: bool = True
    moved: tuple[tuple[str, int, int], ...] = ()
    ipv6_classifiers: bool = True
