"""Arista EOS. The class ``systems.loader.System`` explains what each part is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.outage import Commands

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding

outage = Commands({"bgpd": "Bgp", "zebra": "Rib"}, "reload now", "agent {} terminate")
"""The commands that cause an outage: of the whole switch, or of one daemon. A daemon is given by its name on FRR, such as ``bgpd``.

After ``agent NAME terminate``, EOS's process manager restarts the agent (Arista EOS user manual).
"""


def trees(config: DeviceConfig) -> dict[str, ConfigTree]:
    """Return the lines of ``eos.conf`` as a tree of sections, by file name."""
    from railweave.systems.eos.changes import config_tree
    from railweave.systems.eos.render import tree

    return {"eos.conf": config_tree(tree(config))}


def mistakes(config: DeviceConfig) -> list[Finding]:
    """Return findings about mistakes that AVD's schema does not detect."""
    from railweave.systems.eos.lint import lint
    from railweave.systems.eos.render import tree

    return lint(config.name, tree(config))
