"""AVD: what BGP sessions of the underlay and of the overlay have alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railweave.device.model import Session
    from railweave.device.timers import Bfd


def bfd(found: Bfd | None) -> dict[str, Any]:
    """BFD of a peer group; empty where there is none."""
    if found is None:
        return {}
    every = found.minimum_interval
    return {"bfd": True, "bfd_timers": {"interval": every, "min_rx": every, "multiplier": found.multiplier}}


def neighbor(session: Session, group: str) -> dict[str, Any]:
    """A neighbor that is known by its address."""
    return {
        "ip_address": session.peer_address,
        "peer_group": group,
        "remote_as": str(session.peer_as),
        "description": session.peer,
    }
