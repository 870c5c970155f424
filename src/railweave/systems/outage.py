"""Outages that are commands, not configuration: what the systems' modules ``outage`` offer. A device comes back from each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.systems.transaction import Session


class Outage(Protocol):
    """The verbs of a system's module ``outage``. Every function raises ``RefusedError`` and ``ReachError`` as ``Transaction`` does."""

    @property
    def DAEMONS(self) -> Mapping[str, str]:  # noqa: N802 - a constant of the module
        """The system's own process by the name that a scenario has for it (``bgpd``); those that are not there cannot be ended."""
        ...

    @property
    def PORTS(self) -> bool:  # noqa: N802
        """True if ports are shut by ``shut``: those that the system's own configuration does not bring back as they were."""
        ...

    async def shut(self, session: Session, label: str, ports: Sequence[str], seconds: int) -> None:
        """Shut ports, with a timer on the device that opens them after so many seconds. Only where ``PORTS`` says so."""
        ...

    async def open(self, session: Session, label: str) -> None:
        """Open what ``shut`` has shut, now; nothing where that is open again."""
        ...

    async def reboot(self, session: Session) -> None:
        """Restart the device, now. It comes up with what was saved."""
        ...

    async def end(self, session: Session, daemon: str) -> None:
        """End a process of ``DAEMONS``; the system starts it again."""
        ...
