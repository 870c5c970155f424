"""Upgrades of Enterprise SONiC by Dell. railweave does not change such a device; the plan shows the commands for an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from railweave.systems.transaction import RefusedError

if TYPE_CHECKING:
    from railweave.systems.installation import Image

PROTOCOL = "ssh"
FOLDER = ""
BY_RELEASE = False
BY_HAND = "nothing here changes Enterprise SONiC by Dell: drain the switch, type these lines in sonic-cli, and undrain it when it is back"


def commands(image: Image) -> list[str]:
    """Return the commands to enter in ``sonic-cli`` (Dell, Enterprise SONiC user guide, Image management)."""
    return [f"image install {image.source}", "write memory", "reboot"]


async def _refused(*_: object) -> NoReturn:
    """Raise ``RefusedError`` for any arguments, because an operator has to enter the commands of an upgrade."""
    raise RefusedError(BY_HAND)


boot = install = restart = _refused
