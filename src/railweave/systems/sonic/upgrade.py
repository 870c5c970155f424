"""Upgrades of SONiC: ``sonic-installer install`` makes the image the default, then ``reboot`` starts it.

The previous image stays on the disk; ``sonic-installer set-default`` makes it the default again. Source: sonic-utilities,
Command-Reference, Software Installation and Management.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from railweave.systems.transaction import ROOT, RefusedError, Session

if TYPE_CHECKING:
    from railweave.systems.installation import Image

PROTOCOL = "ssh"
FOLDER = "/tmp"  # noqa: S108 - a folder on the device
BY_RELEASE = False
BY_HAND = ""
_INSTALL = """PATH=$PATH:/usr/local/bin
if [ -n "$3" ]; then
  [ "$(sha256sum < "$1" | cut -d' ' -f1)" = "$3" ] || { echo "the SHA-256 of $1 there is not $3" >&2; exit 1; }
fi
case "$(sonic-installer list | grep -i '^Next:')" in *"$2"*) exit 0;; esac
sonic-installer install -y "$1" || exit 1
case "$(sonic-installer list | grep -i '^Next:')" in *"$2"*) ;; *) echo "the next start would not run release $2" >&2; exit 1;; esac
"""
_RESTART = "PATH=$PATH:/usr/local/bin; reboot"


def commands(image: Image) -> list[str]:
    """Return the commands by which an operator installs ``image`` and restarts the switch, for the shell of SONiC."""
    return [f"sudo sonic-installer install -y {shlex.quote(image.source)}", "sudo reboot"]


async def _script(session: Session, text: str, *more: str) -> str:
    return await session.execute(shlex.join(["sh", "-c", ROOT, text, "railweave", *more]))


async def boot(session: Session) -> str:
    """Return the Linux kernel's identifier of the current boot. Raises ``RefusedError`` if the device does not report it.

    ``session`` is the connection to the device.
    """
    boot_id = (await session.execute("cat /proc/sys/kernel/random/boot_id")).strip()
    if not boot_id:
        raise RefusedError("it does not say which boot this is")
    return boot_id


async def install(session: Session, image: Image) -> None:
    """Check the checksum of the copied image, install the image, and check that the next start will run it.

    ``session`` is the connection to the device.
    """
    await _script(session, _INSTALL, image.source, image.release, image.sha256)


async def restart(session: Session) -> None:
    """Restart the switch. ``session`` is the connection to the device."""
    await _script(session, _RESTART)
