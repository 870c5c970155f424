"""First boot of Enterprise SONiC by Dell: SONiC's ``ztp.json`` (sonic-net/SONiC, ``doc/ztp/ztp.md``). Its scripts enter the commands in ``sonic-cli``.

``prepare.cli`` and ``sonic.cli`` are separate sections of ``ztp.json``. ``buffer init lossless`` asks for confirmation
and restarts the switch. ZTP then repeats the section that was in progress (sonic-net/sonic-ztp, ``ztp-engine.py``), so
the script of this section must detect that it has already run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.systems.dell_sonic.tree import LOSSLESS_BUFFERS
from railweave.systems.first_boot import Options, Place, quoted
from railweave.systems.sonic import first_boot as sonic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig

SERIAL_OPTIONS = sonic.SERIAL_OPTIONS
HEADERS = sonic.HEADERS
TAKES_IMAGE = True
_PREPARING, _SCRIPT, _PREPARE, _FILE = "prepare.sh", "first-boot.sh", "prepare.cli", "sonic.cli"
_HEAD = "#!/bin/sh\n# Written by railweave deploy ztp.\n"
_TYPE = """curl -fsS -o /tmp/{name} {url}/{name} && sonic-cli /tmp/{name} || exit 1
"""
_RESTART = """# The last line of prepare.cli asks, and restarts the switch by itself; ZTP then starts this script again.
mark=/host/railweave-prepared
if sonic-cli -c 'show running-configuration' | grep -q '^ *{command}'; then
  rm -f "$mark"
  exit 0
fi
if [ -e "$mark" ]; then
  echo 'the switch restarted, and has no lossless buffers' >&2
  rm -f "$mark"
  exit 1
fi
curl -fsS -o /tmp/{name} {url}/{name} || exit 1
touch "$mark" && sync
echo y | sonic-cli /tmp/{name}
sleep {seconds}
echo 'the switch did not restart for its lossless buffers' >&2
rm -f "$mark"
exit 1
"""
_WAIT_S = 600
"""The time in seconds that the script waits for the restart to begin. No commands may be entered in this time."""


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """Return the first-boot files by name: ``ztp.json``, the scripts, and the commands that the scripts enter.

    ``rendered`` has the configuration files by name, and ``place`` is the web server from which the switch downloads.
    """
    del config
    url = quoted(place.url)
    sections, image = sonic.with_image(place)
    sections["02-prepare"] = sonic.section(place, _PREPARING)
    sections["03-configuration"] = sonic.section(place, _SCRIPT)
    restarts = LOSSLESS_BUFFERS in rendered[_PREPARE].splitlines()
    waiting = _RESTART.format(command=LOSSLESS_BUFFERS, name=_PREPARE, url=url, seconds=_WAIT_S)
    return {
        **image,
        "ztp.json": json.dumps({"ztp": sections}, indent=2) + "\n",
        _PREPARING: _HEAD + (waiting if restarts else _TYPE.format(name=_PREPARE, url=url)),
        _SCRIPT: _HEAD + _TYPE.format(name=_FILE, url=url),
        _PREPARE: rendered[_PREPARE],
        _FILE: rendered[_FILE],
    }


def options(place: Place) -> Options:
    """Return the DHCP options that tell a switch the address of ``ztp.json`` on the web server ``place``."""
    return Options(f"{place.url}/ztp.json")
