"""Nautobot: its kinds of objects, and the objects of a design in its form. Paths and fields are those of Nautobot 3.2 (``/api/swagger.json``).

The objects are made from those for NetBox. Where Nautobot differs:

- Sites are locations of the type ``Site``. Statuses and roles are objects.
- Prefixes and addresses are in the namespace ``Global``, which has an address only once. VRFs are assigned to prefixes and devices.
- An address needs a prefix that contains it, and is assigned to its interfaces by objects of their own.
- The MAC address is a field of the interface. There are no AS numbers, and cables have no description.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, cast

from railweave.errors import Argument, InputError, Problem
from railweave.operations.exports.inventories import design
from railweave.operations.exports.inventories.objects import DEVICES, Id, Item, Kind, Product, Reference, Value, by_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.exports.inventories.objects import Ends, Key, Record

_NAMESPACE = "Global"
"""The namespace that each server has (nautobot.ipam.models.get_default_namespace)."""
_GLOBAL = {"namespace": _NAMESPACE}
_OF_DEVICES = {"device_id": DEVICES}
KINDS = by_name(
    (
        Kind("tag", "extras/tags", ("color", "description", "content_types"), named=True, shared=True),
        Kind("status", "extras/statuses", ("content_types",), plural="statuses", named=True, shared=True),
        Kind("role", "extras/roles", ("color", "content_types"), named=True, shared=True),
        Kind("namespace", "ipam/namespaces", named=True, shared=True),
        Kind("location type", "dcim/location-types", ("content_types",), named=True, shared=True, only_for="location"),
        Kind("location", "dcim/locations", ("location_type", "status"), named=True, shared=True),
        Kind("rack", "dcim/racks", ("status", "u_height", "width"), identity=("location", "name")),
        Kind("manufacturer", "dcim/manufacturers", named=True, shared=True),
        Kind(
            "device type",
            "dcim/device-types",
            ("comments", "is_full_depth"),
            {"model": "model"},
            ("manufacturer", "model"),
        ),
        Kind("platform", "dcim/platforms", named=True, shared=True),
        Kind("VRF", "ipam/vrfs", ("namespace",), query=_GLOBAL),
        Kind("VLAN group", "ipam/vlan-groups", ("location",), named=True),
        Kind(
            "VLAN",
            "ipam/vlans",
            ("status", "location"),
            {"vlan_group": "vlan_group"},
            ("vlan_group", "vid"),
            whole=True,
        ),
        Kind(
            "prefix",
            "ipam/prefixes",
            ("status", "type", "location", "namespace"),
            {"prefix": "prefix"},
            ("prefix",),
            "prefixes",
            query=_GLOBAL,
        ),
        Kind(
            "VRF of prefix",
            "ipam/vrf-prefix-assignments",
            (),
            {"vrf": "vrf"},
            ("vrf", "prefix"),
            "VRFs of prefixes",
            owner="prefix",
        ),
        Kind("device", "dcim/devices", within="location"),
        Kind("VRF of device", "ipam/vrf-device-assignments", (), {"vrf": "vrf"}, ("vrf", "device"), "VRFs of devices"),
        Kind("interface", "dcim/interfaces", ("status",), _OF_DEVICES, ("device", "name"), whole=True),
        Kind("cable", "dcim/cables", (), _OF_DEVICES, (), loses_tags=True),
        Kind(
            "IP address",
            "ipam/ip-addresses",
            ("status", "namespace"),
            _OF_DEVICES,
            ("host",),
            "IP addresses",
            query=_GLOBAL,
            whole=True,
        ),
        Kind(
            "interface of address",
            "ipam/ip-address-to-interface",
            (),
            {"ip_address": "ip_address"},
            ("ip_address", "interface"),
            "interfaces of addresses",
            owner="ip_address",
        ),
        Kind("primary address", "dcim/devices", plural="primary addresses", field_of="device"),
    )
)
"""The kinds of objects. An object comes after those that it refers to, except those with ``field_of``."""
_MODELS = {
    "location": "dcim.location",
    "rack": "dcim.rack",
    "device type": "dcim.devicetype",
    "device": "dcim.device",
    "interface": "dcim.interface",
    "cable": "dcim.cable",
    "VRF": "ipam.vrf",
    "VLAN group": "ipam.vlangroup",
    "VLAN": "ipam.vlan",
    "prefix": "ipam.prefix",
    "IP address": "ipam.ipaddress",
}
"""The content types of the kinds that have tags."""
_AT_SITES = ("dcim.rack", "dcim.device", "ipam.vlangroup", "ipam.vlan", "ipam.prefix")
"""The content types of objects that refer to a location."""
_KIND = {"site": "location", "device role": "role"}
_FIELD = {"site": "location", "scope_id": "location", "group": "vlan_group", "parent": "parent_interface"}
"""The names of kinds and fields that differ from NetBox's."""
_TYPES = {"1.6tbase-x-osfp1600": "1600gbase-x-osfp"}
"""The interface types that differ from NetBox's (nautobot.dcim.choices.InterfaceTypeChoices)."""
_MOST = 32_767
_ADDED: dict[str, dict[str, Value]] = {
    "tag": {"content_types": tuple(_MODELS.values())},
    "role": {"content_types": ("dcim.device",)},
    "location": {"location_type": Reference("location type", ("Site",))},
    "interface": {"status": Reference("status", ("Active",))},
    **{kind: {"namespace": Reference("namespace", (_NAMESPACE,))} for kind in ("VRF", "prefix", "IP address")},
}
"""The fields that NetBox does not have."""
_LEFT_OUT = {"RIR", "ASN", "MAC address", "primary MAC address"}
_ASSIGNED = {"vrf", "assigned_object_type", "assigned_object_id"}
"""The fields of prefixes and addresses that are objects of their own."""


