"""The statement tables of each system (``model.config.statements``)."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from railweave import systems
from railweave.model.config.statements import Statements


def tables(nos: str) -> dict[str, Statements[Any]]:
    """Return a system's tables for the top of its configuration, by module and name. A system without tables has none."""
    name = f"{systems.__name__}.{nos}.statements"
    if find_spec(name) is None:
        return {}
    modules = (each.name for each in pkgutil.iter_modules(import_module(name).__path__))
    return {
        f"{module}.{key}": value
        for module in modules
        for key, value in vars(import_module(f"{name}.{module}")).items()
        if isinstance(value, Statements)
    }
