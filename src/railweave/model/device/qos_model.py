"""Quality of service of a switch as it is configured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.device.classes import Buffers, TrafficClass, Watchdog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
