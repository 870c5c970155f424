"""Lazy imports: a package's names are imported from their modules when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def attributes(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return a ``__getattr__`` function for a package. ``homes`` has, for each module, the names that the module defines."""
    places = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(places[name]), name)

    return load
