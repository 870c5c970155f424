"""Parts of a site: the machine behind a device, as an upgrade uses it, and the emulation, as a failure campaign uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.fault_targets import FaultTarget
    from railweave.systems.installation import Image


@dataclass(frozen=True)
class PacketLoss:
    """Packets between servers: how many were sent and lost, and the longest that a path lost, in seconds. ``why``: why there is nothing."""

    sent: int = 0
    lost: int = 0
    longest_s: float = 0.0
    why: str = ""

    def line(self) -> str:
        """Return the same as the text of a cell."""
        return self.why or f"{self.lost:,} of {self.sent:,} lost, {self.longest_s:.2f} s at most"


class Packets(Protocol):
    """A sender of packets between servers."""

    def start(self, seconds: float) -> None:
        """Begin to send; it takes so many seconds at most."""
        ...

    def stop(self) -> PacketLoss:
        """Return how many packets were sent and lost."""
        ...

    def drop(self) -> None:
        """End without a result, after an interruption; does not wait."""
        ...


class Machine(Protocol):
    """A device on which another release is put; see ``systems.installation``. Verbs raise ``RefusedError`` and ``ReachError``."""

    async def boot(self) -> str:
        """Return a text that differs from one start of the device to the next."""
        ...

    async def install(self, image: Image) -> None:
        """Bring the image to the device, and install it for the next start."""
        ...

    async def restart(self) -> None:
        """Restart the device; that the connection ends is no error."""
        ...


class Emulation(Packets, Protocol):
    """An emulated network: it sends packets between its servers, and breaks what its devices have no command for."""

    def broken(self, target: FaultTarget) -> Callable[[], None]:
        """Break something until the returned function is called."""
        ...

    def released(self, seconds: float) -> str:
        """Wait at most so many seconds until devices forward as designed, and help those that do not; return what was helped."""
        ...

    def close(self) -> None:
        """Give back what measuring took of this machine."""
        ...
