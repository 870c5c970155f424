"""A fabric drawn device by device and cable by cable.

Columns are rails: a leaf stands over the rails it serves, and every server is a bar across its stripe with each NIC
under its leaf. A server cable so runs straight down its rail, behind the servers above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.report.figures import gpus, rail_label
from railweave.report.markup import element, number, text, width
from railweave.report.topology.tenants import ROOM, letters

if TYPE_CHECKING:
    from railweave.network.devices import Cable, Nic, Server, Switch
    from railweave.network.fabric import Fabric
    from railweave.network.model import Network
    from railweave.report.figures import Stripe
    from railweave.report.topology.palette import Stroke

SPINE_HEIGHT = 44.0
LEAF_HEIGHT = 56.0
BAR_HEIGHT = 30.0
BAR_GAP = 11.0
PAD = 14.0
STRIPE_GAP = 26.0


@dataclass
class _Frame:
    """Measures of a drawing: rails per stripe, width of a rail's column and of the names beside them, and heights."""

    rails: int
    column: float
    gutter: float
    leaf_top: float
    bars_top: float

    @property
    def stripe_width(self) -> float:
        return 2 * PAD + self.gutter + self.rails * self.column

    def rail_x(self, left: float, rail: int) -> float:
        """Left edge of a rail's column in a stripe that begins at ``left``."""
        return left + PAD + self.gutter + (rail - 1) * self.column

    def cable_x(self, left: float, rail: int, row: int, rows: int) -> float:
        """Where the server cable of a row runs down its rail."""
        step = min(7.0, (self.column - 20) / max(1, rows))
        return self.rail_x(left, rail) + self.column / 2 + (row - (rows - 1) / 2) * step


def detail(
    network: Network, fabric: Fabric, stripes: list[Stripe], strokes: dict[int, Stroke]
) -> tuple[str, float, float]:
    """Markup, width and height of a fabric, every device and cable drawn."""
    spines = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == "spine"]
    frame = _measure(fabric, stripes, bool(spines))
    spine_room = max((width(spine.name, 14) + 40 for spine in spines), default=0)
    total = max(len(stripes) * (frame.stripe_width + STRIPE_GAP) - STRIPE_GAP, len(spines) * (spine_room + 18))
    across = network.long_links(fabric.name)
    if spines or across:
        zone = min(330.0, 120 + total * 0.085)
        frame.leaf_top += zone
        frame.bars_top += zone
    used = len(stripes) * (frame.stripe_width + STRIPE_GAP) - STRIPE_GAP
    lefts = [(total - used) / 2 + place * (frame.stripe_width + STRIPE_GAP) for place in range(len(stripes))]
    rows = max((len(stripe.servers) for stripe in stripes), default=0)
    bottom = frame.bars_top + rows * (BAR_HEIGHT + BAR_GAP) + PAD - (BAR_GAP if rows else 0)
    places = {
        leaf.name: (frame.rail_x(left, leaf.rails[0]) + 4, len(leaf.rails) * frame.column - 8)
        for left, stripe in zip(lefts, stripes, strict=True)
        for leaf in stripe.leaves
    }
    pitch = total / len(spines) if spines else 0.0
    spine_width = min(max(210.0, pitch / 2), pitch - 18)
    for place, spine in enumerate(spines):
        places[spine.name] = ((place + 0.5) * pitch - spine_width / 2, spine_width)
    links = {cable.name: place for place, cable in enumerate(network.cables)}
    parts = [_ground(frame, left, stripe, bottom) for left, stripe in zip(lefts, stripes, strict=True)]
    parts.append(_uplinks(fabric, [c for s in stripes for c in s.uplinks], places, frame.leaf_top, strokes, links))
    parts += _between_sites(fabric, across, places, frame.leaf_top, links)
    for left, stripe in zip(lefts, stripes, strict=True):
        parts += _server_cables(network, fabric, frame, left, stripe, links)
        parts += [_leaf(leaf, *places[leaf.name], frame.leaf_top) for leaf in stripe.leaves]
        parts += [
            _server(fabric, frame, left, (row, len(stripe.servers)), server)
            for row, server in enumerate(stripe.servers)
        ]
    parts += [_spine(spine, *places[spine.name]) for spine in spines]
    return "".join(parts), total, bottom


