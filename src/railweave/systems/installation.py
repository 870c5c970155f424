"""Installation of another release on a device: the functions that the module ``upgrade`` of every system has.

This module does not decide when a device may be restarted: the caller drains it and records the restart beforehand
(``operations.deploy.upgrading``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from railweave.systems.transaction import Session, Spoken


@dataclass(frozen=True)
class Image:
    """A release to install.

    - ``source``: the URL from which the device fetches the image, or its path on the device. Empty if the device needs only the
      number of the release.
    - ``file``: the path of the image on this machine, before it is copied.
    - ``sha256``, ``sha512``: the checksums of ``file``, in lower-case hexadecimal digits.

    """

    release: str
    source: str = ""
    file: str = ""
    sha256: str = ""
    sha512: str = ""

    @property
    def name(self) -> str:
        """The last part of the image's path or URL."""
        return (self.file or self.source).split("?")[0].rstrip("/").rpartition("/")[2]


class Installation(Protocol):
    """The functions of a system's module ``upgrade``.

    They raise ``RefusedError`` if the device refuses, and ``ReachError`` if the connection is lost.
    """

    PROTOCOL: Spoken
    """The protocol by which commands are sent to the device."""
    FOLDER: str
    """The folder on the device into which an image is copied by SFTP."""
    BY_RELEASE: bool
    """True if the device can install a release by its number only, without an image."""
    BY_HAND: str
    """The reason why railweave does not install the release and an operator enters the commands; empty if railweave installs it."""

    def commands(self, image: Image) -> list[str]:
        """Return the commands for an operator to read: those that install, then those that restart."""
        ...

    async def boot(self, session: Session) -> str:
        """Return a value that differs between two starts of the device: a Unix time in seconds, or any other word."""
        ...

    async def install(self, session: Session, image: Image) -> None:
        """Install the release, so that the next start runs it. A second call changes nothing."""
        ...

    async def restart(self, session: Session) -> None:
        """Restart the device. The session may end before the answer arrives."""
        ...
