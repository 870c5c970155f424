"""Hardware facts and limits, each value with its source.

The facts are in YAML files:

- files next to this module;
- ``system.yaml`` of every package under ``railweave.systems``: what an operating system calls things, holds and can do is in its folder;
- ``nics.yaml`` of every package under ``railweave.nics``, with ``servers.yaml`` if a vendor brings server models with its NICs.

A catalog is a value. Users' own hardware (``model.catalog.hardware_files``) makes another catalog, which is in force only while
a network with that hardware is worked on.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from railweave.model.catalog.models import Catalog

PARTS = ("switches", "servers", "optics", "kernel", "physics")

_IN_FORCE: ContextVar[Catalog | None] = ContextVar("railweave_catalog", default=None)


def catalog() -> Catalog:
    """The catalog in force: that of the network that is worked on, else the package's."""
    return _IN_FORCE.get() or packaged()


@contextmanager
def in_force(replacement: Catalog) -> Generator[Catalog]:
    """Have ``catalog()`` be this one inside a ``with``; afterwards it is what it was before."""
    token = _IN_FORCE.set(replacement)
    try:
        yield replacement
    finally:
        _IN_FORCE.reset(token)


@lru_cache(maxsize=1)
def packaged() -> Catalog:
    """The package's own catalog, read once."""
    from railweave.model.catalog.definitions import system_files, vendor_files
    from railweave.model.catalog.models import Catalog
    from railweave.reading import packaged_yaml

    def read(place: Path | Traversable) -> Any:  # noqa: ANN401 - what YAML holds
        return packaged_yaml(place.read_text(encoding="utf-8"))

    here = files("railweave.model.catalog")
    data: dict[str, Any] = {part: read(here.joinpath(f"{part}.yaml")) for part in PARTS}
    data["switches"] = {name: value for name, value in data["switches"].items() if not name.startswith(".")}
    data["servers"] = {name: value for name, value in data["servers"].items() if not name.startswith(".")}
    data["systems"] = {name: read(path) for name, path in system_files().items()}
    data["nics"] = {}
    for path in vendor_files().values():
        for part in ("nics", "servers"):
            part_file = path.with_name(f"{part}.yaml")
            _add(data[part], read(part_file) if part_file.exists() else {}, part_file)
    return Catalog.model_validate(data)


def _add(known: dict[str, Any], more: dict[str, Any], path: Path) -> None:
    """Put models to those known. Raises ``ValueError`` where one has the name of another: it would replace it."""
    twice = sorted(known.keys() & more.keys())
    if twice:
        raise ValueError(f"{path}: {', '.join(twice)}: the catalog has another model of this name")
    known |= more
