"""Allocation of switch ports to cables, from port ranges or overrides. No port is allocated twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from railweave.design.cabling.ports import Owner, Panel, Port, PortKind, Range, port_named, resolve, slowed
from railweave.design.sizing.size import default_server_first
from railweave.model.catalog.optics import breakout_of, link_breakout, parse_breakout
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.hardware import Breakout, SwitchModel
    from railweave.model.intent.overrides import CableOverride
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import PortRange, Role


@dataclass(frozen=True, slots=True)
class FixedCable:
    """A cable override with its key path in the fabric file."""

    at: Location
    override: CableOverride


class CableOverrides:
    """The overrides of cables in the fabric file that the design has not applied to a cable yet."""

    def __init__(self, context: Context) -> None:
        self._left: dict[tuple[str, str, int], FixedCable] = {}
        for index, override in enumerate(context.source.spec.overrides.cables):
            a, b = override.between
            at = ("overrides", "cables", index)
            first = self._left.setdefault((a, b, override.link), FixedCable(at, override))
            if first.at != at:
                context.problem(
                    at,
                    f"duplicate override of cable {override.link} between {a} and {b}",
                    f"it is first given on line {context.source.document.line(first.at)}",
                )
        context.check()

    def take(self, a: str, b: str, link: int = 1) -> FixedCable | None:
        """Remove the override of a cable from the list, and return it. Return None if the cable has no override.

        ``a`` and ``b`` are the end devices, in the order of the override. ``link`` is the number of the cable among the parallel
        cables between these devices, from 1.
        """
        return self._left.pop((a, b, link), None) if self._left else None

    def check_all_taken(self, context: Context) -> None:
        """Record a problem for each override whose cable does not exist.

        Then raise ``DesignError`` if there is any problem.
        """
        for (a, b, link), fixed in self._left.items():
            context.problem(
                fixed.at,
                f"there is no cable {link} between {a} and {b}",
                "name the ends as [SERVER:NIC, LEAF] or [LEAF, SPINE]",
            )
        context.check()


LINK_SLOWER = Rule(
    id="link-slower",
    severity="info",
    applies="design",
    fault="links of a switch model run at less than `link_speed`, because its ports are slower",
    why="each of these links uses a port of the far switch that could carry a faster link, and paths over it have "
    "less bandwidth",
    fix="accept the slower links, or set `link_speed` to this speed so that all links are equal",
)


def port_ranges(context: Context, layout: Layout) -> dict[tuple[Equipment, PortKind], Range]:
    """Return the port range for each (kind of switch, kind of port).

    A kind of switch is a role with its model. Raises ``DesignError`` if a switch lacks such ports.
    """
    ranges: dict[tuple[Equipment, PortKind], Range] = {}
    for equipment in layout.kinds():
        for kind in _kinds(layout, equipment):
            ports = _port_range(context, layout, equipment, kind)
            if ports is not None:
                ranges[equipment, kind] = ports
    context.check()
    _check_common_speed(context, layout)
    _note_slower(context, layout, ranges)
    return ranges


def _kinds(layout: Layout, equipment: Equipment) -> tuple[PortKind, ...]:
    if equipment.role_name == "leaf":
        return ("server_ports", "uplink_ports") if layout.spines or layout.borders else ("server_ports",)
    up = equipment.role_name == "dci" or (equipment.role_name == "spine" and (layout.super_spines or layout.dci))
    return ("leaf_ports", "uplink_ports") if up else ("leaf_ports",)


def _check_common_speed(context: Context, layout: Layout) -> None:
    """Record a problem if a switch model and a switch model in the tier above have no link speed in common.

    Then raise ``DesignError`` if there is any problem.
    """
    wanted, tiers = layout.spec.topology.link_speed, layout.tiers
    for lower in layout.kinds():
        for upper in layout.kinds():
            if tiers.index(upper.role_name) != tiers.index(lower.role_name) + 1:
                continue
            up, down = lower.link_speeds("uplink_ports", wanted), upper.link_speeds("leaf_ports", wanted)
            if not up & down:
                ours, theirs = (" or ".join(f"{speed}G" for speed in sorted(speeds)) for speeds in (up, down))
                context.problem(
                    lower.place("uplink_ports"),
                    f"{lower.role.device} as {lower.role_name} and {upper.role.device} as {upper.role_name} "
                    f"have no common speed: {ours} and {theirs}",
                    "remove `breakout:`, or choose other models",
                )
    context.check()


def _note_slower(context: Context, layout: Layout, ranges: dict[tuple[Equipment, PortKind], Range]) -> None:
    """Record a finding for each switch model whose ports are slower than the speed that the fabric file requests between switches."""
    wanted = layout.spec.topology.link_speed
    slow = {
        (equipment.role.device, ports.speed_gbps): None
        for (equipment, kind), ports in ranges.items()
        if kind != "server_ports" and ports.speed_gbps < wanted
        if not (kind == "uplink_ports" and equipment.role_name == layout.border_role)
    }
    for device, speed in slow:
        context.finding(
            LINK_SLOWER,
            f"{layout.name} {device}",
            ("fabrics", layout.name, "topology", "link_speed"),
            f"links of {device} run at {speed}G instead of {wanted}G like the other links, because its ports "
            "are slower",
            fix=f"accept the slower links, or set link_speed: {speed}G so that all links are equal",
        )


def _port_range(context: Context, layout: Layout, equipment: Equipment, kind: PortKind) -> Range | None:
    """Return the port range of a kind of switch (``equipment``) for one kind of link, such as uplinks.

    If some models of a role do not support the requested speed between switches, they use the next lower speed. Records a
    problem if the switch has no such ports or cannot split them as needed.
    """
    role, model = equipment.role, equipment.model
    ports: PortRange = getattr(role, kind)
    at = equipment.place(kind)
    if not _exist(context, at, role.device, model, ports):
        return None
    across = layout.spec.topology.interconnect
    if kind != "uplink_ports" or equipment.role_name != layout.border_role:
        across = None
    speed = layout.server_speed(equipment) if kind == "server_ports" else layout.spec.topology.link_speed
    speed = across.link_speed if across else speed
    mixed = (kind != "server_ports" and across is None) and any(
        other.role_name == equipment.role_name and speed in other.link_speeds(kind, speed) for other in layout.kinds()
    )
    breakout = (link_breakout if mixed else breakout_of)(model, ports, speed)
    if breakout is None:
        asked = at if kind == "server_ports" else ("fabrics", layout.name, "topology", "link_speed")
        asked = ("fabrics", layout.name, "topology", "interconnect", "link_speed") if across else asked
        _cannot_split(context, (*at, "breakout") if ports.breakout else asked, role.device, model, ports, speed)
        return None
    if kind == "server_ports":
        return resolve(model, ports, breakout, default_server_first(model, layout.spec.topology))
    if equipment.role_name == "dci" or (equipment.role_name == "spine" and (layout.super_spines or layout.dci)):
        return _halves(model, role, kind, breakout)
    last = _before_servers(layout, role, model) if kind == "uplink_ports" else None
    return resolve(model, ports, breakout, model.ports[0].first, last)


def _halves(model: SwitchModel, role: Role, kind: PortKind, breakout: Breakout) -> Range | None:
    """Return a spine's default port range, to leaves or to super-spines (``kind``), in a fabric with super-spines.

    Leaves get the first half of the spine's ports, super-spines the second. ``breakout`` is the way in which each port is split.
    """
    group = model.ports[0]
    middle = group.first + group.count // 2
    if kind == "uplink_ports":
        return resolve(model, role.uplink_ports, breakout, middle)
    up = role.uplink_ports.first if role.uplink_ports.first is not None else middle
    first = role.leaf_ports.first or group.first
    return resolve(model, role.leaf_ports, breakout, group.first, up - 1 if up > first else None)


def _exist(context: Context, at: Location, device: str, model: SwitchModel, ports: PortRange) -> bool:
    """Return True if the device has the first and the last port of a range. Otherwise record a problem at ``at``, a key path in the file."""
    for key, port in (("first", ports.first), ("last", ports.last)):
        if port is not None and model.group_of(port) is None:
            known = ", ".join(f"{group.first} to {group.last}" for group in model.ports)
            context.problem((*at, key), f"{device} has no port {port}", f"its ports are {known}")
            return False
    return True


def _cannot_split(
    context: Context, at: Location, device: str, model: SwitchModel, ports: PortRange, speed: int
) -> None:
    """Record a problem that explains why the ports of a range cannot provide a link speed. ``at`` is the range's key path in the file."""
    group = model.group_of(ports.first or model.ports[0].first)
    can = [str(mode) for mode in group.modes()] if group else []
    message, fix = (
        f"a port of {device} does not support {f'breakout {ports.breakout}' if ports.breakout else f'{speed}G links'}",
        f"it can do {', '.join(can)}",
    )
    if ports.breakout and parse_breakout(ports.breakout) is None:
        message, fix = f"{ports.breakout!r} is not a breakout", "write it as 2x400G"
    elif ports.breakout in can:
        message = f"breakout {ports.breakout} does not give the {speed}G that these links need"
        fix = f"a {device} port can do {', '.join(can)}"
    context.problem(at, message, fix)


