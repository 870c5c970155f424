"""The bill of materials: switches, servers, NICs, pluggables, cable assemblies and fibre, with counts and prices.

Items are counted by these rules:

- A pluggable is in a physical port. If a port is split in two, two cables share one module, so modules are counted by (device,
  physical port). A NIC port has no physical number in the design and is never split. So each NIC end is one module, unless
  several ports of the NIC share a module.
- A cable assembly (direct-attach copper, or any other kind that is not an optic) includes its ends. A splitter has one end at
  the switch (the trunk) and several at NICs. So one assembly is counted for each switch port at a trunk: a leaf's port, for
  cables to NICs and for cables to spines. Unconnected legs do not change the count.
- A link between two optics has one fibre cable, of the optic's medium and the link's length. If all links of a module leave
  through one connector, the ports of the module share one trunk cable, which leads to one other module or to a shuffle panel.
  If the links lead to several modules that have no links to any other module, the cable is a breakout cable.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from railweave.model.catalog import catalog, in_force
from railweave.model.intent.base import Line, Model
from railweave.model.intent.reading.document import read_document, validate
from railweave.outputs.rendering.panels import Crossing, Modules, Panel, panels
from railweave.outputs.report.figures import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from railweave.model.network.devices import Cable, End
    from railweave.model.network.model import Network


KINDS = ("switch", "server", "NIC", "pluggable", "cable assembly", "shuffle panel", "fibre cable")


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the bill of materials.

    ``kind`` is one of ``KINDS``, such as ``pluggable``. ``name`` is the item's name in the catalog, and ``used_at`` states the place of
    use, such as ``leaf uplink``.
    """

    kind: str
    name: str
    count: int
    description: str
    used_at: str
    watts: float | None = None
    """The largest power draw of one item in watts, or None if it is unknown. The power of a server includes its built-in parts."""


def bill(network: Network) -> list[Item]:
    """Return the bill of materials of a network, sorted by kind and then by name."""
    with in_force(network.catalog):
        modules = Modules(network)
        links = modules.crossings()
        shuffled = panels(links)
        items = [*_devices(network), *_optics(network, modules), *_panels(shuffled), *_fibre(network, modules)]
        items += _trunks(links, shuffled)
        return sorted(items, key=lambda item: KINDS.index(item.kind))


@dataclass(frozen=True, slots=True)
class Power:
    """The largest power draw of a network.

    - ``watts``: the power draw in watts by kind: switches, servers and pluggables. NICs are part of their servers' power.
    - ``unknown``: the names of items whose power is in no public document.
    """

    watts: dict[str, float]
    unknown: tuple[str, ...]


def power(items: Sequence[Item]) -> Power:
    """Return the power draw in watts of ``items``, the lines of a bill of materials.

    Pluggables in NICs are counted too, because data sheets of servers do not include them.
    """
    watts: dict[str, float] = {}
    unknown: list[str] = []
    for item in items:
        if item.kind not in {"switch", "server", "pluggable"}:
            continue
        if item.watts is None:
            unknown.append(item.name)
        else:
            watts[item.kind] = watts.get(item.kind, 0) + item.count * item.watts
    return Power(watts, tuple(unknown))


def _devices(network: Network) -> list[Item]:
    known = catalog()
    switches = Counter(switch.model for switch in network.switches)
    items: list[Item] = []
    for model, count in sorted(switches.items()):
        entry = known.switches.get(model)
        used = " and ".join(dict.fromkeys(plural(switch.role) for switch in network.switches if switch.model == model))
        items.append(
            Item(
                "switch",
                model,
                count,
                f"{entry.vendor} {entry.description}, {entry.asic}" if entry else "",
                used,
                entry.power_w if entry else None,
            )
        )
    for model, count in sorted(Counter(server.model for server in network.servers).items()):
        entry = known.servers.get(model)
        watts = entry.power_w if entry else None
        items.append(Item("server", model, count, entry.description if entry else "", "by others", watts))
    kinds = {fabric.name: fabric.nics for fabric in network.fabrics}
    nics: Counter[str] = Counter()
    for server in network.servers:
        if model := known.servers.get(server.model):
            cards = {model.card(kinds[nic.fabric], nic.rail): kinds[nic.fabric] for nic in server.nics}
            nics.update(model.nics[kind].nic for kind in cards.values())
    for name, count in sorted(nics.items()):
        entry = known.nics.get(name)
        items.append(Item("NIC", name, count, f"{entry.vendor} {entry.description}" if entry else "", "in the servers"))
    return items


