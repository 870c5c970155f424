"""Rendering of SONiC: ``config_db.json`` for the switch, ``frr.conf`` for routing.

SONiC has several modes to configure routing. railweave uses ``split-unified``, in which SONiC's own templates are not
used. ``frr.conf`` then contains the complete configuration of FRR, so it can be read, validated and run without
changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import flat
from railweave.systems.frr.tree import to_text as to_frr
from railweave.systems.sonic.branches import branch
from railweave.systems.sonic.meaning import control_plane
from railweave.systems.sonic.render import by_release, frr
from railweave.systems.sonic.render.frr import parts
from railweave.systems.sonic.render.gaps import gaps
from railweave.systems.sonic.render.ports import interfaces, loopback, macsec, ports
from railweave.systems.sonic.render.qos import buffers, maps, port_maps, queues, watchdog
from railweave.systems.sonic.tables import Tables, merge, to_text
from railweave.systems.sonic.tables import lines as flat_tables

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig

__all__ = ["check_extra", "files", "gaps", "lines", "tables"]


def tables(config: DeviceConfig) -> Tables:
    """Return the tables of a device, with the operator's own rows merged in. Rows that the device's release lacks are left out.

    Raises ``RenderError`` if the operator's statements cannot be read.
    """
    qos = config.qos
    designed = by_release.designed(config)
    made = [ports(config), loopback(config), interfaces(config), macsec(config), control_plane.tables_of(config)]
    if qos is not None:
        made += [maps(qos), port_maps(config, qos), queues(config, qos), watchdog(config, qos), buffers(config, qos)]
    for part in made:
        merge(designed, part)
    by_release.keep(designed, branch(config.release))
    merge(designed, parts(config.extra)[0])
    return designed


def files(config: DeviceConfig) -> dict[str, str]:
    """Return the texts of ``config_db.json`` and ``frr.conf``, by file name."""
    return {"config_db.json": to_text(tables(config)), "frr.conf": to_frr(frr.tree(config))}


def check_extra(text: str) -> None:
    """Check the operator's own statements. Raises ``RenderError``, with the line number, if they cannot be read."""
    parts(text)


def lines(config: DeviceConfig) -> list[str]:
    """Return every field with its table and key, then every line of routing with its parent headers before it."""
    return [*flat_tables(tables(config)), *flat(frr.tree(config))]
