"""What every group of BGP sessions is made of, of the underlay and of the overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.tree import block, leaf

if TYPE_CHECKING:
    from railweave.device.model import Session
    from railweave.device.timers import Bfd
    from railweave.systems.junos.tree import Statement


def liveness(bfd: Bfd | None) -> Statement | None:
    """BFD of a group; nothing where there is none."""
    if bfd is None:
        return None
    return block(
        "bfd-liveness-detection", leaf("minimum-interval", bfd.minimum_interval), leaf("multiplier", bfd.multiplier)
    )


def neighbor(session: Session) -> Statement | None:
    """A neighbor that has an address."""
    return block(
        ("neighbor", session.peer_address),
        leaf("description", session.peer),
        leaf("local-address", session.local_address),
        leaf("peer-as", session.peer_as),
    )
