"""The inventory against the design: that every row is about something that the fabric file has.

A device or a cabled port may have left the fabric file, and its row stayed: that is a finding. A NIC that its server
model does not have is a mistake.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.design.context import Context
    from railweave.model.network.devices import Cable, Server, Switch


DEVICE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")
"""Interfaces and RDMA devices whose names need no quoting anywhere."""

INVENTORY_UNUSED = Rule(
    id="inventory-unused",
    severity="warning",
    applies="design",
    says="a row of the inventory is about a device or port that the fabric file does not have",
    why="what the row says is not used",
    fix="correct the name, or leave the row out",
)


def check_inventory(
    context: Context, servers: Sequence[Server], switches: Sequence[Switch], cables: Sequence[Cable]
) -> None:
    """Note rows about a device or an interface that there is not, and interface names that Linux would refuse."""
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
            fix = "name a port that has one (cabling.csv lists them), or leave the row out"
            _unused(context, item.line, f"{device} has no cable in {interface!r}", fix)
        elif len(item.netdev) > longest:
            context.inventory_problem(
                item.line, f"netdev {item.netdev!r} has {len(item.netdev)} characters", f"Linux allows {longest}"
            )
        for column, name in (("netdev", item.netdev), ("rdma", item.rdma)):
            if name and (DEVICE_NAME.fullmatch(name) is None or name == "lo"):
                fix = "write it as `ip link` or `rdma link` shows it: letters, digits, dots, dashes, colons and underscores"
                context.inventory_problem(item.line, f"{column} {name!r} is not the name of a NIC", fix)
    context.check()
    for server in servers:
        _check_apart(context, server)
    context.check()


def _check_apart(context: Context, server: Server) -> None:
    """No two NICs of a server have a name in common, be it the inventory's or the server model's."""
    for column in ("netdev", "rdma"):
        owners: dict[str, str] = {}
        for nic in server.nics:
            name = getattr(nic, column)
            other = owners.setdefault(name, nic.name)
            if other != nic.name:
                rows = [context.source.inventory.get(server.name, one) for one in (nic.name, other)]
                line = next((row.line for row in rows if getattr(row, column) == name), 0)
                what = f"{server.name}: {other} and {nic.name} would both be {column} {name!r}"
                context.inventory_problem(line, what, f"fill the column {column} of both")


def _unused(context: Context, line: int, what: str, fix: str) -> None:
    file = Path(context.source.inventory.file).name
    context.findings.append(INVENTORY_UNUSED.finding(file, what, fix=fix, file=file, line=line))


def _nearest(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else "leave the row out"
