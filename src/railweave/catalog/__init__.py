"""Hardware facts and limits, each value with its source.

YAML files beside this one; and ``system.yaml`` of every package under ``railweave.render``: what an operating system
calls things, holds and can do lies beside its renderer.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railweave.catalog.models import Catalog

PARTS = ("switches", "nics", "servers", "optics", "kernel", "physics")


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The catalog, read once."""
    import yaml

    from railweave import render
    from railweave.catalog.models import Catalog

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    here = files("railweave.catalog")
    data: dict[str, Any] = {
        part: yaml.load(here.joinpath(f"{part}.yaml").read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe loader
        for part in PARTS
    }
    data["switches"] = {name: value for name, value in data["switches"].items() if not name.startswith(".")}
    data["systems"] = {
        path.parent.name: yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe loader
        for folder in render.__path__
        for path in sorted(Path(folder).glob("*/system.yaml"))
    }
    return Catalog.model_validate(data)
