"""Inventory values that device states show: serial numbers, MAC addresses, interface names and modules.

The module also writes these values into the text of the inventory file.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.csv_cells import text_of_cell
from railweave.errors import FileLine, InputError, Problem
from railweave.live.check.check import read
from railweave.live.check.ports import Ends, end_of, ends_by_name, of_port, short, without_unit
from railweave.model.intent.inventory import COLUMNS, TO_FILL_IN, Item, read_inventory
from railweave.model.intent.reading.source import companion
from railweave.model.state.host_state import HostState, read_hosts
from railweave.pages.table import Table, columns
from railweave.reading import csv_rows, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from railweave.model.network.devices import End, Nic, Server
    from railweave.model.network.model import Network
    from railweave.model.state.capture import Capture
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.ports import Optic
    from railweave.model.state.protocols import LldpNeighbor


Said = tuple[str, str, str]
"""A value for the inventory, as (column, value, source of the value)."""
_MAC = re.compile(r"[0-9a-f]{2}([:.-]?[0-9a-f]{2}){5}")
_NETDEV = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
"""The form of interface names that Linux allows (``IFNAMSIZ``), except names that would need quoting."""
_RDMA = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}")
"""The form of names of RDMA devices (IB_DEVICE_NAME_MAX of the kernel)."""


def by_leaf(server: Server, nic: Nic, state: DeviceState, notes: list[str]) -> Iterable[Said]:
    """Yield the inventory values of a NIC that its leaf reports, as (column, value, source).

    ``state`` is the leaf's state. The leaf learns these values from LLDP of the server or of the NIC itself, and from its neighbor cache.
    If a wrong device or NIC is connected, yield nothing and add a sentence to ``notes``.
    """
    neighbors = of_port(state.neighbors or {}, nic.leaf_port) or ()
    matching = [
        neighbor
        for neighbor in neighbors
        if neighbor.system is not None and short(neighbor.system) == short(server.name)
    ]
    others = [neighbor for neighbor in neighbors if neighbor.system is not None and neighbor not in matching]
    if others:
        notes.append(_elsewhere(f"{nic.leaf} {nic.leaf_port}", str(others[0].system), f"{server.name} {nic.name}"))
        return
    names = [_netdev(neighbor) for neighbor in matching]
    crossed = next((name for name in names if _of_another(server, nic, name)), None)
    if crossed is not None:
        notes.append(_elsewhere(f"{nic.leaf} {nic.leaf_port}", f"{server.name} {crossed}", f"{server.name} {nic.name}"))
        return
    for mac in (mac for neighbor in matching or neighbors if (mac := _mac(neighbor.port))):
        yield "mac", mac, "LLDP"
    for name in names:
        if name and name != nic.netdev:
            yield "netdev", name, "LLDP"
    yield from _by_neighbors(nic, state)


def by_server(server: Server, nic: Nic, state: HostState, ends: Ends, notes: list[str]) -> Iterable[Said]:
    """Yield the inventory values of a NIC that its server reports: the interface's name and MAC address, and the RDMA device.

    The interface is the one that receives LLDP from the NIC's leaf port. If there is none, it is the interface with the designed name.
    ``ends`` has the ends of all cables. If LLDP contradicts the design, yield nothing and add a sentence to ``notes``.
    """
    interfaces = state.interfaces or {}
    heard = [name for name in interfaces if _hears(state, name, nic, ends)]
    if not heard and nic.netdev in interfaces and state.neighbors and nic.netdev in state.neighbors:
        first = state.neighbors[nic.netdev][0]
        there = f"{first.system or first.chassis or 'an unnamed device'} {first.port or ''}".rstrip()
        notes.append(_elsewhere(f"{server.name} {nic.netdev}", there, f"{nic.leaf} {nic.leaf_port}"))
        return
    crossed = next((name for name in heard if _of_another(server, nic, name)), None)
    if crossed is not None:
        notes.append(_elsewhere(f"{nic.leaf} {nic.leaf_port}", f"{server.name} {crossed}", f"{server.name} {nic.name}"))
        return
    for name in heard or [interface for interface in interfaces if interface == nic.netdev]:
        if name != nic.netdev and _NETDEV.fullmatch(name):
            yield "netdev", name, "the server"
        mac = _mac(interfaces[name].mac)
        if mac:
            yield "mac", mac, "the server"
        for rdma in sorted({gid.device for gid in state.gids or () if gid.interface == name}):
            if rdma != nic.rdma and _RDMA.fullmatch(rdma):
                yield "rdma", rdma, "the server"


def _hears(state: HostState, name: str, nic: Nic, ends: Ends) -> bool:
    """Return True if the server's interface ``name`` receives LLDP from the leaf and port to which the design connects the NIC.

    ``ends`` has the ends of all cables by device and port name.
    """
    heard = (state.neighbors or {}).get(name, ())
    return any(
        end_of(ends, neighbor)[1] == (nic.leaf, nic.leaf_port) for neighbor in heard if neighbor.system is not None
    )


def _of_another(server: Server, nic: Nic, name: str) -> bool:
    """Return True if a reported name belongs to a different NIC of the server, for example because two cables are swapped."""
    return any(name in {other.name, other.netdev} for other in server.nics if other.name != nic.name)


def _elsewhere(here: str, there: str, wanted: str) -> str:
    return f"{here} hears {there} in place of {wanted}: nothing was taken; `railweave check` says which cable to move"


def _netdev(neighbor: LldpNeighbor) -> str:
    """Return the Linux name of a server's port as its LLDP daemon announces it; empty if it announces no valid name."""
    name = neighbor.port_description if _mac(neighbor.port) else neighbor.port
    return name if name and _NETDEV.fullmatch(name) and not name.isdigit() else ""


