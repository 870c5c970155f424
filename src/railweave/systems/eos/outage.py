"""Outages on EOS: ``reload now``, and ``agent NAME terminate``, after which EOS's process manager restarts the agent (Arista EOS user manual)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.systems.transaction import Session

PORTS = False
DAEMONS = {"bgpd": "Bgp", "zebra": "Rib"}


async def reboot(session: Session) -> None:
    """Restart the switch now."""
    await session.tell("reload now")


async def end(session: Session, daemon: str) -> None:
    """End the agent that corresponds to a daemon of ``DAEMONS``. EOS starts the agent again."""
    await session.tell(f"agent {DAEMONS[daemon]} terminate")
