"""Upgrades of FRRouting on a machine with Debian packages: ``apt-get`` installs them, then the service is restarted.

Routing and forwarding stop during the restart, so the machine is drained first, like a switch.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from railweave.systems.transaction import ROOT, RefusedError, Session

if TYPE_CHECKING:
    from railweave.systems.installation import Image

PROTOCOL = "ssh"
FOLDER = "/var/tmp"  # noqa: S108 - a folder on the machine
BY_RELEASE = True
BY_HAND = ""
_APT = "DEBIAN_FRONTEND=noninteractive apt-get install -y -o Dpkg::Options::=--force-confold"
_RESTART = "systemctl restart frr"


def commands(image: Image) -> list[str]:
    """Return the shell commands by which an operator installs ``image`` on the machine and restarts FRRouting."""
    wanted = [image.source] if image.source else [f"frr={image.release}*", f"frr-pythontools={image.release}*"]
    return [f"{_APT} {shlex.join(wanted)}", _RESTART]


async def _script(session: Session, text: str) -> str:
    return await session.execute(shlex.join(["sh", "-c", ROOT, text, "railweave"]))


async def boot(session: Session) -> str:
    """Return systemd's identifier for the current run of the service. Raises ``RefusedError`` if the service does not run under systemd.

    ``session`` is the connection to the device.
    """
    boot_id = (await session.execute("systemctl show --property=InvocationID --value frr")).strip()
    if not boot_id:
        raise RefusedError("its service frr does not run under systemd")
    return boot_id


async def install(session: Session, image: Image) -> None:
    """Install the packages. The configuration is not changed.

    Raises ``RefusedError`` if a checksum is wrong, or if the image is a URL, because ``apt-get`` cannot install from a URL. ``session`` is
    the connection to the device.
    """
    if "://" in image.source:
        raise RefusedError("apt-get installs no URL: give the package as a file, or the release alone")
    if image.sha256:
        line = f"{image.sha256}  {image.source}\n"
        await session.execute("sha256sum --check --status", line)
    await _script(session, commands(image)[0])


async def restart(session: Session) -> None:
    """Restart the service of FRRouting. ``session`` is the connection to the device."""
    await _script(session, _RESTART)
