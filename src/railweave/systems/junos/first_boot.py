"""First boot of Junos OS Evolved: DHCP options 43, 66, 67 and 150, and a text configuration that replaces the factory configuration.

Sub-options of 43: 00 image, 01 configuration, 03 transfer mode, 05 port of HTTP (Juniper documentation, Zero Touch
Provisioning DHCP Options for Junos OS Evolved). Option 60 is ``Juniper-MODEL-SERIAL``. On some models it lacks the
serial number, which is then the host name (option 12). An image has the vendor's signature, which the device checks
itself. DHCP cannot transmit a checksum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.first_boot import Options, Place, Says

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig

SAYS = (Says(60, "-", "Juniper-"), Says(12, "", "Juniper-", whole=True))
HEADERS: tuple[str, ...] = ()
TAKES_IMAGE = True
_FILE = "junos.conf"


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the configuration, by file name. Its commit ends the provisioning, because it lacks ``chassis auto-image-upgrade``."""
    del config, place
    return {_FILE: rendered[_FILE]}


def options(place: Place) -> Options:
    """Return the DHCP options with the HTTP server and the paths on it."""
    path = f"{place.path}/{_FILE}"
    vendor = {1: path, 3: "http", 5: str(place.port)}
    if place.image is not None:
        vendor = {0: "/" + place.image.url.split("/", 3)[3], **vendor}
    return Options(path, place.server, place.server, vendor)
