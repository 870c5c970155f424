"""The table of BGP sessions, as every system's runbook has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
