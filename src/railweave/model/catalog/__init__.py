"""Hardware facts and limits, each value with its source.

The facts are in YAML files:

- files next to this module;
- ``system.yaml`` of every package under ``railweave.systems``: the naming, limits and features of an operating system;
- ``nics.yaml`` of every package under ``railweave.nics``, with ``servers.yaml`` if a vendor brings server models with its NICs.

A catalog is a value. Users' own hardware (``model.catalog.hardware_files``) makes a separate catalog, which is in force only
while railweave works on a network with that hardware.
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
    """Return the catalog in force: the current network's, or the package's if none is set."""
    return _IN_FORCE.get() or packaged()


@contextmanager
def in_force(replacement: Catalog) -> Generator[Catalog]:
    """Make ``catalog()`` return this catalog inside a ``with`` block, then restore the previous one."""
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
    """Add models to the known ones. Raises ``ValueError`` if a name is already taken, because the new model would replace the old one."""
    twice = sorted(known.keys() & more.keys())
    if twice:
        raise ValueError(f"{path}: {', '.join(twice)}: the catalog has another model of this name")
    known |= more
