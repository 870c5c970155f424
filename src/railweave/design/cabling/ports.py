"""Which port of a device a cable takes.

A port follows from a slot number alone, so that adding or removing a neighbor moves no other cable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.design.sizing.uplinks import default_server_first

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import Breakout, PortGroup, SwitchModel
    from railweave.model.intent.topology import PortRange, Topology


PortKind = Literal["server_ports", "uplink_ports", "leaf_ports"]
"""Keys of a role: a leaf's ports to servers, a leaf's or spine's ports up, a spine's or super-spine's ports down."""


@dataclass(frozen=True, slots=True)
class Port:
    """A place on a device: a physical port, and the channel of it where it is split."""

    physical: int
    channel: int | None
    channels: int
    group: PortGroup

    @property
    def lane(self) -> int:
        """The first electrical lane, 1-based."""
        return (self.channel or 0) * (self.group.lanes // self.channels) + 1

    @property
    def lanes(self) -> str:
        """The electrical lanes, 1-based: ``1-4`` is the first half of an eight-lane port."""
        width = self.group.lanes // self.channels
        return f"{self.lane}-{self.lane + width - 1}" if width > 1 else str(self.lane)


@dataclass(frozen=True, slots=True)
class Range:
    """A resolved port range: physical ports ``first`` to ``last``, each split in ``channels`` of ``speed_gbps``."""

    group: PortGroup
    first: int
    last: int
    channels: int
    spread: bool
    speed_gbps: int

    @property
    def size(self) -> int:
        """How many channels the range holds."""
        return max(0, self.last - self.first + 1) * self.channels

    def port(self, slot: int, link: int, links: int) -> Port | None:
        """The port of parallel link ``link`` (0-based, of ``links``) to the neighbor in ``slot`` (1-based); None: no room."""
        if self.spread:
            ports_each = -(-links // self.channels)
            physical = self.first + (slot - 1) * ports_each + link // self.channels
            channel = link % self.channels
        else:
            index = (slot - 1) * links + link
            physical, channel = self.first + index // self.channels, index % self.channels
        if physical > self.last:
            return None
        return Port(physical, channel if self.channels > 1 else None, self.channels, self.group)


def slowed(port: Port, speed_gbps: int) -> Port | None:
    """The port for a link slower than its range's: the first channel of its place, split as the speed needs; None: it cannot."""
    mode = next((mode for mode in port.group.modes() if mode.speed_gbps == speed_gbps), None)
    if mode is None:
        return None
    channel = (port.channel or 0) * mode.channels // port.channels
    return Port(port.physical, channel if mode.channels > 1 else None, mode.channels, port.group)


def resolve(
    model: SwitchModel, ports: PortRange, breakout: Breakout, first: int, last: int | None = None
) -> Range | None:
    """The range with its defaults filled in; None where its first port does not exist."""
    start = first if ports.first is None else ports.first
    group = model.group_of(start)
    if group is None:
        return None
    end = ports.last if ports.last is not None else last
    return Range(
        group,
        start,
        min(group.last, group.last if end is None else end),
        breakout.channels,
        ports.fill == "spread",
        breakout.speed_gbps,
    )


def capacity(model: SwitchModel, ports: PortRange, breakout: Breakout, topology: Topology) -> int:
    """How many server links a leaf's server ports can take."""
    found = resolve(model, ports, breakout, default_server_first(model, topology))
    return found.size if found else 0
