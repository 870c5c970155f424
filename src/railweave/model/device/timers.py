"""Protocol timers on a device's links: BFD and router advertisements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from railweave.model.config.addresses import Prefix


@dataclass(frozen=True, slots=True)
class Bfd:
    """The settings of bidirectional forwarding detection.

    ``minimum_interval`` is the time between BFD packets, in milliseconds.
    """

    enabled: bool = True
    minimum_interval: int = 1000
    multiplier: int = 3

    def detection_ms(self) -> int:
        """Return the detection time in milliseconds (RFC 5880, section 6.8.4)."""
        return self.minimum_interval * self.multiplier


@dataclass(frozen=True, slots=True)
class RouterAdvertisements:
    """The router advertisements on a server-facing interface (RFC 4861), with route information options (RFC 4191).

    Lifetimes and intervals are in seconds. ``reachable_time`` and ``retransmit_timer`` are in milliseconds.
    """

    prefix_valid_lifetime: int = 2_592_000
    prefix_preferred_lifetime: int = 604_800
    router_lifetime: int = 1800
    on_link: bool = True
    autonomous: bool = True
    managed: bool = False
    other: bool = False
    min_interval: int = 200
    max_interval: int = 600
    reachable_time: int = 0
    retransmit_timer: int = 0
    hop_limit: int = 64
    link_mtu: bool = False
    routes: tuple[Prefix, ...] = ()
    route_lifetime: int = 1800
    route_preference: Literal["low", "medium", "high"] = "medium"
