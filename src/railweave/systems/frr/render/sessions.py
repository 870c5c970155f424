"""What the sessions of the underlay and of the overlay are both made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.config.sections import Section, section

if TYPE_CHECKING:
    from railweave.device.model import Session
    from railweave.device.timers import Bfd


def profile(name: str, bfd: Bfd | None) -> Section | None:
    """A BFD profile; nothing where there is no BFD."""
    if bfd is None:
        return None
    return section(
        f"profile {name}",
        f"detect-multiplier {bfd.multiplier}",
        f"receive-interval {bfd.minimum_interval}",
        f"transmit-interval {bfd.minimum_interval}",
    )


def neighbor(session: Session, group: str) -> list[str]:
    """A neighbor that has an address, in its peer group."""
    return [
        f"neighbor {session.peer_address} remote-as {session.peer_as}",
        f"neighbor {session.peer_address} peer-group {group}",
        f"neighbor {session.peer_address} description {session.peer}",
    ]


def community_word(value: str) -> str:
    """What FRR calls a community of three numbers, or of two."""
    return "large-community" if value.count(":") == 2 else "community"
