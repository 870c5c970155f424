"""The QoS configuration of a switch: traffic classes, queue shares, ECN marking, PFC and buffers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Ecn:
    """The ECN marking of a queue.

    The marking probability rises linearly between two fill levels (in percent of the queue), up to ``max_probability``
    percent.

    ``min_bytes`` and ``max_bytes`` are the thresholds on systems that use bytes. None selects the system's own thresholds.
    """

    min_fill: int = 55
    max_fill: int = 90
    max_probability: int = 100
    min_bytes: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TrafficClass:
    """A forwarding class: its DSCPs, queue, scheduling and marking.

    None selects the system's default in these fields:

    - ``transmit_percent``: the weight of the queue, or the rate cap of a strict class, in percent of the port's rate.
    - ``buffer_percent``: the queue's dedicated buffer, in percent.
    - ``dynamic_threshold``: the index of the queue's threshold in the shared buffer; alpha = 2^(index - 7).
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
    """The partition of the shared packet buffer, in percent.

    - ``dedicated_*``: percent of the default dedicated buffer. None leaves the default unchanged.
    - ``egress``: ``system`` leaves the egress partition unconfigured. The ``egress_*`` fields then hold the system's own values.
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
    """The PFC watchdog, which acts on a stuck queue.

    A queue counts as stuck after ``detection`` polls, ``poll_interval`` ms apart. The action lasts ``recovery`` ms.
    """

    poll_interval: int = 100
    detection: int = 2
    recovery: int = 200
    action: Literal["drop", "forward"] = "drop"


@dataclass(frozen=True, slots=True)
class PfcProfile:
    """The PFC settings of ports with the same cable length, MRU and speed.

    ``headroom_bytes`` is the most that one of these ports may take from the switch's headroom pool for a priority, in whole
    buffer cells. The pool itself is sized by the ports' needs, which may be smaller than these limits (``model.catalog.headroom``).
    """

    name: str
    cable_length_m: int
    mru_bytes: int
    headroom_bytes: int
    ports: tuple[str, ...]


def pfc_profiles(ports: Mapping[tuple[int, int, int], tuple[int, Sequence[str]]]) -> tuple[PfcProfile, ...]:
    """Return one PFC profile for each combination of cable length, MRU and speed.

    ``ports`` maps (length in metres, MRU in bytes, speed in Gb/s) to (headroom in bytes, port names). The name of a profile
    includes the MRU or the speed only if two profiles would otherwise have the same name.
    """
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
    """The byte thresholds of ECN marking.

    Marking starts at the queue length ``first`` and reaches ``probability`` percent at ``last``.
    """

    first: int
    last: int
    probability: int


@dataclass(frozen=True, slots=True)
class QosConfig:
    """The QoS configuration of a device.

    - ``ports``: the ports with QoS. They are listed one by one, so that unused ports reserve no headroom.
    - ``default_class``: the class of every DSCP that no class lists.
    - ``marking``: byte thresholds by class, on systems that use bytes. On other systems, the fill levels of each class
      apply.
    - ``moved``: the classes that have a different queue on the system than in the fabric file, as (class, queue in the fabric file,
      queue on the system).
    - ``shared_buffer``: False if the platform has no partitions to set. ``buffers`` then holds the fabric file's
      values, which only other platforms use.
    - ``ipv6_classifiers``: False if the IPv4 classifier applies to packets of both families.
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
