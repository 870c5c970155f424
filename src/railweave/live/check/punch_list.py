"""The punch list: what technicians have to do at racks, devices and ports, out of what was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from railweave.live.check import cabling, counters, identity, servers
from railweave.live.check import ports as of_ports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

HANDS = (
    cabling.SWAPPED,
    cabling.WRONG,
    cabling.MISSING,
    of_ports.ABSENT,
    of_ports.DOWN,
    of_ports.NO_OPTIC,
    of_ports.OPTIC,
    of_ports.DARK,
    servers.DOWN,
    counters.ERRORS,
    counters.FLAPS,
    identity.SILENT,
    identity.MODEL,
    identity.SERIAL,
)
"""Rules whose findings somebody has to walk for."""


@dataclass(frozen=True, slots=True)
class Task:
    """One line of the list; ``rack`` is empty where the fabric file puts the device into none, ``port`` where it is about the device."""

    rack: str
    unit: int
    device: str
    port: str
    do: str
    because: str

    def to_json(self) -> dict[str, object]:
        """The line as the documented JSON object."""
        return asdict(self)


def punch_list(network: Network, findings: Sequence[Finding]) -> list[Task]:
    """What to do by hand, by rack, device and port. What follows from a cause is not listed: it goes away with it."""
    hands = {one.id for one in HANDS}
    devices = {one.name: place for place, one in enumerate((*network.switches, *network.servers))}
    ends = (end for cable in network.cables for end in (cable.a, cable.b))
    ports = {(end.device, end.port): place for place, end in enumerate(ends)}
    found: list[Task] = []
    for one in findings:
        if one.id in hands and one.severity != "info":
            device, _, port = one.where.partition(" ")
            place = network.positions.get(device)
            found.append(Task(place.rack if place else "", place.unit if place else 0, device, port, one.fix, one.what))

    def key(task: Task) -> tuple[str, int, int, int]:
        # By the first of two ports that one line names; what is about the whole device comes first.
        port = ports.get((task.device, task.port.partition(" ")[0]), -1)
        return task.rack, -task.unit, devices.get(task.device, len(devices)), port

    return sorted(found, key=key)
