"""Comparison and merging of two device configurations, field by field, including fields that a system's own configuration cannot express.

A field is named by its path, with dots between names, for example ``bgp.groups.sessions.peer_as``. A place also
includes the names of list entries: ``("bgp", "groups", "spines", "sessions", "et-0/0/0", "peer_as")``.

A comparison can ignore fields. ``interfaces[kind=server]`` means every entry of the list with this ``kind``, and
``interfaces[kind=server].mtu`` means one field of those entries. If there are several conditions, all must hold. A
condition on a list field holds if the list contains the value. ``[vrf=]`` matches None and empty values.
``bgp.groups.order`` is the order of entries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from railweave.model.device.config_file import from_document, to_document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from railweave.model.device.model import DeviceConfig


CLASS_NAMES, VLAN_NAMES = NAMES = ("qos.classes.name", "gateways.vlan_name")
"""The two kinds of names that some systems' configurations cannot express (``Reads.unsaid``): names of traffic classes and of VLANs."""


def rename(document: dict[str, Any], like: dict[str, Any], unsaid: Collection[str]) -> None:
    """Rename the classes and VLANs of ``document`` to the names that ``like`` uses for the same queues and VLAN numbers.

    Both are results of ``to_document``. ``unsaid`` lists the kinds of names to change: ``CLASS_NAMES``, ``VLAN_NAMES`` or both.
    """
    if CLASS_NAMES in unsaid and document["qos"] and like["qos"]:
        _rename_classes(document["qos"], like["qos"])
    if VLAN_NAMES in unsaid:
        _rename_vlans(document, like)


def _rename_classes(qos: dict[str, Any], like: dict[str, Any]) -> None:
    names = {qos_class["queue"]: name for name, qos_class in like["classes"].items()}
    taken = set(names.values())
    new = _unique(
        {
            name: names.get(qos_class["queue"], f"queue-{qos_class['queue']}" if name in taken else name)
            for name, qos_class in qos["classes"].items()
        }
    )
    for field in ("classes", "marking"):
        renamed = {new.get(name, name): value for name, value in qos[field].items()}
        ordered = {name: renamed[name] for name in like[field] if name in renamed}
        qos[field] = {**ordered, **renamed}
    qos["default_class"] = new.get(qos["default_class"], qos["default_class"])


def _rename_vlans(document: dict[str, Any], like: dict[str, Any]) -> None:
    names = dict(_vlans(like))
    new = _unique({name: names.get(number, name) for number, name in _vlans(document)})
    bridged: list[dict[str, Any]] = document["mac_vrf"]["vlans"] if document["mac_vrf"] else []
    entries: list[tuple[str, dict[str, Any]]] = [
        *(("vlan", interface) for interface in document["interfaces"]),
        *(("vlan_name", gateway) for gateway in document["gateways"]),
        *(("name", bridged_vlan) for bridged_vlan in bridged),
    ]
    for field, entry in entries:
        entry[field] = new.get(entry[field], entry[field])


def _vlans(document: dict[str, Any]) -> Iterable[tuple[int, str]]:
    """Yield each VLAN as (number, name)."""
    yield from ((gateway["vlan"], gateway["vlan_name"]) for gateway in document["gateways"] if gateway["vlan"])
    yield from ((vlan["vlan"], vlan["name"]) for vlan in (document["mac_vrf"] or {"vlans": ()})["vlans"])


def _unique(new: dict[str, str]) -> dict[str, str]:
    """Return ``new``, a map of old to new names, or an empty map if two of the new names are equal."""
    return new if len(set(new.values())) == len(new) else {}


_NAMES = ("name", "interface", "port", "peer_address", "prefix", "address", "router", "vlan", "host", "dscp")
"""Fields that can identify a list entry. The first field that has a distinct value in every entry is used."""

