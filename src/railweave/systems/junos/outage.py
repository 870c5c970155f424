"""Outages of Junos: ``request system reboot``, and ``restart`` of a process (Juniper documentation, restart (Reset))."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.systems.transaction import Session

PORTS = False
DAEMONS = {"bgpd": "routing", "zebra": "routing"}
"""One process, rpd, has BGP and the routing table."""


async def reboot(session: Session) -> None:
    """Restart the device."""
    await session.tell("<request-reboot/>")


async def end(session: Session, daemon: str) -> None:
    """Restart a process at once, without letting it end its sessions."""
    await session.tell(f'<command format="text">restart {DAEMONS[daemon]} immediately</command>')
