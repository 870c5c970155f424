"""Path colors on export and import: the rules of BGP deterministic path forwarding (docs/path-colors.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.routes.attributes import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.device.model import BgpGroup, DeviceConfig
    from railweave.routes.attributes import AttributeTable, Ids, Mask, Places


def colored(
    table: AttributeTable,
    place: Mapping[str, int],
    config: DeviceConfig,
    group: BgpGroup,
    best: Ids,
    passed: Ids,
    places: Places,
) -> Ids:
    """Deterministic path forwarding on export: colored copies of own prefixes, only matching colors of others."""
    bgp = config.bgp
    assert bgp is not None  # noqa: S101 - only devices with BGP have groups
    mine = color_value(config, group)
    result = np.where(foreign_color(table, passed, mine), np.int32(NONE), passed).astype(np.int32)
    for entry in bgp.fabric_advertise:
        found = place.get(entry.prefix)
        at = int(np.searchsorted(places, found)) if found is not None else len(places)
        if at == len(places) or places[at] != found:
            continue
        if best[at] < 0 or table.items[int(best[at])].protocol != "direct":
            continue
        primary = entry.color == group.fabric_color
        if passed[at] < 0 or not (primary or group.fabric_color in entry.backup_colors):
            result[at] = NONE
            continue
        copy = table.items[int(passed[at])]
        aigp = 0 if primary and entry.backup_colors else None
        result[at] = table.id_of(replace(copy, aigp=aigp, communities=copy.communities | {mine}))
    return result


def foreign_color(table: AttributeTable, ids: Ids, mine: str) -> Mask:
    """Which routes carry color communities, but not this one."""

    def foreign(held: frozenset[str]) -> bool:
        return mine not in held and any(value.startswith("color:") for value in held)

    return table.having(ids, ("foreign color", mine), foreign)


def color_value(config: DeviceConfig, group: BgpGroup) -> str:
    """The community value of a group's color; one that nothing carries where the color is not defined."""
    communities = config.bgp.communities if config.bgp else ()
    return next((one.value for one in communities if one.name == group.fabric_color), "color:undefined")
