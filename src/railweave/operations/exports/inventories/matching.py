"""The objects of a server that correspond to those of a design."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from railweave.operations.exports.inventories.objects import Item, Key, Kind, Reference, cable_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.operations.exports.inventories.client import Client, Record


class Export(Protocol):
    """The parts of an export that this module uses."""

    client: Client
    ids: dict[Reference, int]
    keys: dict[tuple[str, int], Key]
    tag: str

    def tag_number(self) -> int | None:
        """Return the number of the tag. None if the server does not have it yet."""
        ...

    def tagged(self, record: Record) -> bool:
        """Return True if an object has the tag."""
        ...

    def made_here(self, record: Record) -> bool:
        """Return True if railweave may change an object."""
        ...


@dataclass
class Index:
    """Objects of the server by the key of the design's object.

    - ``unused``: objects with the tag that the design does not have.
    - ``cables``: all cables at the design's devices, and those with the tag that have no ends.
    """

    records: dict[Key, Record]
    unused: list[Record] = field(default_factory=list["Record"])
    cables: list[Record] = field(default_factory=list["Record"])


_NAMED = {"tag", "site", "manufacturer", "device role", "platform", "RIR", "VLAN group"}
"""The kinds whose objects have a unique name and a unique slug."""
_OF_DEVICES = {"interface", "MAC address", "cable", "IP address"}


def lookup(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    """Return the objects of a server that correspond to objects of a kind."""
    if kind.name == "primary address":
        return _again(export, kind, items, "device")
    if kind.name == "primary MAC address":
        return _again(export, kind, items, "interface")
    if kind.name in _NAMED:
        return _named(export, kind, items)
    if kind.name == "cable":
        return _cables(export, kind, items)
    wanted = {item.key for item in items}
    records: dict[Key, Record] = {}
    unused: list[Record] = []
    seen: set[int] = set()
    for record in _records(export, kind, items):
        if record["id"] in seen:
            continue
        seen.add(record["id"])
        keys = [key for key in _keys(export, kind, record) if key in wanted]
        for key in keys:
            if key not in records or (export.tagged(record) and not export.tagged(records[key])):
                records[key] = record
        if not keys and export.tagged(record) and kind.name in {*_OF_DEVICES, "VLAN"}:
            unused.append(record)
    if kind.name == "IP address":
        _addresses_elsewhere(export, kind, items, records)
    if kind.name == "device":
        unused += _other_devices(export, kind, records)
    return Index(records, unused)


def _again(export: Export, kind: Kind, items: Sequence[Item], of: str) -> Index:
    """Return the devices or interfaces of which one more field is compared."""
    by_id = {export.ids[Reference(of, item.key)]: item.key for item in items if Reference(of, item.key) in export.ids}
    records = export.client.objects(
        kind.path, {"exclude": "config_context"} if of == "device" else {}, "id", list(by_id)
    )
    return Index({by_id[record["id"]]: record for record in records})


def _named(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    """Return the objects with the name, or else with the slug, of an object."""
    by_name: dict[str, Record] = {}
    by_slug: dict[str, Record] = {}
    slugs = [str(item.fields["slug"]) for item in items]
    names = [str(item.fields["name"]) for item in items]
    for name, values in (("slug", slugs), ("name", names)):
        for record in export.client.objects(kind.path, {}, name, list(dict.fromkeys(values))):
            by_name[record["name"]] = record
            by_slug[record["slug"]] = record
    result: dict[Key, Record] = {}
    for item in items:
        record = by_name.get(str(item.fields["name"])) or by_slug.get(str(item.fields["slug"]))
        if record is not None:
            result[item.key] = record
    return Index(result)


def _records(export: Export, kind: Kind, items: Sequence[Item]) -> Iterator[Record]:
    """Yield the objects of a kind that may correspond to the given ones, some of them twice."""
    for name, values in _queries(export, kind, items):
        if values := list(dict.fromkeys(values)):
            yield from export.client.objects(kind.path, kind.query, name, values)


def _queries(export: Export, kind: Kind, items: Sequence[Item]) -> Iterator[tuple[str, Iterable[str | int]]]:
    """Yield the conditions by which objects of a kind are found: a field and its values."""
    if kind.name in _OF_DEVICES:
        yield "device_id", devices(export)
    elif kind.name == "VLAN":
        groups = (export.ids.get(Reference("VLAN group", item.key[:1])) for item in items)
        yield "group_id", [group for group in groups if group is not None]
    elif kind.name == "device type":
        yield "slug", (str(item.fields["slug"]) for item in items)
        yield "model", (item.key[1] for item in items)
    else:
        name = {"prefix": "prefix", "ASN": "asn"}.get(kind.name, "name")
        yield name, (str(item.fields[name]) for item in items)


def created(export: Export, kind: Kind, items: Sequence[Item], records: Sequence[Record]) -> dict[Key, Record]:
    """Return the objects that a server has just created, by the key of the design's object. Releases differ in the order of the answer."""
    if kind.name == "cable":
        return {}  # no other object refers to cables
    if kind.name in _NAMED:
        by_name = {record["name"]: record for record in records}
        return {item.key: by_name[str(item.fields["name"])] for item in items}
    wanted = {item.key for item in items}
    return {key: record for record in records for key in _keys(export, kind, record) if key in wanted}