def _by_neighbors(nic: Nic, state: DeviceState) -> Iterable[tuple[str, str, str]]:
    """Yield a NIC's MAC address from the leaf's neighbor cache, as (column, value, source of the value).

    The entry for the NIC's static address is used. If there is no such entry, and all entries of the leaf port have the same MAC address,
    that MAC address is used.
    """
    static = {address.address for address in nic.addresses if address.origin != "slaac"}
    entries = [ipv6_neighbor for ipv6_neighbor in state.ipv6_neighbors or () if ipv6_neighbor.mac is not None]
    alone = {
        _mac(entry.mac)
        for entry in entries
        if entry.interface is not None and without_unit(entry.interface) == nic.leaf_port
    }
    macs = {_mac(entry.mac) for entry in entries if entry.address in static} or (
        alone if len(alone) == 1 else set[str]()
    )
    for mac in sorted(macs - {""}):
        yield "mac", mac, "its neighbor cache entry"


def _mac(text: str | None) -> str:
    """Return a MAC address in the inventory's form; empty if the text is not a unicast MAC address (IEEE 802)."""
    if text is None or not _MAC.fullmatch(text.lower()):
        return ""
    digits = re.sub("[:.-]", "", text.lower())
    if int(digits[:2], 16) & 1 or not int(digits, 16):
        return ""
    return ":".join(digits[place : place + 2] for place in range(0, 12, 2))


_NONE = {"", "n/a", "none", "unknown"}
"""The texts that devices report if a port has no module, or if the module does not have the value."""


def modules(network: Network, states: Mapping[str, DeviceState]) -> Iterator[tuple[End, str, str]]:
    """Yield the part and serial numbers of modules, as (switch port, inventory column, value).

    If several ports share a module, the values go to the first cabled port.
    """
    done: set[tuple[str, str | int]] = set()
    for cable in network.cables:
        for end in (cable.a, cable.b):
            optic = _optic(end, states)
            if end.module in done or optic is None or optic.present is False:
                continue
            done.add(end.module)
            for column, value in (("part", optic.part), ("serial", optic.serial)):
                if value is not None and value.strip().lower() not in _NONE:
                    yield end, column, value.strip()


def lengths(network: Network, states: Mapping[str, DeviceState], notes: list[str]) -> Iterator[tuple[End, End, float]]:
    """Yield the cable lengths that modules report, as (reporting port, port at the other end, length in metres).

    If the modules at the two ends disagree, the length is left out and a note is added to ``notes``.
    """
    for cable in network.cables:
        reported = [
            (end, optic.cable_m)
            for end in (cable.a, cable.b)
            if (optic := _optic(end, states)) is not None and optic.cable_m is not None
        ]
        if len({metres for _, metres in reported}) > 1:
            lengths_text = " and ".join(f"{metres:g} m by {end.device} {end.port}" for end, metres in reported)
            notes.append(f"the cable {cable.name} is said to have {lengths_text}: none was taken")
        elif reported:
            here, metres = reported[0]
            yield here, cable.b if here is cable.a else cable.a, metres


def _optic(end: End, states: Mapping[str, DeviceState]) -> Optic | None:
    """Return the module in the port ``end``, or None. Devices name a module by its port, or by the cage that several ports share."""
    state = states.get(end.device)
    if state is None or not state.optics:
        return None
    names = (end.port, end.port.partition(":")[0], end.port.rpartition("/")[0])
    return next((optic for name in names if (optic := of_port(state.optics, name)) is not None), None)


