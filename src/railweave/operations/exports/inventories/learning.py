"""Inventory values that a server has: serial numbers, MAC addresses and names of interfaces.

A device on the server is that of the design if it has its name, or else its rack position and role. A value that contradicts
the inventory becomes a note.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.live.check.learnt import LearnedCells
from railweave.operations.exports.inventories.client import ServerError
from railweave.operations.exports.inventories.design import ROLES, role_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from railweave.live.check.learnt import Key
    from railweave.model.intent.inventory import Item
    from railweave.model.network.devices import Nic, Server, Switch
    from railweave.model.network.model import Network
    from railweave.operations.exports.inventories.client import Client
    from railweave.operations.exports.inventories.objects import Id, Record

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_NETDEV = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}")
_FIRST_OCTET = 2


def learn(
    client: Client, network: Network, items: Mapping[Key, Item], *, site: str, progress: Callable[[str], None]
) -> LearnedCells:
    """Return the cells that the inventory lacks and that a server has, with notes about contradictions.

    - ``items``: the rows of the inventory.
    - ``site``: the name of the site on the server; empty: the sites of the fabric file.

    Raises ``ServerError`` if a request fails, or if the server has no such site.
    """
    product = client.product
    client.version()
    names = [site] if site else list(dict.fromkeys(device.site for device in (*network.switches, *network.servers)))
    sites = [record["id"] for record in client.objects(product.kinds[product.place].path, {}, "name", names)]
    if len(sites) < len(names):
        raise ServerError(f"{client.url} has no {product.place} {', '.join(names)}; name one with --site")
    progress("devices: reading")
    query = {**product.kinds["device"].query, **product.query_of_names}
    records = list(client.objects("dcim/devices", query, product.place_filter, sites))
    notes = _Notes(product.name)
    devices = _devices(network, records, notes)
    cells: dict[Key, dict[str, str]] = {}
    for name, record in devices.items():
        if serial := str(record.get("serial") or "").strip():
            cells[name, ""] = {"serial": serial}
    notes += _racks(network, devices, product.name)
    names_of_devices = {record["id"]: str(record.get("name") or "") for record in records}
    progress("interfaces: reading")
    interfaces: dict[Id, list[Record]] = {}
    servers = {server.name: server for server in network.servers if server.name in devices}
    numbers = [devices[name]["id"] for name in servers]
    for record in client.objects("dcim/interfaces", product.query_of_names, "device_id", numbers):
        interfaces.setdefault(record["device"]["id"], []).append(record)
    for name, server in servers.items():
        for nic in server.nics:
            row = dict(_nic(server, nic, interfaces.get(devices[name]["id"], []), names_of_devices, notes))
            if row:
                cells[name, nic.name] = row
    _drop_shared(cells, notes)
    return LearnedCells(_missing(network, cells, items, notes), notes)


class _Notes(list[str]):
    """Notes about the values of a server. ``product`` is its name."""

    def __init__(self, product: str) -> None:
        super().__init__()
        self.product = product


def _devices(network: Network, records: Sequence[Record], notes: _Notes) -> dict[str, Record]:
    """Return the devices of the server by the names that they have in the design."""
    by_name: dict[str, list[Record]] = {}
    by_place: dict[tuple[str, int, str], Record] = {}
    for record in records:
        by_name.setdefault(str(record.get("name") or "").casefold(), []).append(record)
        if record.get("rack") and record.get("position") is not None:
            place = (record["rack"]["name"], int(float(record["position"])), record["role"]["name"])
            by_place[place] = record
    designed = {device.name.casefold() for device in (*network.switches, *network.servers)}
    result: dict[str, Record] = {}
    for device in (*network.switches, *network.servers):
        named = by_name.get(device.name.casefold(), [])
        if len(named) > 1:
            notes.append(f"{device.name}: {notes.product} has {len(named)} devices of this name; nothing was taken")
        elif named:
            result[device.name] = named[0]
        elif (record := _at_place(network, device, by_place)) is not None:
            other = str(record.get("name") or "")
            if other.casefold() in designed:
                continue
            result[device.name] = record
            at = f"rack {record['rack']['name']} unit {int(float(record['position']))}"
            notes.append(
                f"{device.name}: {notes.product} calls the device at {at} {other or 'nothing'}; rename one of them"
            )
    return result


def _at_place(
    network: Network, device: Switch | Server, by_place: Mapping[tuple[str, int, str], Record]
) -> Record | None:
    position = network.positions.get(device.name)
    role = ROLES[role_of(network, device)][0]
    return by_place.get((position.rack, position.unit, role)) if position is not None else None


def _racks(network: Network, devices: Mapping[str, Record], product: str) -> Iterator[str]:
    """Yield a note for each device whose rack position differs from the server's, and the text for the fabric file if it lacks positions."""
    lacking: dict[str, dict[str, int]] = {}
    for name, record in devices.items():
        if not record.get("rack") or record.get("position") is None:
            continue
        rack, unit = str(record["rack"]["name"]), int(float(record["position"]))
        position = network.positions.get(name)
        if position is None:
            lacking.setdefault(rack, {})[name] = unit
        elif (position.rack, position.unit) != (rack, unit):
            yield f"{name}: {product} has it in rack {rack} unit {unit}, the fabric file in rack {position.rack} unit {position.unit}"
    for rack, units in lacking.items():
        pairs = ", ".join(f"{name}: {unit}" for name, unit in units.items())
        yield f"rack {rack} of {product} is not in the fabric file; under `racks: racks:` write {rack}: {{devices: {{{pairs}}}}}"


