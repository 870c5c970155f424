"""Outages of a Linux router: a restart of the machine, the end of an FRRouting process, and ports that are shut.

FRRouting's watcher (`watchfrr`) restarts a process that has ended (docs.frrouting.org). railweave shuts ports in the kernel,
not in FRRouting. After ``shutdown`` and ``no shutdown``, FRRouting 10.3 sends no more router advertisements on the
port, and sessions that need them do not come back (seen in the lab).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.frr.transaction import START
from railweave.systems.transaction import Session, put, script

if TYPE_CHECKING:
    from collections.abc import Sequence


PORTS = True
DAEMONS = {daemon: daemon for daemon in ("bgpd", "zebra", "bfdd", "isisd", "ospfd")}
_NO_MACHINE = """if [ -n "$RAILWEAVE_LAB" ] || [ ! -d /run/systemd/system ]; then
  echo 'this router has no machine of its own, and nothing that starts its daemons again' >&2; exit 1
fi
"""
_BACK = """# Written by railweave deploy campaign.
{}cd "$folder" && exec 9> lock && flock 9 || exit 1
armed . || exit 0
for one in $(cat ports); do ip link set "$one" up || exit 1; done
rm -f armed
"""
_SHUT = """alone && cd "$folder" && nothing_waits && arm "$2" || exit 1
for one in $(cat ports); do ip link set "$one" down || { sh back.sh "$label"; exit 1; }; done
"""
_OPEN = """if [ -e "$folder/back.sh" ]; then sh "$folder/back.sh" "$label" && disarm && rm -rf "$folder"; fi
"""


async def shut(session: Session, label: str, ports: Sequence[str], seconds: int) -> None:
    """Shut ports with ``ip link set down``. A timer on the router brings the ports up again after ``seconds``.

    ``session`` is the connection to the device, ``label`` the name of the outage.
    """
    await put(session, START, label, "ports", "".join(f"{port}\n" for port in ports))
    await put(session, START, label, "back.sh", _BACK.format(START))
    await script(session, START + _SHUT, label, seconds)


async def open(session: Session, label: str) -> None:  # noqa: A001 - the name in `Outage`
    """Bring up the ports that ``shut`` with the same ``label`` has shut. Does nothing if they are up already.

    ``session`` is the connection to the device.
    """
    await script(session, START + _OPEN, label)


async def reboot(session: Session) -> None:
    """Restart the machine on which the router runs. Raises ``RefusedError`` if the router is a container, for example in a lab.

    ``session`` is the connection to the device.
    """
    await script(session, _NO_MACHINE + "systemd-run --quiet --collect --on-active=1 systemctl reboot")


async def end(session: Session, daemon: str) -> None:
    """Kill an FRRouting process (``daemon`` is a key of ``DAEMONS``). FRRouting's watcher starts the process again.

    ``session`` is the connection to the device.
    """
    await script(session, _NO_MACHINE + f"pkill -KILL -x {DAEMONS[daemon]}")