def devices(export: Export) -> list[int]:
    """Return the numbers of the design's devices that exist on the server."""
    return [number for reference, number in export.ids.items() if reference.kind == "device"]


def _keys(export: Export, kind: Kind, record: Record) -> list[Key]:
    """Return the keys that an object of the server can have in a design."""

    def of(name: str, other: str) -> Key:
        nested: Mapping[str, Any] | None = record.get(name)
        return export.keys.get((other, nested["id"]), (f"#{nested['id']}",)) if nested else ()

    readers: dict[str, Callable[[], list[Key]]] = {
        "rack": lambda: [(*of("site", "site"), record["name"])],
        "device": lambda: [(record["name"],)] if ("site", record["site"]["id"]) in export.keys else [],
        "device type": lambda: [(*of("manufacturer", "manufacturer"), record["model"]), *_by_slug(export, record)],
        "ASN": lambda: [(str(record["asn"]),)],
        "VRF": lambda: [(record["name"],)],
        "VLAN": lambda: [(*of("group", "VLAN group"), str(record["vid"]))],
        "prefix": lambda: [(record["prefix"], *of("vrf", "VRF"))],
        "interface": lambda: [(*of("device", "device"), record["name"])],
        "MAC address": lambda: _of_interface(export, record, record["mac_address"].upper()),
        "IP address": lambda: _of_address(export, record, of("vrf", "VRF") or ("",)),
    }
    return readers[kind.name]()


def _by_slug(export: Export, record: Record) -> list[Key]:
    """Return the key of a device type by its slug. Libraries of device types write the name of a model in many ways."""
    maker = export.keys.get(("manufacturer", record["manufacturer"]["id"]), ())
    prefix = f"{record['manufacturer']['slug']}-"
    return [(*maker, record["slug"]), (*maker, record["slug"].removeprefix(prefix))]


def _of_interface(export: Export, record: Record, *more: str) -> list[Key]:
    if record.get("assigned_object_type") != "dcim.interface":
        return []
    interface = export.keys.get(("interface", record["assigned_object_id"]))
    return [(*interface, *more)] if interface is not None else []


def _of_address(export: Export, record: Record, vrf: Key) -> list[Key]:
    host = str(ipaddress.ip_interface(record["address"]).ip)
    return [(host, *vrf), *((host, *vrf, *interface) for interface in _of_interface(export, record))]


def _addresses_elsewhere(export: Export, kind: Kind, items: Sequence[Item], records: dict[Key, Record]) -> None:
    """Add the addresses that exist, but not at the design's devices: those of no interface, or of a different device."""
    missing = {item.key for item in items if item.key not in records and len(item.key) == 2}
    for record in export.client.objects(kind.path, {}, "address", sorted({key[0] for key in missing})):
        for key in _keys(export, kind, record):
            if key in missing:
                records.setdefault(key, record)