def items(network: Network, *, site: str = "", tag: str = "railweave") -> list[Item]:
    """Return the objects of a network for Nautobot. The parameters are those of ``design.items``.

    Raises ``InputError`` if Nautobot would refuse a name, or if two VRFs have the same address.
    """
    made = design.items(network, site=site, tag=tag)
    result: dict[tuple[str, Key], Item] = {}
    vrfs: dict[tuple[str, Key], Value | None] = {}
    macs = {item.key[:2]: item.key[2] for item in made if item.kind == "MAC address"}
    locations = {item.key: _reference(item.fields["site"]) for item in made if item.kind == "device"}
    for item in made:
        if item.kind in _LEFT_OUT:
            continue
        for new in _items_of(item, macs.get(item.key, ""), {*locations.values()}):
            at, vrf = (new.kind, new.key), item.fields.get("vrf")
            if new.kind in {"prefix", "IP address"} and vrfs.setdefault(at, vrf) != vrf:
                message = f"{new.kind} {new.name} is in two VRFs, and Nautobot has it once in a namespace"
                raise InputError([Problem(Argument("fabric"), message, "give the tenants pools that do not overlap")])
            result.setdefault(at, new)
    for new in _parents([*result.values()], locations):
        result.setdefault((new.kind, new.key), new)
    return [*_shared([*result.values()]), *result.values()]


def _reference(value: Value) -> Value:
    """Return a value with the kind and the key that an object has in Nautobot."""
    if not isinstance(value, Reference):
        return value
    return Reference(_KIND.get(value.kind, value.kind), value.key[:1] if value.kind == "IP address" else value.key)


def _items_of(item: Item, mac: str, locations: set[Value]) -> Iterator[Item]:
    """Yield the objects that an object for NetBox is in Nautobot: its assignments to others too.

    ``mac`` is the MAC address of an interface, and ``locations`` are the locations of the network.
    """
    kind, key = _KIND.get(item.kind, item.kind), item.key
    fields = _fields_of(kind, item)
    vrf, interface = fields.get("vrf"), fields.get("assigned_object_id")
    if kind == "VLAN" and len(locations) == 1:
        fields["location"] = next(iter(locations))
    elif kind == "interface":
        if mac:
            fields["mac_address"] = mac
        if isinstance(vrf, Reference):
            yield Item("VRF of device", (*vrf.key, key[0]), {"vrf": vrf, "device": fields["device"]})
    elif kind in {"prefix", "IP address"}:
        key = key[:1]
        fields = {name: value for name, value in fields.items() if name not in _ASSIGNED}
        owner = Reference(kind, key)
        if kind == "prefix" and isinstance(vrf, Reference):
            yield Item("VRF of prefix", (*vrf.key, *key), {"vrf": vrf, "prefix": owner})
        if isinstance(interface, Reference):
            both: dict[str, Value] = {"ip_address": owner, "interface": interface}
            yield Item("interface of address", (*key, *interface.key), both)
    yield Item(kind, key, fields)


