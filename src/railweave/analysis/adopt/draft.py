"""Draft of a fabric file: its parts as plain values, its lock, what could not be taken, and the natural order of names."""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from railweave.model.device.model import DeviceConfig


_PART = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key by which names sort as their numbers do."""
    return tuple(
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part)
        for part in _PART.split(text)
        if part
    )


def as_number(config: DeviceConfig) -> int:
    """The AS number that a switch has towards its neighbors in the fabric; 0 where it has none."""
    if config.bgp is None:
        return 0
    towards = {group.local_as for group in config.bgp.groups if group.sessions} - {0}
    return towards.pop() if len(towards) == 1 else config.bgp.asn


def numbering(config: DeviceConfig) -> tuple[int, int]:
    """A key by which switches of a role sort as their numbers do: by AS number, without one by their lowest link address."""
    asn = as_number(config)
    links = [
        int(ipaddress.ip_interface(at).ip)
        for interface in config.interfaces
        if not asn
        for at in interface.addresses[:1]
    ]
    return asn, min(links, default=0)


def common_start(names: Sequence[str]) -> str:
    """The letters that all names begin with."""
    least, most = min(names), max(names)
    return next((least[:at] for at, letter in enumerate(least) if most[at : at + 1] != letter), least)


def given(value: object, default: BaseModel) -> dict[str, Any]:
    """The fields of a device's part that differ from those of the same name of a part of the fabric file."""
    changed: dict[str, Any] = {}
    for part_field in dataclasses.fields(value):  # type: ignore[arg-type]
        if not hasattr(default, part_field.name):
            continue
        mine, usual = getattr(value, part_field.name), getattr(default, part_field.name)
        if dataclasses.is_dataclass(mine) and not isinstance(mine, type) and usual is not None:
            inner = given(mine, usual)
            if inner:
                changed[part_field.name] = inner
        elif plain(mine) != _plain_model(usual):
            changed[part_field.name] = plain(mine)
    return changed


def plain(value: object) -> Any:  # noqa: ANN401 - YAML values
    """A value as YAML has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            part_field.name: plain(mine)
            for part_field in dataclasses.fields(value)
            if (mine := getattr(value, part_field.name)) != _default(part_field)
        }
    if isinstance(value, dict):
        return {str(key): plain(child) for key, child in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(element) for element in cast("list[Any]", value)]
    return str(value) if isinstance(value, str) else value


def _default(part_field: dataclasses.Field[Any]) -> object:
    """Return the default of a field; if the field has none, a value that equals nothing (``MISSING``)."""
    if part_field.default_factory is not dataclasses.MISSING:
        return part_field.default_factory()
    return part_field.default


def _plain_model(value: object) -> Any:  # noqa: ANN401 - YAML values
    dump = getattr(value, "model_dump", None)
    if isinstance(value, tuple | list):
        elements = cast("list[Any]", value)
        return None if any(hasattr(element, "model_dump") for element in elements) else plain(elements)
    return plain(dump() if dump is not None else value)


def common(values: list[Any]) -> tuple[Any, int]:
    """The value that most have, and how many have another."""
    keys = [repr(value) for value in values]
    most = max(dict.fromkeys(keys), key=keys.count)
    return values[keys.index(most)], len(keys) - keys.count(most)


@dataclass(frozen=True, slots=True)
class Note:
    """A fact that a fabric file could not take. ``part`` is the field of configurations that shows it; empty if no field does."""

    text: str
    part: str = ""


@dataclass
class Draft:
    """One fabric of the file. ``whole`` is the file, which several fabrics share; ``fabric`` is this one's part of it."""

    name: str
    whole: dict[str, Any]
    lock: dict[str, dict[str, int]]
    switches: list[str]
    notes: list[Note]
    leaf_numbers: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def fabric(self) -> dict[str, Any]:
        """This fabric's part of the file."""
        return self.whole.setdefault("fabrics", {}).setdefault(self.name, {})

    def at(self, *keys: str) -> dict[str, Any]:
        """A part of this fabric, made where it is not there."""
        part = self.fabric
        for key in keys:
            part = part.setdefault(key, {})
        return part

    def override(self, device: str) -> dict[str, Any]:
        """Return the overrides of one switch."""
        return self.whole.setdefault("overrides", {}).setdefault("devices", {}).setdefault(device, {})

    def slots(self, pool: str, *, per_fabric: bool = False) -> dict[str, int]:
        """The slots of a pool of the lock; ``per_fabric``: a pool of this fabric alone."""
        return self.lock.setdefault(f"{self.name}/{pool}" if per_fabric else pool, {})

    def note(self, text: str, part: str = "") -> None:
        """Say what could not be taken into the file; with ``part``, only where the design then has that field otherwise."""
        if Note(text, part) not in self.notes:
            self.notes.append(Note(text, part))
