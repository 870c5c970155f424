"""Switch models, inferred from port names and breakouts, and the position of a port on its switch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.design.retarget import ROLES, parse_target
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.catalog.hardware import PortGroup
    from railweave.model.device.model import DeviceConfig


USUAL_GBPS = 400
"""The assumed speed in Gb/s of a NIC whose switch port has no known speed.

Ports of a stand-in (a catalog model used in place of a model that the catalog lacks) also have this speed if no other switch of
the fabric has a known model, which would give the speed.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a port on a switch.

    - ``physical``: the number of the physical port.
    - ``channel``: the breakout channel, or None if the port is not split.
    - ``channels``: the number of channels of the physical port.
    - ``speed_gbps``: the speed of this port or channel in Gb/s.
    """

    physical: int
    channel: int | None
    channels: int
    speed_gbps: int

    @property
    def key(self) -> tuple[int, int]:
        """A sort key that orders ports as on the front panel."""
        return self.physical, self.channel or 0


def _places(nos: str, model: str) -> dict[str, tuple[Place, ...]]:
    """Return the possible positions of each port on a switch model, by port name. Each breakout gives a position."""
    hardware = catalog().switches[model]
    return _places_on(nos, hardware.ports, hardware.cards)


@lru_cache(maxsize=256)
def _places_on(nos: str, ports: tuple[PortGroup, ...], cards: int | None) -> dict[str, tuple[Place, ...]]:
    system = catalog().systems[nos]
    places: dict[str, tuple[Place, ...]] = {}
    for group in ports:
        for physical in range(group.first, group.last + 1):
            for mode in group.modes():
                width = group.lanes // mode.channels
                for channel in range(mode.channels):
                    part = channel if mode.channels > 1 else None
                    name = system.name_of(physical, part, channel * width + 1, group.lanes, cards)
                    place = Place(physical, part, mode.channels, mode.speed_gbps)
                    places[name] = (*places.get(name, ()), place)
    return places


def places_of(config: DeviceConfig, model: str) -> dict[str, Place]:
    """Return the position of each port of a switch, by port name. Ports that the model lacks are left out.

    A port name can exist in several breakout modes of the model. Then the configured breakout decides. If none is configured, the
    number of lanes decides, and then the use of other channels of the same physical port.
    """
    known = _places(config.nos, model)
    used = Counter(there[0].physical for port in config.interfaces if (there := known.get(port.name)))
    splits = {there[0].physical: split.channels for split in config.splits if (there := known.get(split.port))}
    places: dict[str, Place] = {}
    for port in config.interfaces:
        fitting = [
            place for place in known.get(port.name, ()) if not port.speed_gbps or place.speed_gbps == port.speed_gbps
        ]
        if not fitting:
            fitting = list(known.get(port.name, ()))
        if not fitting:
            continue
        group = catalog().switches[model].group_of(fitting[0].physical)
        lanes = group.lanes if group else 8
        alone = used[fitting[0].physical] == 1
        places[port.name] = min(
            fitting,
            key=lambda place: (
                splits.get(place.physical, place.channels) != place.channels,
                port.lanes not in {0, lanes // place.channels},
                alone != (place.channels == 1),
            ),
        )
    for name in (gateway.port for gateway in config.gateways):
        if name and name not in places and name in known:
            places[name] = next((place for place in known[name] if place.speed_gbps == USUAL_GBPS), known[name][0])
    return places


def whole_ports(nos: str, model: str) -> dict[str, int]:
    """Return the physical port number of each unsplit port in a model's first port group, by port name."""
    group = catalog().switches[model].ports[0]
    return {
        name: place.physical
        for name, there in _places(nos, model).items()
        for place in there
        if place.channels == 1
        and group.first <= place.physical < group.first + group.count
        and place.speed_gbps == group.speed_gbps
    }


def free_ports(config: DeviceConfig, model: str, taken: set[int]) -> Iterator[str]:
    """Yield the names of free ports with the speed ``USUAL_GBPS``, highest port first.

    ``taken`` holds the numbers of the physical ports in use.
    """
    names: dict[int, str] = {}
    for name, there in _places(config.nos, model).items():
        for place in there:
            if place.physical not in taken and place.speed_gbps == USUAL_GBPS and not place.channel:
                names.setdefault(place.physical, name)
    yield from (names[name] for name in sorted(names, reverse=True))


