"""Outages on SONiC: ``reboot`` after a second, so that the command itself is answered, and the end of an FRRouting process in its container.

If a critical process ends, ``supervisord`` ends the container (sonic-buildimage, ``supervisor-proc-exit-listener``),
and systemd starts it again.
"""

from __future__ import annotations

from railweave.systems.transaction import Session, script

PORTS = False
DAEMONS = {daemon: daemon for daemon in ("bgpd", "zebra", "bfdd")}


async def reboot(session: Session) -> None:
    """Restart the switch after a second."""
    await script(session, "setsid sh -c 'sleep 1; reboot' > /dev/null 2>&1 < /dev/null &")


async def end(session: Session, daemon: str) -> None:
    """Kill a daemon of ``DAEMONS`` in its container. The container starts the daemon again."""
    await script(session, f"docker exec bgp pkill -KILL -x {DAEMONS[daemon]}")
