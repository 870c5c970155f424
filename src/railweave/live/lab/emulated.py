"""Configurations for a lab that behaves like a running network, with the differences of running devices from their designs.

The lab runs FRR in place of systems that have no ``frr.conf``. Each difference between a device and its design is
applied to the same field of the lab's designed configuration. If that configuration has no such field (path colors in a
different form, QoS), the difference is reported instead.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

from railweave.model.device.build import device_config
from railweave.model.device.config_file import from_document, to_document
from railweave.model.device.fields import FieldDifference, differences, entries
from railweave.outputs.rendering.network import emulation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

_ROUTING = ("interfaces", "gateways", "bgp", "isis", "ospf", "overlay", "vrfs", "mac_vrf", "loopback", "protection")
"""The parts of a configuration that the lab runs. The other parts have no effect in a lab."""


def emulated(network: Network, running: Mapping[str, DeviceConfig]) -> tuple[dict[str, DeviceConfig], list[str]]:
    """Return the configurations that the lab runs, by switch, and a sentence for each difference that could not be applied.

    ``running`` has the configurations that the real switches run, by name.
    """
    made: dict[str, DeviceConfig] = {}
    sentences: list[str] = []
    for switch in network.switches:
        target = emulation(switch)
        running_config = running[switch.name]
        if target == running_config.nos:
            made[switch.name] = running_config
            continue
        designed, twin = device_config(network, switch.name), device_config(network, switch.name, target)
        changes = [
            difference for difference in differences(designed, running_config) if difference.place[0] in _ROUTING
        ]
        names = {interface.link: interface.name for interface in twin.interfaces}
        ports = {interface.name: names[interface.link] for interface in designed.interfaces if interface.link in names}
        document = to_document(twin)
        sentences += [
            f"{switch.name}: {' '.join(difference.place)} is as designed in the lab, where it has another form"
            for difference in changes
            if not _carried(document, difference, ports)
        ]
        made[switch.name] = from_document(document) if changes else twin
    return made, sentences


def _carried(document: dict[str, Any], difference: FieldDifference, ports: Mapping[str, str]) -> bool:
    """Change the lab's configuration ``document`` (JSON) by ``difference``: a field's designed value and the value on the real device.

    Return False if the field does not have the designed value in ``document``. ``ports`` has the lab's port names by the device's port
    names.
    """
    *above, last = (ports.get(part, part) for part in difference.place)
    at: object = document
    for name in above:
        at = _below(at, name)
    old, new = _renamed(difference.old, ports), _renamed(difference.new, ports)
    if isinstance(at, dict) and last in at:
        fields = cast("dict[str, Any]", at)
        if fields[last] != old:
            return False
        fields[last] = new
        return True
    rows = cast("list[Any]", at)
    there = entries(rows)
    if there is None:
        return False
    if new is None and last in there:
        rows.remove(there[last])
        return True
    if old is None and last not in there:
        rows.append(copy.deepcopy(new))
        return True
    return False


def _below(at: object, name: str) -> object:
    if isinstance(at, dict):
        return cast("dict[str, object]", at).get(name)
    return (entries(at) or {}).get(name)


def _renamed(value: object, ports: Mapping[str, str]) -> object:
    """Return a value in which all port names are replaced. ``ports`` has the new names by the old names."""
    if isinstance(value, str):
        return ports.get(value, value)
    if isinstance(value, list):
        return [_renamed(nested, ports) for nested in cast("list[object]", value)]
    if isinstance(value, dict):
        return {name: _renamed(nested, ports) for name, nested in cast("dict[str, object]", value).items()}
    return value
