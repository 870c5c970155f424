"""FRRouting: see ``System`` for what each part is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.protocol import System

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig


class Frr(System):
    """FRRouting."""

    def trees(self, config: DeviceConfig) -> dict[str, ConfigTree]:
        """The lines of ``frr.conf``."""
        from railweave.systems.frr.changes import config_tree
        from railweave.systems.frr.render import tree

        return {"frr.conf": config_tree(tree(config))}

    def configurations(self, config: DeviceConfig) -> list[str]:
        """``frr.conf``, and what may reach the switch itself, where that is limited."""
        return ["frr.conf", *(["nftables.conf"] if config.protection else [])]


SYSTEM = Frr()
