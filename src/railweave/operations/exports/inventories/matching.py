"""The objects of a server that correspond to those of a design."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from railweave.operations.exports.inventories.client import ServerError
from railweave.operations.exports.inventories.objects import (
    DEVICES,
    Id,
    Item,
    Key,
    Kind,
    Known,
    Product,
    Reference,
    cable_ends,
    keys_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.operations.exports.inventories.client import Client
    from railweave.operations.exports.inventories.objects import Record


class Export(Protocol):
    """The parts of an export that the modules of matching and cables use."""

    client: Client
    ids: dict[Reference, Id]
    keys: Known
    tag: str

    @property
    def product(self) -> Product:
        """The kind of the server."""
        ...

    def tag_id(self) -> Id | None:
        """Return the id of the tag. None if the server does not have it yet."""
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


def lookup(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    """Return the objects of a server that correspond to objects of a kind."""
    if kind.field_of:
        return _again(export, kind, items)
    if kind.named:
        return _named(export, kind, items)
    if kind.name == "cable":
        return _cables(export, kind, items)
    wanted = {item.key for item in items}
    records: dict[Key, Record] = {}
    others: dict[Id, Record] = {}
    for record in _records(export, kind, items):
        keys = [key for key in keys_of(kind, export.keys, record) if key in wanted]
        for key in keys:
            if key not in records or (export.tagged(record) and not export.tagged(records[key])):
                records[key] = record
        if not keys:
            others[record["id"]] = record
    unused = [record for record in others.values() if kind.whole and export.tagged(record)]
    if kind.owner:
        _reused(export, kind, items, records, others)
    if kind.name == "IP address":
        _addresses_elsewhere(export, kind, items, records)
    if kind.name == "device":
        unused += _other_devices(export, kind, records)
    return Index(records, unused)


def _again(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    """Return the devices or interfaces of which one more field is compared."""
    of = kind.field_of
    by_id = {export.ids[Reference(of, item.key)]: item.key for item in items if Reference(of, item.key) in export.ids}
    records = export.client.objects(kind.path, kind.query, "id", list(by_id))
    return Index({by_id[record["id"]]: record for record in records})


def _named(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    """Return the objects with the name, or else with the slug, of an object. Raises ``ServerError`` if several have the name."""
    by_field: dict[str, dict[str, Record]] = {name: {} for name in kind.by}
    for record in _records(export, kind, items):
        for name, by_value in by_field.items():
            other = by_value.setdefault(record[name], record)
            if name == "name" and other["id"] != record["id"]:
                raise ServerError(
                    f"{export.client.url} has several {kind.many} of the name {record[name]}: rename all but one"
                )
    result: dict[Key, Record] = {}
    for item in items:
        matches = [by_field[name].get(str(item.fields[name])) for name in reversed([*kind.by])]
        record = next((match for match in matches if match is not None), None)
        if record is not None:
            result[item.key] = record
    return Index(result)


def _records(export: Export, kind: Kind, items: Sequence[Item]) -> Iterator[Record]:
    """Yield the objects of a kind that may correspond to the given ones, some of them twice."""
    for name, source in kind.by.items():
        if values := list(dict.fromkeys(_values(export, items, source))):
            yield from export.client.objects(kind.path, kind.query, name, values)


def _values(export: Export, items: Sequence[Item], source: str) -> Iterable[Id]:
    """Return the values of a filter. Objects that are only planned have no id."""
    if source == DEVICES:
        return [number for reference, number in export.ids.items() if reference.kind == "device"]
    values = [item.fields[source] for item in items]
    ids = [export.ids.get(value) if isinstance(value, Reference) else str(value) for value in values]
    return [value for value in ids if value is not None]


def created(export: Export, kind: Kind, items: Sequence[Item], records: Sequence[Record]) -> dict[Key, Record]:
    """Return the objects that a server has just created, by the key of the design's object. Releases differ in the order of the answer."""
    if kind.named:
        by_name = {record["name"]: record for record in records}
        return {item.key: by_name[str(item.fields["name"])] for item in items}
    wanted = {item.key for item in items}
    return {key: record for record in records for key in keys_of(kind, export.keys, record) if key in wanted}


def _reused(
    export: Export, kind: Kind, items: Sequence[Item], records: dict[Key, Record], others: Mapping[Id, Record]
) -> None:
    """Add, for objects that the server lacks, those of the same owner that the design no longer has: they are changed."""
    spare: dict[Id, list[Record]] = {}
    for record in others.values():
        spare.setdefault(record[kind.owner]["id"], []).append(record)
    for item in items:
        owner = item.fields[kind.owner]
        if item.key not in records and isinstance(owner, Reference) and (there := spare.get(export.ids.get(owner, ""))):
            records[item.key] = there.pop()


def _addresses_elsewhere(export: Export, kind: Kind, items: Sequence[Item], records: dict[Key, Record]) -> None:
    """Add the addresses that exist, but not at the design's devices: those of no interface, or of a different device."""
    missing = {item.key: item.key[0] for item in items if item.key not in records and 0 < len(item.key) <= 2}
    for record in export.client.objects(kind.path, kind.query, "address", sorted({*missing.values()})):
        for key in keys_of(kind, export.keys, record):
            if key in missing:
                records.setdefault(key, record)


def _other_devices(export: Export, kind: Kind, records: Mapping[Key, Record]) -> list[Record]:
    """Return the devices with the tag at the design's sites that the design does not have.

    Servers refuse a query for a tag that does not exist (NetBox: extras.filters.TagFilter).
    """
    if export.tag_id() is None:
        return []
    product = export.product
    sites = [number for reference, number in export.ids.items() if reference.kind == product.place]
    query = {**kind.query, product.tag_filter: export.tag}
    tagged = export.client.objects(kind.path, query, product.place_filter, sites)
    used = {record["id"] for record in records.values()}
    return [record for record in tagged if record["id"] not in used]


def _cables(export: Export, kind: Kind, items: Sequence[Item]) -> Index:
    cables = {record["id"]: record for record in (*_records(export, kind, items), *_without_ends(export, kind))}
    by_ends: dict[frozenset[Id], Record] = {}
    for record in cables.values():
        if len(there := ports(export, record)) == 2:
            by_ends[frozenset(there)] = record
    by_key: dict[Key, Record] = {}
    for item in items:
        ends = [export.ids.get(end) for end in cable_ends(item)]
        record = by_ends.get(frozenset(end for end in ends if end is not None))
        if None not in ends and record is not None:
            by_key[item.key] = record
    used = {record["id"] for record in by_key.values()}
    unused = [record for record in cables.values() if record["id"] not in used and export.tagged(record)]
    return Index(by_key, unused, list(cables.values()))


def _without_ends(export: Export, kind: Kind) -> list[Record]:
    """Return the cables with the tag that have no ends: an interrupted move may leave them, and no device has them."""
    if export.tag_id() is None:
        return []
    query = {**kind.query, export.product.tag_filter: export.tag, **export.product.loose}
    return [record for record in export.client.objects(kind.path, query) if is_loose(export, record)]


def is_loose(export: Export, record: Record) -> bool:
    """Return True if a cable has no ends."""
    return not any(export.product.ends_of(record).values())


def ports(export: Export, record: Record) -> list[Id]:
    """Return the ids of the interfaces at the ends of a cable. It may have none at an end."""
    ends = export.product.ends_of(record).values()
    return [number for there in ends for kind, number in there if kind == "dcim.interface"]
