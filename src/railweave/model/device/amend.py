"""The designed configuration of a device with what its text says otherwise.

A text has no words for some fields (names of cables, what a port's optic is), so what is read of it is not the designed configuration even where the
text is as designed. What differs between two readings is: that of the designed text, and that of the text found. These differences
are made in the designed configuration, and everything else stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.model.device.config_file import from_document, to_document
from railweave.model.device.fields import by_name
from railweave.model.device.unprinted_names import rename

if TYPE_CHECKING:
    from collections.abc import Collection

    from railweave.model.device.model import DeviceConfig


def amended(
    designed: DeviceConfig, before: DeviceConfig, after: DeviceConfig, unsaid: Collection[str] = ()
) -> DeviceConfig:
    """``designed`` with what ``after`` has otherwise than ``before``, which are readings of the text found and of the designed one.

    ``unsaid`` are fields that texts of the system have no words for; names among them are taken from the design.
    """
    wanted, one, other = to_document(designed), to_document(before), to_document(after)
    rename(one, wanted, unsaid)
    rename(other, wanted, unsaid)
    return from_document(_amended(wanted, one, other))


def _amended(designed: Any, before: Any, after: Any) -> Any:  # noqa: ANN401 - values of documents
    if before == after:
        return designed
    three = (designed, before, after)
    if all(isinstance(one, dict) for one in three):
        return _mapping(designed, before, after)
    if all(isinstance(one, list) for one in three):
        named = by_name(designed, before, after)
        if named is not None:
            found = _mapping(*named)
            return [found[name] for name in _order(list(found), *map(list, named))]
        if all(isinstance(one, str | int) for values in three for one in values):
            kept = [one for one in designed if one in after or one not in before]
            made = [*kept, *(one for one in after if one not in before and one not in kept)]
            return _order(made, designed, before, after)
    return after


def _mapping(designed: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Entries by name: those that are gone from the text are gone, those that it has more are there."""
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
    """What there is in the order of the text where that is not the designed one; what only the text has stands behind what it follows there."""
    both = [one for one in before if one in after]
    if both != [one for one in after if one in before]:
        places = {one: at for at, one in enumerate(after)}
        moved = iter(sorted((one for one in names if one in places), key=lambda one: places[one]))
        return [next(moved) if one in places else one for one in names]
    known, there = set(designed), set(names)
    ordered = [one for one in names if one in known]
    at = 0
    for one in after:
        if one in there:
            if one not in known:
                ordered.insert(at, one)
            at = ordered.index(one) + 1
    return ordered
