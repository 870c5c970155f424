"""The ports of switches that cables take: each from its range or as overridden, none twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.design.cabling.panels import Owner, Panel, port_named
from railweave.design.cabling.ports import slowed
from railweave.design.cabling.ranges import port_ranges

if TYPE_CHECKING:
    from railweave.design.cabling.overrides import Fixed
    from railweave.design.cabling.ports import Port, PortKind
    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.topology import Layout

_KINDS: tuple[PortKind, ...] = ("server_ports", "leaf_ports", "uplink_ports")


class Spot(NamedTuple):
    """A port of a range, which every switch of a kind has at the same place, with its name and its electrical lanes."""

    port: Port
    name: str
    lanes: str


class SwitchPorts:
    """The ports of a fabric's switches. Notes problems in the context."""

    def __init__(self, context: Context, layout: Layout) -> None:
        self.context = context
        self.layout = layout
        self.panels: dict[str, Panel] = {}
        self.short: set[tuple[Equipment, PortKind]] = set()
        self.overlaps: dict[Equipment, list[str]] = {}
        self.ranges = port_ranges(context, layout)
        self.spots: dict[tuple[Equipment, PortKind, int, int, int, int | None], Spot | None] = {}

    def check(self) -> None:
        """Note ports that two ranges gave out, and switches with more ports in use than their silicon has."""
        self._check_overlaps()
        self._check_silicon()

    def _check_overlaps(self) -> None:
        """Ports that two ranges of a switch gave out are one mistake, however many."""
        for equipment, overlaps in self.overlaps.items():
            ranges = [(kind, self.ranges[equipment, kind]) for kind in _KINDS if (equipment, kind) in self.ranges]
            named = [f"{kind} {own.first} to {own.last}" for kind, own in ranges]
            more = f", and {len(overlaps) - 1} more" if len(overlaps) > 1 else ""
            self.context.problem(
                equipment.place(ranges[0][0]),
                f"{' and '.join(named)} overlap: {overlaps[0]}{more}",
                "move the ranges apart",
            )

    def _check_silicon(self) -> None:
        for panel in self.panels.values():
            limit = panel.model.limits.ports
            if limit is not None and len(panel.owners) > limit:
                self.context.problem(
                    ("fabrics", self.layout.name),
                    f"{panel.device} would have {len(panel.owners)} ports in use, its silicon has {limit}",
                    "split fewer ports",
                )

    def spot(
        self, device: str, kind: PortKind, slot: int, link: int, links: int, speed: int | None = None
    ) -> Spot | None:
        """The place of a link in a range; one between switches, which is slower than the range, takes a place all the same."""
        equipment = self.layout.equipment[device]
        key = (equipment, kind, slot, link, links, speed)
        if key not in self.spots:
            ports = self.ranges[equipment, kind]
            port = ports.port(slot, link, links)
            if port is not None and speed is not None and speed != ports.speed_gbps:
                port = slowed(port, speed)
            self.spots[key] = None if port is None else self._named(equipment, port)
        return self.spots[key]

    def _named(self, equipment: Equipment, port: Port) -> Spot:
        system = self.context.catalog.systems[equipment.role.nos]
        name = system.name_of(port.physical, port.channel, port.lane, port.group.lanes, equipment.model.cards)
        return Spot(port, name, port.lanes)

    def take(
        self, device: str, kind: PortKind, spot: Spot | None, owner: str, fixed: Fixed | None, speed: int
    ) -> Spot | None:
        """The port of a cable at a switch, taken for it; None, and a problem noted, where there is none for it."""
        fixed_at = None
        if fixed and device in fixed.override.ports:
            fixed_at = (*fixed.at, "ports", device)
            equipment = self.layout.equipment[device]
            intent, model, name = equipment.role, equipment.model, fixed.override.ports[device]
            system = self.context.catalog.systems[intent.nos]
            port = port_named(self.context, fixed_at, intent.device, model, system, name, speed)
            spot = None if port is None else self._named(equipment, port)
        if spot is None:
            return None
        panel = self.panels.get(device)
        if panel is None:
            panel = self.panels[device] = Panel(device, self.layout.equipment[device].model)
        conflict = panel.take(spot.port, Owner(owner, fixed_at, kind))
        if conflict is None:
            return spot
        equipment = self.layout.equipment[device]
        text, where = f"{device} {spot.name} for {owner} {conflict.text}", fixed_at or conflict.other.fixed_at
        if where is None and conflict.other.kind == kind:
            fix = "use `fill: spread`, so that links of unlike speed share no port"
            self.context.problem(equipment.place(kind), text, fix)
        elif where is None:
            self.overlaps.setdefault(equipment, []).append(text)
        else:
            self.context.problem(where, text, "choose another port, or move the ranges apart")
        return None

    def too_few(self, device: str, kind: PortKind, wanted: str, neighbors: int, links: int) -> None:
        """Note, once for each kind of switch, that a range gives fewer ports than ``neighbors`` of so many links need."""
        equipment = self.layout.equipment[device]
        if (equipment, kind) in self.short:
            return
        self.short.add((equipment, kind))
        ports = self.ranges[equipment, kind]
        need, have, spread = neighbors * links, ports.size, ""
        fix = "widen the range, use a finer breakout, fill: pack, or fewer neighbors"
        if ports.spread:
            need, have = neighbors * -(-links // ports.channels), ports.last - ports.first + 1
            spread, fix = ", one neighbor a port,", "widen the range, use fill: pack, or fewer neighbors"
        self.context.problem(
            equipment.place(kind),
            f"too few ports: {wanted}{spread} need {need} of {device}'s ports {ports.first} to {ports.last}, which "
            + (f"are {have}" if ports.spread else f"give {have}"),
            fix,
        )