Key = tuple[str, str]
"""The key of an inventory row: a device and its interface. The interface is empty in the row of the device itself."""
_OF_ONE_NIC = ("mac", "netdev", "rdma")
_MOST_NAMED = 3
"""The largest number of NICs that one note names."""


@dataclass(frozen=True)
class LearnedCells:
    """Values for cells of the inventory, by row (device and interface) and column.

    ``notes`` has a sentence for each reported value that was not used, with the reason.
    """

    cells: dict[Key, dict[str, str]]
    notes: list[str]


def learnt(
    network: Network, states: Mapping[str, DeviceState], hosts: Mapping[str, HostState] | None = None
) -> LearnedCells:
    """Return the inventory values that the states of switches (``states``) and servers (``hosts``) show without contradiction.

    A contradiction becomes a note: two devices disagree about a NIC, or two NICs have the same MAC address.
    """
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
    for server, nic in ((host, nic) for host in network.servers for nic in host.nics):
        state, host = states.get(nic.leaf), (hosts or {}).get(server.name)
        reports = [*by_leaf(server, nic, state, notes)] if state is not None else []
        reports += by_server(server, nic, host, ends, notes) if host is not None else ()
        for column, value, by in reports:
            hear(server.name, nic.name, column, value, by)
    for end, column, value in modules(network, states):
        hear(end.device, end.port, column, value, "its own answer")
    cells: dict[Key, dict[str, str]] = {}
    for (device, interface, column), values in heard.items():
        if len(values) > 1:
            claims = ", ".join(f"{value} by {by}" for value, by in values.items())
            notes.append(f"{device} {interface}: {column} is {claims}: none was taken")
        else:
            cells.setdefault((device, interface), {})[column] = next(iter(values))
    return LearnedCells(_once(cells, notes), notes)


def _once(cells: dict[Key, dict[str, str]], notes: list[str]) -> dict[Key, dict[str, str]]:
    """Return ``cells``, but remove each value that several NICs report although only one NIC can have it.

    Such values are MAC addresses, and interface or RDMA device names within one server. A sentence about each removed value is added to
    ``notes``.
    """
    owners: dict[tuple[str, str], list[Key]] = {}
    for key, row in cells.items():
        for column, value in row.items():
            if column in _OF_ONE_NIC:
                owners.setdefault((column, value if column == "mac" else f"{key[0]} {value}"), []).append(key)
    for (column, value), keys in owners.items():
        if len(keys) > 1:
            named = [" ".join(key) for key in keys[:_MOST_NAMED]]
            more = [f"{len(keys) - _MOST_NAMED} more"] if len(keys) > _MOST_NAMED else []
            where = " and ".join([*named, *more])
            notes.append(f"{column} {value} was heard of {where}: it was not taken")
            for key in keys:
                del cells[key][column]
    return {key: row for key, row in cells.items() if row}


def filled(text: str, cells: Mapping[Key, Mapping[str, str]]) -> str:
    """Return the text of an inventory file with ``cells`` filled in. Missing rows are added at the end.

    Existing rows, other cells, comments and the order of columns stay unchanged. Missing columns are added.
    """
    rows = [list(map(text_of_cell, row)) for row in csv_rows(text)]
    head = [row.strip() for row in rows[0]] if rows else list(TO_FILL_IN)
    wanted = {column for row in cells.values() for column in row} | {"device", "interface"}
    head += [column for column in COLUMNS if column in wanted and column not in head]
    place = {column: number for number, column in enumerate(head)}
    left = dict(cells)
    body: list[list[str]] = []
    for row in rows[1:]:
        full = row + [""] * (len(head) - len(row))
        new_cells = left.pop((full[place["device"]].strip(), full[place["interface"]].strip()), None) if row else None
        for column, value in (new_cells or {}).items():
            full[place[column]] = value
        body.append(row if new_cells is None else full)
    for (device, interface), values in left.items():
        named = {"device": device, "interface": interface, **values}
        body.append([named.get(column, "") for column in head])
    return Table(columns(*head), body).as_csv()


_ROUNDED_M = 1.0
"""The tolerance of cable lengths in metres. Modules report whole metres; measured lengths are more exact."""