def _measure(fabric: Fabric, stripes: list[Stripe], spines: bool) -> _Frame:
    rails = max((rail for stripe in stripes for leaf in stripe.leaves for rail in leaf.rails), default=1)
    columns = [58.0]
    for stripe in stripes:
        columns += [2.2 * len(stripe.servers) + 20]
        columns += [
            max(width(part, size) for part, size in zip(_two_lines(leaf.name), (10, 12.5), strict=True))
            / len(leaf.rails)
            + 18
            for leaf in stripe.leaves
        ]
        columns += [
            width(nic.name, 9.5) + 16 + (ROOM if fabric.tenants else 0)
            for server in stripe.servers
            for nic in _nics(server, fabric)
        ]
    labels = [width(server.name, 12.5) for stripe in stripes for server in stripe.servers]
    labels += [width(stripe.name, 13) for stripe in stripes] + [62.0]
    top = (SPINE_HEIGHT if spines else 0.0) + PAD
    return _Frame(rails, max(columns), max(labels) + 16, top, top + LEAF_HEIGHT + 30)


def _nics(server: Server, fabric: Fabric) -> list[Nic]:
    return [nic for nic in server.nics if nic.fabric == fabric.name]


def _two_lines(name: str) -> tuple[str, str]:
    """A name cut after its last separator, so that it stands in two lines: ``stripe1-`` and ``leaf1``."""
    cut = max(name.rfind(mark) for mark in "-_.") + 1
    return name[:cut], name[cut:]


def _ground(frame: _Frame, left: float, stripe: Stripe, bottom: float) -> str:
    """The stripe's box, its label, and every other rail shaded."""
    top = frame.leaf_top - PAD
    x, y = left + PAD, frame.leaf_top + 18
    shade_top = frame.leaf_top + LEAF_HEIGHT - 8
    bands = [
        element(
            "rect",
            x=frame.rail_x(left, rail),
            y=shade_top,
            width=frame.column,
            height=bottom - shade_top - 6,
            rx=5.0,
            class_="band",
        )
        for rail in range(1, frame.rails + 1, 2)
    ]
    return element(
        "g",
        element("rect", x=left, y=top, width=frame.stripe_width, height=bottom - top, rx=12.0, class_="stripe-box"),
        *bands,
        element("text", text(stripe.name), x=x, y=y, class_="name", font_size=13),
        element("text", text(counted(len(stripe.servers), "server")), x=x, y=y + 16, class_="muted small"),
        element("text", text(counted(gpus(stripe.servers), "GPU")), x=x, y=y + 30, class_="muted small"),
    )


def _spread(cables: list[Cable], near: str, places: dict[str, tuple[float, float]]) -> dict[str, float]:
    """Where each cable meets its ``near`` end (``a`` or ``b``): evenly along the box, in the order of the far ends."""
    by_device: dict[str, list[tuple[float, int, str]]] = {}
    for order, cable in enumerate(cables):
        here, there = (cable.a, cable.b) if near == "a" else (cable.b, cable.a)
        by_device.setdefault(here.device, []).append((places[there.device][0], order, cable.name))
    result: dict[str, float] = {}
    for device, ends in by_device.items():
        left, wide = places[device]
        for place, (_, _, name) in enumerate(sorted(ends)):
            result[name] = left + 8 + (place + 0.5) * (wide - 16) / len(ends)
    return result


