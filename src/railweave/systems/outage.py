"""Outages by commands instead of configuration, for the systems' parts ``outage``. The device recovers from each without help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from railweave.systems.transaction import script

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.systems.transaction import Session


class Outage(Protocol):
    """The functions of a system's part ``outage``. Every function raises ``RefusedError`` and ``ReachError`` as ``Transaction`` does."""

    DAEMONS: Mapping[str, str]
    """The names of the system's own processes, by the names in scenarios (such as ``bgpd``). Other processes cannot be ended."""
    PORTS: bool
    """True if ports must be shut by ``shut``, because they do not recover after being shut by configuration."""

    async def shut(self, session: Session, label: str, ports: Sequence[str], seconds: int) -> None:
        """Shut ports. A timer on the device opens the ports after ``seconds``. Call this only if ``PORTS`` is True."""
        ...

    async def open(self, session: Session, label: str) -> None:
        """Open the ports that ``shut`` with the same ``label`` has shut. Does nothing if they are open again."""
        ...

    async def reboot(self, session: Session) -> None:
        """Restart the device now. The device starts with its saved configuration."""
        ...

    async def end(self, session: Session, daemon: str) -> None:
        """End a process of ``DAEMONS``. The system starts the process again."""
        ...


@dataclass(frozen=True)
class Commands:
    """Outages by one command each, without ports: ``restart`` for the device, ``stop`` for a process, in which ``{}`` is the process.

    ``in_shell``: True if the commands are for a shell, and not for the system's own command line or API.
    """

    DAEMONS: Mapping[str, str]
    restart: str
    stop: str
    in_shell: bool = False
    PORTS: bool = False

    async def reboot(self, session: Session) -> None:
        """Restart the device now."""
        await self._enter(session, self.restart)

    async def end(self, session: Session, daemon: str) -> None:
        """End the process of a daemon of ``DAEMONS``. The system starts the process again."""
        await self._enter(session, self.stop.format(self.DAEMONS[daemon]))

    async def _enter(self, session: Session, command: str) -> None:
        await (script(session, command) if self.in_shell else session.tell(command))
