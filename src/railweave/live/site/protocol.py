"""Parts of a site: the machine behind a device, as an upgrade uses it, and the emulation, as a failure campaign uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from railweave.live.site.packets import Packets

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.fault_targets import FaultTarget
    from railweave.systems.installation import Image


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
