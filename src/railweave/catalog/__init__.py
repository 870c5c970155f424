"""Hardware facts and limits, as YAML files beside this one, each value with its source."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railweave.catalog.models import Catalog

PARTS = ("switches", "systems", "nics", "servers", "optics", "kernel", "physics")


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The catalog, read once."""
    import yaml

    from railweave.catalog.models import Catalog

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    here = files("railweave.catalog")
    data: dict[str, Any] = {
        part: yaml.load(here.joinpath(f"{part}.yaml").read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe loader
        for part in PARTS
    }
    data["switches"] = {name: value for name, value in data["switches"].items() if not name.startswith(".")}
    return Catalog.model_validate(data)
