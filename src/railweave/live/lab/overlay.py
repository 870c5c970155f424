"""Timers that a lab uses in place of the design's. They last seconds, so that tests can wait for detection and recovery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from railweave.json_values import JsonObject

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, Gateway


MOST_FAST_ENDS = 256
"""The largest number of ends of BFD sessions that use the lab's short interval.

With an interval of 100 ms, this number of ends uses half a processor (as measured; 128 ends use a quarter).
"""

SLOWER = 3
"""The factor by which BFD intervals of EVPN sessions are longer than the BFD intervals of links, as in the design.

The underlay then has time to switch over first.
"""


@dataclass(frozen=True, slots=True)
class Overlay(JsonObject):
    """Timers of a lab.

    The lifetimes are sent in router advertisements (RFC 4861): the lifetime of the router, and the valid and the
    preferred lifetime of its prefixes. Each is several intervals long, so that addresses survive if a busy machine
    sends an advertisement late.
    """

    bfd_interval_ms: int = 100
    bfd_multiplier: int = 3
    ra_interval_s: int = 4
    ra_router_lifetime_s: int = 16
    ra_preferred_lifetime_s: int = 20
    ra_valid_lifetime_s: int = 40

    def fitting(self, ends: int) -> Overlay:
        """Return these timers for a lab with ``ends`` ends of BFD sessions.

        If there are more than ``MOST_FAST_ENDS`` ends, the BFD intervals are longer, to save processor time.
        """
        return replace(
            self, bfd_interval_ms=max(self.bfd_interval_ms, -(-self.bfd_interval_ms * ends // MOST_FAST_ENDS))
        )

    def sentence(self) -> str:
        """Return a sentence that lists the timers."""
        return (
            f"BFD {self.bfd_interval_ms} ms x {self.bfd_multiplier}; router advertisements every {self.ra_interval_s} s, "
            f"router {self.ra_router_lifetime_s} s, prefixes preferred {self.ra_preferred_lifetime_s} s and valid "
            f"{self.ra_valid_lifetime_s} s"
        )

    def applied(self, config: DeviceConfig) -> DeviceConfig:
        """Return a device's configuration with these timers in place of the designed timers."""
        bgp = config.bgp
        if bgp is not None and bgp.bfd is not None:
            timers = {"minimum_interval": self.bfd_interval_ms, "multiplier": self.bfd_multiplier}
            bgp = replace(bgp, bfd=replace(bgp.bfd, **timers))
        isis = config.isis
        if isis is not None and isis.bfd is not None:
            timers = {"minimum_interval": self.bfd_interval_ms, "multiplier": self.bfd_multiplier}
            isis = replace(isis, bfd=replace(isis.bfd, **timers))
        overlay = config.overlay
        if overlay is not None and overlay.bfd is not None:
            timers = {"minimum_interval": SLOWER * self.bfd_interval_ms, "multiplier": self.bfd_multiplier}
            overlay = replace(overlay, bfd=replace(overlay.bfd, **timers))
        gateways = tuple(self._gateway(gateway) for gateway in config.gateways)
        return replace(config, bgp=bgp, isis=isis, overlay=overlay, gateways=gateways)

    def _gateway(self, gateway: Gateway) -> Gateway:
        if gateway.advertisements is None:
            return gateway
        timers: dict[str, Any] = {
            "max_interval": self.ra_interval_s,
            "min_interval": 3,
            "router_lifetime": self.ra_router_lifetime_s,
            "prefix_preferred_lifetime": self.ra_preferred_lifetime_s,
            "prefix_valid_lifetime": self.ra_valid_lifetime_s,
        }
        return replace(gateway, advertisements=replace(gateway.advertisements, **timers))
