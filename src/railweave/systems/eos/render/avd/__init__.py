"""The configuration of a switch in the data model of Arista's AVD (``eos_cli_config_gen``).

What its schema has no word for stands in its ``eos_cli``, as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.render.avd.management import management
from railweave.systems.eos.render.avd.ports import encryption, interfaces
from railweave.systems.eos.render.avd.qos import qos
from railweave.systems.eos.render.avd.routing import routing

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig


def structured_config(config: DeviceConfig, shared_mb: float) -> dict[str, Any]:
    """The structured configuration. ``shared_mb`` is the switch's packet buffer."""
    raw: list[str] = []
    found = {**management(config, raw), **encryption(config, raw), **interfaces(config)}
    found |= {**qos(config, shared_mb), **routing(config)}
    raw += config.extra.strip().splitlines()
    return {**found, "eos_cli": "\n".join(raw)} if raw else found
