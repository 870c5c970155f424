"""Every cable: its two ports, speed, optic and length."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from railweave.design.network import Cable, End
from railweave.design.optics import choose
from railweave.design.panels import Owner, Panel, port_named
from railweave.design.ranges import location, port_range

if TYPE_CHECKING:
    from railweave.design.cable_overrides import CableOverrides, Fixed
    from railweave.design.context import Context
    from railweave.design.network import RoleName
    from railweave.design.ports import Port, Range
    from railweave.design.ranges import Kind
    from railweave.design.topology import Layout, Leaf, PlacedServer, Spine
    from railweave.spec.topology import CableIntent


class _Length(NamedTuple):
    """How long a cable is, and the inventory's line where that was measured (0: it is planned)."""

    metres: float
    line: int


def cable(
    context: Context, layout: Layout, colors: dict[tuple[str, int], int], overrides: CableOverrides
) -> list[Cable]:
    """Every cable of a fabric: servers first, in file order, then leaf by leaf. Notes problems in the context.

    ``colors`` gives the path-color index of a leaf-spine link by (spine name, link).
    """
    return _Cabler(context, layout, colors, overrides).run()


class _Cabler:
    def __init__(
        self, context: Context, layout: Layout, colors: dict[tuple[str, int], int], overrides: CableOverrides
    ) -> None:
        self.context = context
        self.colors = colors
        self.layout = layout
        self.overrides = overrides
        self.panels: dict[str, Panel] = {}
        self.short: set[Kind] = set()
        self.overlaps: list[str] = []

    def run(self) -> list[Cable]:
        layout = self.layout
        servers = port_range(self.context, layout, "server_ports")
        uplinks = port_range(self.context, layout, "uplink_ports") if layout.spines else None
        leaves = port_range(self.context, layout, "leaf_ports") if layout.spines else None
        self.context.check()
        assert servers is not None  # noqa: S101 - check() has raised otherwise
        made: list[Cable | None] = []
        by_rail = {(leaf.stripe, rail): leaf for leaf in layout.leaves for rail in leaf.rails}
        for server in layout.servers:
            for rail, nic in enumerate(server.nics.names, 1):
                made.append(self._server_cable(server, nic, rail, by_rail[server.stripe, rail], servers))
        if uplinks and leaves:
            links = range(1, layout.spec.topology.links_per_spine + 1)
            places = itertools.product(layout.leaves, layout.spines, links)
            made += [self._fabric_cable(leaf, spine, link, uplinks, leaves) for leaf, spine, link in places]
        self._check_overlaps(servers, uplinks)
        self._check_silicon()
        self.context.check()
        return self._one_optic_a_port([cable for cable in made if cable])

    def _check_overlaps(self, servers: Range, uplinks: Range | None) -> None:
        """Ports that both ranges of the leaves gave out are one mistake, however many."""
        if self.overlaps and uplinks:
            more = f", and {len(self.overlaps) - 1} more" if len(self.overlaps) > 1 else ""
            self.context.problem(
                location(self.layout, "server_ports"),
                f"server_ports {servers.first} to {servers.last} and uplink_ports {uplinks.first} to {uplinks.last} "
                f"overlap: {self.overlaps[0]}{more}",
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

    def _server_cable(self, server: PlacedServer, nic: str, rail: int, leaf: Leaf, ports: Range) -> Cable | None:
        fixed = self.overrides.take(f"{server.name}:{nic}", leaf.name)
        here, each = leaf.rails.index(rail), len(leaf.rails)
        default = ports.port(server.slot, here, each)
        speed = self.layout.nic_speed_gbps
        end = self._end(leaf.name, "leaf", default, f"{server.name}:{nic}", fixed, speed)
        if end is None:
            if default is None:
                most = max(s.slot for s in self.layout.servers if s.stripe == leaf.stripe)
                self._too_few(leaf.name, "server_ports", ports, f"servers of {leaf.stripe}", most, each)
            return None
        intent = self.layout.spec.cabling.server
        length = self._length(intent, fixed, (server.name, nic), (leaf.name, end[0]))
        model = self.context.catalog.nics[server.nics.nic]
        group = end[1].group
        near = self._optic("server", fixed, length, group.cage, end[1].channels, model.speed_gbps)
        far = near if near.endswith("-dac") else ""
        far = far or self._optic("server", fixed, length, model.cage, 1, model.speed_gbps, far=True)
        return Cable(
            kind="server",
            fabric=self.layout.name,
            a=End(server.name, nic, None, None, "1-4", far),
            b=End(leaf.name, end[0], end[1].physical, end[1].channel, end[1].lanes, near),
            speed_gbps=speed,
            length_m=length.metres,
            measured=length.line > 0,
            color=None,
        )

    def _fabric_cable(self, leaf: Leaf, spine: Spine, link: int, uplinks: Range, leaves: Range) -> Cable | None:
        links = self.layout.spec.topology.links_per_spine
        fixed = self.overrides.take(leaf.name, spine.name, link)
        up = uplinks.port(spine.number, link - 1, links)
        down = leaves.port(leaf.number, link - 1, links)
        speed = self.layout.spec.topology.link_speed
        a = self._end(leaf.name, "leaf", up, f"{spine.name} link {link}", fixed, speed)
        b = self._end(spine.name, "spine", down, f"{leaf.name} link {link}", fixed, speed)
        if a is None or b is None:
            if up is None:
                most = max(one.number for one in self.layout.spines)
                self._too_few(leaf.name, "uplink_ports", uplinks, "uplinks", most, links)
            if down is None:
                most = max(one.number for one in self.layout.leaves)
                self._too_few(spine.name, "leaf_ports", leaves, "leaf links", most, links)
            return None
        intent = self.layout.spec.cabling.fabric
        length = self._length(intent, fixed, (leaf.name, a[0]), (spine.name, b[0]))
        optics = [
            self._optic("fabric", fixed, length, port.group.cage, port.channels, speed, far=far)
            for far, (_, port) in ((False, a), (True, b))
        ]
        return Cable(
            kind="fabric",
            fabric=self.layout.name,
            a=End(leaf.name, a[0], a[1].physical, a[1].channel, a[1].lanes, optics[0]),
            b=End(spine.name, b[0], b[1].physical, b[1].channel, b[1].lanes, optics[1]),
            speed_gbps=speed,
            length_m=length.metres,
            measured=length.line > 0,
            color=self.colors.get((spine.name, link)),
        )

    def _planned(self, intent: CableIntent, fixed: Fixed | None) -> float:
        return fixed.override.length if fixed and fixed.override.length is not None else intent.length

    def _length(self, intent: CableIntent, fixed: Fixed | None, *ends: tuple[str, str]) -> _Length:
        """The length measured at either end, else the planned one."""
        for device, port in ends:
            item = self.context.source.inventory.get(device, port)
            if item.length_m is not None:
                return _Length(item.length_m, item.line)
        return _Length(self._planned(intent, fixed), 0)

    def _optic(
        self,
        kind: str,
        fixed: Fixed | None,
        length: _Length,
        cage: str,
        channels: int,
        speed: int,
        *,
        far: bool = False,
    ) -> str:
        """The optic of one end: as fixed for this cable, else as asked for its kind, else the shortest that fits."""
        intent: CableIntent = getattr(self.layout.spec.cabling, kind)
        at = ("fabrics", self.layout.name, "cabling", kind, "far_optic" if far else "optic")
        asked = intent.far_optic if far else intent.optic
        if fixed and (fixed.override.optic or asked is None):
            at, asked = (*fixed.at, "optic"), fixed.override.optic
        return choose(
            self.context,
            at,
            asked,
            cage,
            channels,
            speed,
            length.metres,
            measured_on=length.line,
            copper=kind == "server",
        )

    def _end(
        self, device: str, role: RoleName, port: Port | None, owner: str, fixed: Fixed | None, speed: int
    ) -> tuple[str, Port] | None:
        """The port of a cable at a switch, taken for it; None, and a problem noted, where there is none for it."""
        intent, model = self.layout.role(role)
        system = self.context.catalog.systems[intent.nos]
        fixed_at = None
        if fixed and device in fixed.override.ports:
            fixed_at = (*fixed.at, "ports", device)
            name = fixed.override.ports[device]
            port = port_named(self.context, fixed_at, intent.device, model, system, name, speed)
        if port is None:
            return None
        name = system.name_of(port.physical, port.channel)
        panel = self.panels.get(device)
        if panel is None:
            panel = self.panels[device] = Panel(device, model)
        conflict = panel.take(port, Owner(owner, fixed_at))
        if conflict is None:
            return name, port
        text, where = f"{device} {name} for {owner} {conflict.text}", fixed_at or conflict.other.fixed_at
        if where is None:
            self.overlaps.append(text)
        else:
            self.context.problem(where, text, "choose another port, or move the ranges apart")
        return None

    def _too_few(self, device: str, kind: Kind, ports: Range, wanted: str, neighbors: int, links: int) -> None:
        if kind in self.short:
            return
        self.short.add(kind)
        need, have, spread = neighbors * links, ports.size, ""
        fix = "widen the range, use a finer breakout, fill: pack, or fewer neighbors"
        if ports.spread:
            need, have = neighbors * -(-links // ports.channels), ports.last - ports.first + 1
            spread, fix = ", one neighbor a port,", "widen the range, use fill: pack, or fewer neighbors"
        self.context.problem(
            location(self.layout, kind),
            f"too few ports: {wanted}{spread} need {need} of {device}'s ports {ports.first} to {ports.last}, which "
            + (f"are {have}" if ports.spread else f"give {have}"),
            fix,
        )
