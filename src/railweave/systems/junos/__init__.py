"""Junos OS Evolved. The class ``systems.loader.System`` explains the functions of this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.outage import Commands

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding

outage = Commands(
    {"bgpd": "routing", "zebra": "routing"},
    "<request-reboot/>",
    '<command format="text">restart {} immediately</command>',
)
"""The commands that restart the device or end a process. On Junos, the process rpd runs BGP and owns the routing table.

If rpd is ended, it cannot close its sessions first (Juniper documentation, restart (Reset)).
"""


def trees(config: DeviceConfig) -> dict[str, ConfigTree]:
    """Return the statements of ``junos.conf`` as a tree. The file name is the only key."""
    from railweave.systems.junos.changes import config_tree
    from railweave.systems.junos.render import tree

    return {"junos.conf": config_tree(tree(config))}


def configurations(config: DeviceConfig) -> list[str]:
    """Return ``junos.conf``, the only file that the reader needs."""
    del config
    return ["junos.conf"]


def quoted(file: str, text: str) -> str:
    """Return a text as one word of Junos, in quotation marks if necessary. Raises ``RenderError`` if this is impossible."""
    from railweave.systems.junos.tree import quoted as quoted_word
    from railweave.systems.loader import plain_word

    return quoted_word(text) if file in {"junos.conf", "junos.set"} else plain_word(text)


def mistakes(config: DeviceConfig) -> list[Finding]:
    """Return findings about mistakes that Juniper's published models do not detect."""
    from railweave.systems.junos.lint import lint
    from railweave.systems.junos.render import tree

    return lint(config.name, tree(config))
