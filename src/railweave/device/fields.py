"""Two configurations of a device field by field, whatever wrote them; and fields that a text has no words for.

A field is named by its place: names of fields with dots between them, as in ``bgp.groups.sessions.peer_as``. A place has the names of entries
in it as well: ``("bgp", "groups", "spines", "sessions", "et-0/0/0", "peer_as")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from railweave.device.config_file import from_document, to_document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from railweave.device.model import DeviceConfig

_NAMES = ("name", "interface", "port", "peer_address", "prefix", "address", "router", "vlan", "host", "dscp")
"""Fields that name an entry of a list, the first that all have and that tells them apart."""

ORDER = "order"
"""Stands at the end of a place where entries are the same, in another order."""

_NOTHING = object()


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that two configurations have otherwise; None where one has it not."""

    place: tuple[str, ...]
    field: str
    old: object
    new: object


def differences(old: DeviceConfig, new: DeviceConfig, without: Collection[str] = ()) -> list[FieldDifference]:
    """What the configurations have otherwise, but for the fields ``without`` and all below them."""
    return list(_different(to_document(old), to_document(new), (), "", frozenset(without)))


def completed(read: DeviceConfig, designed: DeviceConfig, unsaid: Collection[str]) -> DeviceConfig:
    """What was read, with the fields that its text has no words for as they are designed, entry by entry."""
    document = to_document(read)
    _complete(document, to_document(designed), "", frozenset(unsaid))
    return from_document(document)


def _different(
    old: object, new: object, place: tuple[str, ...], field: str, without: frozenset[str]
) -> Iterator[FieldDifference]:
    if old == new or field in without:
        return
    if _is_mapping(old) and _is_mapping(new):
        yield from _of_mappings(old, new, place, field, without)
        return
    keyed = _keyed(old, new)
    if keyed is None:
        yield FieldDifference(place, field, old, new)
        return
    before, after = keyed
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        yield from _different(one, other, (*place, name), field, without)
    if set(before) == set(after) and list(before) != list(after):
        yield FieldDifference((*place, ORDER), f"{field}.{ORDER}", list(before), list(after))


def _of_mappings(
    old: dict[str, Any], new: dict[str, Any], place: tuple[str, ...], field: str, without: frozenset[str]
) -> Iterator[FieldDifference]:
    fields = _is_record(field)
    for name in [*old, *(name for name in new if name not in old)]:
        inner = (f"{field}.{name}" if field else name) if fields else field
        yield from _different(old.get(name), new.get(name), (*place, name), inner, without)


MAPPINGS = frozenset(
    {"bgp.prefix_lists", "bgp.as_lists", "qos.classes", "qos.marking", "management.users", "management.snmp.users"}
)
"""Fields whose value maps names of the user's choosing."""


def _is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_record(field: str) -> bool:
    return field not in MAPPINGS


def _keyed(old: object, new: object) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Two lists of entries by their names; None where they are no such lists."""
    if not isinstance(old, list) or not isinstance(new, list):
        return None
    both = cast("list[Any]", [*old, *new])
    if not both or not all(isinstance(one, dict) for one in both):
        return None
    one, other = cast("list[dict[str, Any]]", old), cast("list[dict[str, Any]]", new)
    for name in _NAMES:
        if all(entry.get(name) for entry in (*one, *other)):
            before = {str(entry[name]): entry for entry in one}
            after = {str(entry[name]): entry for entry in other}
            if len(before) == len(one) and len(after) == len(other):
                return before, after
    return {str(at): entry for at, entry in enumerate(one)}, {str(at): entry for at, entry in enumerate(other)}


def _complete(read: object, designed: object, field: str, unsaid: frozenset[str]) -> None:
    """Put in what is designed, below a field that both have."""
    if _is_mapping(read) and _is_mapping(designed):
        fields = _is_record(field)
        for name, value in designed.items():
            inner = (f"{field}.{name}" if field else name) if fields else field
            if inner in unsaid and fields:
                read[name] = value
            elif name in read:
                _complete(read[name], value, inner, unsaid)
        return
    keyed = _keyed(read, designed)
    if keyed is not None:
        before, after = keyed
        for name, entry in before.items():
            if name in after:
                _complete(entry, after[name], field, unsaid)