def _uplinks(
    fabric: Fabric,
    cables: list[Cable],
    places: dict[str, tuple[float, float]],
    leaf_top: float,
    strokes: dict[int, Stroke],
    links: dict[str, int],
) -> str:
    at_leaf, at_spine = _spread(cables, "a", places), _spread(cables, "b", places)
    top, bend = SPINE_HEIGHT - 2, (leaf_top - SPINE_HEIGHT) * 0.42
    numbers = {color.index: color.number for color in fabric.colors}
    drawn: list[str] = []
    for cable in cables:
        x1, x2 = number(at_leaf[cable.name]), number(at_spine[cable.name])
        path = (
            f"M{x1} {number(leaf_top + 2)}C{x1} {number(leaf_top - bend)} {x2} {number(top + bend)} {x2} {number(top)}"
        )
        stroke = strokes[cable.color].css_class if cable.color is not None else "plain"
        color = None if cable.color is None else f"{fabric.name}/{numbers[cable.color]}"
        drawn.append(_cable(cable, fabric, links[cable.name], path, f"{stroke} line", "cable fabric-cable", color))
    return "".join(drawn)


def _between_sites(
    fabric: Fabric,
    cables: list[Cable],
    places: dict[str, tuple[float, float]],
    leaf_top: float,
    links: dict[str, int],
) -> list[str]:
    """Every cable between leaves of two sites, as arches inside each other, and what they are."""
    if not cables:
        return []
    at_a, at_b = _spread(cables, "a", places), _spread(cables, "b", places)
    pairs: dict[tuple[str, str], list[Cable]] = {}
    for cable in cables:
        pairs.setdefault((cable.a.device, cable.b.device), []).append(cable)
    drawn: list[str] = []
    for alike in pairs.values():
        ends = sorted((at_b[cable.name] for cable in alike), reverse=True)  # the outermost arch ends farthest away
        for place, (cable, end) in enumerate(zip(alike, ends, strict=True)):
            x1, x2, y = number(at_a[cable.name]), number(end), number(max(4.0, leaf_top * (0.08 + 0.13 * place)))
            top = number(leaf_top + 2)
            path = f"M{x1} {top}C{x1} {y} {x2} {y} {x2} {top}"
            drawn.append(_cable(cable, fabric, links[cable.name], path, "plain line", "cable fabric-cable", None))
        first = alike[0]
        middle = sum(places[end.device][0] + places[end.device][1] / 2 for end in (first.a, first.b)) / 2
        words = f"{len(alike)} × {first.speed_gbps}G, {first.length_m / 1000:g} km"
        drawn.append(element("text", text(words), x=middle, y=leaf_top - 34, class_="small muted middle"))
    return drawn


def _server_cables(
    network: Network, fabric: Fabric, frame: _Frame, left: float, stripe: Stripe, links: dict[str, int]
) -> list[str]:
    """Every server cable of a stripe, straight down its rail; longer ones to the right of shorter ones."""
    top = frame.leaf_top + LEAF_HEIGHT - 2
    drawn: list[str] = []
    for row, server in enumerate(stripe.servers):
        cables = {cable.a.port: cable for cable in network.cables_of(server.name) if cable.fabric == fabric.name}
        for nic in _nics(server, fabric):
            x = number(frame.cable_x(left, nic.rail, row, len(stripe.servers)))
            path = f"M{x} {number(top)}V{number(frame.bars_top + row * (BAR_HEIGHT + BAR_GAP) + 7)}"
            drawn.append(
                _cable(
                    cables[nic.name],
                    fabric,
                    links[cables[nic.name].name],
                    path,
                    "plain line",
                    "cable server-cable",
                    None,
                )
            )
    return drawn


def _cable(cable: Cable, fabric: Fabric, place: int, path: str, line: str, kind: str, color: str | None) -> str:
    """A cable: its visible line, a wide invisible one to point at, and what it is."""
    optics = cable.a.optic if cable.a.optic == cable.b.optic else f"{cable.a.optic} / {cable.b.optic}"
    facts = [f"{cable.speed_gbps}G", f"{cable.length_m:g} m {'measured' if cable.measured else 'planned'}"]
    if cable.color is not None:
        chosen = next(one for one in fabric.colors if one.index == cable.color)
        facts.insert(1, f"path color {chosen.name} (color:0:{chosen.number})")
    return element(
        "g",
        element("title", text(f"{cable.name}\n{', '.join(facts)}\n{optics}")),
        element("path", d=path, class_=line),
        element("path", d=path, class_="hit"),
        class_=kind,
        data_a=cable.a.device,
        data_b=cable.b.device,
        data_link=place,
        data_color=color,
    )


