"""Names of interfaces as devices say them, beside those of the design."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from railweave.host.port_names import announced, by_names, plain
from railweave.model.device.port_model import nic_names, switch_port_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.network.model import Network
    from railweave.model.state.protocols import LldpNeighbor


Value = TypeVar("Value")


def without_unit(name: str) -> str:
    """A port without its logical unit: ``et-0/0/0:0.0`` is ``et-0/0/0:0``; ``irb.100`` keeps its own."""
    port, dot, unit = name.rpartition(".")
    return port if dot and unit == "0" else name


def same_port(said: str | None, designed: str) -> bool:
    """Whether a device means the port that the design calls so."""
    return said is not None and (said == designed or without_unit(said) == designed)


def of_port(table: Mapping[str, Value], name: str) -> Value | None:
    """What a table by interface has of a port, by its name or by that of its logical unit."""
    found = table.get(name)
    return table.get(f"{name}.0") if found is None else found


def short(name: str) -> str:
    """A host name without its domain, in small letters."""
    return name.partition(".")[0].lower()


End = tuple[str, str]
"""A device and its port."""

Ends = dict[str, dict[str, End]]
"""Ends by the short name of their device and every name of their port; of no device: NICs by their MAC address."""


def ends_by_name(network: Network, called: Mapping[tuple[str, str], str] | None = None) -> Ends:
    """Return both ends of every cable by all their names. ``called`` are names of ports by device and link, if not the design's: a lab's."""
    names: dict[str, dict[End, tuple[str, ...]]] = {}
    nics = {(server.name, nic.name): nic for server in network.servers for nic in server.nics}
    for cable in network.cables:
        for end, far in ((cable.a, cable.b), (cable.b, cable.a)):
            nic = nics.get((end.device, end.port))
            known = nic_names(nic) if nic else switch_port_names(network, end, far)
            used = end.port if called is None else called.get((end.device, cable.name), end.port)
            names.setdefault(short(end.device), {})[end.device, used] = (*known, used)
    macs = {end: (plain(nic.mac),) for end, nic in nics.items() if not nic.mac_is_placeholder}
    return {device: by_names(ports) for device, ports in names.items()} | {"": by_names(macs)}


def end_of(ends: Ends, said: LldpNeighbor) -> tuple[bool, End | None]:
    """Return whether a neighbor tells which port of which device it is, and the end (None: one that the design has not)."""
    if said.system is not None:
        ports = ends.get(short(said.system))
        return (True, None) if ports is None else announced(ports, said.port, said.port_kind, said.port_description)
    macs = ends[""]  # firmware of a NIC sends no name
    nic = macs.get(plain(said.port)) or macs.get(plain(said.chassis))
    return nic is not None, nic
