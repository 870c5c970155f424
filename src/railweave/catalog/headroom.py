"""PFC headroom of one port, from the physics of its link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.catalog.models import Catalog


def headroom_bytes(catalog: Catalog, length_m: float, speed_gbps: int, mtu_bytes: int) -> int:
    """Buffer that one port and priority needs to absorb what arrives after it sends PFC XOFF.

    2 x length / (0.66 c) x rate + 2 MTU + peer response + pipeline (catalog/physics.yaml); about 142 KB for 400 Gb/s
    over 100 m.
    """
    physics = catalog.physics
    flight_s = 2 * length_m / (physics.velocity_factor * physics.light_m_per_s)
    return round(flight_s * speed_gbps * 1e9 / 8) + 2 * mtu_bytes + physics.peer_response_bytes + physics.pipeline_bytes