def _before_servers(layout: Layout, leaf: Role, model: SwitchModel) -> int | None:
    """Return the last port that a leaf's uplinks can use: the port before the leaf's first server port.

    Return None if server ports come before uplink ports.
    """
    servers = leaf.server_ports.first
    if servers is None:
        servers = default_server_first(model, layout.spec.topology)
    uplinks = leaf.uplink_ports.first or model.ports[0].first
    return servers - 1 if servers > uplinks else None


_KINDS: tuple[PortKind, ...] = ("server_ports", "leaf_ports", "uplink_ports")


class PortPosition(NamedTuple):
    """A port of a range, with its name and electrical lanes. All switches of one kind share this object."""

    port: Port
    name: str
    lanes: str


class SwitchPorts:
    """The port allocation of a fabric's switches. Records problems in the context."""

    def __init__(self, context: Context, layout: Layout) -> None:
        self.context = context
        self.layout = layout
        self.panels: dict[str, Panel] = {}
        self.short: set[tuple[Equipment, PortKind]] = set()
        self.overlaps: dict[Equipment, list[str]] = {}
        self.ranges = port_ranges(context, layout)
        self.spots: dict[tuple[Equipment, PortKind, int, int, int, int | None], PortPosition] = {}

    def check(self) -> None:
        """Record a problem for ports that are in two ranges, and for switches that use more ports than their switch chip supports."""
        self._check_overlaps()
        self._check_silicon()

    def _check_overlaps(self) -> None:
        """Record one problem for each kind of switch whose ranges overlap, regardless of the number of shared ports."""
        for equipment, overlaps in self.overlaps.items():
            ranges = [(kind, self.ranges[equipment, kind]) for kind in _KINDS if (equipment, kind) in self.ranges]
            named = [f"{kind} {ports.first} to {ports.last}" for kind, ports in ranges]
            more = f", and {len(overlaps) - 1} more" if len(overlaps) > 1 else ""
            self.context.problem(
                equipment.place(ranges[0][0]),
                f"{' and '.join(named)} overlap: {overlaps[0]}{more}",
                "choose ranges that do not overlap",
            )

    def _check_silicon(self) -> None:
        for panel in self.panels.values():
            limit = panel.model.limits.ports
            if limit is not None and len(panel.owners) > limit:
                self.context.problem(
                    ("fabrics", self.layout.name),
                    f"{panel.device} would have {len(panel.owners)} ports in use, but its chip supports {limit}",
                    "split fewer ports",
                )

    def spot(
        self, device: str, kind: PortKind, slot: int, link: int, links: int, speed: int | None = None
    ) -> PortPosition | None:
        """Return the port of a link from the range of its kind, or None if the range is too small.

        ``slot`` is the neighbor's number, from 1. ``link`` is the number of the link, from 0, among the ``links`` parallel links to
        this neighbor. ``speed`` is set if a link between switches is slower than the range.
        """
        equipment = self.layout.equipment[device]
        key = (equipment, kind, slot, link, links, speed)
        spot = self.spots.get(key)
        if spot is None:  # a new port, or a range that is too small
            ports = self.ranges[equipment, kind]
            port = ports.port(slot, link, links)
            if port is not None and speed is not None and speed != ports.speed_gbps:
                port = slowed(port, speed)
            if port is not None:
                spot = self.spots[key] = self._named(equipment, port)
        return spot

    def _named(self, equipment: Equipment, port: Port) -> PortPosition:
        system = self.context.catalog.systems[equipment.role.nos]
        name = system.name_of(port.physical, port.channel, port.lane, port.group.lanes, equipment.model.cards)
        return PortPosition(port, name, port.lanes)

    def take(
        self, device: str, kind: PortKind, spot: PortPosition | None, owner: str, fixed: FixedCable | None, speed: int
    ) -> PortPosition | None:
        """Reserve the switch port of a cable and return it. Records a problem and returns None if no port is available.

        ``spot`` is the cable's port from the range. ``fixed`` is the cable's override, whose port replaces ``spot``. ``speed`` is the
        speed of the link in Gb/s. ``owner`` describes the cable in messages.
        """
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
            fix = "use `fill: spread`, so that links with different speeds do not share a port"
            self.context.problem(equipment.place(kind), text, fix)
        elif where is None:
            self.overlaps.setdefault(equipment, []).append(text)
        else:
            self.context.problem(where, text, "choose another port, or ranges that do not overlap")
        return None

    def room(self, device: str, kind: PortKind) -> int:
        """Return the number of links for which the switch's port range of this kind has ports. Neighbors may share a physical port."""
        return self.ranges[self.layout.equipment[device], kind].size

    def too_few(self, device: str, kind: PortKind, wanted: str, neighbors: int, links: int, fix: str = "") -> None:
        """Record the problem that a range has too few ports for ``links`` links to each of ``neighbors`` neighbors.

        The problem is recorded once per kind of switch. ``wanted`` describes the links. ``fix`` is the suggested change; if it is
        empty, the general advice is used.
        """
        equipment = self.layout.equipment[device]
        if (equipment, kind) in self.short:
            return
        self.short.add((equipment, kind))
        ports = self.ranges[equipment, kind]
        need, have, spread = neighbors * links, ports.size, ""
        fix = fix or "widen the range, use a finer breakout, fill: pack, or fewer neighbors"
        if ports.spread:
            need, have = neighbors * -(-links // ports.channels), ports.last - ports.first + 1
            spread, fix = ", one neighbor per port,", "widen the range, use fill: pack, or fewer neighbors"
        self.context.problem(
            equipment.place(kind),
            f"too few ports: {wanted}{spread} need {need} of {device}'s ports {ports.first} to {ports.last}, which "
            + (f"are {have}" if ports.spread else f"give {have}"),
            fix,
        )
