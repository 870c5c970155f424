"""One package per network operating system behind one registry; each prints a ``DeviceConfig`` and decides nothing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding

TARGETS = ("junos", "frr")
"""The operating systems that can be rendered; each is the package ``railweave.render.<name>``."""


class Renderer(Protocol):
    """What a target package offers."""

    def files(self, config: DeviceConfig) -> dict[str, str]:
        """The configuration files of a device, by file name."""
        ...

    def gaps(self, config: DeviceConfig) -> list[Finding]:
        """What the configuration asks for that this target cannot express."""
        ...


def renderer(nos: str) -> Renderer:
    """The renderer of an operating system. Raises ``KeyError`` where there is none."""
    if nos not in TARGETS:
        raise KeyError(nos)
    return cast("Renderer", importlib.import_module(f"railweave.render.{nos}"))
