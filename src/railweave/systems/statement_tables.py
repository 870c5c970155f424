"""The statement tables of each system (``model.config.statements``)."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from railweave import systems
from railweave.model.config.statements import Statements


def tables(nos: str) -> dict[str, Statements[Any]]:
    """Return a system's tables for the top level of its configuration, by module and name: those of its ``statements``, and of its folder itself."""
    package = f"{systems.__name__}.{nos}"
    modules = {"": package}
    if find_spec(f"{package}.statements") is not None:
        inside = pkgutil.iter_modules(import_module(f"{package}.statements").__path__)
        modules |= {f"{module.name}.": f"{package}.statements.{module.name}" for module in inside}
        modules["statements."] = f"{package}.statements"
    by_id: dict[int, tuple[str, Statements[Any]]] = {}
    for prefix, module in modules.items():
        for key, value in vars(import_module(module)).items():
            if isinstance(value, Statements):
                table = cast("Statements[Any]", value)
                by_id.setdefault(id(table), (f"{prefix}{key}", table))
    return dict(by_id.values())
