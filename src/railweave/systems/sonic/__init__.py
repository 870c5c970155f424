"""SONiC. ``System`` describes each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


def trees(config: DeviceConfig) -> dict[str, ConfigTree]:
    """Return the tables of ``config_db.json`` and the lines of ``frr.conf``."""
    from railweave.systems.frr.changes import config_tree as frr_tree
    from railweave.systems.sonic.changes import config_tree
    from railweave.systems.sonic.render import frr, tables

    return {"config_db.json": config_tree(tables(config), config.release), "frr.conf": frr_tree(frr.tree(config))}


def started_daemons(config: DeviceConfig) -> frozenset[str]:
    """Return the FRRouting daemons that SONiC starts, according to its tables including the operator's own rows."""
    from railweave.systems.sonic.daemons import started

    return started(config)


def mistakes(config: DeviceConfig) -> list[Finding]:
    """Return findings about mistakes in tables and routing that the published models do not detect."""
    from railweave.systems.sonic.lint import lint
    from railweave.systems.sonic.render import frr, tables

    return lint(config.name, tables(config), frr.tree(config))
