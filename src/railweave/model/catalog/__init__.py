"""Hardware facts and limits, each value with its source.

The facts are in YAML files:

- files next to this module;
- ``system.yaml`` of every package under ``railweave.systems``: the naming, limits and features of an operating system;
- ``nics.yaml`` of every package under ``railweave.nics``, with ``servers.yaml`` if a vendor brings server models with its NICs.

Catalogs are immutable. Users' own hardware (``model.catalog.hardware_files``) makes a separate catalog, which is the current
catalog only while railweave works on a network with that hardware.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from railweave.reading import packaged_text

if TYPE_CHECKING:
    from collections.abc import Generator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from railweave.model.catalog.models import Catalog

PARTS = ("switches", "servers", "optics", "kernel", "physics")

_IN_FORCE: ContextVar[Catalog | None] = ContextVar("railweave_catalog", default=None)


def catalog() -> Catalog:
    """Return the current catalog: the catalog set by ``in_force``, or the package's own if none is set."""
    return _IN_FORCE.get() or packaged()


@contextmanager
def in_force(replacement: Catalog) -> Generator[Catalog]:
    """Make ``replacement`` the catalog that ``catalog()`` returns inside a ``with`` block.

    Restore the previous catalog afterwards.
    """
    token = _IN_FORCE.set(replacement)
    try:
        yield replacement
    finally:
        _IN_FORCE.reset(token)


@lru_cache(maxsize=1)
def packaged() -> Catalog:
    """Return the package's own catalog. Its files are read only once."""
    from railweave.model.catalog.definitions import system_files, vendor_files
    from railweave.model.catalog.models import Catalog
    from railweave.reading import packaged_yaml

    def read(place: Path | Traversable) -> Any:  # noqa: ANN401 - what YAML holds
        return packaged_yaml(packaged_text(place))

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
    """Add the hardware models of a file to ``known``. ``more`` are the file's models, and ``path`` is the path of the file.

    Raises ``ValueError`` with the path of the file if ``known`` already has a model of the same name.
    """
    twice = sorted(known.keys() & more.keys())
    if twice:
        raise ValueError(f"{path}: {', '.join(twice)}: the catalog already has a model of this name")
    known |= more
