"""Conversion of objects to JSON, declared in their classes.

A class declares its JSON object in ``JSON``: the names of fields, properties or methods without parameters, in order:

- ``"device"``: the value of ``device``, under that key;
- ``"running=found"``: the value of ``found`` under the key ``running``; ``found`` may be a path, such as ``cause.found``;
- ``"level:4"``: a number, rounded to four decimal places;
- ``"time_us=time_ps/1e6"``: a number divided by a constant, or each number of a list;
- ``"switches=#scores"``: the length of ``scores``;
- ``"*key"``: the keys of the JSON object in ``key``, merged into this object.

A data class or named tuple without ``JSON`` becomes an object of its fields. A class that computes its JSON object defines its own
``to_json`` method.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class JsonObject:
    """The base class of objects that can be converted to JSON.

    ``JSON`` declares the keys of the JSON object. If it is empty, all fields become keys.
    """

    __slots__ = ()
    JSON: ClassVar[Sequence[str]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the value as a JSON object, in the form that the module's docstring describes."""
        return to_json(self)


class _Key(NamedTuple):
    """One key of a JSON object: its name, a function that gets its value, and a function that converts the value.

    If the name is empty, the value is an object whose keys are merged.
    """

    name: str
    get: Callable[[Any], Any]
    change: Callable[[Any], Any] | None


def to_json(value: object) -> Any:  # noqa: ANN401 - JSON values
    """Return a value in a form that ``json.dumps`` accepts. Raise ``TypeError`` if the value cannot be converted."""
    if value is None or isinstance(value, str | int | float):
        return value
    kind = type(value)
    if keys := _keys(kind):
        return _object(value, keys)
    if callable(form := getattr(value, "to_json", None)):
        return form()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(map(to_json, cast("Iterable[object]", value)))
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        return {str(key): to_json(inner) for key, inner in cast("Mapping[object, object]", value).items()}
    if callable(item := getattr(value, "item", None)):  # a number of NumPy
        return item()
    raise TypeError(f"{kind.__name__} has no JSON form")


def _object(value: object, keys: tuple[_Key, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, get, change in keys:
        inner = get(value)
        if callable(inner):
            inner = inner()
        if change is not None and inner is not None:
            inner = change(inner)
        if name:
            made[name] = to_json(inner)
        else:
            made |= to_json(inner)
    return made


@cache
def _keys(kind: type) -> tuple[_Key, ...]:
    """Return the JSON keys of the class ``kind``: its declared keys, or else the fields of a data class or named tuple.

    Returns an empty tuple for any other class, and for a class with its own ``to_json`` method.
    """
    if getattr(kind, "to_json", JsonObject.to_json) is not JsonObject.to_json:
        return ()  # it has a form of its own
    declared: Sequence[str] = getattr(kind, "JSON", ())
    if not declared:
        names: Sequence[str] = getattr(kind, "_fields", ())
        declared = [field.name for field in fields(kind)] if is_dataclass(kind) else names
    return tuple(map(_key, declared))


_WORD = re.compile(r"(?:(?P<name>\w+)=)?(?P<change>[*#]?)(?P<path>[\w.]+)(?:/(?P<unit>1e\d+)|:(?P<places>\d+))?")


def _key(word: str) -> _Key:
    match = _WORD.fullmatch(word)
    if match is None:
        raise TypeError(f"{word!r} is no key of a JSON form")
    path = match["path"]
    name = "" if match["change"] == "*" else match["name"] or path
    if match["change"] == "#":
        return _Key(name, attrgetter(path), len)
    if match["unit"]:
        return _Key(name, attrgetter(path), partial(_divided, by=float(match["unit"])))
    return _Key(name, attrgetter(path), partial(round, ndigits=int(match["places"])) if match["places"] else None)


def _divided(value: Any, by: float) -> Any:  # noqa: ANN401 - a number, or several
    return [number / by for number in cast("Sequence[float]", value)] if isinstance(value, list | tuple) else value / by
