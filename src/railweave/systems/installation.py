"""Installation of another release on a device: the verbs of a system's module ``upgrade``, whatever the system.

Nothing here knows when a device may be restarted: the caller has drained it, and has recorded the restart beforehand (``operations.deploy.upgrading``).
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
        """The last part of its path or URL."""
        return (self.file or self.source).split("?")[0].rstrip("/").rpartition("/")[2]


class Installation(Protocol):
    """The verbs of a system's module ``upgrade``. They raise ``RefusedError`` if the device refuses, and ``ReachError`` if it is lost."""

    @property
    def PROTOCOL(self) -> Spoken:  # noqa: N802 - a constant of the module
        """The protocol by which commands reach the device."""
        ...

    @property
    def FOLDER(self) -> str:  # noqa: N802
        """The folder on the device into which an image is copied by SFTP."""
        ...

    @property
    def BY_RELEASE(self) -> bool:  # noqa: N802
        """True if the device can install a release by its number only, without an image."""
        ...

    @property
    def BY_HAND(self) -> str:  # noqa: N802
        """The reason why nothing here installs the release, so that an operator types the commands; empty: it is installed from here."""
        ...

    def commands(self, image: Image) -> list[str]:
        """Return the commands, for a person to read: to install, then to restart."""
        ...

    async def boot(self, session: Session) -> str:
        """Return a value that differs between two starts of the device: a number of seconds (Unix time), or any other word."""
        ...

    async def install(self, session: Session, image: Image) -> None:
        """Install the release, so that the next start runs it. A second call changes nothing."""
        ...

    async def restart(self, session: Session) -> None:
        """Restart the device. The session may end before the answer comes."""
        ...
