"""Installation of a different release on a device: the interface of the module ``upgrade`` in every system's folder.

The caller decides when a device may be restarted, drains the device, and records the restart beforehand
(``operations.deploy.upgrading``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from railweave.systems.transaction import Session, Spoken


@dataclass(frozen=True)
class Image:
    """A release to install, and its image.

    - ``source``: the URL from which the device downloads the image, or the image's path on the device. Empty if the device needs only
      the number of the release.
    - ``file``: the path of the image on the operator's machine, before the image is copied to the device.
    - ``sha256``, ``sha512``: the checksums of ``file``, in lower-case hexadecimal digits.
    """

    release: str
    source: str = ""
    file: str = ""
    sha256: str = ""
    sha512: str = ""

    @property
    def name(self) -> str:
        """The file name of the image, from its path or URL."""
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
    """True if the device can install a release by its release number, without an image file from the operator."""
    BY_HAND: str
    """The reason why an operator has to enter the commands by hand; empty if railweave can install the release itself."""

    def commands(self, image: Image) -> list[str]:
        """Return the commands that an operator would enter to install the release of ``image`` and then restart the device, in order."""
        ...

    async def boot(self, session: Session) -> str:
        """Return a value that changes at every restart of the device, for example the start time in Unix seconds or a boot identifier.

        ``session`` is the connection to the device.
        """
        ...

    async def install(self, session: Session, image: Image) -> None:
        """Install the release of ``image``, so that the device runs it after the next restart. A second call changes nothing.

        ``session`` is the connection to the device.
        """
        ...

    async def restart(self, session: Session) -> None:
        """Restart the device. The session may end before the device answers."""
        ...