def models(configs: Mapping[str, DeviceConfig]) -> dict[str, str]:
    """Return the model of each switch of one role, by switch name. Switches that fit no model are left out.

    The result has as few different models as possible. The model that a configuration states is used if it has the switch's
    ports. Otherwise the model is inferred from the ports, and then from the statements that a model requires or lacks.
    """
    stated_models = {
        name: config.model
        for name, config in configs.items()
        if config.model in catalog().switches and has_ports(config.model, config)
    }
    fits = {
        name: [stated_models[name]]
        if name in stated_models
        else [model for model in catalog().switches if has_ports(model, config)]
        for name, config in configs.items()
    }
    unlike = {name: {model: _unlike(model, configs[name]) for model in fit} for name, fit in fits.items()}
    chosen: dict[str, str] = {}
    left: dict[str, list[str]] = {
        name: [model for model in fit if unlike[name][model] == min(unlike[name].values())]
        for name, fit in fits.items()
        if fit
    }
    while left:
        counts = Counter(model for fit in left.values() for model in fit)
        there = {model: [name for name, fit in left.items() if model in fit] for model in counts}
        best = min(
            counts,
            key=lambda model: (
                -counts[model],
                sum(group.count * group.speed_gbps for group in catalog().switches[model].ports),
            ),
        )
        taken = there[best]
        chosen |= dict.fromkeys(taken, best)
        left = {name: fit for name, fit in left.items() if name not in taken}
    return chosen


def _unlike(model: str, config: DeviceConfig) -> int:
    """Return the number of a configuration's settings that contradict a model, such as port speeds, the overlay and QoS.

    The model must have all ports of the configuration.
    """
    known = catalog().switches[model]
    whole = {split.physical: split.speed_gbps for split in config.splits if split.channels == 1}
    marks = [any((group := known.group_of(port)) and group.speed_gbps == speed for port, speed in whole.items())]
    marks += [known.cards is not None and not any(split.physical >= (known.cards or 0) for split in config.splits)]
    if config.overlay and config.overlay.endpoints:
        marks += [config.overlay.tunnel_dscp != ("tunnel-dscp" in known.needs), not known.tunnels]
    if config.qos:
        marks += [config.qos.ipv6_classifiers and "dscp-ipv6" in known.platform.lacks]
        marks += [config.qos.shared_buffer == ("shared-buffer" in known.platform.lacks)] * 2
    marks.append(
        config.balancing.random != ("random-spray" in known.platform.has and config.balancing.group_mode == "spray")
    )
    return sum(marks)


def has_ports(model: str, config: DeviceConfig) -> bool:
    """Return True if a model runs the switch's operating system and has all of the switch's ports, at the configured speeds."""
    system = catalog().systems.get(config.nos)
    if system is None or (config.nos not in catalog().switches[model].systems and model not in system.runs_on):
        return False
    known = _places(config.nos, model)
    speeds = {gateway.port: 0 for gateway in config.gateways if gateway.port} | {
        interface.name: interface.speed_gbps for interface in config.interfaces
    }
    for port, speed in speeds.items():
        there = known.get(port, ())
        if not there or (speed and all(place.speed_gbps != speed for place in there)):
            return False
    return True


def asked_models(words: Iterable[str]) -> dict[str, str]:
    """Return the switch models by role from arguments such as ``leaf=MODEL``.

    Raises ``InputError`` for malformed arguments and unknown models.
    """
    role_models: dict[str, str] = {}
    for word in words:
        target = parse_target(word)
        if target.fabric or target.nos or target.release or not target.model:
            message = f"{word!r} does not have the form ROLE=MODEL"
            raise InputError([Problem(Option("--device", word), message, "write it like leaf=qfx5240-64od")])
        role_models |= dict.fromkeys([target.role] if target.role else ROLES, target.model)
    return role_models
