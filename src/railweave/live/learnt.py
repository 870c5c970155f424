"""What devices say of hardware that nobody knows before it is delivered: serial numbers, MAC addresses, interface names."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.intent.inventory import COLUMNS
from railweave.live.interfaces import of_port, short, without_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.network.devices import Nic, Server
    from railweave.network.model import Network
    from railweave.state.device_state import DeviceState
    from railweave.state.protocols import LldpNeighbor

Key = tuple[str, str]
"""A device and its interface; the interface is empty for the device itself."""
_MAC = re.compile(r"[0-9a-f]{2}([:.-]?[0-9a-f]{2}){5}")
_NETDEV = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
"""Names of interfaces as Linux has them (``IFNAMSIZ``), without those that would need quoting."""


@dataclass(frozen=True)
class Learnt:
    """Cells of the inventory by device, interface and column; ``notes`` say what was heard and not taken, and why."""

    cells: dict[Key, dict[str, str]]
    notes: list[str]


def learnt(network: Network, states: Mapping[str, DeviceState]) -> Learnt:
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
    for server in network.servers:
        for nic in server.nics:
            state = states.get(nic.leaf)
            if state is not None:
                for column, value, by in [*_by_lldp(server, nic, state, notes), *_by_neighbors(nic, state)]:
                    hear(server.name, nic.name, column, value, by)
    cells: dict[Key, dict[str, str]] = {}
    for (device, interface, column), values in heard.items():
        if len(values) > 1:
            said = ", ".join(f"{value} by {by}" for value, by in values.items())
            notes.append(f"{device} {interface}: {column} is {said}: none was taken")
        else:
            cells.setdefault((device, interface), {})[column] = next(iter(values))
    return Learnt(_once(cells, notes), notes)


def _by_lldp(server: Server, nic: Nic, state: DeviceState, notes: list[str]) -> Iterable[tuple[str, str, str]]:
    """MAC address and interface name from the neighbor on the leaf's port: by the server's own LLDP, or its NIC's."""
    said = of_port(state.neighbors or {}, nic.leaf_port) or ()
    own = [one for one in said if one.system is not None and short(one.system) == short(server.name)]
    others = [one for one in said if one.system is not None and one not in own]
    if others:
        notes.append(
            f"{nic.leaf} {nic.leaf_port} hears {others[0].system} in place of {server.name} {nic.name}: nothing was taken; "
            "`railweave check` says which cable to move"
        )
        return
    for one in own or said:
        mac = _mac(one.port)
        if mac:
            yield "mac", mac, "LLDP"
        netdev = _netdev(one, named=bool(own))
        if netdev and netdev != nic.netdev:
            yield "netdev", netdev, "LLDP"


def _netdev(said: LldpNeighbor, *, named: bool) -> str:
    """The Linux name of a neighbor's port: only a server's own daemon, which names the server, has it."""
    name = said.port_description if _mac(said.port) else said.port
    return name if named and name and _NETDEV.fullmatch(name) and not name.isdigit() else ""


def _by_neighbors(nic: Nic, state: DeviceState) -> Iterable[tuple[str, str, str]]:
    """MAC address from the leaf's neighbor cache: by a static address, or as the only one on a routed port."""
    static = {one.address for one in nic.addresses if one.origin != "slaac"}
    entries = [one for one in state.ipv6_neighbors or () if one.mac is not None]
    alone = {
        _mac(one.mac) for one in entries if one.interface is not None and without_unit(one.interface) == nic.leaf_port
    }
    found = {_mac(one.mac) for one in entries if one.address in static} or (alone if len(alone) == 1 else set[str]())
    for mac in sorted(found - {""}):
        yield "mac", mac, "its neighbor cache entry"


def _mac(said: str | None) -> str:
    """A MAC address in the inventory's form; empty for what is none, or a group's (IEEE 802)."""
    if said is None or not _MAC.fullmatch(said.lower()):
        return ""
    digits = re.sub("[:.-]", "", said.lower())
    if int(digits[:2], 16) & 1 or not int(digits, 16):
        return ""
    return ":".join(digits[place : place + 2] for place in range(0, 12, 2))


def _once(cells: dict[Key, dict[str, str]], notes: list[str]) -> dict[Key, dict[str, str]]:
    """The cells without MAC addresses that were heard of several NICs, and without one server's name for several."""
    owners: dict[tuple[str, str], list[Key]] = {}
    for key, row in cells.items():
        for column, value in row.items():
            if column != "serial":
                owners.setdefault((column, value if column == "mac" else f"{key[0]} {value}"), []).append(key)
    for (column, value), keys in owners.items():
        if len(keys) > 1:
            where = " and ".join(" ".join(one) for one in keys)
            notes.append(f"{column} {value} was heard of {where}: it was not taken")
            for key in keys:
                del cells[key][column]
    return {key: row for key, row in cells.items() if row}


def filled(text: str, cells: Mapping[Key, Mapping[str, str]]) -> str:
    """The text of an inventory with these cells: rows that are there keep their place, new ones come at the end.

    Other cells, comments and the order of columns stay; columns that are missing are added.
    """
    rows = list(csv.reader(io.StringIO(text, newline="")))
    head = [one.strip() for one in rows[0]] if rows else list(COLUMNS)
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
