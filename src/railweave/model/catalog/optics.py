"""Functions that choose optics and breakouts.

An optic must fit a port, both ends of a link, or a module that several links share. A breakout must give the wanted
port speed.
"""

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
    """Return the breakout that gives a range of ports the speed ``speed_gbps``, or None if no breakout does.

    If the range names a breakout, only that breakout is considered. Otherwise the first suitable mode is returned; a port
    without a breakout comes first.
    """
    group = model.group_of(ports.first or model.ports[0].first)
    modes = group.modes() if group else []
    if ports.breakout is not None:
        wanted = parse_breakout(ports.breakout)
        modes = [mode for mode in modes if (mode.channels, mode.speed_gbps) == wanted]
    return next((mode for mode in modes if mode.speed_gbps == speed_gbps), None)


def link_breakout(model: SwitchModel, ports: PortRange, speed_gbps: int) -> Breakout | None:
    """Return the breakout for links of a speed, or None.

    If no breakout gives this speed, return the breakout for the port's next lower speed. If the range ``ports`` names a
    breakout, no lower speed is tried, because the named breakout must give the speed.
    """
    mode = breakout_of(model, ports, speed_gbps)
    if mode is not None or ports.breakout is not None:
        return mode
    group = model.group_of(ports.first or model.ports[0].first)
    slower = [mode.speed_gbps for mode in group.modes() if mode.speed_gbps < speed_gbps] if group else []
    return breakout_of(model, ports, max(slower)) if slower else None


Module = tuple[str, str | int]
"""A pluggable module, identified by its device and by the physical port or NIC that it is plugged into."""


class OpticRequirement(NamedTuple):
    """The requirements on the optic at one end of a link. ``asked`` is the optic that the fabric file names, or None.

    ``channels`` and ``speed_gbps`` describe the breakout of the port: the number of links, and the speed of each link.
    """

    cage: str
    channels: int
    speed_gbps: int
    length_m: float
    asked: str | None


def fitting(
    catalog: Catalog, cage: str, channels: int, speed_gbps: int, length_m: float, *, copper: bool
) -> list[tuple[float, str]]:
    """Return the optics that fit a port and reach at least ``length_m``, as (reach in metres, name in the catalog).

    ``cage`` is the form of the port. ``channels`` and ``speed_gbps`` are the number of links that it carries, and the speed of each.
    Copper cables are included only if ``copper`` is True.
    """
    return [
        (optic.reach_m, name)
        for name, optic in catalog.optics.items()
        if _fits(optic, cage, channels, speed_gbps) and optic.reach_m >= length_m and (copper or not optic.copper)
    ]


def _fits(optic: Optic, cage: str, channels: int, speed_gbps: int) -> bool:
    return cage in optic.cages and optic.channels == channels and optic.speed_gbps == speed_gbps


def joins(optic: Optic | None, other: Optic | None) -> bool:
    """Return True if a link can have these optics at its two ends.

    Also return True if an optic is None, which means that the catalog does not have it.
    """
    if optic is None or other is None:
        return True
    return _kind(optic) == _kind(other) if optic.pmd and other.pmd else optic.media == other.media


def of_one_kind(catalog: Catalog, ends: Iterable[tuple[Module, OpticRequirement]]) -> dict[Module, str]:
    """Return one optic for each module, all of the same kind (PMD or media); an empty dict if no kind fits all modules.

    ``ends`` has the module at each end of a link, with the requirements there. If several kinds fit, the kind whose optics have the
    smallest sum of reaches is used.
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