ORDER = "order"
"""The last name of a place (path to a field) if two lists have equal entries in a different order."""


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that differs between two configurations: its place, its path, and both values.

    - ``place``: the path with the names of list entries, for example ``("bgp", "groups", "spines", "peer_as")``.
    - ``field``: the path without these names, for example ``bgp.groups.peer_as``.
    - ``old`` and ``new``: the values. None means that the configuration lacks the field.
    """

    place: tuple[str, ...]
    field: str
    old: object
    new: object


def differences(old: DeviceConfig, new: DeviceConfig, without: Collection[str] = ()) -> list[FieldDifference]:
    """Return the differences from the configuration ``old`` to ``new``. Fields in ``without``, and everything below them, are ignored."""
    old_document, other = to_document(old), to_document(new)
    rename(old_document, other, without)
    return list(_different(old_document, other, (), ("",), _without(without)))


@dataclass(frozen=True)
class _Without:
    """Fields that a comparison ignores, for example ``interfaces[kind=server].mtu``.

    ``conditions`` maps the path of a list to its conditions: (the condition as text, its pairs of field and value).
    """

    fields: frozenset[str]
    conditions: Mapping[str, tuple[tuple[str, tuple[tuple[str, str], ...]], ...]]

    def __contains__(self, names: tuple[str, ...]) -> bool:
        return any(name in self.fields for name in names)

    def of_entry(self, names: tuple[str, ...], *records: object) -> tuple[str, ...]:
        """Return ``names`` and, for each name, the name with every condition that a record meets, for example ``interfaces[kind=server]``.

        ``records`` are the versions of one list entry.
        """
        more = [
            name + selector
            for name in names
            for selector, wanted in self.conditions.get(name, ())
            if any(
                _is_mapping(record) and all(_meets(record.get(key), value) for key, value in wanted)
                for record in records
            )
        ]
        return (*names, *more) if more else names


@lru_cache(maxsize=32)
def _selectors(fields: tuple[str, ...]) -> _Without:
    conditions: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {}
    for field in fields:
        for match in _CONDITION.finditer(field):
            pairs = tuple((key, value) for key, _, value in (word.partition("=") for word in match[1].split(",")))
            conditions.setdefault(field[: match.start()], {})[match[0]] = pairs
    return _Without(frozenset(fields), {name: tuple(selectors.items()) for name, selectors in conditions.items()})


def _without(fields: Collection[str]) -> _Without:
    return _selectors(tuple(fields))


def _meets(value: object, wanted: str) -> bool:
    if isinstance(value, list):
        return wanted in map(str, cast("list[object]", value)) if wanted else not value
    return str(value) == wanted if wanted else not value


_CONDITION = re.compile(r"\[([^\]]+)\]")


def _different(
    old: object, new: object, place: tuple[str, ...], names: tuple[str, ...], without: _Without, *, entry: bool = False
) -> Iterator[FieldDifference]:
    """Yield the differences between the versions ``old`` and ``new`` of a field, except the ignored fields (``without``).

    ``place`` is the field's path with the names of list entries. ``names`` holds the plain path first, and then the same path with
    conditions such as ``interfaces[kind=server]``. ``entry`` is True if the field is one entry of a mapping in ``MAPPINGS``.
    """
    if old == new:
        return
    names = without.of_entry(names, old, new)
    if names in without:
        return
    field = names[0]
    if _is_mapping(old) and _is_mapping(new):
        if field in MAPPINGS and not entry:
            for name in [*old, *(name for name in new if name not in old)]:
                yield from _different(old.get(name), new.get(name), (*place, name), names, without, entry=True)
        else:
            yield from _of_mappings(old, new, place, names, without)
        return
    if old is None or new is None:
        record = new if old is None else old
        if _is_mapping(record) and field not in MAPPINGS and not _has_compared_field(record, place, names, without):
            return
    keyed = _keyed(old, new)
    if keyed is None:
        if not _same_but_for_order(old, new):
            yield FieldDifference(place, field, old, new)
        elif (f"{field}.{ORDER}",) not in without:
            yield FieldDifference((*place, ORDER), f"{field}.{ORDER}", old, new)
        return
    before, after = keyed
    for name in [*before, *(name for name in after if name not in before)]:
        yield from _different(before.get(name), after.get(name), (*place, name), names, without)
    moved = set(before) == set(after) and list(before) != list(after)
    if moved and (f"{field}.{ORDER}",) not in without:
        yield FieldDifference((*place, ORDER), f"{field}.{ORDER}", list(before), list(after))


def _has_compared_field(
    record: dict[str, Any], place: tuple[str, ...], names: tuple[str, ...], without: _Without
) -> bool:
    """Return True if a record has any field that the comparison does not ignore (``without``).

    ``place`` and ``names`` are the record's paths with and without the names of list entries, as in ``_different``.
    """
    return any(
        True
        for name, value in record.items()
        for _ in _different(None, value, (*place, name), _inner(names, name), without)
    )


def _same_but_for_order(old: object, new: object) -> bool:
    if not isinstance(old, list) or not isinstance(new, list):
        return False
    return sorted(map(str, cast("list[object]", old))) == sorted(map(str, cast("list[object]", new)))


def _of_mappings(
    old: dict[str, Any], new: dict[str, Any], place: tuple[str, ...], names: tuple[str, ...], without: _Without
) -> Iterator[FieldDifference]:
    for name in [*old, *(name for name in new if name not in old)]:
        yield from _different(old.get(name), new.get(name), (*place, name), _inner(names, name), without)


def _inner(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the paths of the field ``name`` of a record, for each of the record's own paths in ``names``."""
    return tuple(f"{field}.{name}" if field else name for field in names)


