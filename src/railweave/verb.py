"""Packages that are also verbs.

``railweave.build``, ``.verify`` and ``.routes`` are rooms of the package and, by the same names, steps of its API.
Python binds a subpackage to its name in the parent as soon as anything imports it, so the package itself has to answer
when it is called.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    """A package that passes a call on to the function of its name in ``railweave.api``."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the function takes and gives
        return getattr(importlib.import_module("railweave.api"), self.__name__.rpartition(".")[2])(
            *arguments, **options
        )


def make_verb(package: str) -> None:
    """Let a package of railweave be called as the API function of its name."""
    sys.modules[package].__class__ = _Verb
