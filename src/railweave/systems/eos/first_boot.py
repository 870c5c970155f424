"""First boot of EOS: a switch downloads its startup configuration or, to install an image, a script.

DHCP option 67 has the address of this configuration or script (Arista EOS user manual, Initial Switch Access). The switch sends
option 60 as ``Arista;MODEL;VERSION;SERIAL``, and restarts after the download.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.first_boot import Options, Place, SerialOption, fetched, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig

SERIAL_OPTIONS = (SerialOption(60, ";", "Arista;"),)
HEADERS = ("X-Arista-Serial", "X-Arista-Serialnum", "X-Arista-Serialnumber")
TAKES_IMAGE = True
_FILE, _SCRIPT = "eos.conf", "first-boot.sh"
_INSTALL = """#!/bin/bash
# Written by railweave deploy ztp: fetches the image, checks it, and leaves the startup configuration. The switch restarts then.
{fetched}echo 'SWI=flash:/{name}' > /mnt/flash/boot-config
curl -fsS -o /mnt/flash/startup-config {config} || exit 1
"""


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the first-boot files by name: the startup configuration and, if ``place`` has an image, the script that installs the image.

    ``rendered`` has the configuration files by name, and ``place`` is the web server from which the switch downloads.
    """
    del config
    texts = {_FILE: rendered[_FILE]}
    if place.image is not None:
        name = place.image.name
        texts[_SCRIPT] = _INSTALL.format(
            fetched=fetched(place.image, f"/mnt/flash/{name}"), name=name, config=quoted(f"{place.url}/{_FILE}")
        )
    return texts


def options(place: Place) -> Options:
    """Return the DHCP options with the address of the script or, without an image, of the startup configuration.

    ``place`` is the web server.
    """
    return Options(f"{place.url}/{_FILE if place.image is None else _SCRIPT}")
