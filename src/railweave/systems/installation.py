"""How another release is put on a device: the verbs that a system's module ``upgrade`` offers, whatever the system.

Nothing here knows when a device may be restarted: whoever calls these verbs has drained it, and has written down that it will (``operations.deploy.upgrading``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from railweave.systems.transaction import Session, Spoken


@dataclass(frozen=True)
class Image:
    """What is installed: ``source`` is the URL from which the device fetches it, or the path on the device to which it was copied.

    It is empty where the device installs by the number of the release alone. ``file`` is where it lies on this machine, before it is
    copied; with it come its checksums (hexadecimal, small letters).
    """

    release: str
    source: str = ""
    file: str = ""
    sha256: str = ""
    sha512: str = ""

    @property
    def name(self) -> str:
        """The last part of its path or URL."""
        return (self.file or self.source).split("?")[0].rstrip("/").rpartition("/")[2]


class Installation(Protocol):
    """What the module ``upgrade`` of a system's folder offers. Verbs raise ``RefusedError`` where the device refuses, and ``ReachError`` where it is lost."""

    @property
    def PROTOCOL(self) -> Spoken:  # noqa: N802 - a constant of the module
        """How the device is told."""
        ...

    @property
    def FOLDER(self) -> str:  # noqa: N802
        """The folder on the device into which an image is copied by SFTP."""
        ...

    @property
    def BY_RELEASE(self) -> bool:  # noqa: N802
        """Whether it can be installed by the number of the release alone, without an image."""
        ...

    @property
    def BY_HAND(self) -> str:  # noqa: N802
        """Why nothing here installs it, so that the commands are to be typed; empty: it is installed from here."""
        ...

    def commands(self, image: Image) -> list[str]:
        """What the device is told, for a person to read: to install, then to restart."""
        ...

    async def boot(self, session: Session) -> str:
        """What tells one start of the device from the next: a number of seconds (Unix time), or any other word."""
        ...

    async def install(self, session: Session, image: Image) -> None:
        """Install it, so that the next start runs it. Doing it once more changes nothing."""
        ...

    async def restart(self, session: Session) -> None:
        """Restart the device. The session may end before the answer comes."""
        ...
