"""Which ports of the switches each kind of cable may take, checked against the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.design.cabling.ports import resolve
from railweave.design.sizing.uplinks import default_server_first
from railweave.model.catalog.breakouts import breakout_of, link_breakout, parse_breakout
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.cabling.ports import PortKind, Range
    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.hardware import Breakout, SwitchModel
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import PortRange, Role


LINK_SLOWER = Rule(
    id="link-slower",
    severity="info",
    applies="design",
    says="links of a switch model run at less than `link_speed`: its ports do no more",
    why="at the far end such a link takes the place of a faster one, and paths over it are narrower",
    fix="accept it, or set link_speed to have all links alike",
)


def port_ranges(context: Context, layout: Layout) -> dict[tuple[Equipment, PortKind], Range]:
    """The ports of everything a fabric's switches are, for each kind of cable. Raises where a device has no such ports."""
    found: dict[tuple[Equipment, PortKind], Range] = {}
    for equipment in layout.kinds():
        for kind in _kinds(layout, equipment):
            ports = _port_range(context, layout, equipment, kind)
            if ports is not None:
                found[equipment, kind] = ports
    context.check()
    _check_common_speed(context, layout)
    _note_slower(context, layout, found)
    return found


def _kinds(layout: Layout, equipment: Equipment) -> tuple[PortKind, ...]:
    if equipment.role_name == "leaf":
        return ("server_ports", "uplink_ports") if layout.spines or layout.borders else ("server_ports",)
    up = equipment.role_name == "dci" or (equipment.role_name == "spine" and (layout.super_spines or layout.dci))
    return ("leaf_ports", "uplink_ports") if up else ("leaf_ports",)


def _check_common_speed(context: Context, layout: Layout) -> None:
    """Every kind of switch has a speed in common with every kind of the tier above."""
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
                    f"{lower.role.device} as {lower.role_name} and {upper.role.device} as {upper.role_name} have no speed in "
                    f"common: {ours} and {theirs}",
                    "leave `breakout:` empty, or choose other models",
                )
    context.check()


def _note_slower(context: Context, layout: Layout, ranges: dict[tuple[Equipment, PortKind], Range]) -> None:
    """Switches whose ports do less than the speed that was asked for of links between switches."""
    wanted = layout.spec.topology.link_speed
    slow = {
        (one.role.device, ports.speed_gbps): None
        for (one, kind), ports in ranges.items()
        if kind != "server_ports" and ports.speed_gbps < wanted
        if not (kind == "uplink_ports" and one.role_name == layout.border_role)
    }
    for device, speed in slow:
        context.finding(
            LINK_SLOWER,
            f"{layout.name} {device}",
            ("fabrics", layout.name, "topology", "link_speed"),
            f"links of {device} run at {speed}G, not at the {wanted}G of the others: its ports do no more",
            fix=f"accept it, or set link_speed: {speed}G to have all links alike",
        )


def _port_range(context: Context, layout: Layout, equipment: Equipment, kind: PortKind) -> Range | None:
    """The ports for one kind of cable. Notes a problem where the device has no such ports or cannot split them so.

    Ports between switches that cannot do the speed asked for give the next lower one, where other switches can do it.
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
        one.role_name == equipment.role_name and speed in one.link_speeds(kind, speed) for one in layout.kinds()
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
    """Under super-spines leaves take the first half of a spine's ports and super-spines the second, by default."""
    group = model.ports[0]
    middle = group.first + group.count // 2
    if kind == "uplink_ports":
        return resolve(model, role.uplink_ports, breakout, middle)
    up = role.uplink_ports.first if role.uplink_ports.first is not None else middle
    first = role.leaf_ports.first or group.first
    return resolve(model, role.leaf_ports, breakout, group.first, up - 1 if up > first else None)


def _exist(context: Context, at: Location, device: str, model: SwitchModel, ports: PortRange) -> bool:
    """Whether the device has the first and the last port of a range; a problem is noted where not."""
    for key, port in (("first", ports.first), ("last", ports.last)):
        if port is not None and model.group_of(port) is None:
            known = ", ".join(f"{group.first} to {group.last}" for group in model.ports)
            context.problem((*at, key), f"{device} has no port {port}", f"its ports are {known}")
            return False
    return True


def _cannot_split(
    context: Context, at: Location, device: str, model: SwitchModel, ports: PortRange, speed: int
) -> None:
    """Note why the ports of a range do not give a link speed."""
    group = model.group_of(ports.first or model.ports[0].first)
    can = [str(mode) for mode in group.modes()] if group else []
    what, fix = (
        f"a port of {device} cannot do {f'breakout {ports.breakout}' if ports.breakout else f'{speed}G links'}",
        f"it can do {', '.join(can)}",
    )
    if ports.breakout and parse_breakout(ports.breakout) is None:
        what, fix = f"{ports.breakout!r} is not a breakout", "write it as 2x400G"
    elif ports.breakout in can:
        what = f"breakout {ports.breakout} does not give the {speed}G these links need"
        fix = f"a {device} port can do {', '.join(can)}"
    context.problem(at, what, fix)


def _before_servers(layout: Layout, leaf: Role, model: SwitchModel) -> int | None:
    """Uplinks end before server ports begin, where those come after them."""
    servers = leaf.server_ports.first
    if servers is None:
        servers = default_server_first(model, layout.spec.topology)
    uplinks = leaf.uplink_ports.first or model.ports[0].first
    return servers - 1 if servers > uplinks else None
