"""One package per network operating system; each prints a ``DeviceConfig`` and decides nothing.

A package that has a ``system.yaml`` is one: what the system calls things, holds and can do is the catalog's.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding


class Renderer(Protocol):
    """What a target package offers."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """The configuration files of a device, by file name."""
        ...

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What the configuration asks for that this target cannot express."""
        ...

    def lines(self, config: DeviceConfig) -> list[str]:
        """Every statement with what it stands in, a line each: two configurations are compared by them."""
        ...

    def check_extra(self, text: str) -> None:
        """Read the operator's own statements. Raises ``RenderError`` with the line where that cannot be done."""
        ...


@lru_cache(maxsize=1)
def systems() -> tuple[str, ...]:
    """The operating systems that can be rendered; each is the package ``railweave.render.<name>``."""
    return tuple(sorted({path.parent.name for folder in __path__ for path in Path(folder).glob("*/system.yaml")}))


def renderer(nos: str) -> Renderer:
    """The renderer of an operating system. Raises ``KeyError`` where there is none."""
    if nos not in systems():
        raise KeyError(nos)
    return cast("Renderer", importlib.import_module(f"railweave.render.{nos}"))