@dataclass(frozen=True)
class FilledInventory:
    """An inventory before and after it is filled.

    ``cells`` are the cells that filling changes, by row and column. A new row without a value has no cells. ``notes`` has a sentence for
    each reported value that was not used, with the reason.
    """

    file: Path
    before: str
    after: str
    cells: dict[Key, dict[str, str]]
    notes: list[str]

    @property
    def differs(self) -> bool:
        """True if the inventory changes, so that the file must be written."""
        return bool(self.cells)

    def difference(self) -> list[str]:
        """Return the changes in the file, in the form of ``diff -u``."""
        sides = (self.before.splitlines(), self.after.splitlines())
        return list(difflib.unified_diff(*sides, str(self.file), str(self.file), lineterm="")) if self.differs else []

    def to_json(self) -> dict[str, object]:
        """Return a JSON object with the inventory's ``file``, ``rows`` (the changed cells) and ``notes``."""
        rows = [{"device": device, "interface": interface, **row} for (device, interface), row in self.cells.items()]
        return {"file": str(self.file), "rows": rows, "notes": self.notes}


def fill(fabric: Path, network: Network, capture: Capture) -> FilledInventory:
    """Return the inventory of a fabric file, filled in from a capture, with the cells that change. Nothing is written.

    Raises ``InputError`` for:

    - a build folder, which has no inventory file
    - a capture of a lab, which has no hardware
    - a capture that contains no device of the network
    """
    file = inventory_of(fabric)
    if capture.meta.lab is not None:
        fix = "collect from the devices themselves: `railweave collect FABRIC -o CAPTURE --servers`"
        raise InputError(
            [Problem(FileLine(str(capture.folder)), "it is a capture of a lab, which has no hardware", fix)]
        )
    items = read_inventory(file).items
    states = read(network, capture)
    learned = learnt(network, states, read_hosts(capture, [server.name for server in network.servers]))
    add_lengths(network, states, items, learned)
    macs = {item.mac: key for key, item in items.items() if item.mac}
    cells: dict[Key, dict[str, str]] = {}
    for key, row in learned.cells.items():
        owner = macs.get(row.get("mac", ""), key)
        if owner != key and "mac" not in learned.cells.get(owner, {}):
            learned.notes.append(
                f"{' '.join(key)}: MAC address {row['mac']} is that of {' '.join(owner)} in {file.name}"
            )
            continue
        known = items.get(key)
        new = {column: value for column, value in row.items() if known is None or _known(known, column) != value}
        if new:
            cells[key] = new
    return filled_with(file, cells, learned.notes)


def add_rows(fabric: Path, network: Network) -> FilledInventory:
    """Return the inventory of a fabric file with an empty row for each missing switch, server and NIC. Nothing is written.

    Raises ``InputError`` for a build folder, which has no inventory file.
    """
    file = inventory_of(fabric)
    items = read_inventory(file).items
    keys: list[Key] = [(switch.name, "") for switch in network.switches]
    for server in network.servers:
        keys += [(server.name, ""), *((server.name, nic.name) for nic in server.nics)]
    return filled_with(file, {key: {} for key in keys if key not in items}, [])


def inventory_of(fabric: Path) -> Path:
    """Return the path of a fabric file's inventory. Raises ``InputError`` for a build folder, which has no inventory of its own."""
    if fabric.is_dir():
        fix = "name the fabric file; its inventory is beside it"
        raise InputError([Problem(FileLine(str(fabric)), "a build folder has no inventory", fix)])
    return companion(fabric, "inventory.csv")


def filled_with(file: Path, cells: dict[Key, dict[str, str]], notes: list[str]) -> FilledInventory:
    """Return the inventory in a file with cells filled in. Nothing is written."""
    try:
        before = read_text(file)
    except FileNotFoundError:
        before = ""
    return FilledInventory(file, before, filled(before, cells) if cells else before, cells, notes)


def _known(item: Item, column: str) -> str:
    """Return the cell of the inventory row ``item`` in a column, written as in the file."""
    return f"{item.length_m or 0:g}" if column == "length" else getattr(item, column)


def add_lengths(
    network: Network, states: Mapping[str, DeviceState], items: Mapping[Key, Item], learned: LearnedCells
) -> None:
    """Add the cable lengths that modules report to ``learned``, unless the inventory has a length at an end of the cable.

    ``items`` are the rows of the inventory. If the length in the inventory and the reported length differ by a metre or more, a note is
    added.
    """
    for here, there, metres in lengths(network, states, learned.notes):
        ends = [(end.device, end.port) for end in (here, there)]
        measured = next((items[end].length_m for end in ends if end in items and items[end].length_m), None)
        if measured is None:
            learned.cells.setdefault(ends[0], {})["length"] = f"{metres:g}"
        elif abs(measured - metres) >= _ROUNDED_M:
            learned.notes.append(
                f"{' '.join(ends[0])}: its module says that the cable has {metres:g} m, the inventory has {measured:g} m, which stays"
            )
