"""SONiC. The class ``systems.loader.System`` explains the functions of this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.outage import Commands

if TYPE_CHECKING:
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding

outage = Commands(
    {daemon: daemon for daemon in ("bgpd", "zebra", "bfdd")},
    "setsid sh -c 'sleep 1; reboot' > /dev/null 2>&1 < /dev/null &",
    "docker exec bgp pkill -KILL -x {}",
    in_shell=True,
)
"""The commands that restart the switch or end a process.

The restart begins one second later, so that the switch can still answer the command. If a critical process ends,
``supervisord`` ends the container (sonic-buildimage, ``supervisor-proc-exit-listener``), and systemd starts the container
again.
"""


def trees(config: DeviceConfig) -> dict[str, ConfigTree]:
    """Return the tables of ``config_db.json`` and the lines of ``frr.conf`` as trees, by file name."""
    from railweave.systems.frr.changes import config_tree as frr_tree
    from railweave.systems.sonic.changes import config_tree
    from railweave.systems.sonic.render import frr, tables

    return {"config_db.json": config_tree(tables(config), config.release), "frr.conf": frr_tree(frr.tree(config))}


def started_daemons(config: DeviceConfig) -> frozenset[str]:
    """Return the FRRouting daemons that SONiC starts, as its tables determine, including the operator's own rows."""
    from railweave.systems.sonic.daemons import started

    return started(config)


def mistakes(config: DeviceConfig) -> list[Finding]:
    """Return findings about mistakes in tables and routing that SONiC's published models do not detect."""
    from railweave.systems.sonic.lint import lint
    from railweave.systems.sonic.render import frr, tables

    return lint(config.name, tables(config), frr.tree(config))
