"""Where devices stand, and how long cables are by that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from railweave.model.intent.names import expand
from railweave.model.network.devices import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.racks import Racks

UNIT_M = 0.04445
"""Height of a rack unit (EIA-310)."""

ASSUMED_UNITS = 1
"""Height of a device whose model does not say."""


def positions(context: Context, layouts: Iterable[Layout]) -> dict[str, Position]:
    """The place of every device that the file puts into a rack. Notes problems where it cannot be, and stops there."""
    heights = _heights(context, layouts)
    found: dict[str, Position] = {}
    for rack, spec in context.source.spec.racks.racks.items():
        taken: dict[int, str] = {}
        for pattern, lowest in spec.devices.items():
            at = ("racks", "racks", rack, "devices", pattern)
            unit = lowest
            for name in _expanded(context, at, pattern):
                if name not in heights:
                    context.problem(at, f"there is no device {name!r}", "name a switch or a server of this file")
                    continue
                if name in found:
                    context.problem(at, f"{name} stands in rack {found[name].rack} too", "name each device once")
                    continue
                own = range(unit, unit + heights[name])
                if unit < 1 or own[-1] > spec.units:
                    fix = f"the rack has units 1 to {spec.units}; {name} needs {heights[name]}"
                    context.problem(at, f"{name} would reach unit {own[-1]} of rack {rack}", fix)
                elif other := next((taken[one] for one in own if one in taken), ""):
                    context.problem(at, f"{name} and {other} overlap in rack {rack}", "move one of them")
                taken |= dict.fromkeys(own, name)
                found[name] = Position(rack, unit)
                unit = own[-1] + 1
    context.check()
    return found


def _expanded(context: Context, at: tuple[str, ...], pattern: str) -> list[str]:
    try:
        return expand(pattern)
    except ValueError as error:
        context.problem(at, str(error), "write a name, or a host list such as gpu-[1-4]")
        return []


def _heights(context: Context, layouts: Iterable[Layout]) -> dict[str, int]:
    """Every device of the network with its height in rack units."""
    known = context.catalog
    found: dict[str, int] = {}
    for layout in layouts:
        for name, equipment in layout.equipment.items():
            found[name] = equipment.model.rack_units or ASSUMED_UNITS
    for group in context.source.spec.servers:
        model = known.servers.get(group.model)
        found |= dict.fromkeys(group.names, (model.rack_units if model else None) or ASSUMED_UNITS)
    return found


def cable_length(spec: Racks, places: Mapping[str, Position], one: str, other: str) -> float | None:
    """The length of a cable between two devices, metres; None where one of them has no place.

    In one rack it runs from unit to unit. Between racks it rises to the top of each and runs along and across the rows.
    """
    near, far = places.get(one), places.get(other)
    if near is None or far is None:
        return None
    if near.rack == far.rack:
        way = abs(near.unit - far.unit) * UNIT_M
    else:
        a, b = spec.racks[near.rack], spec.racks[far.rack]
        rise = (a.units - near.unit + b.units - far.unit) * UNIT_M
        way = rise + abs(a.x - b.x) + abs(a.y - b.y)
    steps = math.ceil(round((way + spec.slack) / spec.step, 6))
    return round(steps * spec.step, 3)