def _spine(spine: Switch, left: float, wide: float) -> str:
    middle = left + wide / 2
    return element(
        "g",
        element("title", text(_about(spine))),
        element("rect", x=left, y=0.0, width=wide, height=SPINE_HEIGHT, rx=8.0, class_="box"),
        element("text", text(spine.name), x=middle, y=19.0, class_="name middle", font_size=14),
        element("text", text(f"AS {spine.asn}"), x=middle, y=34.0, class_="muted small middle"),
        class_="device spine",
        data_device=spine.name,
    )


def _leaf(leaf: Switch, left: float, wide: float, top: float) -> str:
    middle = left + wide / 2
    first, last = _two_lines(leaf.name)
    return element(
        "g",
        element("title", text(_about(leaf))),
        element("rect", x=left, y=top, width=wide, height=LEAF_HEIGHT, rx=7.0, class_="box"),
        element(
            "text",
            element("tspan", text(first), class_="muted small", x=middle, y=top + 16) if first else "",
            element("tspan", text(last), class_="name", x=middle, y=top + 31, font_size=12.5),
            class_="middle",
        ),
        element("text", text(rail_label(leaf.rails)), x=middle, y=top + 47, class_="muted small middle"),
        class_="device leaf",
        data_device=leaf.name,
    )


def _about(switch: Switch) -> str:
    lines = [
        switch.name,
        f"{switch.model}, {switch.nos} {switch.release}",
        f"AS {switch.asn}, router id {switch.router_id}",
    ]
    if switch.rails:
        lines.insert(1, f"{switch.stripe}, {rail_label(switch.rails)}")
    return "\n".join(lines)


def _server(fabric: Fabric, frame: _Frame, left: float, place: tuple[int, int], server: Server) -> str:
    row, rows = place
    top = frame.bars_top + row * (BAR_HEIGHT + BAR_GAP)
    nics: list[str] = []
    marked = letters(fabric)
    for nic in _nics(server, fabric):
        letter, edge = marked.get(nic.tenant, ("", ""))
        x = frame.rail_x(left, nic.rail)
        lines = [
            f"{server.name} {nic.name} ({nic.rdma}), {rail_label((nic.rail,))}",
            f"{nic.leaf} {nic.leaf_port}" + (f", VLAN {nic.vlan}" if nic.vlan else ""),
        ]
        lines += [f"tenant {nic.tenant}"] if letter else []
        lines += [f"{fabric.color_name(one.color)}: {one.address}/{one.prefix_length}" for one in nic.addresses]
        nics.append(
            element(
                "g",
                element("title", text("\n".join(lines))),
                element(
                    "rect",
                    x=x + 5,
                    y=top + 6,
                    width=frame.column - 10,
                    height=BAR_HEIGHT - 12,
                    rx=4.0,
                    class_=f"nic {edge}".rstrip(),
                ),
                element(
                    "text",
                    text(nic.name),
                    x=x + (frame.column - (ROOM if letter else 0)) / 2,
                    y=top + 18.5,
                    class_="nic-name middle",
                ),
                element("text", text(letter), x=x + frame.column - 14, y=top + 18.5, class_="name small middle")
                if letter
                else "",
                element("circle", cx=frame.cable_x(left, nic.rail, row, rows), cy=top, r=2.4, class_="port"),
            )
        )
    return element(
        "g",
        element("title", text(f"{server.name}\n{server.model}")),
        element(
            "rect",
            x=left + PAD - 6,
            y=top,
            width=frame.stripe_width - 2 * PAD + 10,
            height=BAR_HEIGHT,
            rx=7.0,
            class_="box",
        ),
        element("text", text(server.name), x=left + PAD + 4, y=top + 19, class_="name"),
        *nics,
        class_="device server",
        data_device=server.name,
    )