def _fields_of(kind: str, item: Item) -> dict[str, Value]:
    """Return the fields of an object for NetBox under Nautobot's names, with its words and references."""
    fields = {_FIELD.get(name, name): _reference(value) for name, value in item.fields.items()}
    if fields.get("status") == "container":
        fields |= {"type": "container", "status": "active"}
    for name in ("status", "role"):
        if isinstance(word := fields.get(name), str):
            fields[name] = Reference(name, (word.capitalize(),))
    if kind == "device type":
        fields["comments"] = " ".join(str(fields[name]) for name in ("description", "comments") if name in fields)
    elif kind == "cable":
        fields["length"], fields["length_unit"] = _length(cast("float", fields["length"]))
    elif kind == "interface":
        fields["type"] = _TYPES.get(str(fields["type"]), fields["type"])
    return {**_ADDED.get(kind, {}), **fields}


def _length(metres: float) -> tuple[int, str]:
    """Return a length as a number and its unit. Nautobot has whole numbers of at most 32,767 (nautobot.dcim.models.Cable.length)."""
    if metres > _MOST:
        return round(metres / 1000), "km"
    fine = metres != round(metres) and metres * 100 <= _MOST
    return (round(metres * 100), "cm") if fine else (round(metres), "m")


def _parents(made: Sequence[Item], locations: Mapping[Key, Value]) -> Iterator[Item]:
    """Yield a prefix for each address that no prefix of the design contains, such as those of loopback interfaces."""
    networks = {ipaddress.ip_network(item.key[0]) for item in made if item.kind == "prefix"}
    lengths = {(network.version, network.prefixlen) for network in networks}
    devices = {item.key[0]: item.key[1:2] for item in made if item.kind == "interface of address"}
    for item in made:
        if item.kind != "IP address":
            continue
        host = ipaddress.ip_address(item.key[0])
        around = (
            ipaddress.ip_network((host, length), strict=False) for version, length in lengths if version == host.version
        )
        if networks.isdisjoint(around):
            prefix = str(ipaddress.ip_network(host))
            words = f"loopback of {devices[item.key[0]][0]}"
            fields = {"prefix": prefix, "description": words, "location": locations[devices[item.key[0]]]}
            shared: dict[str, Value] = {name: item.fields[name] for name in ("namespace", "status")}
            yield Item("prefix", (prefix,), {**fields, **shared})


def _shared(made: Sequence[Item]) -> Iterator[Item]:
    """Yield the objects that others refer to, and that servers have from the beginning or share with other networks."""
    users: dict[Reference, set[str]] = {}
    for item in made:
        for value in item.fields.values():
            if isinstance(value, Reference) and value.kind in {"status", "role", "namespace", "location type"}:
                users.setdefault(value, set()).add(_MODELS[item.kind])
    there = {Reference(item.kind, item.key) for item in made}
    for reference, models in users.items():
        types = _AT_SITES if reference.kind == "location type" else tuple(sorted(models))
        more: dict[str, Value] = {} if reference.kind == "namespace" else {"content_types": types}
        if reference not in there:
            yield Item(reference.kind, reference.key, {"name": reference.key[0], **more})


def _ends_of(record: Record) -> Ends:
    """Return the ends of a cable. ``terminations`` has an entry for each connector: its side and its number."""
    ends: Ends = {"a": [], "b": []}
    for name, end in cast("Record", record["terminations"]).items():
        if end is not None:
            ends[name[0]].append((end["object_type"], end["id"]))
    return ends


def _ends_body(ends: Mapping[str, Sequence[tuple[str, Id | None]]], new: bool) -> Record:
    """Return the fields of a cable's ends. A list of new cables is read by the older fields only (CableSerializer of 3.2.7)."""
    body: Record = {}
    for side, there in ends.items():
        for kind, number in there if new else ():
            body |= {f"termination_{side}_type": kind, f"termination_{side}_id": number}
    slots = {
        f"{side}{connector + 1}": {"object_type": there[connector][0], "id": there[connector][1]} if there else None
        for side, there in ends.items()
        for connector in range(max(len(there), 1))
    }
    return body if new else {"terminations": slots}


NAUTOBOT = Product(
    name="Nautobot",
    target="nautobot",
    oldest=(3, 2),
    because="earlier ones cannot move a cable",
    kinds=KINDS,
    items=items,
    batch=25,  # a cable takes half a second of a processor, and Nautobot's manual limits requests to 65 seconds (services: harakiri)
    place="location",
    place_filter="location",
    tag_filter="tags",
    loose={"is_disconnected": "true"},
    query={"exclude_m2m": "false"},
    query_of_names={"depth": "1"},
    ends_of=_ends_of,
    ends_body=_ends_body,
)
