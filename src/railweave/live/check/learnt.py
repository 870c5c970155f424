"""What devices say of hardware that nobody knows before it is delivered: serial numbers, MAC addresses, names of interfaces, modules."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.live.check.interfaces import short
from railweave.live.check.learnt_of_modules import modules
from railweave.live.check.learnt_of_nics import by_leaf, by_server
from railweave.live.check.port_names import ends_by_name
from railweave.model.intent.inventory import COLUMNS, TO_FILL_IN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState

Key = tuple[str, str]
"""A device and its interface; the interface is empty for the device itself."""
_OF_ONE_NIC = ("mac", "netdev", "rdma")
_MOST_NAMED = 3
"""NICs in one note."""


@dataclass(frozen=True)
class Learnt:
    """Cells of the inventory by device, interface and column; ``notes`` say what was heard and not taken, and why."""

    cells: dict[Key, dict[str, str]]
    notes: list[str]


def learnt(network: Network, states: Mapping[str, DeviceState], hosts: Mapping[str, HostState] | None = None) -> Learnt:
    """What can be told without doubt: two devices that say otherwise of one NIC, or one MAC address at two NICs, are notes."""
    heard: dict[tuple[str, str, str], dict[str, str]] = {}

    def hear(device: str, interface: str, column: str, value: str, by: str) -> None:
        heard.setdefault((device, interface, column), {}).setdefault(value, by)

    notes: list[str] = []
    for switch in network.switches:
        state = states.get(switch.name)
        identity = state.identity if state is not None else None
        if identity is None or not identity.serial:
            continue
        if identity.host_name and short(identity.host_name) != short(switch.name):
            notes.append(
                f"{switch.name} calls itself {identity.host_name}: its serial number {identity.serial} was not taken"
            )
            continue
        hear(switch.name, "", "serial", identity.serial, "its own answer")
    ends = ends_by_name(network)
    for server, nic in ((one, nic) for one in network.servers for nic in one.nics):
        state, host = states.get(nic.leaf), (hosts or {}).get(server.name)
        told = [*by_leaf(server, nic, state, notes)] if state is not None else []
        told += by_server(server, nic, host, ends, notes) if host is not None else ()
        for column, value, by in told:
            hear(server.name, nic.name, column, value, by)
    for end, column, value in modules(network, states):
        hear(end.device, end.port, column, value, "its own answer")
    cells: dict[Key, dict[str, str]] = {}
    for (device, interface, column), values in heard.items():
        if len(values) > 1:
            said = ", ".join(f"{value} by {by}" for value, by in values.items())
            notes.append(f"{device} {interface}: {column} is {said}: none was taken")
        else:
            cells.setdefault((device, interface), {})[column] = next(iter(values))
    return Learnt(_once(cells, notes), notes)


def _once(cells: dict[Key, dict[str, str]], notes: list[str]) -> dict[Key, dict[str, str]]:
    """The cells without MAC addresses that were heard of several NICs, and without names that several NICs of one server would have."""
    owners: dict[tuple[str, str], list[Key]] = {}
    for key, row in cells.items():
        for column, value in row.items():
            if column in _OF_ONE_NIC:
                owners.setdefault((column, value if column == "mac" else f"{key[0]} {value}"), []).append(key)
    for (column, value), keys in owners.items():
        if len(keys) > 1:
            named = [" ".join(one) for one in keys[:_MOST_NAMED]]
            more = [f"{len(keys) - _MOST_NAMED} more"] if len(keys) > _MOST_NAMED else []
            where = " and ".join([*named, *more])
            notes.append(f"{column} {value} was heard of {where}: it was not taken")
            for key in keys:
                del cells[key][column]
    return {key: row for key, row in cells.items() if row}


def filled(text: str, cells: Mapping[Key, Mapping[str, str]]) -> str:
    """The text of an inventory with these cells: rows that are there keep their place, new ones come at the end.

    Other cells, comments and the order of columns stay; columns that are missing are added.
    """
    rows = list(csv.reader(io.StringIO(text, newline="")))
    head = [one.strip() for one in rows[0]] if rows else list(TO_FILL_IN)
    wanted = {column for row in cells.values() for column in row} | {"device", "interface"}
    head += [one for one in COLUMNS if one in wanted and one not in head]
    place = {column: number for number, column in enumerate(head)}
    left = dict(cells)
    body: list[list[str]] = []
    for row in rows[1:]:
        full = row + [""] * (len(head) - len(row))
        found = left.pop((full[place["device"]].strip(), full[place["interface"]].strip()), None) if row else None
        for column, value in (found or {}).items():
            full[place[column]] = value
        body.append(row if found is None else full)
    for (device, interface), values in left.items():
        named = {"device": device, "interface": interface, **values}
        body.append([named.get(column, "") for column in head])
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([head, *body])
    return out.getvalue()
