"""One folder per network operating system: all that railweave knows of it, behind the protocol ``System``.

A folder that has a ``system.yaml`` is one. This module only knows which there are and where: what reads their data (the
catalog) or asks for one of them (``system``) imports no renderer until it needs it.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from railweave.systems.protocol import System


@lru_cache(maxsize=1)
def systems() -> tuple[str, ...]:
    """The names of the operating systems, in alphabetical order; each is the package ``railweave.systems.<name>``."""
    return tuple(definitions())


@lru_cache(maxsize=1)
def definitions() -> dict[str, Path]:
    """The ``system.yaml`` of every operating system, by its name: what it calls things, holds and can do."""
    return {
        path.parent.name: path for path in sorted(p for folder in __path__ for p in Path(folder).glob("*/system.yaml"))
    }


@lru_cache(maxsize=32)
def system(nos: str) -> System:
    """All that is known of an operating system. Raises ``KeyError`` where there is none of that name."""
    if nos not in definitions():
        raise KeyError(nos)
    return cast("System", importlib.import_module(f"railweave.systems.{nos}").SYSTEM)
