"""FRRouting. The class ``systems.loader.System`` explains the functions of this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig


def trees(config: DeviceConfig) -> dict[str, ConfigTree]:
    """Return the lines of ``frr.conf`` as a tree. The file name is the only key."""
    from railweave.systems.frr.changes import config_tree
    from railweave.systems.frr.render import tree

    return {"frr.conf": config_tree(tree(config))}


def beneath(config: DeviceConfig) -> dict[str, str]:
    """Return the settings of the Linux host on which FRR runs, by file name: links, and kernel parameters."""
    from railweave.systems.frr import host

    return host.designed(config)


def configurations(config: DeviceConfig) -> list[str]:
    """Return the names of the configuration files: ``frr.conf`` and, if access to the switch itself is restricted, ``nftables.conf``."""
    return ["frr.conf", *(["nftables.conf"] if config.protection else [])]