def _nic(
    server: Server, nic: Nic, interfaces: Sequence[Record], devices: Mapping[Id, str], notes: _Notes
) -> Iterator[tuple[str, str]]:
    """Yield the inventory columns of a NIC with the values of its interface. ``devices`` are the names of devices."""
    record = next((entry for entry in interfaces if entry["name"] in {nic.name, nic.netdev}), None)
    if record is None:
        record = next((entry for entry in interfaces if _leads_to(entry, nic, devices)), None)
        if record is None:
            return
        if any(record["name"] in {other.name, other.netdev} for other in server.nics):
            notes.append(
                f"{server.name} {nic.name}: {notes.product} has {record['name']} at {nic.leaf} {nic.leaf_port}; nothing was taken"
            )
            return
        if _NETDEV.fullmatch(record["name"]):
            yield "netdev", record["name"]
    mac = _mac(server, nic, record, notes)
    if mac:
        yield "mac", mac


def _leads_to(record: Record, nic: Nic, devices: Mapping[Id, str]) -> bool:
    peers: list[Record] = record.get("link_peers") or [record.get("cable_peer") or {}]  # of NetBox, of Nautobot
    return any(
        devices.get(peer["device"]["id"]) == nic.leaf and peer["name"] == nic.leaf_port
        for peer in peers
        if peer.get("device")
    )


def _mac(server: Server, nic: Nic, record: Record, notes: _Notes) -> str:
    """Return the MAC address of an interface in the inventory's form: the primary one, or the only one."""
    primary: Record | None = record.get("primary_mac_address")
    several: list[Record] = record.get("mac_addresses") or []
    if primary is None and len(several) > 1:
        notes.append(
            f"{server.name} {nic.name}: {notes.product} has {len(several)} MAC addresses, none of them primary; none was taken"
        )
        return ""
    entry = primary or (several[0] if several else None)
    if "mac_addresses" not in record:  # Nautobot: a field of the interface
        entry = record
    mac = str(entry["mac_address"] or "").lower() if entry else ""
    if mac and (not _MAC.fullmatch(mac) or int(mac[:_FIRST_OCTET], 16) & 1 or mac == "00:00:00:00:00:00"):
        notes.append(f"{server.name} {nic.name}: {mac} is not the MAC address of a NIC; it was not taken")
        return ""
    return mac


def _drop_shared(cells: dict[Key, dict[str, str]], notes: _Notes) -> None:
    """Remove MAC addresses that several NICs have."""
    owners: dict[str, list[Key]] = {}
    for key, row in cells.items():
        if "mac" in row:
            owners.setdefault(row["mac"], []).append(key)
    for mac, keys in owners.items():
        if len(keys) > 1:
            notes.append(
                f"{notes.product} has MAC address {mac} at {' and '.join(' '.join(key) for key in keys)}; it was not taken"
            )
            for key in keys:
                del cells[key]["mac"]


def _missing(
    network: Network, cells: Mapping[Key, Mapping[str, str]], items: Mapping[Key, Item], notes: _Notes
) -> dict[Key, dict[str, str]]:
    """Return the cells that the inventory lacks. A cell with a different value stays, with a note."""
    used = {item.mac: key for key, item in items.items() if item.mac}
    result: dict[Key, dict[str, str]] = {}
    for key, row in cells.items():
        item = items.get(key)
        for column, value in row.items():
            present = getattr(item, column) if item is not None else ""
            if not present and column == "mac" and used.get(value, key) != key:
                other = " ".join(used[value])
                notes.append(
                    f"{' '.join(key)}: {notes.product} has MAC address {value}, which the inventory gives to {other}; it was not taken"
                )
            elif not present and not _designed(network, key, column, value):
                result.setdefault(key, {})[column] = value
            elif present and present.casefold() != value.casefold():
                words = " ".join(part for part in key if part)
                notes.append(
                    f"{words}: {column} is {present} in the inventory and {value} in {notes.product}; the inventory stays"
                )
    return result


def _designed(network: Network, key: Key, column: str, value: str) -> bool:
    """Return True if the design has the value without the inventory, so that no cell is needed."""
    if column != "netdev":
        return False
    nic = network.server(key[0]).nic(key[1])
    return nic is not None and nic.netdev == value
