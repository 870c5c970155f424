"""Hardware facts and limits, each value with its source.

YAML files beside this one; and ``system.yaml`` of every package under ``railweave.systems``: what an operating system
calls things, holds and can do lies in its folder.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railweave.catalog.models import Catalog

PARTS = ("switches", "nics", "servers", "optics", "kernel", "physics")


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The catalog, read once."""
    import yaml

    from railweave.catalog.models import Catalog
    from railweave.systems import definitions

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    here = files("railweave.catalog")
    data: dict[str, Any] = {
        part: yaml.load(here.joinpath(f"{part}.yaml").read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe loader
        for part in PARTS
    }
    data["switches"] = {name: value for name, value in data["switches"].items() if not name.startswith(".")}
    data["systems"] = {
        name: yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe loader
        for name, path in definitions().items()
    }
    return Catalog.model_validate(data)
