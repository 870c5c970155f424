"""Choice of optics that fit a port, both ends of a link, or a shared module; and of the breakout that gives a port speed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.catalog.hardware import Breakout, Optic, SwitchModel
    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.topology import PortRange


def parse_breakout(text: str) -> tuple[int, int] | None:
    """Return ``2x400G`` as (channels, Gb/s), or None if the text does not have that form."""
    match = re.fullmatch(r"(\d+)x(\d+)G", text.strip())
    return (int(match[1]), int(match[2])) if match else None


def breakout_of(model: SwitchModel, ports: PortRange, speed_gbps: int) -> Breakout | None:
    """Return the breakout with which the ports of a range have a speed, or None if there is none.

    If the range names a breakout, only that breakout is considered. Otherwise the mode with the fewest channels is
    returned.
    """
    group = model.group_of(ports.first or model.ports[0].first)
    modes = group.modes() if group else []
    if ports.breakout is not None:
        wanted = parse_breakout(ports.breakout)
        modes = [mode for mode in modes if (mode.channels, mode.speed_gbps) == wanted]
    return next((mode for mode in modes if mode.speed_gbps == speed_gbps), None)


def link_breakout(model: SwitchModel, ports: PortRange, speed_gbps: int) -> Breakout | None:
    """Return the breakout for links of a speed.

    If no breakout gives this speed, return the breakout for the next lower speed of the port, else None.

    If the range names a breakout, no lower speed is tried: a named breakout that does not give the speed is an error.
    """
    mode = breakout_of(model, ports, speed_gbps)
    if mode is not None or ports.breakout is not None:
        return mode
    group = model.group_of(ports.first or model.ports[0].first)
    slower = [mode.speed_gbps for mode in group.modes() if mode.speed_gbps < speed_gbps] if group else []
    return breakout_of(model, ports, max(slower)) if slower else None


Module = tuple[str, str | int]
"""A pluggable, named by its device and the physical port or the NIC that it is plugged into."""


class OpticRequirement(NamedTuple):
    """The optic requirements of one end of a link. ``asked`` is the optic that the fabric file names, or None."""

    cage: str
    channels: int
    speed_gbps: int
    length_m: float
    asked: str | None


def fitting(
    catalog: Catalog, cage: str, channels: int, speed_gbps: int, length_m: float, *, copper: bool
) -> list[tuple[float, str]]:
    """Return the optics that fit a port and reach at least ``length_m``, as (reach in metres, name in the catalog).

    ``copper``: True includes copper cables.
    """
    return [
        (optic.reach_m, name)
        for name, optic in catalog.optics.items()
        if _fits(optic, cage, channels, speed_gbps) and optic.reach_m >= length_m and (copper or not optic.copper)
    ]


def _fits(optic: Optic, cage: str, channels: int, speed_gbps: int) -> bool:
    return cage in optic.cages and optic.channels == channels and optic.speed_gbps == speed_gbps


def joins(optic: Optic | None, other: Optic | None) -> bool:
    """Return True if a link can have these optics at its two ends, or if an optic is None (not in the catalog)."""
    if optic is None or other is None:
        return True
    return _kind(optic) == _kind(other) if optic.pmd and other.pmd else optic.media == other.media


def of_one_kind(catalog: Catalog, ends: Iterable[tuple[Module, OpticRequirement]]) -> dict[Module, str]:
    """Return an optic for each module, such that all have the same kind (PMD or media). The result is empty if no kind fits all modules.

    Of several possible kinds, the one with the shortest total reach is used.
    """
    known = catalog.optics
    by_module: dict[Module, dict[str, list[tuple[float, str]]]] = {}
    for place, need in ends:
        fits = fitting(catalog, *need[:4], copper=False)
        if need.asked is not None:
            fits = [(known[need.asked].reach_m, need.asked)]
        kinds: dict[str, list[tuple[float, str]]] = {}
        for reach, name in fits:
            kinds.setdefault(_kind(known[name]), []).append((reach, name))
        before = by_module.get(place, kinds)
        by_module[place] = {
            kind: both for kind in kinds if (both := [fit for fit in before.get(kind, []) if fit in kinds[kind]])
        }
    sums = [
        (sum(min(kinds[kind])[0] for kinds in by_module.values()), kind)
        for kind in next(iter(by_module.values()))
        if all(kind in kinds for kinds in by_module.values())
    ]
    if not sums:
        return {}
    best = min(sums)[1]
    return {place: min(kinds[best])[1] for place, kinds in by_module.items()}


def _kind(optic: Optic) -> str:
    return optic.pmd or optic.media
