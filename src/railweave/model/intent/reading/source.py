"""The three input files of a network, read together. Callers can change fields of the fabric file on reading.

``Fields`` finds the field that requires a value: its line, or its default.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import BaseModel

from railweave.model.intent.base import expand_all
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.inventory import Inventory, read_inventory
from railweave.model.intent.lock import Lock, read_lock
from railweave.model.intent.profiles import LOAD_BALANCING, QOS
from railweave.model.intent.reading.document import Document, models_at, plain, read_document, validate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.topology import Role


def changed(value: Any, changes: Mapping[str, str]) -> None:  # noqa: ANN401 - what a file holds
    """Set fields in ``value``, a file's plain content. Keys of ``changes`` are paths such as ``topology.spines`` or ``servers.0.stripe``.

    The values are YAML text. Missing maps on a path are created. If a path cannot be followed, nothing is changed, and
    validation reports it.
    """
    for path, text in changes.items():
        *names, last = path.split(".")
        at = value
        for name in names:
            at = _part(at, name)
        if isinstance(at, dict):
            cast("dict[str, Any]", at)[last] = plain(text)
        elif isinstance(at, list) and last.isdecimal() and int(last) < len(cast("list[Any]", at)):
            at[int(last)] = plain(text)


def _part(at: Any, name: str) -> Any:  # noqa: ANN401 - what a file holds
    if isinstance(at, dict):
        return cast("dict[str, Any]", at).setdefault(name, {})
    if isinstance(at, list) and name.isdecimal() and int(name) < len(cast("list[Any]", at)):
        return cast("list[Any]", at)[int(name)]
    return None


@dataclass(frozen=True)
class Source:
    """A fabric file with its inventory and lock. ``document`` gives the line of each part."""

    path: Path
    spec: FabricFile
    document: Document
    inventory: Inventory
    lock: Lock
    own_lock: bool = True
    """False if the lock belongs to a different fabric file or build folder."""
    as_written: Mapping[tuple[str, str], Role] = field(default_factory=dict[tuple[str, str], "Role"])
    """The roles as the fabric file defines them, by (fabric, role).

    Only roles whose switches the option ``--device`` has replaced are included.
    """


def companion(path: Path, suffix: str) -> Path:
    """Return the path of a companion file in the same folder: ``NAME.yaml`` becomes ``NAME.<suffix>``."""
    return path.with_name(f"{path.name.removesuffix('.yaml').removesuffix('.yml')}.{suffix}")


def read_source(
    path: Path,
    lock: Lock | None = None,
    *,
    inventory_of: Path | None = None,
    changes: Mapping[str, str] | None = None,
) -> Source:
    """Read ``NAME.yaml``, ``NAME.inventory.csv`` and ``NAME.lock``. A ``lock`` argument replaces the lock file.

    - ``inventory_of``: a different fabric file, whose inventory is read if there is no inventory next to ``path``.
    - ``changes``: new values for fields of the fabric file, by path (``fabrics.backend.topology.spines``).

    Raises ``SpecError`` with the file and line of every fault.
    """
    document = read_document(path)
    changed(document.value, changes or {})
    spec = validate(FabricFile, document)
    inventory = companion(path, "inventory.csv")
    if inventory_of is not None and not inventory.exists():
        inventory = companion(inventory_of, "inventory.csv")
    locked = read_lock(companion(path, "lock")) if lock is None else lock
    return Source(path, spec, document, read_inventory(inventory), locked, own_lock=lock is None)


class Field(NamedTuple):
    """The path of a field that may require a value, in the fabric file or the inventory.

    - ``keys``: the path. A key that is a device's name also fits a host list, or an entry of ``servers``, that contains the name.
      ``("inventory", COLUMN, DEVICE, INTERFACE)`` is a cell of the inventory.
    - ``when``: the path of another field. Without that field in the file, ``Fields`` tries the next ``Field``.
    """

    keys: tuple[str, ...]
    when: tuple[str, ...] = ()


class FieldSource(NamedTuple):
    """The place that requires a value: the file, its line, and the field with its value.

    Line 0 means that the file does not contain the field.
    """

    file: str = ""
    line: int = 0
    field: str = ""


MOST_LETTERS = 48
"""The greatest length of a value that is shown with its field, in characters."""


class Fields:
    """The fields of a fabric file and of its inventory, with their lines and defaults."""

    def __init__(self, path: Path) -> None:
        self._path, self._document = path, read_document(path)

    @cached_property
    def _inventory(self) -> Inventory:
        return read_inventory(companion(self._path, "inventory.csv"))

    def __call__(self, fields: Sequence[Field]) -> FieldSource:
        """Return the place of the first field whose ``when`` is in the file, or else of the last field.

        Without fields, return an empty place.
        """
        for each in fields:
            if each is fields[-1] or self._found(each.when)[1] == len(each.when):
                return self._cell(*each.keys[1:]) if each.keys[0] == "inventory" else self._asked(each.keys)
        return FieldSource()

    def _cell(self, column: str, device: str, interface: str = "") -> FieldSource:
        item = self._inventory.get(device, interface)
        return FieldSource(companion(self._path, "inventory.csv").name, item.line, f"{column}: {getattr(item, column)}")

    def _found(self, keys: Sequence[str]) -> tuple[tuple[str | int, ...], int]:
        """Return (the file's keys along the part of ``keys`` that exists, their number)."""
        at, path = self._document.value, list[str | int]()
        for key in keys:
            part = _own_key(at, key)
            if part is None:
                break
            path.append(part)
            at = at[part]
        return tuple(path), len(path)

    def _asked(self, keys: tuple[str, ...]) -> FieldSource:
        path, length = self._found(keys)
        if length == len(keys):
            value = _at(self._document.value, path)
            return FieldSource(self._path.name, self._document.line(path), f"{_short(keys)}: {_text(value)}")
        for depth in range(length, 0, -1):
            name = _at(self._document.value, (*path[:depth], "profile"))
            profile = None if name is None else {**LOAD_BALANCING, **QOS}.get(str(name))
            if profile is not None and _at(profile.values, keys[depth:]) is not None:
                return FieldSource(self._path.name, self._document.line((*path[:depth], "profile")), f"profile: {name}")
        return FieldSource(self._path.name, 0, f"{'.'.join(keys)}: {_default(path, keys[length:])}")


def _at(value: Any, path: Sequence[str | int]) -> Any:  # noqa: ANN401 - what a file holds
    """Return the part of a value at a path, or None if it is absent."""
    for key in path:
        if not (isinstance(value, list) or (isinstance(value, dict) and key in value)):
            return None
        value = cast("Any", value)[key]
    return value


def _own_key(at: object, key: str) -> str | int | None:
    """Return the key by which ``at`` contains ``key``: the same key, a host list, or an index in a list."""
    if isinstance(at, dict):
        names = cast("dict[str, object]", at)
        if key in names:
            return key
        return next((name for name in names if "[" in str(name) and key in _names(name)), None)
    if isinstance(at, list):
        entries = cast("list[object]", at)
        names_of = [
            _names(cast("dict[str, object]", each).get("names", ())) if isinstance(each, dict) else ()
            for each in entries
        ]
        return next((place for place, names in enumerate(names_of) if key in names), None)
    return None


def _names(patterns: object) -> frozenset[str]:
    return _expanded(tuple(cast("list[object]", patterns)) if isinstance(patterns, list) else (patterns,))


@lru_cache(maxsize=1024)
def _expanded(patterns: tuple[object, ...]) -> frozenset[str]:
    try:
        return frozenset(expand_all(patterns, "{}", ""))
    except ValueError:
        return frozenset()


def _short(keys: tuple[str, ...]) -> str:
    """Return a path without the name of its fabric, because the line of the file already shows the fabric."""
    return ".".join(keys[2:] if keys[0] == "fabrics" else keys[-1:])


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str).replace('"', "")
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _default(path: tuple[str | int, ...], rest: tuple[str, ...]) -> str:
    """Return a field's default as ``default 9216 of fabric-file.md``.

    ``path`` is the part of the field's path that exists in the file, ``rest`` the rest.
    """
    models, value, words = models_at(FabricFile, path), cast("object", None), ""
    for key in rest:
        if isinstance(value, BaseModel) and key in type(value).model_fields:
            info, value = type(value).model_fields[key], getattr(value, key)
        elif isinstance(value, dict) and key in value:
            value = cast("dict[str, object]", value)[key]
            continue
        else:
            info = next((model.model_fields[key] for model in models if key in model.model_fields), None)
            value = (
                None
                if info is None or info.is_required()
                else info.get_default(call_default_factory=True, validated_data={})
            )
        words = "" if info is None else (info.description or "").partition("empty: ")[2].partition(";")[0]
        path = (*path, key)
        models = models_at(FabricFile, path)
    if isinstance(value, BaseModel) or value is None or value in ((), {}, ""):
        return f"default of fabric-file.md{words and f': {words}'}"
    if isinstance(value, dict):
        value = list(cast("dict[str, object]", value))
    elif isinstance(value, tuple):  # a range of numbers
        value = "-".join(map(str, cast("tuple[object, ...]", value)))
    return f"default {_text(value)} of fabric-file.md"
