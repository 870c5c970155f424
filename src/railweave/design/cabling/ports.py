"""The ports of a device: the ports in use, and the port of each cable.

A cable's port depends only on the neighbor's number, so adding or removing a neighbor moves no other cable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.design.sizing.size import default_server_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.hardware import Breakout, PortGroup, SwitchModel
    from railweave.model.catalog.systems import System
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import PortRange, Topology
    from railweave.model.network.devices import Cable


PortKind = Literal["server_ports", "uplink_ports", "leaf_ports"]
"""The kinds of port ranges: a leaf's ports to servers, ports to the tier above, and ports to the tier below."""


@dataclass(frozen=True, slots=True)
class Port:
    """A physical port of a device or, if the port is split, one channel of it.

    - ``channel``: the channel, from 0; None if the port is not split.
    - ``channels``: the number of channels into which the physical port is split.
    - ``group``: the model's group of equal ports that the port belongs to.
    """

    physical: int
    channel: int | None
    channels: int
    group: PortGroup

    @property
    def lane(self) -> int:
        """The number of the first electrical lane of this port or channel, from 1."""
        return (self.channel or 0) * (self.group.lanes // self.channels) + 1

    @property
    def lanes(self) -> str:
        """The electrical lanes, numbered from 1. For example, ``1-4`` is the first half of an eight-lane port."""
        width = self.group.lanes // self.channels
        return f"{self.lane}-{self.lane + width - 1}" if width > 1 else str(self.lane)


@dataclass(frozen=True, slots=True)
class Range:
    """A port range with all values filled in: physical ports ``first`` to ``last``, each split into ``channels`` of ``speed_gbps``.

    ``spread`` is True if no two neighbors share a physical port, even if channels of a port then remain unused.
    """

    group: PortGroup
    first: int
    last: int
    channels: int
    spread: bool
    speed_gbps: int

    @property
    def size(self) -> int:
        """The number of channels in the range."""
        return max(0, self.last - self.first + 1) * self.channels

    def port(self, slot: int, link: int, links: int) -> Port | None:
        """Return the port of a parallel link to a neighbor, or None if the range is too small.

        ``link`` is the number of the link, from 0, and ``links`` is the number of links to each neighbor. ``slot`` is
        the neighbor's number, from 1.
        """
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
    """Return the port in the breakout mode of ``speed_gbps``, for a link that is slower than the port range.

    Return None if the port has no such mode.
    """
    mode = next((mode for mode in port.group.modes() if mode.speed_gbps == speed_gbps), None)
    if mode is None:
        return None
    channel = (port.channel or 0) * mode.channels // port.channels
    return Port(port.physical, channel if mode.channels > 1 else None, mode.channels, port.group)


def resolve(
    model: SwitchModel, ports: PortRange, breakout: Breakout, first: int, last: int | None = None
) -> Range | None:
    """Return a port range with missing values filled in, or None if its first port does not exist.

    ``breakout`` is the way in which each port is split. ``first`` and ``last`` are the defaults. If ``last`` is None, the default is
    the end of the port group.
    """
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
    """Return the number of server links that a leaf's server ports can hold.

    ``breakout`` is the way in which each port is split. ``topology`` determines the default of the first server port.
    """
    server_range = resolve(model, ports, breakout, default_server_first(model, topology))
    return server_range.size if server_range else 0


class Owner(NamedTuple):
    """The cable or other use that holds a port: a description, and the kind of range that the port belongs to.

    ``fixed_at`` is the key path of an override in the file; None if the port comes from the range.
    """

    text: str
    fixed_at: Location | None
    kind: PortKind


class Conflict(NamedTuple):
    """The reason why a port cannot be reserved.

    ``other`` is the use that already holds the port, or that needs a different split of the physical port.
    """

    text: str
    other: Owner


@dataclass
class Panel:
    """The ports in use on a device.

    ``owners`` holds the use of each (physical port, channel). ``splits`` holds (number of channels, the use that needs them) of
    each physical port.
    """

    device: str
    model: SwitchModel
    owners: dict[tuple[int, int | None], Owner] = field(default_factory=dict[tuple[int, "int | None"], Owner])
    splits: dict[int, tuple[int, Owner]] = field(default_factory=dict[int, tuple[int, Owner]])

    def take(self, port: Port, owner: Owner) -> Conflict | None:
        """Reserve a port for ``owner``. Return None, or the conflict that prevents the reservation."""
        key = (port.physical, port.channel)
        holder = self.owners.setdefault(key, owner)
        if holder is not owner:
            return Conflict(f"is taken by {holder.text}", holder)
        split, by = self.splits.setdefault(port.physical, (port.channels, owner))
        if split != port.channels:
            del self.owners[key]
            text = (
                f"is on a port that is split in {split} for {by.text}, but this cable needs the port split in "
                f"{port.channels}"
            )
            return Conflict(text, by)
        return None


def port_named(
    context: Context, at: Location, device: str, model: SwitchModel, system: System, name: str, speed_gbps: int
) -> Port | None:
    """Return the port with this name on a device model, in the breakout mode for a link speed.

    If there is no such port, record a problem at ``at``, a place in the fabric file, and return None.
    """
    ports = list(ports_of(model, system))
    fitting = {port_name: port for port_name, port, speed in ports if speed == speed_gbps}
    if name in fitting:
        return fitting[name]
    whole = next(
        ((port, speed) for port_name, port, speed in ports if port_name == name and port.channel is None), None
    )
    channels = [port_name for port_name, port in fitting.items() if whole and port.physical == whole[0].physical]
    if whole and channels:
        context.problem(
            at,
            f"port {name} of {device} is {whole[1]}G, but the link is {speed_gbps}G",
            f"name a channel of the port: {' or '.join(channels)}",
        )
    else:
        names = list(fitting)
        known = f"its ports are {names[0]} to {names[-1]}" if names else "none of its ports has that speed"
        context.problem(at, f"{device} has no port {name!r} for a {speed_gbps}G link", known)
    return None


def ports_of(model: SwitchModel, system: System) -> Iterator[tuple[str, Port, int]]:
    """Yield (name, port, speed in Gb/s) for every channel of every port, in each breakout mode."""
    for group in model.ports:
        for physical in range(group.first, group.last + 1):
            for mode in group.modes():
                for channel in range(mode.channels) if mode.channels > 1 else (None,):
                    port = Port(physical, channel, mode.channels, group)
                    name = system.name_of(physical, channel, port.lane, group.lanes, model.cards)
                    yield name, port, mode.speed_gbps


def panels_of(layout: Layout, cables: Sequence[Cable]) -> dict[str, Panel]:
    """Return, by leaf name, a panel that shows which ports of the leaf the cables use."""
    panels = {leaf.name: Panel(leaf.name, layout.equipment[leaf.name].model) for leaf in layout.leaves}
    for cable in cables:
        for end, far in ((cable.a, cable.b), (cable.b, cable.a)):
            panel = panels.get(end.device)
            group = panel.model.group_of(end.physical) if panel and end.physical is not None else None
            if panel is None or group is None or end.physical is None:
                continue
            mode = next((mode for mode in group.modes() if mode.speed_gbps == cable.speed_gbps), None)
            port = Port(end.physical, end.channel, mode.channels if mode and end.channel is not None else 1, group)
            panel.take(port, Owner(f"{far.device} {far.port}", None, "server_ports"))
    return panels
