"""The network operating systems. Everything that railweave needs for a system is in the system's folder.

Other code uses the folder through ``loader.System``. A folder is an operating system if it has a ``system.yaml``
(``model.catalog.definitions``). The system's code is imported when ``system`` is first called for it.

Imports: ``model``.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.catalog.definitions import system_files

if TYPE_CHECKING:
    from railweave.systems.loader import System


@lru_cache(maxsize=1)
def systems() -> tuple[str, ...]:
    """Return the names of the operating systems, in alphabetical order. Each is a package ``railweave.systems.<name>``."""
    return tuple(system_files())


@lru_cache(maxsize=32)
def system(nos: str) -> System:
    """Return the ``System`` of an operating system, for example of ``"sonic"``.

    Raises ``KeyError`` if no system has that name, and ``ImportError`` if its folder is not as ``systems.loader``
    describes.
    """
    if nos not in system_files():
        raise KeyError(nos)
    from railweave.systems.loader import System

    return System(system_files()[nos], importlib.import_module(f"railweave.systems.{nos}"))