def _other_devices(export: Export, kind: Kind, records: Mapping[Key, Record]) -> list[Record]:
    """Return the devices with the tag at the design's sites that the design does not have.

    NetBox refuses a query for a tag that does not exist (extras.filters.TagFilter).
    """
    if export.tag_number() is None:
        return []
    sites = [number for reference, number in export.ids.items() if reference.kind == "site"]
    tagged = export.client.objects(kind.path, {**kind.query, "tag": export.tag}, "site_id", sites)
    used = {record["id"] for record in records.values()}
    return [record for record in tagged if record["id"] not in used]


def _cables(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    cables = {record["id"]: record for record in (*_records(export, kind, items), *_without_ends(export, kind))}
    by_ends: dict[frozenset[int], Record] = {}
    for record in cables.values():
        if len(ports := _ports(record)) == 2:
            by_ends[frozenset(ports)] = record
    by_key: dict[Key, Record] = {}
    for item in items:
        ends = _wanted(export, item)
        if None not in ends and (record := by_ends.get(frozenset(end for end in ends if end is not None))) is not None:
            by_key[item.key] = record
    used = {record["id"] for record in by_key.values()}
    unused = [record for record in cables.values() if record["id"] not in used and export.tagged(record)]
    return Index(by_key, unused, list(cables.values()))


def _without_ends(export: Export, kind: Kind) -> list[Record]:
    """Return the cables with the tag that have no ends: an interrupted move may leave them, and no device has them."""
    if export.tag_number() is None:
        return []
    records = export.client.objects(kind.path, {**kind.query, "tag": export.tag, "unterminated": "true"})
    return [record for record in records if is_loose(record)]


def is_loose(record: Record) -> bool:
    """Return True if a cable has no ends."""
    return not record["a_terminations"] and not record["b_terminations"]


def _was_at(record: Record, item: Item) -> bool:
    """Return True if the label of a cable names one of the two ends of a design's cable (``Cable.name``)."""
    a, b = (":".join(end.key) for end in cable_ends(item))
    label = str(record.get("label") or "")
    return label.startswith(f"{a}--") or label.endswith(f"--{b}")


def _ports(record: Record) -> list[int]:
    """Return the numbers of the interfaces at the ends of a cable. It may have none at an end."""
    ends = [*record["a_terminations"], *record["b_terminations"]]
    return [end["object_id"] for end in ends if end["object_type"] == "dcim.interface"]


def _wanted(export: Export, item: Item) -> tuple[int | None, int | None]:
    a, b = cable_ends(item)
    return export.ids.get(a), export.ids.get(b)


def moved_items(
    export: Export, items: Sequence[Item], index: Index
) -> tuple[list[tuple[Record, Item]], list[Item], list[str]]:
    """Divide cables that no cable of the server has the ends of.

    Returns (cables of the server that move, each with the design's cable; cables to create; notes about cables that are left out).
    """
    used = {record["id"] for record in index.records.values()}
    at_port: dict[int, Record] = {port: record for record in index.cables for port in _ports(record)}
    loose = [record for record in index.cables if is_loose(record)]
    moves: list[tuple[Record, Item]] = []
    creates: list[Item] = []
    notes: list[str] = []
    for item in items:
        ends = [end for end in _wanted(export, item) if end is not None]
        at = [at_port[end] for end in ends if end in at_port]
        foreign = next((record for record in at if not export.made_here(record)), None)
        if foreign is not None:
            name = foreign.get("label") or f"#{foreign['id']}"
            notes.append(f"cable {item.name} is left out: cable {name}, which railweave did not make, is in its port")
            continue
        free = next((record for record in at if record["id"] not in used), None)
        if free is None:
            free = next((record for record in loose if record["id"] not in used and _was_at(record, item)), None)
        if free is None:
            creates.append(item)
        else:
            used.add(free["id"])
            moves.append((free, item))
    return moves, creates, notes