def _optics(network: Network, shared: Modules) -> list[Item]:
    modules: defaultdict[str, Counter[tuple[str, int | str]]] = defaultdict(Counter)
    places: dict[str, set[str]] = {}
    leaves = {switch.name for switch in network.switches if switch.role == "leaf"}
    for cable in network.cables:
        for end, place in _counted_ends(network, cable, leaves):
            modules[end.optic][shared.of(end)] += 1
            places.setdefault(end.optic, set()).add(place)
    items = [
        Item(
            "cable assembly" if _is_assembly(name) else "pluggable",
            name,
            len(by_module),
            _describe(name) + ("" if _is_assembly(name) else _half_used(name, list(by_module.values()))),
            _places(places[name]),
            optic.power_w if (optic := catalog().optics.get(name)) else None,
        )
        for name, by_module in modules.items()
    ]
    return sorted(items, key=lambda item: (KINDS.index(item.kind), item.name))


def _counted_ends(network: Network, cable: Cable, leaves: set[str]) -> list[tuple[End, str]]:
    """Return the ends of a cable whose optics are counted, as (end, use), with a use such as ``leaf uplink`` or ``NIC``.

    An optical link has two such ends. A cable assembly has one, at its trunk, because it includes both ends. ``leaves`` has the names of
    the leaves.
    """
    if cable.kind == "server":
        trunk, other, names = cable.b, cable.a, ("leaf server port", "NIC")
    elif network.between_sites(cable):
        trunk, other, names = cable.a, cable.b, ("port to another site", "port to another site")
    elif cable.a.device in leaves:
        trunk, other, names = cable.a, cable.b, ("leaf uplink", "spine")
    else:
        above = "super-spine" if network.switch(cable.b.device).role == "super-spine" else "router between sites"
        trunk, other, names = cable.a, cable.b, ("spine uplink", above)
    if _is_assembly(trunk.optic) and trunk.optic == other.optic:
        return [(trunk, names[0])]
    return [(trunk, names[0]), (other, names[1])]


def _is_assembly(name: str) -> bool:
    optic = catalog().optics.get(name)
    return optic is not None and optic.kind != "optic"


def _describe(name: str) -> str:
    optic = catalog().optics.get(name)
    if optic is None:
        return "not in the catalog: name one with `optic:`"
    part = f"; such as {optic.part}" if optic.part else ""
    return f"{optic.description}; {optic.media}, {optic.reach_m:g} m{part}"


def _half_used(name: str, cables: Sequence[int]) -> str:
    """Return a note about modules that carry fewer links than they can, or an empty text if every module is full.

    ``name`` is the name of the optic in the catalog. ``cables`` has one number per module with this optic: the cables that it carries.
    """
    optic = catalog().optics.get(name)
    if optic is None or optic.channels == 1:
        return ""
    fewer = sum(count < optic.channels for count in cables)
    return (
        f"; {fewer:,} of {len(cables):,} carry fewer than {optic.channels} links, as ports are filled (fill: spread, or one left over)"
        if fewer
        else ""
    )


def _places(places: set[str]) -> str:
    order = (
        "leaf server port",
        "leaf uplink",
        "spine",
        "spine uplink",
        "super-spine",
        "router between sites",
        "port to another site",
        "NIC",
    )
    plurals = {"router between sites": "routers between sites", "port to another site": "ports to another site"}
    return ", ".join(plurals.get(place, place + "s") for place in order if place in places)


def _panels(shuffled: Iterable[Panel]) -> list[Item]:
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    for panel in shuffled:
        if not panel.is_breakout:
            sizes[panel.size].append(len(panel.links))
    return [
        Item(
            "shuffle panel",
            size,
            len(links),
            f"connectors of trunk cables on its two sides; up to {max(links)} links cross each (panels.csv)",
            "between pluggables",
        )
        for size, links in sorted(sizes.items())
    ]


