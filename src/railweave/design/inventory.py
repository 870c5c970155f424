"""Device positions, the cable lengths between them, and checks of the inventory against the design.

An inventory row whose device or port is no longer in the design gives a finding. A row for a NIC that the server's
model does not have gives an error.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.model.intent.base import expand
from railweave.model.network.devices import Cable, Position, Server, Switch
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.overrides import Racks


UNIT_M = 0.04445
"""The height of a rack unit in metres (EIA-310)."""

ASSUMED_UNITS = 1
"""The assumed height, in rack units, of a device whose model has no documented height."""


def positions(context: Context, layouts: Iterable[Layout]) -> dict[str, Position]:
    """Return the position of each device that the file puts in a rack. Raises ``DesignError`` if a position is impossible."""
    heights = _heights(context, layouts)
    places: dict[str, Position] = {}
    for rack, spec in context.source.spec.racks.racks.items():
        taken: dict[int, str] = {}
        for pattern, lowest in spec.devices.items():
            at = ("racks", "racks", rack, "devices", pattern)
            unit = lowest
            for name in _expanded(context, at, pattern):
                if name not in heights:
                    context.problem(
                        at, f"there is no device {name!r}", "use the name of a switch or server of this file"
                    )
                    continue
                if name in places:
                    context.problem(at, f"{name} is also in rack {places[name].rack}", "name each device once")
                    continue
                units = range(unit, unit + heights[name])
                if unit < 1 or units[-1] > spec.units:
                    fix = f"the rack has units 1 to {spec.units}, and {name} needs {heights[name]} units"
                    context.problem(at, f"{name} would extend to unit {units[-1]} of rack {rack}", fix)
                elif other := next((taken[slot] for slot in units if slot in taken), ""):
                    context.problem(at, f"{name} and {other} overlap in rack {rack}", "move one of them")
                taken |= dict.fromkeys(units, name)
                places[name] = Position(rack, unit)
                unit = units[-1] + 1
    context.check()
    return places


def _expanded(context: Context, at: tuple[str, ...], pattern: str) -> list[str]:
    try:
        return expand(pattern)
    except ValueError as error:
        context.problem(at, str(error), "write a name, or a host list such as gpu-[1-4]")
        return []


def _heights(context: Context, layouts: Iterable[Layout]) -> dict[str, int]:
    """Return the height of every device of the network, in rack units."""
    known = context.catalog
    heights: dict[str, int] = {}
    for layout in layouts:
        for name, equipment in layout.equipment.items():
            heights[name] = equipment.model.rack_units or ASSUMED_UNITS
    for group in context.source.spec.servers:
        model = known.servers.get(group.model)
        heights |= dict.fromkeys(group.names, (model.rack_units if model else None) or ASSUMED_UNITS)
    return heights


def cable_length(spec: Racks, places: Mapping[str, Position], device: str, other: str) -> float | None:
    """Return the length of a cable from ``device`` to ``other`` in metres, or None if either device has no rack position.

    ``places`` holds the rack positions. In one rack, the cable runs from rack unit to rack unit. Between racks, the cable runs up to the
    top of both racks, and along and across the rows.
    """
    near, far = places.get(device), places.get(other)
    if near is None or far is None:
        return None
    if near.rack == far.rack:
        way = abs(near.unit - far.unit) * UNIT_M
    else:
        a, b = spec.racks[near.rack], spec.racks[far.rack]
        rise = (a.units - near.unit + b.units - far.unit) * UNIT_M
        way = rise + abs(a.x - b.x) + abs(a.y - b.y)
    steps = math.ceil(round((way + spec.slack) / spec.step, 6))
    return round(steps * spec.step, 3)


DEVICE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")
"""A pattern of names of interfaces and RDMA devices that need no quoting in any file or command."""

INVENTORY_UNUSED = Rule(
    id="inventory-unused",
    severity="warning",
    applies="design",
    fault="a row of the inventory names a device or port that is not in the fabric file",
    why="the row is ignored",
    fix="correct the name, or remove the row",
)


def check_inventory(
    context: Context, servers: Sequence[Server], switches: Sequence[Switch], cables: Sequence[Cable]
) -> None:
    """Check the inventory against the design, and record problems and findings.

    They are about rows of unknown devices or interfaces, and about interface names that Linux rejects. Raises ``DesignError`` if there
    is any problem.
    """
    if not context.source.inventory.items:
        return
    models = {server.name: context.catalog.servers[server.model] for server in servers}
    nics = {server: [name for group in model.nics.values() for name in group.names] for server, model in models.items()}
    ports: dict[str, list[str]] = {switch.name: [] for switch in switches}
    for cable in cables:
        for end in (cable.a, cable.b):
            if end.device in ports:
                ports[end.device].append(end.port)
    longest = context.catalog.kernel.ifname_length
    for (device, interface), item in context.source.inventory.items.items():
        if device not in nics and device not in ports:
            _unused(context, item.line, f"there is no device {device!r}", _nearest(device, [*nics, *ports]))
        elif interface and device in nics and interface not in nics[device]:
            context.inventory_problem(
                item.line, f"{device} has no interface {interface!r}", f"its NICs are {', '.join(nics[device])}"
            )
        elif interface and device in ports and interface not in ports[device]:
            fix = "use a port that has a cable (cabling.csv lists them), or remove the row"
            _unused(context, item.line, f"{device} has no cable in {interface!r}", fix)
        elif len(item.netdev) > longest:
            context.inventory_problem(
                item.line, f"netdev {item.netdev!r} has {len(item.netdev)} characters", f"Linux allows {longest}"
            )
        for column, name in (("netdev", item.netdev), ("rdma", item.rdma)):
            if name and (DEVICE_NAME.fullmatch(name) is None or name == "lo"):
                fix = (
                    "write it as `ip link` or `rdma link` prints it: letters, digits, dots, dashes, colons and "
                    "underscores"
                )
                context.inventory_problem(item.line, f"{column} {name!r} is not a valid name of a NIC", fix)
    context.check()
    for server in servers:
        _check_apart(context, server)
    context.check()


def _check_apart(context: Context, server: Server) -> None:
    """Record a problem if two NICs of a server have the same interface name or RDMA device name.

    The names come from the inventory or the server model.
    """
    for column in ("netdev", "rdma"):
        owners: dict[str, str] = {}
        for nic in server.nics:
            name = getattr(nic, column)
            other = owners.setdefault(name, nic.name)
            if other != nic.name:
                rows = [context.source.inventory.get(server.name, nic_name) for nic_name in (nic.name, other)]
                line = next((row.line for row in rows if getattr(row, column) == name), 0)
                message = f"{server.name}: {other} and {nic.name} would both have the {column} {name!r}"
                context.inventory_problem(line, message, f"give both NICs a value in column {column}")


NVLINK_RACK = Rule(
    id="nvlink-rack",
    severity="warning",
    applies="design",
    fault="the servers of a rack are not one NVLink domain: they are on several stripes, or more than a domain has",
    why="a domain is one rack, with all its servers on one stripe; predictions for this rack are wrong",
    fix="correct `racks:`, or the `stripe:` of its servers",
)


def check_domains(context: Context, servers: Sequence[Server], places: Mapping[str, Position]) -> None:
    """Record a finding for each rack whose servers cannot form one NVLink domain, because they are in several stripes or are too many.

    Only models whose NVLink domain has several servers count. ``places`` holds the rack positions of devices.
    """
    racks: dict[str, list[tuple[int, str]]] = {}
    for server in servers:
        model, place = context.catalog.servers.get(server.model), places.get(server.name)
        if model is not None and model.domain_servers > 1 and place is not None and server.nics:
            racks.setdefault(place.rack, []).append((model.domain_servers, server.nics[0].stripe))
    for rack, members in racks.items():
        stripes, most = dict.fromkeys(stripe for _, stripe in members), max(count for count, _ in members)
        if len(stripes) > 1:
            _no_domain(context, rack, f"its servers are on stripes {', '.join(stripes)}")
        if len(members) > most:
            _no_domain(context, rack, f"it has {len(members)} servers, but an NVLink domain has {most}")


def _no_domain(context: Context, rack: str, message: str) -> None:
    context.finding(NVLINK_RACK, rack, ("racks", "racks", rack), message)


def _unused(context: Context, line: int, message: str, fix: str) -> None:
    file = Path(context.source.inventory.file).name
    context.findings.append(INVENTORY_UNUSED.finding(file, message, fix=fix, file=file, line=line))


def _nearest(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else "remove the row"
