"""Upgrades of Junos OS Evolved: ``request system software add``, then ``request system reboot``, by NETCONF.

The device validates the package against the running configuration when it adds the package (Juniper documentation,
request system software add (Junos OS Evolved)). The number in ``package-result`` shows the result; 0 means success. The
calls are those of Juniper's own client for devices that run on Linux (Juniper/py-junos-eznc, ``utils/sw.py``).
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from railweave.systems.transaction import RefusedError, Session

if TYPE_CHECKING:
    from railweave.systems.installation import Image

PROTOCOL = "netconf"
FOLDER = "/var/tmp"  # noqa: S108 - a folder on the device
BY_RELEASE = False
BY_HAND = ""
_RESULT = re.compile(r"<package-result>\s*(-?\d+)\s*</package-result>")
_SAID = re.compile(r"<output>(.*?)</output>", re.DOTALL)
_CHECKSUM = re.compile(r"<checksum>\s*([0-9a-f]{64})\s*</checksum>")
_BOOTED = re.compile(r"<(?:node|system)-booted-time>.*?\bseconds=\"(\d+)\"", re.DOTALL)


def commands(image: Image) -> list[str]:
    """Return the commands by which an operator installs ``image`` and restarts the switch, for the CLI of Junos."""
    return [f"request system software add {image.source}", "request system reboot"]


async def boot(session: Session) -> str:
    """Return the time of the last boot as the device reports it. Raises ``RefusedError`` if the device does not report it.

    ``session`` is the connection to the device.
    """
    match = _BOOTED.search(await session.execute("<get-system-uptime-information/>"))
    if match is None:
        raise RefusedError("it does not say when it was started")
    return match[1]


async def install(session: Session, image: Image) -> None:
    """Check the checksum of the package ``image`` that was copied to the device, then add the package.

    Raises ``RefusedError`` if the checksum differs, or if the device does not add the package. ``session`` is the connection to the device.
    """
    if image.sha256:
        asked = (
            f"<get-sha256-checksum-information><path>{escape(image.source)}</path></get-sha256-checksum-information>"
        )
        match = _CHECKSUM.search(await session.execute(asked))
        if match is None or match[1] != image.sha256:
            raise RefusedError(
                f"the SHA-256 of {image.source} there is {match[1] if match else 'not said'}, not {image.sha256}"
            )
    source = escape(image.source)
    answer = await session.execute(f"<request-package-add><package-name>{source}</package-name></request-package-add>")
    result = _RESULT.search(answer)
    if result is None or result[1] != "0":
        match = _SAID.search(answer)
        raise RefusedError(f"the package was not added: {match[1].strip()[-200:] if match else 'no result was given'}")


async def restart(session: Session) -> None:
    """Restart the device now. ``session`` is the connection to the device."""
    await session.execute("<request-shutdown-reboot/>")
