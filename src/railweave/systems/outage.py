"""Outages that railweave causes by commands, without a change of the configuration. The device recovers on its own.

Each system's module ``outage`` implements them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from railweave.systems.transaction import script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.systems.transaction import Session


class Outage(Protocol):
    """The functions of a system's module ``outage``.

    Every function raises ``RefusedError`` if the device refuses, and ``ReachError`` if the connection is lost.
    """

    DAEMONS: Mapping[str, str]
    """The processes that can be ended: the name on this system, by the name in scenarios (such as ``bgpd``)."""
    PORTS: bool
    """True if ports must be shut by ``shut`` on this system, because a port that the configuration shuts does not recover by itself."""

    async def shut(self, session: Session, label: str, ports: Sequence[str], seconds: int) -> None:
        """Shut ports. A timer on the device brings the ports up again after ``seconds``. ``label`` names the outage for ``open``.

        Call this function only if ``PORTS`` is True. ``session`` is the connection to the device.
        """
        ...

    async def open(self, session: Session, label: str) -> None:
        """Bring up the ports that ``shut`` with the same ``label`` has shut. Does nothing if they are up already.

        ``session`` is the connection to the device.
        """
        ...

    async def reboot(self, session: Session) -> None:
        """Restart the device now. The device starts with its saved configuration. ``session`` is the connection to the device."""
        ...

    async def end(self, session: Session, daemon: str) -> None:
        """End the process ``daemon``, a key of ``DAEMONS``. The system starts the process again.

        ``session`` is the connection to the device.
        """
        ...


@dataclass(frozen=True)
class Commands:
    """The outages of a system on which a single command causes each outage, and on which no command shuts ports.

    ``restart`` is the command that restarts the device. ``stop`` ends a process, whose name replaces ``{}``. ``in_shell``
    is True if the commands are for a shell, and False if they are for the system's own command line or API.
    """

    DAEMONS: Mapping[str, str]
    restart: str
    stop: str
    in_shell: bool = False
    PORTS: bool = False

    async def reboot(self, session: Session) -> None:
        """Restart the device now. ``session`` is the connection to the device."""
        await self._enter(session, self.restart)

    async def end(self, session: Session, daemon: str) -> None:
        """End the process ``daemon``, a key of ``DAEMONS``. The system starts the process again.

        ``session`` is the connection to the device.
        """
        await self._enter(session, self.stop.format(self.DAEMONS[daemon]))

    async def _enter(self, session: Session, command: str) -> None:
        await (script(session, command) if self.in_shell else session.execute(command))
