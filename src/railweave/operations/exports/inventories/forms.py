"""Files that NetBox's import pages read: a table (CSV) for each kind of objects, and the device types as YAML.

The columns are those of the import forms of NetBox 4.7 (the forms of bulk import in dcim and ipam). The numbers in the names of
the files are the order of the import. The YAML files have the form of the community's device type library
(netbox-community/devicetype-library).

Not in the tables, because a form takes only a number that the server gives: the sites of prefixes and VLAN groups; and
because the form asks for the route distinguisher, the VRFs of interfaces. An export to the server (``--url``) sets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from railweave.operations.exports.inventories.equipment import OTHER, cages, device_types, interface_type
from railweave.operations.exports.inventories.netbox import KINDS
from railweave.operations.exports.inventories.objects import Item, Key, Reference, Value, cable_ends, slug
from railweave.pages.table import columns, csv_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.exports.inventories.equipment import DeviceType

_COLUMNS: dict[str, tuple[str, ...]] = {
    "tag": ("name", "slug", "color", "weight", "description"),
    "site": ("name", "slug", "status"),
    "rack": ("site", "name", "status", "u_height", "width"),
    "manufacturer": ("name", "slug"),
    "device type": ("manufacturer", "model", "slug", "u_height", "is_full_depth", "description", "comments"),
    "device role": ("name", "slug", "color", "vm_role"),
    "platform": ("name", "slug"),
    "RIR": ("name", "slug", "is_private"),
    "ASN": ("asn", "rir", "description"),
    "VRF": ("name", "enforce_unique", "description"),
    "VLAN group": ("name", "slug"),
    "VLAN": ("group", "vid", "name", "status"),
    "prefix": ("prefix", "vrf", "vlan_group", "vlan", "status", "description"),
    "device": (
        "name", "role", "manufacturer", "device_type", "platform", "serial", "status", "site", "rack", "position", "face",
    ),
    "interface": (
        "device", "name", "parent", "type", "speed", "mtu", "mgmt_only", "mode", "vlan_group", "untagged_vlan", "tagged_vlans", "description",
    ),
    "MAC address": ("mac_address", "device", "interface", "is_primary"),
    "cable": (
        "side_a_device", "side_a_type", "side_a_name", "side_b_device", "side_b_type", "side_b_name", "type", "status", "label", "length",
        "length_unit", "description",
    ),
    "IP address": ("address", "vrf", "status", "role", "device", "interface", "is_primary"),
}  # fmt: skip
"""The columns of each kind's table. A column without a value in any row is left out, and so is a table without rows."""
_UNTAGGED = ("tag",)


def files(network: Network, items: Sequence[Item]) -> dict[str, str]:
    """Return the files by name: the tables in the order of their import, and a YAML file for each device type."""
    by_kind: dict[str, list[Item]] = {}
    for item in items:
        by_kind.setdefault(item.kind, []).append(item)
    primary = {
        value.key: item.key
        for kind in ("primary address", "primary MAC address")
        for item in by_kind.get(kind, [])
        for value in item.fields.values()
        if isinstance(value, Reference)
    }
    tag = next(str(item.fields["slug"]) for item in by_kind["tag"])
    result: dict[str, str] = {}
    for number, kind in enumerate((KINDS[name] for name in _COLUMNS), 1):
        rows = [_row(item, primary) for item in by_kind.get(kind.name, [])]
        if rows:
            result[f"{number:02d}-{slug(kind.many)}.csv"] = _table(
                kind.name, rows, "" if kind.name in _UNTAGGED else tag
            )
    for model, kind in device_types(network).items():
        result[f"device-types/{slug(kind.manufacturer)}/{model}.yaml"] = type_yaml(network, model, kind)
    return result


def _table(kind: str, rows: Sequence[Mapping[str, str]], tag: str) -> str:
    names = [name for name in _COLUMNS[kind] if any(row.get(name) for row in rows)]
    more = ["tags"] if tag else []
    return csv_text(
        columns(*names, *more),
        ((*(row.get(name, "") for name in names), *([tag] if tag else [])) for row in rows),
    )


def _row(item: Item, primary: Mapping[Key, Key]) -> dict[str, str]:
    """Return an object as a row: texts by column."""
    row = {name: _text(value) for name, value in item.fields.items()}
    for name in ("vlan", "untagged_vlan", "tagged_vlans"):
        if isinstance(value := item.fields.get(name), Reference):
            row["vlan_group"] = value.key[0]
    if isinstance(value := item.fields.get("device_type"), Reference):
        row["manufacturer"] = value.key[0]
    if isinstance(value := item.fields.get("assigned_object_id"), Reference):
        row["device"], row["interface"] = value.key
    if item.kind in {"MAC address", "IP address"} and item.key in primary:
        row["is_primary"] = "true"
    if item.kind == "cable":
        for side, end in zip("ab", cable_ends(item), strict=True):
            row[f"side_{side}_device"], row[f"side_{side}_name"] = end.key
            row[f"side_{side}_type"] = "dcim.interface"
    return row


def _text(value: Value) -> str:
    if isinstance(value, Reference):
        return value.key[0] if value.kind in {"prefix", "IP address"} else value.key[-1]
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def type_yaml(network: Network, model: str, kind: DeviceType) -> str:
    """Return a device type in the form of the community's library.

    Its interfaces are the whole ports: names of split ports belong to devices, because each device splits its ports as it
    needs. ``model`` is the name of the model in the catalog.
    """
    entry: dict[str, object] = {
        "manufacturer": kind.manufacturer,
        "model": kind.model,
        "slug": kind.slug,
        "u_height": kind.units,
        "is_full_depth": True,
        "comments": kind.description + ("; the height is assumed" if kind.assumed else ""),
        "interfaces": _type_interfaces(network, model),
    }
    return "---\n" + yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=1000)


def _type_interfaces(network: Network, model: str) -> list[dict[str, object]]:
    switch = network.catalog.switches.get(model)
    if switch is None:
        server = network.catalog.servers[model]
        return [
            {"name": name, "type": interface_type(adapter.cage, adapter.speed_gbps) if adapter else OTHER}
            for group in server.nics.values()
            for adapter in [network.catalog.nics.get(group.nic)]
            for name in group.names
        ]
    system = network.catalog.systems[next(device.nos for device in network.switches if device.model == model)]
    ports: list[dict[str, object]] = [
        {
            "name": system.name_of(number, None, lanes=group.lanes, cards=switch.cards),
            "type": interface_type(group.cage, group.speed_gbps),
        }
        for group, number in cages(switch)
    ]
    return [{"name": system.management_port, "type": OTHER, "mgmt_only": True}, *ports]
