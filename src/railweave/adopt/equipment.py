"""Switch models, guessed from names of ports and how they are split, and the place of a port on its switch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.device.model import DeviceConfig


@dataclass(frozen=True, slots=True)
class Place:
    """A port on a switch: the physical port, its channel where it is split (of how many), and what each does."""

    physical: int
    channel: int | None
    channels: int
    speed_gbps: int

    @property
    def key(self) -> tuple[int, int]:
        """The order of ports on the panel."""
        return self.physical, self.channel or 0


@lru_cache(maxsize=256)
def _places(nos: str, model: str) -> dict[str, tuple[Place, ...]]:
    """What each name of a port may mean on a model."""
    system, hardware = catalog().systems[nos], catalog().switches[model]
    found: dict[str, tuple[Place, ...]] = {}
    for group in hardware.ports:
        for physical in range(group.first, group.last + 1):
            for mode in group.modes():
                width = group.lanes // mode.channels
                for channel in range(mode.channels):
                    part = channel if mode.channels > 1 else None
                    name = system.name_of(physical, part, channel * width + 1, group.lanes, hardware.cards)
                    place = Place(physical, part, mode.channels, mode.speed_gbps)
                    found[name] = (*found.get(name, ()), place)
    return found


def place_of(nos: str, model: str, port: str, speed_gbps: int) -> Place | None:
    """The place of a port, by its speed where one name stands for ports of several; None: there is no such port."""
    found = _places(nos, model).get(port, ())
    return next((one for one in found if one.speed_gbps == speed_gbps), found[0] if found else None)


def models(configs: Iterable[DeviceConfig]) -> list[str]:
    """Models that have every port of all these switches, the one with the fewest ports first."""
    wanted = list(configs)
    return sorted(
        (name for name in catalog().switches if all(_fits(name, one) for one in wanted)),
        key=lambda name: sum(group.count * group.speed_gbps for group in catalog().switches[name].ports),
    )


def _fits(model: str, config: DeviceConfig) -> bool:
    system = catalog().systems.get(config.nos)
    if system is None or config.nos not in catalog().switches[model].systems and model not in system.runs_on:
        return False
    known = _places(config.nos, model)
    for port in config.interfaces:
        there = known.get(port.name, ())
        if not there or (port.speed_gbps and all(one.speed_gbps != port.speed_gbps for one in there)):
            return False
    return True
