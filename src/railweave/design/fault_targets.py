"""The links, switches and servers of a designed network to which the faults of a scenario refer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import Problem, SpecError
from railweave.model.network.nvlink import nvlink_domains
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.intent.scenario import Fault, ScenarioFile
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class FaultTarget:
    """A fault of a scenario file with its targets in the network.

    - ``links``: the names of the links that the fault's ``link``, ``nic`` or sessions refer to; may be empty.
    - ``devices``: the switches and servers that the fault's ``device`` or ``plane`` refers to. For an NVLink domain, its
      servers.
    - ``trays``: the number of NVLink switch trays of the fault's ``domain``; 0 for other faults.
    """

    fault: Fault
    links: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    trays: int = 0


class _UnknownError(ValueError):
    """An error for a name that does not exist in the network. ``field`` is the field of the fault that has the name.

    ``what`` is the message, and ``fix`` the remedy.
    """

    def __init__(self, field: str, message: str, fix: str) -> None:
        super().__init__(field, message, fix)
        self.field, self.what, self.fix = field, message, fix


def fault_targets(network: Network, file: ScenarioFile) -> list[FaultTarget]:
    """Return the faults of a scenario with their targets, in the scenario's order.

    Raises ``SpecError`` with the line of each unknown name.
    """
    problems: list[Problem] = []
    targets: list[FaultTarget] = []
    for place, fault in enumerate(file.scenario.faults):
        try:
            targets.append(_target(network, fault))
        except _UnknownError as error:
            problems.append(file.document.problem(("faults", place, error.field), error.what, error.fix))
    if problems:
        raise SpecError(problems)
    return targets


def _target(network: Network, fault: Fault) -> FaultTarget:
    switches = [switch.name for switch in network.switches]
    if fault.link is not None:
        return FaultTarget(fault, _links(network, fault.link))
    if fault.nic is not None:
        links = tuple(cable.name for cable in network.cables if f"{cable.a.device}:{cable.a.port}" == fault.nic)
        if not links:
            names = [f"{server.name}:{nic.name}" for server in network.servers for nic in server.nics]
            raise _UnknownError("nic", f"there is no NIC {fault.nic!r} with a cable", _near(fault.nic, names))
        return FaultTarget(fault, links)
    if fault.plane is not None:
        return FaultTarget(fault, devices=_plane(network, fault.plane))
    if fault.domain is not None:
        return _domain(network, fault, fault.domain)
    device = fault.device or ""
    servers = [server.name for server in network.servers] if fault.kind == "device-down" else []
    if device not in switches and device not in servers:
        raise _UnknownError("device", f"there is no switch {device!r}", _near(device, switches + servers))
    if fault.kind == "bgp-down":
        return FaultTarget(
            fault, tuple(cable.name for cable in network.cables_of(device) if cable.kind == "fabric"), (device,)
        )
    if fault.neighbor is not None:
        links = _between(network, device, fault.neighbor)
        if fault.neighbor not in switches or not links:
            beside = [name for cable in network.cables_of(device) for name in (cable.a.device, cable.b.device)]
            fix = _near(fault.neighbor, [name for name in switches if name in beside and name != device])
            raise _UnknownError("neighbor", f"{device} has no link to a switch {fault.neighbor!r}", fix)
        return FaultTarget(fault, links, (device,))
    if fault.port is not None:
        ports = {end.port for cable in network.cables_of(device) for end in (cable.a, cable.b) if end.device == device}
        if fault.port not in ports:
            fix = _near(fault.port, sorted(ports))
            raise _UnknownError("port", f"no cable is on port {fault.port!r} of {device}", fix)
    return FaultTarget(fault, devices=(device,))


def _domain(network: Network, fault: Fault, name: str) -> FaultTarget:
    """Return the target of a fault in the NVLink domain ``name``: its servers, and the number of its NVLink switch trays.

    Raises ``_UnknownError`` if the domain or this number is unknown.
    """
    domains = nvlink_domains(network)
    members = tuple(server for server, domain in domains.items() if domain == name)
    if not members:
        message = f"there is no NVLink domain {name!r}"
        if not domains:
            raise _UnknownError("domain", message, "NVLink joins no servers of this network")
        raise _UnknownError("domain", message, _near(name, domains.values()))
    model = network.catalog.servers[network.server(members[0]).model]
    if model.domain_switches is None:
        message = f"the number of NVLink switch trays of {name} is not known"
        raise _UnknownError("domain", message, "set `domain_switches` in the server model (docs/hardware.md)")
    return FaultTarget(fault, devices=members, trays=model.domain_switches)


def _plane(network: Network, text: str) -> tuple[str, ...]:
    """Return the names of the switches in a plane, which is written ``plane2`` or ``FABRIC/plane2``."""
    fabric, _, name = text.rpartition("/")
    planes: dict[str, list[str]] = {}
    for switch in network.switches:
        if switch.plane and fabric in {"", switch.fabric}:
            planes.setdefault(f"{switch.fabric}/{switch.plane}", []).append(switch.name)
    if not planes:
        raise _UnknownError("plane", f"there is no plane {text!r}", "no fabric has planes: name a switch with `device`")
    matches = [plane for plane in planes if plane.rpartition("/")[2] == name]
    if not matches:
        raise _UnknownError(
            "plane", f"there is no plane {text!r}", _near(name, [plane.rpartition("/")[2] for plane in planes])
        )
    if len(matches) > 1:
        raise _UnknownError("plane", f"several fabrics have a plane {name!r}", f"write {' or '.join(matches)}")
    return tuple(planes[matches[0]])


def _links(network: Network, text: str) -> tuple[str, ...]:
    """Return the names of the links that ``A:port--B:port`` or ``A--B`` matches. Either end may come first."""
    near, dashes, far = text.partition("--")
    names = {cable.name for cable in network.cables}
    for name in (text, f"{far}--{near}"):
        if name in names:
            return (name,)
    links = _between(network, near, far) if dashes else ()
    if not links:
        pairs = [f"{cable.a.device}--{cable.b.device}" for cable in network.cables]
        raise _UnknownError("link", f"there is no link {text!r}", _near(text, [*names, *pairs]))
    return links


def _between(network: Network, device: str, other: str) -> tuple[str, ...]:
    return tuple(cable.name for cable in network.cables if {cable.a.device, cable.b.device} == {device, other})


def _near(name: str, known: Iterable[str]) -> str:
    known = list(dict.fromkeys(known))
    close = nearest(name, known)
    return f"did you mean {close}?" if close else f"there are {', '.join(known[:4])}{', …' if known[4:] else ''}"
