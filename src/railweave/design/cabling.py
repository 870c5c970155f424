"""Every cable: its two ports, speed, optic and length."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.design.network import Cable, End
from railweave.design.optics import choose
from railweave.design.ports import Port, breakout_of, default_server_first, parse_breakout, resolve

if TYPE_CHECKING:
    from railweave.catalog.models import SwitchModel
    from railweave.design.context import Context
    from railweave.design.ports import Range
    from railweave.design.topology import Layout, Leaf, PlacedServer, Spine
    from railweave.spec.document import Key
    from railweave.spec.overrides import CableOverride
    from railweave.spec.topology import PortRange, Role

Override = tuple[int, "CableOverride"]


@dataclass
class _Panel:
    """The ports of one device that are taken: by whom, and how each physical port is split."""

    device: str
    model: SwitchModel
    owners: dict[tuple[int, int | None], str] = field(default_factory=dict[tuple[int, "int | None"], str])
    splits: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])

    def take(self, port: Port, owner: str) -> str | None:
        """Take a port; returns what is wrong where it cannot be taken."""
        key = (port.physical, port.channel)
        if key in self.owners:
            return f"is taken by {self.owners[key]}"
        split, by = self.splits.setdefault(port.physical, (port.channels, owner))
        if split != port.channels:
            return f"is on a port split in {split} for {by}, and this cable needs it split in {port.channels}"
        self.owners[key] = owner
        return None


def cable(context: Context, layout: Layout, colors: dict[tuple[str, int], int]) -> list[Cable]:
    """Every cable of a fabric: servers first, in file order, then leaf by leaf. Notes problems in the context.

    ``colors`` gives the path-color index of a leaf-spine link by (spine name, link).
    """
    return _Cabler(context, layout, colors).run()


class _Cabler:
    def __init__(self, context: Context, layout: Layout, colors: dict[tuple[str, int], int]) -> None:
        self.context = context
        self.colors = colors
        self.layout = layout
        self.panels: dict[str, _Panel] = {}
        self.overrides: dict[tuple[str, str, int], Override] = {}
        self.short: set[str] = set()

    def run(self) -> list[Cable]:
        self._collect_overrides()
        layout, spec = self.layout, self.layout.spec
        spine_role = spec.spine_role()
        uplinks = (
            self._range("leaf", spec.leaf, "uplink_ports", spec.topology.link_speed, layout.leaf_model)
            if layout.spines
            else None
        )
        servers = self._range("leaf", spec.leaf, "server_ports", layout.nic_speed_gbps, layout.leaf_model)
        leaves = (
            self._range("spine", spine_role, "leaf_ports", spec.topology.link_speed, layout.spine_model)
            if layout.spines
            else None
        )
        self.context.check()
        assert servers is not None  # noqa: S101 - check() has raised otherwise
        cables: list[Cable] = []
        by_rail = {(leaf.stripe, rail): leaf for leaf in layout.leaves for rail in leaf.rails}
        for server in layout.servers:
            for rail, nic in enumerate(server.nics.names, 1):
                made = self._server_cable(server, nic, rail, by_rail[server.stripe, rail], servers)
                cables += [made] if made else []
        for leaf in layout.leaves:
            for spine in layout.spines:
                for link in range(1, spec.topology.links_per_spine + 1):
                    assert uplinks is not None  # noqa: S101 - there are spines
                    assert leaves is not None  # noqa: S101
                    made = self._fabric_cable(leaf, spine, link, uplinks, leaves)
                    cables += [made] if made else []
        for (a, b, link), (index, _) in self.overrides.items():
            self.context.problem(
                ("overrides", "cables", index),
                f"there is no cable {link} between {a} and {b}",
                "name the ends as [SERVER:NIC, LEAF] or [LEAF, SPINE]",
            )
        for panel in self.panels.values():
            limit = panel.model.limits.ports
            if limit is not None and len(panel.owners) > limit:
                self.context.problem(
                    ("fabrics", layout.name),
                    f"{panel.device} would have {len(panel.owners)} ports in use, its silicon has {limit}",
                    "split fewer ports",
                )
        self.context.check()
        return self._one_optic_a_port(cables)

    def _one_optic_a_port(self, cables: list[Cable]) -> list[Cable]:
        """Channels of one port share its module: the longest reach that any of them needs."""
        optics = self.context.catalog.optics
        best: dict[tuple[str, int], str] = {}
        ends = [end for cable in cables for end in (cable.a, cable.b)]
        for end in ends:
            if end.physical is not None and end.optic in optics:
                key = (end.device, end.physical)
                if key not in best or optics[end.optic].reach_m > optics[best[key]].reach_m:
                    best[key] = end.optic

        def settled(end: End) -> End:
            optic = best.get((end.device, end.physical), end.optic) if end.physical is not None else end.optic
            return end if optic == end.optic else replace(end, optic=optic)

        return [replace(cable, a=settled(cable.a), b=settled(cable.b)) for cable in cables]

    def _collect_overrides(self) -> None:
        mine = {leaf.name for leaf in self.layout.leaves}
        for index, override in enumerate(self.context.source.spec.overrides.cables):
            a, b = override.between
            if b in mine or a in mine:
                self.overrides[a, b, override.link] = (index, override)

    def _range(self, role_name: str, role: Role, which: str, speed: int, model: SwitchModel) -> Range | None:
        ports: PortRange = getattr(role, which)
        at = ("fabrics", self.layout.name, role_name, which)
        breakout = breakout_of(model, ports, speed)
        if breakout is None:
            group = model.group_of(ports.first or model.ports[0].first)
            can = ", ".join(str(way) for way in group.ways()) if group else "nothing: it has no such port"
            if ports.breakout and parse_breakout(ports.breakout) is None:
                self.context.problem((*at, "breakout"), f"{ports.breakout!r} is not a breakout", "write it as 2x400G")
            elif ports.breakout and ports.breakout in can.split(", "):
                self.context.problem(
                    (*at, "breakout"),
                    f"breakout {ports.breakout} does not give the {speed}G these links need",
                    f"a {role.device} port can do {can}",
                )
            else:
                what = f"breakout {ports.breakout}" if ports.breakout else f"{speed}G links"
                self.context.problem((*at, "breakout"), f"a port of {role.device} cannot do {what}", f"it can do {can}")
            return None
        last = None
        if which == "server_ports":
            first = default_server_first(model, self.layout.spec.topology)
        else:
            first = model.ports[0].first
            last = self._before_servers(model) if which == "uplink_ports" else None
        found = resolve(model, ports, breakout, first, last)
        if found is None:
            self.context.problem(
                (*at, "first"), f"{role.device} has no port {ports.first}", f"its ports are {_port_list(model)}"
            )
        return found

    def _before_servers(self, model: SwitchModel) -> int | None:
        """Uplinks end before server ports begin, where those come after them."""
        leaf = self.layout.spec.leaf
        servers = leaf.server_ports.first
        if servers is None:
            servers = default_server_first(model, self.layout.spec.topology)
        uplinks = leaf.uplink_ports.first or model.ports[0].first
        return servers - 1 if servers > uplinks else None

    def _server_cable(self, server: PlacedServer, nic: str, rail: int, leaf: Leaf, ports: Range) -> Cable | None:
        index, override = self.overrides.pop((f"{server.name}:{nic}", leaf.name, 1), (None, None))
        here = leaf.rails.index(rail)
        default = ports.port(server.slot, here, len(leaf.rails))
        item = self.context.source.inventory.get(server.name, nic)
        end = self._end(leaf.name, self.layout.leaf_model, "leaf", default, f"{server.name}:{nic}", override, index)
        if end is None:
            if default is None:
                need = max(s.slot for s in self.layout.servers if s.stripe == leaf.stripe)
                self._too_few(leaf.name, "server_ports", ports, f"servers of {leaf.stripe}", need * len(leaf.rails))
            return None
        intent = self.layout.spec.cabling.server
        planned = override.length if override and override.length is not None else intent.length
        length = item.length_m or self.context.source.inventory.get(leaf.name, end[0]).length_m or planned
        nic_model = self.context.catalog.nics[server.nics.nic]
        asked = override.optic if override else None
        where = ("overrides", "cables", index or 0) if override else ("fabrics", self.layout.name, "cabling", "server")
        near = choose(
            self.context, where, asked or intent.optic, end[1].group.cage, end[1].channels, nic_model.speed_gbps, length
        )
        far = (
            near
            if near.endswith("-dac")
            else choose(self.context, where, asked or intent.far_optic, nic_model.cage, 1, nic_model.speed_gbps, length)
        )
        return Cable(
            kind="server",
            fabric=self.layout.name,
            a=End(server.name, nic, None, None, "1-4", far),
            b=End(leaf.name, end[0], end[1].physical, end[1].channel, end[1].lanes, near),
            speed_gbps=self.layout.nic_speed_gbps,
            length_m=length,
            measured=length != planned,
            color=None,
        )

    def _fabric_cable(self, leaf: Leaf, spine: Spine, link: int, uplinks: Range, leaves: Range) -> Cable | None:
        links = self.layout.spec.topology.links_per_spine
        index, override = self.overrides.pop((leaf.name, spine.name, link), (None, None))
        up = uplinks.port(spine.number, link - 1, links)
        down = leaves.port(leaf.number, link - 1, links)
        a = self._end(leaf.name, self.layout.leaf_model, "leaf", up, f"{spine.name} link {link}", override, index)
        b = self._end(spine.name, self.layout.spine_model, "spine", down, f"{leaf.name} link {link}", override, index)
        if a is None or b is None:
            if up is None:
                self._too_few(leaf.name, "uplink_ports", uplinks, "uplinks", spine.number * links)
            if down is None:
                self._too_few(
                    spine.name,
                    "leaf_ports",
                    leaves,
                    "leaf links",
                    max(one.number for one in self.layout.leaves) * links,
                )
            return None
        intent = self.layout.spec.cabling.fabric
        speed = self.layout.spec.topology.link_speed
        planned = override.length if override and override.length is not None else intent.length
        inventory = self.context.source.inventory
        length = inventory.get(leaf.name, a[0]).length_m or inventory.get(spine.name, b[0]).length_m or planned
        asked = override.optic if override else None
        where = ("overrides", "cables", index or 0) if override else ("fabrics", self.layout.name, "cabling", "fabric")
        optics = [
            choose(self.context, where, asked or wish, end[1].group.cage, end[1].channels, speed, length, copper=False)
            for wish, end in ((intent.optic, a), (intent.far_optic, b))
        ]
        return Cable(
            kind="fabric",
            fabric=self.layout.name,
            a=End(leaf.name, a[0], a[1].physical, a[1].channel, a[1].lanes, optics[0]),
            b=End(spine.name, b[0], b[1].physical, b[1].channel, b[1].lanes, optics[1]),
            speed_gbps=speed,
            length_m=length,
            measured=length != planned,
            color=self.colors.get((spine.name, link)),
        )

    def _end(
        self,
        device: str,
        model: SwitchModel,
        role: str,
        port: Port | None,
        owner: str,
        override: CableOverride | None,
        index: int | None,
    ) -> tuple[str, Port] | None:
        system = self.context.catalog.systems[
            (self.layout.spec.leaf if role == "leaf" else self.layout.spec.spine_role()).nos
        ]
        location: tuple[Key, ...] = ("fabrics", self.layout.name, role)
        wish = override.ports.get(device) if override else None
        if wish is not None and index is not None:
            location = ("overrides", "cables", index, "ports", device)
            port = self._port_named(model, system.port_name, system.whole_port_name, wish)
            if port is None:
                self.context.problem(
                    location,
                    f"{model.description} has no port {wish!r}",
                    f"name it like {system.name_of(0, 0)} or {system.name_of(0, None)}",
                )
                return None
        if port is None:
            return None
        name = system.name_of(port.physical, port.channel)
        panel = self.panels.setdefault(device, _Panel(device, model))
        wrong = panel.take(port, owner)
        if wrong:
            self.context.problem(
                location, f"{device} {name} for {owner} {wrong}", "choose another port, or move the ranges apart"
            )
            return None
        return name, port

    def _port_named(self, model: SwitchModel, split: str, whole: str, name: str) -> Port | None:
        for pattern in (split, whole):
            expression = (
                re.escape(pattern).replace(r"\{port\}", r"(?P<port>\d+)").replace(r"\{channel\}", r"(?P<channel>\d+)")
            )
            match = re.fullmatch(expression, name)
            if match is None:
                continue
            group = model.group_of(int(match["port"]))
            if group is None:
                return None
            if "channel" not in match.groupdict():
                return Port(int(match["port"]), None, 1, group)
            channel = int(match["channel"])
            speed = self.layout.spec.topology.link_speed
            ways = [way for way in group.breakouts if way.speed_gbps == speed and channel < way.channels]
            return Port(int(match["port"]), channel, ways[0].channels, group) if ways else None
        return None

    def _too_few(self, device: str, which: str, ports: Range, wanted: str, need: int) -> None:
        role = "spine" if which == "leaf_ports" else "leaf"
        if which in self.short:
            return
        self.short.add(which)
        self.context.problem(
            ("fabrics", self.layout.name, role, which),
            f"too few ports: {wanted} need {need} of {device}'s ports {ports.first} to {ports.last}, which give {ports.size}"
            + (" (one neighbor a port)" if ports.spread else ""),
            "widen the range, use a finer breakout, fill: pack, or fewer neighbors",
        )


def _port_list(model: SwitchModel) -> str:
    return ", ".join(f"{group.first} to {group.last}" for group in model.ports)
