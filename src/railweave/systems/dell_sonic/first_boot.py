"""First boot of Enterprise SONiC by Dell: SONiC's own ``ztp.json`` (sonic-net/SONiC, ``doc/ztp/ztp.md``), whose script types the lines into ``sonic-cli``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.systems.first_boot import Options, Place, quoted
from railweave.systems.sonic import first_boot as sonic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.device.model import DeviceConfig

SAYS = sonic.SAYS
HEADERS = sonic.HEADERS
TAKES_IMAGE = True
_SCRIPT, _PREPARE, _FILE = "first-boot.sh", "prepare.cli", "sonic.cli"
_TYPE = """#!/bin/sh
# Written by railweave deploy ztp.
for one in {names}; do
  curl -fsS -o "/tmp/$one" {url}/"$one" && sonic-cli "/tmp/$one" || exit 1
done
"""


def files(config: DeviceConfig, rendered: Mapping[str, str], place: Place) -> dict[str, str]:
    """``ztp.json``, the script, and the lines that it types."""
    del config
    names = [one for one in (_PREPARE, _FILE) if one in rendered]
    sections, found = sonic.with_image(place)
    sections["02-configuration"] = sonic.section(place, _SCRIPT)
    return {
        **found,
        "ztp.json": json.dumps({"ztp": sections}, indent=2) + "\n",
        _SCRIPT: _TYPE.format(names=" ".join(names), url=quoted(place.url)),
        **{name: rendered[name] for name in names},
    }


def options(place: Place) -> Options:
    """The address of ``ztp.json``."""
    return Options(f"{place.url}/ztp.json")
