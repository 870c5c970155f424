"""First boot of SONiC. DHCP option 67 names ``ztp.json``, whose sections run in lexical order (sonic-net/SONiC, ``doc/ztp/ztp.md``).

The switch sends option 61 as ``SONiC##PRODUCT##SERIAL``. A script creates the Linux users and writes the FRRouting
configuration before the tables are loaded, because loading them changes the switch's address. If there is an image, the
switch first installs it and restarts, and then continues.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from railweave.systems.first_boot import Options, Place, SerialOption, fetched, logins, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig

SERIAL_OPTIONS = (SerialOption(61, "##"),)
HEADERS = ("SERIAL-NUMBER",)
TAKES_IMAGE = True
_SCRIPT, _IMAGE, _TABLES, _ROUTING = "first-boot.sh", "image.sh", "config_db.json", "frr.conf"
_HEAD = "#!/bin/sh\n# Written by railweave deploy ztp.\n"
_ROUTES = """install -d /etc/sonic/frr
curl -fsS -o /etc/sonic/frr/frr.conf {url} || exit 1
"""


def section(place: Place, script: str) -> dict[str, Any]:
    """Return a section of ``ztp.json`` that runs a script. If the script fails, later sections are not run.

    ``place`` is the server from which the device downloads its files.
    """
    return {"plugin": {"url": {"source": f"{place.url}/{script}"}}, "halt-on-failure": True}


def with_image(place: Place) -> tuple[dict[str, Any], dict[str, str]]:
    """Return (sections of ``ztp.json``, scripts by file name) that install the image and check its checksum. Both are empty without an image.

    ``place`` is the server from which the device downloads its files.
    """
    if place.image is None:
        return {}, {}
    file = "/tmp/railweave-image.bin"  # noqa: S108 - on the switch, which has no other users yet
    text = f"{_HEAD}sonic-installer list | grep -qF {quoted(place.image.name.removesuffix('.bin'))} && exit 0\n"
    text += f"{fetched(place.image, file)}sonic-installer install -y {file} && rm -f {file}\n"
    return {"01-image": {**section(place, _IMAGE), "reboot-on-success": True}}, {_IMAGE: text}


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the files of the first boot, by name: ``ztp.json``, the tables, the FRRouting configuration, and the scripts.

    ``rendered`` has the configuration files by name, and ``place`` is the server from which the device downloads its files.
    """
    sections, image = with_image(place)
    sections["02-logins"] = section(place, _SCRIPT)
    destination = "/etc/sonic/config_db.json"
    sections["03-configdb-json"] = {
        "url": {"source": f"{place.url}/{_TABLES}", "destination": destination},
        "halt-on-failure": True,
    }
    script = (
        _HEAD
        + _ROUTES.format(url=quoted(f"{place.url}/{_ROUTING}"))
        + logins(config.management.users, config.management.root_password, "sudo,docker,redis")
    )
    return {
        **image,
        "ztp.json": json.dumps({"ztp": sections}, indent=2) + "\n",
        _SCRIPT: script,
        _TABLES: rendered[_TABLES],
        _ROUTING: rendered[_ROUTING],
    }


def options(place: Place) -> Options:
    """Return the DHCP options, with the URL of ``ztp.json`` as boot file.

    ``place`` is the server from which the device downloads its files.
    """
    return Options(f"{place.url}/ztp.json")
