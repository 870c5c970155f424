"""Shuffle panels: passive panels behind optical modules whose links leave through one connector and go to different modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from railweave.model.catalog import catalog
from railweave.pages.table import columns, csv_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.network.devices import Cable, End
    from railweave.model.network.model import Network

Module = tuple[str, str | int]
"""An optical module: its device, and the number of its physical port or, for a NIC, the name of its first port."""
PANELS = columns(
    "panel", "size", "a_connector", "a_device", "a_port", "a_lanes", "b_connector", "b_device", "b_port", "b_lanes",
)  # fmt: skip


class Crossing(NamedTuple):
    """A link between two optical modules that each have one connector for all their links.

    ``cable`` is the link. ``near`` and ``far`` are the modules at its lower and its upper end.
    """

    cable: Cable
    near: Module
    far: Module


@dataclass(frozen=True, slots=True)
class Panel:
    """A shuffle panel: each connector has the trunk cable of one module, and each link crosses the panel between two connectors.

    - ``near``: by module of the servers or lower switches, the number of its connector on the lower side of the panel.
    - ``far``: by module of the switches above, the number of its connector on the upper side.
    - ``links``: the links through the panel.
    """

    name: str
    near: Mapping[Module, int]
    far: Mapping[Module, int]
    links: Sequence[Crossing]

    @property
    def is_breakout(self) -> bool:
        """True if a breakout cable joins the modules in place of a panel: one module on one side, several on the other."""
        return min(len(self.near), len(self.far)) == 1

    @property
    def size(self) -> str:
        """The numbers of connectors on both sides, such as ``8 x 8``."""
        return f"{len(self.near)} x {len(self.far)}"


class Modules:
    """The optical modules of a network whose links leave through one connector (``Optic.trunk``)."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._optics = {name for name, optic in catalog().optics.items() if optic.trunk}

    def joins(self, cable: Cable) -> bool:
        """Return True if both ends of a cable are in modules with one connector for all their links."""
        return cable.a.optic in self._optics and cable.b.optic in self._optics

    def of(self, end: End) -> Module:
        """Return the module (device, port) in which the end of a cable is. The ports of a NIC with one cage share a module."""
        if end.physical is not None or end.optic not in self._optics:
            return end.module
        server = self._network.server(end.device)
        nic, model = server.nic(end.port), catalog().servers.get(server.model)
        if nic is None or model is None:
            return end.module
        kind, index = model.card(self._network.fabric(nic.fabric).nics, nic.rail)
        group = model.nics[kind]
        card = catalog().nics.get(group.nic)
        return (end.device, group.names[index]) if card is not None and card.one_cage else end.module

    def crossings(self) -> list[Crossing]:
        """Return the links whose two ends are in modules with one connector for all their links."""
        return [
            Crossing(cable, self.of(cable.a), self.of(cable.b)) for cable in self._network.cables if self.joins(cable)
        ]


def panels(links: Sequence[Crossing]) -> tuple[Panel, ...]:
    """Return the shuffle panels and breakout cables that these links cross, in the order of their first links.

    A panel joins all modules that links connect directly or through others. If all links of a module go to one other
    module, a trunk cable joins the two without a panel. If they go to modules that have no other links, a breakout cable
    joins them. A panel has the name of the first switch port above it.
    """
    first: dict[Module, Module] = {}

    def root(module: Module) -> Module:
        while (above := first.setdefault(module, module)) != module:
            first[module] = module = first[above]
        return module

    for link in links:
        first[root(link.far)] = root(link.near)
    groups: dict[Module, list[Crossing]] = {}
    for link in links:
        groups.setdefault(root(link.near), []).append(link)
    every = map(_panel, groups.values())
    return tuple(panel for panel in every if len(panel.near) + len(panel.far) > 2)


def _panel(links: Sequence[Crossing]) -> Panel:
    near, far = (
        {module: number for number, module in enumerate(dict.fromkeys(ends), 1)}
        for ends in ((link.near for link in links), (link.far for link in links))
    )
    device, port = next(iter(far))
    return Panel(f"panel-{device}-{port}", near, far, links)


def panels_csv(shuffled: Iterable[Panel]) -> str:
    """Return the table of the shuffle panels ``shuffled`` with one row per link: the connectors and lanes between which it crosses the panel."""
    return csv_text(
        PANELS,
        (
            (
                *(panel.name, panel.size),
                *(panel.near[link.near], link.cable.a.device, link.cable.a.port, link.cable.a.lanes),
                *(panel.far[link.far], link.cable.b.device, link.cable.b.port, link.cable.b.lanes),
            )
            for panel in shuffled
            for link in panel.links
        ),
    )
