"""First boot of Junos OS Evolved: DHCP options 43, 66, 67 and 150, and a text configuration that replaces the factory configuration.

The sub-options of option 43 are 00 (image), 01 (configuration), 03 (transfer mode) and 05 (port of HTTP); see Juniper
documentation, Zero Touch Provisioning DHCP Options for Junos OS Evolved. The device sends option 60 as
``Juniper-MODEL-SERIAL``. On some models, option 60 has no serial number; the serial number is then in option 12 (host
name). DHCP cannot transmit a checksum, but the device itself checks the vendor's signature of an image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.first_boot import Options, Place, SerialOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig

SERIAL_OPTIONS = (SerialOption(60, "-", "Juniper-"), SerialOption(12, "", "Juniper-", whole=True))
HEADERS: tuple[str, ...] = ()
TAKES_IMAGE = True
_FILE = "junos.conf"


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the configuration of the switch, by file name.

    The configuration does not contain ``chassis auto-image-upgrade``, so its commit ends zero-touch provisioning. ``rendered`` has the
    configuration files by name, and ``place`` is the server from which the device downloads its files.
    """
    del config, place
    return {_FILE: rendered[_FILE]}


def options(place: Place) -> Options:
    """Return the DHCP options: the address of the HTTP server, and the paths of the files on the server.

    ``place`` is the server from which the device downloads its files.
    """
    path = f"{place.path}/{_FILE}"
    vendor = {1: path, 3: "http", 5: str(place.port)}
    if place.image is not None:
        vendor = {0: "/" + place.image.url.split("/", 3)[3], **vendor}
    return Options(path, place.server, place.server, vendor)
