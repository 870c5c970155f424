"""The draft of a fabric file during an import: its sections as plain values, its lock, and notes.

The notes are about facts that the file cannot express.
"""

from __future__ import annotations

import dataclasses
import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from railweave.model.device.model import DeviceConfig


def as_number(config: DeviceConfig) -> int:
    """Return the AS number that a switch uses with its fabric neighbors, or 0 if there is none."""
    if config.bgp is None:
        return 0
    towards = {group.local_as for group in config.bgp.groups if group.sessions} - {0}
    return towards.pop() if len(towards) == 1 else config.bgp.asn


def numbering(config: DeviceConfig) -> tuple[int, int]:
    """Return a sort key for the switches of a role: (AS number, 0), or (0, lowest link address) for a switch without an AS number."""
    asn = as_number(config)
    links = [
        int(ipaddress.ip_interface(at).ip)
        for interface in config.interfaces
        if not asn
        for at in interface.addresses[:1]
    ]
    return asn, min(links, default=0)


def common_start(names: Sequence[str]) -> str:
    """Return the longest string with which all names start."""
    least, most = min(names), max(names)
    return next((least[:at] for at, letter in enumerate(least) if most[at : at + 1] != letter), least)


def given(value: object, default: BaseModel) -> dict[str, Any]:
    """Return, by field name, the fields of ``value`` (such as BFD timers) that differ from ``default``.

    ``default`` has the defaults of the fabric file.
    """
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
    """Return a value as plain YAML data: a dataclass becomes a dictionary by field name.

    Fields that have their default value are left out.
    """
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
    """Return the default of a dataclass field, or ``MISSING``, which no value equals, if the field has no default."""
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
    """Return (the most common value, the number of values that differ from it)."""
    keys = [repr(value) for value in values]
    most = max(dict.fromkeys(keys), key=keys.count)
    return values[keys.index(most)], len(keys) - keys.count(most)


@dataclass(frozen=True, slots=True)
class Note:
    """A note to the operator about a fact that the fabric file cannot express.

    If ``part`` names a configuration field, the note is shown only if the design and the saved configurations differ in this field.
    If ``part`` is empty, the note is always shown.
    """

    text: str
    part: str = ""


@dataclass
class Draft:
    """The draft of one fabric in the fabric file that an import reconstructs.

    - ``whole``: the complete fabric file, which the drafts of all fabrics share.
    - ``lock``: the numbers for the lock file, by pool and name.
    - ``switches``: the names of the fabric's switches.
    - ``notes``: the facts that the file cannot express.
    - ``leaf_numbers``: the number of each leaf, by name.
    """

    name: str
    whole: dict[str, Any]
    lock: dict[str, dict[str, int]]
    switches: list[str]
    notes: list[Note]
    leaf_numbers: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def fabric(self) -> dict[str, Any]:
        """The section of this fabric in the fabric file. An empty section is created if it is missing."""
        return self.whole.setdefault("fabrics", {}).setdefault(self.name, {})

    def at(self, *keys: str) -> dict[str, Any]:
        """Return the subsection of this fabric's section under nested ``keys``. A missing subsection is created."""
        part = self.fabric
        for key in keys:
            part = part.setdefault(key, {})
        return part

    def override(self, device: str) -> dict[str, Any]:
        """Return the overrides of a switch in the fabric file. Missing overrides are created empty."""
        return self.whole.setdefault("overrides", {}).setdefault("devices", {}).setdefault(device, {})

    def slots(self, pool: str, *, per_fabric: bool = False) -> dict[str, int]:
        """Return the numbers in a pool of the lock (the file of allocated numbers), by the name of the object that has each number.

        A missing pool is created. With ``per_fabric``, the pool belongs to this fabric.
        """
        return self.lock.setdefault(f"{self.name}/{pool}" if per_fabric else pool, {})

    def note(self, text: str, part: str = "") -> None:
        """Add a note to the operator about a fact that the file cannot express. ``part`` is described in ``Note``."""
        if Note(text, part) not in self.notes:
            self.notes.append(Note(text, part))
