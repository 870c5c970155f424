"""A fabric file in the making: its parts as plain values, its lock, and what could not be taken into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Note:
    """What could not be taken into a fabric file. ``part`` is the field of configurations that shows it; empty: none does."""

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
        found = self.fabric
        for key in keys:
            found = found.setdefault(key, {})
        return found

    def override(self, device: str) -> dict[str, Any]:
        """What is fixed about one switch."""
        return self.whole.setdefault("overrides", {}).setdefault("devices", {}).setdefault(device, {})

    def slots(self, pool: str, *, own: bool = False) -> dict[str, int]:
        """The slots of a pool of the lock; ``own``: one of this fabric."""
        return self.lock.setdefault(f"{self.name}/{pool}" if own else pool, {})

    def note(self, text: str, part: str = "") -> None:
        """Say what could not be taken into the file; with ``part``, only where the design then has that field otherwise."""
        if Note(text, part) not in self.notes:
            self.notes.append(Note(text, part))
