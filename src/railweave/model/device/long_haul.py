"""What long links ask of a job: queue pairs and buffers that fill them in spite of the delay.

Two windows bound what is under way. A queue pair of a NIC with adaptive routing has at most so many packets outstanding,
so its rate is window over round trip (long-haul article, Delay Impact). NCCL sends into a channel's buffer only after the
word has come back that the data before was taken out of it, so a channel's rate is buffer over round trip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.posting import QUEUE_PAIRS, SPLIT
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW

if TYPE_CHECKING:
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network

PAYLOAD = 4096
"""Bytes of a full RDMA packet (long-haul article: "4096 worth of data")."""

BESIDE_THE_WAY = 0.03
"""Routers and NICs add at most this part of the propagation delay (long-haul article, Delay Impact)."""

CHANNELS_PER_NIC = 2
"""Channels that cross by each NIC: what NCCL took in the article, four with two NICs."""

BUFFER_FACTOR = 8
"""Buffers are this much larger than what fills the link by arithmetic. Fitted: the article found 128 MB close to the most that
it could get where 12.6 MB a channel would do."""


@dataclass(frozen=True, slots=True)
class LongHaul:
    """What the longest link of a fabric asks of a job, and the arithmetic behind it.

    ``queue_pairs`` fill a NIC; None where no window bounds them, without adaptive routing. ``buffer_floor_bytes`` is what a
    channel's buffer must hold by arithmetic.
    """

    one_way_us: float
    round_trip_us: float
    nic_gbps: int
    queue_pair_gbps: float | None
    queue_pairs: int | None
    per_connection: int | None
    channels: int
    buffer_floor_bytes: int
    buffer_bytes: int


def one_way_us(length_m: float, delay_us: int | None) -> float:
    """How long light takes along a cable, as measured or by its length."""
    physics = catalog().physics
    return delay_us if delay_us is not None else length_m / (physics.velocity_factor * physics.light_m_per_s) * 1e6


def long_haul(network: Network, fabric: Fabric) -> LongHaul | None:
    """The arithmetic of a fabric that spans sites; None for others, and without NICs."""
    far = [one_way_us(one.length_m, one.delay_us) for one in network.long_links(fabric.name)]
    if fabric.interconnect is None or not far or fabric.name not in network.most_nics:
        return None
    nics, nic_gbps = network.most_nics[fabric.name]
    adaptive = fabric.load_balancing.group_mode() in {"dlb-per-packet", "spray"}
    round_trip = 2 * max(far) * (1 + BESIDE_THE_WAY)
    each = ADAPTIVE_WINDOW * PAYLOAD * 8 / round_trip / 1e3
    needed = math.ceil(nic_gbps / each)
    floor = math.ceil(nic_gbps / CHANNELS_PER_NIC * round_trip / 8 * 1e3)
    return LongHaul(
        one_way_us=max(far),
        round_trip_us=round_trip,
        nic_gbps=nic_gbps,
        queue_pair_gbps=each if adaptive else None,
        queue_pairs=needed if adaptive else None,
        per_connection=_power_of_two(math.ceil(needed / CHANNELS_PER_NIC)) if adaptive else None,
        channels=CHANNELS_PER_NIC * nics,
        buffer_floor_bytes=floor,
        buffer_bytes=_power_of_two(floor * BUFFER_FACTOR),
    )


def environment(found: LongHaul) -> dict[str, tuple[str, str]]:
    """Variables of a job with their value and reason."""
    variables = {
        "NCCL_MIN_CTAS": (
            str(found.channels),
            f"{CHANNELS_PER_NIC} channels by each NIC, for which queue pairs and buffers are counted",
        ),
        "NCCL_BUFFSIZE": (
            str(found.buffer_bytes),
            (
                f"a channel's buffer: {found.nic_gbps / CHANNELS_PER_NIC:g} Gb/s x {found.round_trip_us:.0f} us are "
                f"{found.buffer_floor_bytes / 1e6:.1f} MB, times {BUFFER_FACTOR} as measured over 50 km, to a power of two"
            ),
        ),
    }
    if found.per_connection is not None and found.queue_pair_gbps is not None:
        why = (
            f"{found.queue_pairs} queue pairs of {found.queue_pair_gbps:.1f} Gb/s fill a NIC ({ADAPTIVE_WINDOW} packets "
            f"of {PAYLOAD} B in {found.round_trip_us:.0f} us), over {CHANNELS_PER_NIC} channels, to a power of two"
        )
        variables[QUEUE_PAIRS] = (str(found.per_connection), why)
        variables[SPLIT] = ("1", "every message is split over all queue pairs")
    return variables


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()