MAPPINGS = frozenset(
    {"bgp.prefix_lists", "bgp.as_lists", "qos.classes", "qos.marking", "management.users", "management.snmp.users"}
)
"""Fields whose value is a mapping with keys that the user chooses."""


def _is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def entries(value: object) -> dict[str, Any] | None:
    """Return the entries of a list as a mapping from entry name to entry. ``FieldDifference.place`` uses the same names.

    An entry's name is the value of the first field in ``_NAMES`` that has a distinct value in every entry, or else its
    position. Return None if the value is not a list of mappings, or is empty.
    """
    keyed = _keyed(value, value)
    return keyed[0] if keyed else None


def by_name(*lists: list[Any]) -> tuple[dict[str, Any], ...] | None:
    """Return each list as a mapping from entry name to entry.

    The name is the value of a field that identifies the entries of all lists, or else the position. Return None if any
    entry is not a mapping, or if all lists are empty.
    """
    if not any(lists) or not all(_is_mapping(entry) for entries in lists for entry in entries):
        return None
    for name in _NAMES:
        if all(entry.get(name) for entries in lists for entry in entries):
            named = tuple({str(entry[name]): entry for entry in entries} for entries in lists)
            if all(len(mapping) == len(entries) for mapping, entries in zip(named, lists, strict=True)):
                return named
    return tuple({str(at): entry for at, entry in enumerate(entries)} for entries in lists)


def _keyed(old: object, new: object) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return (``old`` as a mapping from entry name to entry, ``new`` in the same way).

    Return None if either value is not a list of mappings, or if both are empty.
    """
    if not isinstance(old, list) or not isinstance(new, list):
        return None
    named = by_name(cast("list[Any]", old), cast("list[Any]", new))
    return None if named is None else (named[0], named[1])


def amended(
    designed: DeviceConfig, before: DeviceConfig, after: DeviceConfig, unsaid: Collection[str] = ()
) -> DeviceConfig:
    """Return ``designed`` with the changes between ``before`` and ``after`` applied.

    ``before`` is read from the designed configuration text, and ``after`` from the text on the device. ``unsaid`` holds the kinds of
    names that these texts cannot express (``CLASS_NAMES``, ``VLAN_NAMES``). Such names are taken from ``designed``.
    """
    wanted, base, other = to_document(designed), to_document(before), to_document(after)
    rename(base, wanted, unsaid)
    rename(other, wanted, unsaid)
    return from_document(_amended(wanted, base, other))


def _amended(designed: Any, before: Any, after: Any) -> Any:  # noqa: ANN401 - values of documents
    if before == after:
        return designed
    three = (designed, before, after)
    if all(isinstance(version, dict) for version in three):
        return _mapping(designed, before, after)
    if all(isinstance(version, list) for version in three):
        named = by_name(designed, before, after)
        if named is not None:
            members = _mapping(*named)
            return [members[name] for name in _order(list(members), *map(list, named))]
        if all(isinstance(value, str | int) for values in three for value in values):
            kept = [member for member in designed if member in after or member not in before]
            made = [*kept, *(member for member in after if member not in before and member not in kept)]
            return _order(made, designed, before, after)
    return after


def _mapping(designed: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the ``designed`` entries, by name, with the changes from ``before`` to ``after`` applied: entries changed, removed or added."""
    made: dict[str, Any] = {}
    for name in dict.fromkeys([*designed, *after]):
        if name not in after:
            if name not in before:
                made[name] = designed[name]
        elif name in designed:
            made[name] = _amended(designed[name], before.get(name), after[name])
        elif name not in before:
            made[name] = after[name]
    return made


def _order(names: list[Any], designed: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """Return ``names``, the entries of a list, in the order of ``after`` if ``before`` has a different order, else as in ``designed``.

    A name that exists only in ``after`` follows the name that precedes it in ``after``.
    """
    both = [member for member in before if member in after]
    if both != [member for member in after if member in before]:
        places = {member: at for at, member in enumerate(after)}
        moved = iter(sorted((name for name in names if name in places), key=lambda member: places[member]))
        return [next(moved) if name in places else name for name in names]
    known, there = set(designed), set(names)
    ordered = [name for name in names if name in known]
    at = 0
    for candidate in after:
        if candidate in there:
            if candidate not in known:
                ordered.insert(at, candidate)
            at = ordered.index(candidate) + 1
    return ordered
