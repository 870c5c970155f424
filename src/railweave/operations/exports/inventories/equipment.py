"""The hardware of a design in NetBox's words: device types, interface types and cable types.

The words are the choices of NetBox 4.7 (``dcim``: InterfaceTypeChoices, CableTypeChoices).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.operations.exports.inventories.objects import slug

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.catalog.hardware import Optic, PortGroup, SwitchModel
    from railweave.model.network.devices import End, Nic, Server
    from railweave.model.network.model import Network

OTHER = "other"
"""The interface type of ports for which NetBox has no type, such as a channel of 200 Gb/s in an OSFP cage."""
VIRTUAL = "virtual"
_TYPES = {
    ("SFP28", 25): "25gbase-x-sfp28",
    ("QSFP28", 100): "100gbase-x-qsfp28",
    ("QSFP56", 200): "200gbase-x-qsfp56",
    ("QSFP112", 400): "400gbase-x-qsfp112",
    ("QSFP-DD", 100): "100gbase-x-qsfpdd",
    ("QSFP-DD", 200): "200gbase-x-qsfpdd",
    ("QSFP-DD", 400): "400gbase-x-qsfpdd",
    ("QSFP-DD", 800): "800gbase-x-qsfpdd",
    ("QSFP112-DD", 400): "400gbase-x-qsfpdd",
    ("QSFP112-DD", 800): "800gbase-x-qsfpdd",
    ("OSFP", 400): "400gbase-x-osfp",
    ("OSFP", 800): "800gbase-x-osfp",
    ("OSFP", 1600): "1.6tbase-x-osfp1600",
}
"""The interface types by the cage of the port and its speed in Gb/s."""
UNKNOWN_MAKER = "Generic"
"""The manufacturer of servers: the catalog describes them without a maker."""


class DeviceType(NamedTuple):
    """A model of devices. ``units`` is its height in rack units. ``assumed`` is True if no document gives the height."""

    manufacturer: str
    model: str
    description: str
    units: int
    assumed: bool

    @property
    def slug(self) -> str:
        """The model's identifier, which begins with its manufacturer as in the community's device type library."""
        maker, model = slug(self.manufacturer), slug(self.model)
        return model if model.startswith(f"{maker}-") else f"{maker}-{model}"


def interface_type(cage: str, speed_gbps: int) -> str:
    """Return the interface type of a port of a speed, or ``other`` if NetBox has none for its cage."""
    return _TYPES.get((cage, speed_gbps), OTHER)


def port_type(network: Network, model: str, physical: int | None, speed_gbps: int) -> str:
    """Return the interface type of a switch port. ``physical`` is the number of its cage on the front panel."""
    switch = network.catalog.switches.get(model)
    group = switch.group_of(physical) if switch is not None and physical is not None else None
    return interface_type(group.cage, speed_gbps) if group else OTHER


def nic_type(network: Network, server: Server, nic: Nic) -> str:
    """Return the interface type of a NIC."""
    model = network.catalog.servers.get(server.model)
    for group in model.nics.values() if model is not None else ():
        if nic.name in group.names and (adapter := network.catalog.nics.get(group.nic)) is not None:
            return interface_type(adapter.cage, nic.speed_gbps)
    return OTHER


def cable_type(optic: Optic | None) -> str:
    """Return the cable type that an optic needs, or an empty string if the optic is not in the catalog.

    The grade of a fibre is given only if the catalog gives it.
    """
    if optic is None:
        return ""
    if optic.copper:
        return "dac-passive" if "passive" in optic.description.lower() else "dac-active"
    if optic.kind == "aoc":
        return "aoc"
    grades = {"OM3": "mmf-om3", "OM4": "mmf-om4", "OM5": "mmf-om5", "OS1": "smf-os1", "OS2": "smf-os2"}
    graded = next((kind for grade, kind in grades.items() if grade in optic.fibre), "")
    return graded or ("mmf" if "multimode" in optic.media else "smf" if "single-mode" in optic.media else "")


def module_words(end: End) -> str:
    """Return the module and the lanes that a link uses at one end, for example ``osfp-800g-2x400g-sr4, lanes 1-4``."""
    return ", ".join(part for part in (end.optic, f"lanes {end.lanes}" if end.lanes else "") if part)


def device_types(network: Network) -> dict[str, DeviceType]:
    """Return the device types of a network by the names of the models in the catalog."""
    result: dict[str, DeviceType] = {}
    for name in dict.fromkeys(switch.model for switch in network.switches):
        model = network.catalog.switches[name]
        units = model.rack_units
        result[name] = DeviceType(model.vendor, name, model.description, units or 1, units is None)
    for name in dict.fromkeys(server.model for server in network.servers):
        machine = network.catalog.servers[name]
        units = machine.rack_units
        result[name] = DeviceType(UNKNOWN_MAKER, name, machine.description, units or 1, units is None)
    return result


def cages(model: SwitchModel) -> Iterator[tuple[PortGroup, int]]:
    """Yield each physical port of a switch model with its group, in order."""
    for group in model.ports:
        for number in range(group.first, group.last + 1):
            yield group, number
