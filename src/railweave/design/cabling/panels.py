"""The ports of one device: which are taken, and which one a name means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from railweave.design.cabling.ports import Port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.design.cabling.ports import PortKind
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.catalog.systems import System
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable


class Owner(NamedTuple):
    """Who has a port, of which range. ``fixed_at`` is where in the file an override says so, None where it follows from the range."""

    text: str
    fixed_at: Location | None
    kind: PortKind


class Conflict(NamedTuple):
    """Why a port cannot be taken, and who has it."""

    text: str
    other: Owner


@dataclass
class Panel:
    """The ports of one device that are taken: by whom, and how each physical port is split."""

    device: str
    model: SwitchModel
    owners: dict[tuple[int, int | None], Owner] = field(default_factory=dict[tuple[int, "int | None"], Owner])
    splits: dict[int, tuple[int, Owner]] = field(default_factory=dict[int, tuple[int, Owner]])

    def take(self, port: Port, owner: Owner) -> Conflict | None:
        """Take a port, or say why it cannot be taken."""
        key = (port.physical, port.channel)
        if key in self.owners:
            return Conflict(f"is taken by {self.owners[key].text}", self.owners[key])
        split, by = self.splits.setdefault(port.physical, (port.channels, owner))
        if split != port.channels:
            text = f"is on a port split in {split} for {by.text}, and this cable needs it split in {port.channels}"
            return Conflict(text, by)
        self.owners[key] = owner
        return None


def port_named(
    context: Context, at: Location, device: str, model: SwitchModel, system: System, name: str, speed_gbps: int
) -> Port | None:
    """The port that ``name`` means on a device model, for a link of a speed. Notes a problem where it means none."""
    ports = list(ports_of(model, system))
    fitting = {found: port for found, port, speed in ports if speed == speed_gbps}
    if name in fitting:
        return fitting[name]
    whole = next(((port, speed) for found, port, speed in ports if found == name and port.channel is None), None)
    channels = [found for found, port in fitting.items() if whole and port.physical == whole[0].physical]
    if whole and channels:
        context.problem(
            at,
            f"port {name} of {device} is {whole[1]}G, the link is {speed_gbps}G",
            f"name a channel of it: {' or '.join(channels)}",
        )
    else:
        names = list(fitting)
        known = f"its ports are {names[0]} to {names[-1]}" if names else "none of its ports has that speed"
        context.problem(at, f"{device} has no port {name!r} for a {speed_gbps}G link", known)
    return None


def ports_of(model: SwitchModel, system: System) -> Iterator[tuple[str, Port, int]]:
    """Every breakout mode of every port: its name, the port, its speed."""
    for group in model.ports:
        for physical in range(group.first, group.last + 1):
            for mode in group.modes():
                for channel in range(mode.channels) if mode.channels > 1 else (None,):
                    port = Port(physical, channel, mode.channels, group)
                    name = system.name_of(physical, channel, port.lane, group.lanes, model.cards)
                    yield name, port, mode.speed_gbps


def panels_of(layout: Layout, cables: Sequence[Cable]) -> dict[str, Panel]:
    """The leaves' ports that cables take."""
    panels = {leaf.name: Panel(leaf.name, layout.equipment[leaf.name].model) for leaf in layout.leaves}
    for cable in cables:
        for end, far in ((cable.a, cable.b), (cable.b, cable.a)):
            panel = panels.get(end.device)
            group = panel.model.group_of(end.physical) if panel and end.physical is not None else None
            if panel is None or group is None or end.physical is None:
                continue
            mode = next((one for one in group.modes() if one.speed_gbps == cable.speed_gbps), None)
            port = Port(end.physical, end.channel, mode.channels if mode and end.channel is not None else 1, group)
            panel.take(port, Owner(f"{far.device} {far.port}", None, "server_ports"))
    return panels
