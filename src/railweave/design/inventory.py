"""The inventory against the design: that every row is about something that the fabric file has."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.design.context import Context
    from railweave.design.network import Cable, Server, Switch


def check_inventory(
    context: Context, servers: Sequence[Server], switches: Sequence[Switch], cables: Sequence[Cable]
) -> None:
    """Note every row about a device or an interface that there is not, and interface names that Linux would refuse."""
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
            context.inventory_problem(item.line, f"there is no device {device!r}", _nearest(device, [*nics, *ports]))
        elif interface and device in nics and interface not in nics[device]:
            context.inventory_problem(
                item.line, f"{device} has no interface {interface!r}", f"its NICs are {', '.join(nics[device])}"
            )
        elif interface and device in ports and interface not in ports[device]:
            context.inventory_problem(
                item.line,
                f"{device} has no cable in {interface!r}",
                "name a port that has one (cabling.csv lists them), or leave the row out",
            )
        elif len(item.netdev) > longest:
            context.inventory_problem(
                item.line, f"netdev {item.netdev!r} has {len(item.netdev)} characters", f"Linux allows {longest}"
            )
    context.check()


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]!r}?" if close else "leave the row out"
