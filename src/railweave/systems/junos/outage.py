"""Outages on Junos: ``request system reboot``, and ``restart`` of a process (Juniper documentation, restart (Reset))."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.systems.transaction import Session

PORTS = False
DAEMONS = {"bgpd": "routing", "zebra": "routing"}
"""The Junos process of each daemon. One process, rpd, runs BGP and has the routing table."""


async def reboot(session: Session) -> None:
    """Restart the switch now."""
    await session.tell("<request-reboot/>")


async def end(session: Session, daemon: str) -> None:
    """Restart the process of a daemon of ``DAEMONS`` at once. The process cannot close its sessions first."""
    await session.tell(f'<command format="text">restart {DAEMONS[daemon]} immediately</command>')
