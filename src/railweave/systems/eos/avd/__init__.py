"""The configuration of a switch in the data model of Arista's AVD (``eos_cli_config_gen``).

It is what ``eos.conf`` is validated by, so nothing of its renderer is used: every value is computed from the
``DeviceConfig`` a second time, and only names are shared (``systems/eos/names.py``). What AVD's schema has no word for
stands in its ``eos_cli``, as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.avd.control_plane import control_plane
from railweave.systems.eos.avd.management import management
from railweave.systems.eos.avd.ports import encryption, interfaces
from railweave.systems.eos.avd.qos import qos
from railweave.systems.eos.avd.routing import routing

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


def structured_config(config: DeviceConfig) -> dict[str, Any]:
    """The structured configuration."""
    raw: list[str] = []
    found = {**management(config, raw), **encryption(config, raw), **interfaces(config)}
    found |= {**qos(config, raw), **routing(config), **control_plane(config)}
    raw += config.extra.strip().splitlines()
    return {**found, "eos_cli": "\n".join(raw)} if raw else found