def _trunks(links: Iterable[Crossing], shuffled: Iterable[Panel]) -> list[Item]:
    """Return the fibre cables of modules whose links all leave through one connector, as lines of the bill of materials.

    Such a cable leads to a shuffle panel (in ``shuffled``), to several modules (breakout), or to one other module (trunk). ``links`` are
    the links of these modules.
    """
    behind = {module: panel for panel in shuffled for module in (*panel.near, *panel.far)}
    cables: dict[object, tuple[str, str, str]] = {}
    for link in links:
        media, length = catalog().optics[link.cable.a.optic].media, f"{link.cable.length_m:g} m"
        panel = behind.get(link.near)
        if panel is None:
            cables[link.near, link.far] = f"{media} trunk, {length}", "one per two modules", "between two pluggables"
        elif panel.is_breakout:
            longest = max(each.cable.length_m for each in panel.links)
            name = f"{media} breakout, 1 to {max(len(panel.near), len(panel.far))}, {longest:g} m"
            words = "one per module that is split; the length is that of the longest leg"
            cables[panel.name] = name, words, "between pluggables"
        else:
            name = f"{media} trunk, up to {length} with the trunk behind the panel"
            cables[link.near] = cables[link.far] = name, "one per module, to a shuffle panel", "behind pluggables"
    counts = Counter(cables.values())
    return [Item("fibre cable", name, count, words, place) for (name, words, place), count in sorted(counts.items())]


def _fibre(network: Network, modules: Modules) -> list[Item]:
    alike = Counter(
        (cable.a.optic, cable.b.optic, cable.length_m) for cable in network.cables if not modules.joins(cable)
    )
    kinds: Counter[tuple[str, float, str]] = Counter()
    for (near, far, length), count in alike.items():
        optic = catalog().optics.get(near)
        if not _is_assembly(near):
            kinds[optic.media if optic else "medium not known", length, _connectors(near, far)] += count
    return [
        Item("fibre cable", f"{media}, {length:g} m", count, f"one per link{ends}", "between two pluggables")
        for (media, length, ends), count in sorted(kinds.items())
    ]


def _connectors(near_name: str, other: str) -> str:
    """Return the connectors, used fibres, grade and polarity of the fibre cable between two optics.

    ``near_name`` and ``other`` are the names of the optics. The text is the end of a description and begins with a comma or a semicolon. If
    the catalog lacks some of the facts, the text refers to the data sheets of the optics.
    """
    near, far = (catalog().optics.get(name) for name in (near_name, other))
    unknown = "; grade and polarity: see the data sheets of the optics"
    if near is None or far is None or not near.connector or not far.connector:
        return unknown
    ends = near.connector if near.connector == far.connector else f"{near.connector} to {far.connector}"
    used = f", {near.fibres} fibres used" if near.fibres == far.fibres else ""
    return f", {ends}{used}" + (f"; {near.fibre}" if near.fibre and near.fibre == far.fibre else unknown)


class Prices(Model):
    """Prices in one currency, by the item's name in the bill of materials."""

    currency: Line = Field(description="as it is printed: EUR")
    prices: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict[str, float], description="price of one, by its name in the bill of materials"
    )
    fibre_per_metre: float | None = Field(
        default=None, ge=0, description="price of a metre of fibre, where a cable has no price of its own"
    )

    def each(self, item: Item) -> float | None:
        """Return the price of one item. For fibre without its own price, use the price per metre. Return None if the file has neither price."""
        if item.name in self.prices:
            return self.prices[item.name]
        length = re.search(r", ([0-9.]+) m$", item.name) if item.kind == "fibre cable" else None
        if length is not None and self.fibre_per_metre is not None:
            return float(length[1]) * self.fibre_per_metre
        return None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a bill of materials: the ``total`` of the items with a price, and the names of the items without one."""

    currency: str
    total: float
    unpriced: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{self.total:,.0f} {self.currency}"
        if self.unpriced:
            text += f", without {', '.join(self.unpriced)}: no price is given"
        return text


def read_prices(path: Path) -> Prices:
    """Return the prices in a file. Raises ``SpecError`` with file and line of every mistake."""
    return validate(Prices, read_document(path, start='docs/hardware.md, "Power and prices", shows a prices file'))


def cost(items: Iterable[Item], prices: Prices) -> Cost:
    """Return the cost of a bill of materials: the total of the items with a price, and the names of the items without one."""
    total, unpriced = 0.0, list[str]()
    for item in items:
        each = prices.each(item)
        if each is None:
            unpriced.append(item.name)
        else:
            total += each * item.count
    return Cost(prices.currency, total, tuple(unpriced))
