"""The table of BGP sessions, as every system's runbook has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized

    from railweave.device.model import Bgp, DeviceConfig
    from railweave.expect.model import Session

SESSION_HEADER = ("Group", "Neighbor", "Switch", "AS", "Prefixes received", "Prefixes sent", "Of the received, used")


def session_rows(found: Iterable[Session], discovered: str = "{port}") -> tuple[tuple[object, ...], ...]:
    """The rows below ``SESSION_HEADER``; ``discovered`` is how a neighbor without an address is shown, of its {port}."""
    return tuple(
        (
            one.group.name,
            one.session.peer_address or discovered.format(port=one.session.interface),
            one.session.peer,
            one.session.peer_as,
            one.received,
            one.sent,
            one.used,
        )
        for one in found
    )


def of_both_families(bgp: Bgp) -> tuple[str, ...]:
    """What is to be said of the counts where a summary shows one family, and the session carries two."""
    if len(bgp.families) < 2:
        return ()
    return ("the counts below are of both families together: add those of the two summaries",)


def with_bfd(config: DeviceConfig, found: Sized) -> int:
    """How many sessions BFD watches: those on links, and those of the overlay where it has BFD."""
    overlay = config.overlay
    return len(found) + (len(overlay.neighbors) if overlay and overlay.bfd else 0)


def other_timers(config: DeviceConfig) -> str:
    """What stands behind the timers of sessions on links where those of the overlay have others."""
    return "; those of the overlay have timers of their own" if config.overlay and config.overlay.bfd else ""
