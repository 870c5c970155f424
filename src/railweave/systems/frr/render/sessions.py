"""What the sessions of the underlay and of the overlay are both made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, section

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, Session
    from railweave.model.device.timers import Bfd


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


def watched(bgp: Bgp, group: str, name: str) -> list[str]:
    """BFD of a group. With graceful restart BFD still ends a session, but for a neighbor that is restarting (RFC 5882, 4.3.2)."""
    lines = [f"neighbor {group} bfd profile {name}"]
    return [*lines, f"neighbor {group} bfd check-control-plane-failure"] if bgp.graceful_restart else lines


def keyed(bgp: Bgp, group: str) -> list[str]:
    """The key of a group's sessions. FRR has TCP MD5 alone."""
    key = bgp.authentication
    return [f"neighbor {group} password <{key.key}>"] if key and key.algorithm == "md5" else []


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
