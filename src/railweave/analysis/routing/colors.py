"""Path colors on export and import: the rules of BGP deterministic path forwarding (docs/path-colors.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.analysis.routing.attributes import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.analysis.routing.attributes import AttributeTable, Ids, Mask
    from railweave.model.device.model import BgpGroup, DeviceConfig, FabricAdvertise


def advertised(
    table: AttributeTable,
    place: Mapping[str, int],
    advertise: tuple[FabricAdvertise, ...],
    color: tuple[str, str],
    own: Mask,
    kept: Ids,
    passed: Ids,
    places: NDArray[np.intp],
) -> Ids:
    """Deterministic path forwarding on export: colored copies of a device's ``own`` prefixes, of those at ``places``.

    ``color`` are the name and the value of the group's color; ``passed`` is what the export policy let pass, and ``kept``
    what is left of it without other colors.
    """
    name, mine = color
    result = kept.copy()
    for entry in advertise:
        found = place.get(entry.prefix)
        at = int(np.searchsorted(places, found)) if found is not None else len(places)
        if at == len(places) or places[at] != found or not own[at]:
            continue
        primary = entry.color == name
        if passed[at] < 0 or not (primary or name in entry.backup_colors):
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
