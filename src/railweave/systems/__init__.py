"""One folder per network operating system: all that railweave knows of it, behind the protocol ``System``.

A folder that has a ``system.yaml`` is one. This module only knows which there are and where: what reads their data (the
catalog) or asks for one of them (``system``) imports no renderer until it needs it.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from railweave.plugged import SYSTEMS, found_by

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.systems.protocol import System


@lru_cache(maxsize=1)
def systems() -> tuple[str, ...]:
    """The names of the operating systems, in alphabetical order; each is the package ``railweave.systems.<name>``."""
    return tuple(definitions())


@lru_cache(maxsize=1)
def definitions() -> dict[str, Path]:
    """The ``system.yaml`` of every operating system, by its name: what it calls things, holds and can do.

    Raises ``ImportError`` for a package here that has none.
    """
    return found_by(*SYSTEMS)


@lru_cache(maxsize=32)
def system(nos: str) -> System:
    """All that is known of an operating system.

    Raises ``KeyError`` if no system has that name, ``ImportError`` if its folder is not as ``systems.parts`` describes.
    """
    if nos not in definitions():
        raise KeyError(nos)
    return cast("System", importlib.import_module(f"railweave.systems.{nos}").SYSTEM)
