"""Interfaces of objects that a site may provide: a device that can be upgraded, and an emulated network (for failure campaigns)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.fault_targets import FaultTarget
    from railweave.systems.installation import Image


@dataclass(frozen=True)
class PacketLoss:
    """The packets lost between servers during a measurement.

    ``longest_s`` is the longest interruption of one path, in seconds. ``why`` is the reason if nothing was measured.
    """

    sent: int = 0
    lost: int = 0
    longest_s: float = 0.0
    why: str = ""

    def line(self) -> str:
        """Return the packet loss for a table cell, such as ``3 of 1,000 lost, 0.20 s at most``."""
        return self.why or f"{self.lost:,} of {self.sent:,} lost, {self.longest_s:.2f} s at most"


class Packets(Protocol):
    """A sender of packets between servers."""

    def start(self, seconds: float) -> None:
        """Start sending packets, for at most ``seconds`` seconds."""
        ...

    def stop(self) -> PacketLoss:
        """Stop sending, and return the numbers of packets that were sent and lost."""
        ...

    def drop(self) -> None:
        """Stop sending without a result, after an interruption. Return at once."""
        ...


class Machine(Protocol):
    """A device that can be upgraded to a different release (``systems.installation`` has the procedure).

    Its methods raise ``RefusedError`` if the device refuses a command, and ``ReachError`` if the device cannot be
    reached.
    """

    async def boot(self) -> str:
        """Return a text that changes each time the device starts."""
        ...

    async def install(self, image: Image) -> None:
        """Copy the image to the device, and install it for the next start."""
        ...

    async def restart(self) -> None:
        """Restart the device. The end of the connection is not an error."""
        ...


class Emulation(Packets, Protocol):
    """An emulated network that sends packets between its servers, and starts faults for which devices have no command."""

    def broken(self, target: FaultTarget) -> Callable[[], None]:
        """Start the fault ``target``, and return the function that ends the fault."""
        ...

    def released(self, seconds: float) -> str:
        """Wait at most ``seconds`` until devices forward as designed, and repair sessions that stay down.

        Return a sentence about the repairs; empty if there were none.
        """
        ...

    def close(self) -> None:
        """Release the resources of this machine that measurements used."""
        ...
