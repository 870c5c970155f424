"""Which ports of the switches each kind of cable may take, checked against the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from railweave.design.ports import breakout_of, default_server_first, parse_breakout, resolve

if TYPE_CHECKING:
    from railweave.catalog.models import Breakout, SwitchModel
    from railweave.design.context import Context
    from railweave.design.network import RoleName
    from railweave.design.ports import Range
    from railweave.design.topology import Layout
    from railweave.spec.document import Location
    from railweave.spec.topology import PortRange, Role

Kind = Literal["server_ports", "uplink_ports", "leaf_ports"]
"""Keys of a role: a leaf's ports to servers, a leaf's or spine's ports up, a spine's or super-spine's ports down."""


def port_range(context: Context, layout: Layout, role_name: RoleName, kind: Kind) -> Range | None:
    """The ports for one kind of cable. Notes a problem where the device has no such ports or cannot split them so."""
    role, model = layout.role(role_name)
    ports: PortRange = getattr(role, kind)
    at = location(layout, role_name, kind)
    if not _exist(context, at, role.device, model, ports):
        return None
    between = kind == "uplink_ports" and role_name == layout.border_role and layout.borders
    across = layout.spec.topology.interconnect if between else None
    speed = layout.nic_speed_gbps if kind == "server_ports" else layout.spec.topology.link_speed
    speed = speed if across is None else across.link_speed
    breakout = breakout_of(model, ports, speed)
    if breakout is None:
        asked = at if kind == "server_ports" else ("fabrics", layout.name, "topology", "link_speed")
        asked = asked if across is None else ("fabrics", layout.name, "topology", "interconnect", "link_speed")
        _cannot_split(context, (*at, "breakout") if ports.breakout else asked, role.device, model, ports, speed)
        return None
    if kind == "server_ports":
        return resolve(model, ports, breakout, default_server_first(model, layout.spec.topology))
    if role_name == "dci" or (role_name == "spine" and (layout.super_spines or layout.dci)):
        return _halves(model, role, kind, breakout)
    last = _before_servers(layout) if kind == "uplink_ports" else None
    return resolve(model, ports, breakout, model.ports[0].first, last)


def location(layout: Layout, role: RoleName, kind: Kind) -> tuple[str, ...]:
    """Where a port range stands in the fabric file."""
    return ("fabrics", layout.name, role.replace("-", "_"), kind)


def _halves(model: SwitchModel, role: Role, kind: Kind, breakout: Breakout) -> Range | None:
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
    can = [str(way) for way in group.ways()] if group else []
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


def _before_servers(layout: Layout) -> int | None:
    """Uplinks end before server ports begin, where those come after them."""
    leaf, model = layout.role("leaf")
    servers = leaf.server_ports.first
    if servers is None:
        servers = default_server_first(model, layout.spec.topology)
    uplinks = leaf.uplink_ports.first or model.ports[0].first
    return servers - 1 if servers > uplinks else None
