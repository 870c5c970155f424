"""Names of interfaces as devices say them, beside those of the design."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = TypeVar("Value")


def without_unit(name: str) -> str:
    """A port without its logical unit: ``et-0/0/0:0.0`` is ``et-0/0/0:0``; ``irb.100`` keeps its own."""
    port, dot, unit = name.rpartition(".")
    return port if dot and unit == "0" else name


def same_port(said: str | None, designed: str) -> bool:
    """Whether a device means the port that the design calls so."""
    return said is not None and (said == designed or without_unit(said) == designed)


def of_port(table: Mapping[str, Value], name: str) -> Value | None:
    """What a table by interface has of a port, by its name or by that of its logical unit."""
    found = table.get(name)
    return table.get(f"{name}.0") if found is None else found


def short(name: str) -> str:
    """A host name without its domain, in small letters."""
    return name.partition(".")[0].lower()
