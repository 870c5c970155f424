"""The drawing of a fabric device by device and cable by cable.

Columns are rails: a leaf is drawn above the rails that it serves. Every server is a bar across its stripe, with each NIC under
its leaf. So a server cable runs straight down its rail, behind the bars of the servers above.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.figures import Stripe, gpus, rail_label, span
from railweave.outputs.report.topology.frame import (
    BAR_GAP,
    BAR_HEIGHT,
    LEAF_HEIGHT,
    PAD,
    ROOM,
    SPINE_HEIGHT,
    STRIPE_GAP,
    letters,
    measure,
    nics_of,
    two_lines,
)
from railweave.pages.shell import element, number, text, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.devices import Cable, Fabric, Server, Switch
    from railweave.model.network.model import Network
    from railweave.outputs.report.topology.frame import Frame
    from railweave.pages.palette import Stroke

    Row = tuple[Server, ...]  # the servers that share a row: a single server, or several identical ones

BESIDE = 3
"""The number of servers in a sequence of identical servers that keep their own row: two at the start and one at the end."""


def rows_of(servers: Sequence[Server], fabric: Fabric, most: int | None) -> list[Row]:
    """Return the servers of a stripe, grouped into the rows of the drawing. A row has the servers that share it.

    If there are more than ``most`` servers, identical neighbors share a row. If ``most`` is None, every server has its own row.
    """
    if most is None or len(servers) <= most:
        return [(server,) for server in servers]
    rows: list[Row] = []
    for _, run in groupby(servers, key=lambda candidate: _alike(candidate, fabric)):
        several = list(run)
        if len(several) <= BESIDE + 1:
            rows += [(server,) for server in several]
        else:
            rows += [(several[0],), (several[1],), tuple(several[2:-1]), (several[-1],)]
    return rows


def _alike(server: Server, fabric: Fabric) -> tuple[object, ...]:
    nics = nics_of(server, fabric)
    return (server.model, *((nic.name, nic.leaf, nic.rail, nic.tenant) for nic in nics))


def shared_cables(
    network: Network, fabric: Fabric, frame: Frame, left: float, place: tuple[int, int], row: Row, links: dict[str, int]
) -> str:
    """Return the markup of the cables in a row that several servers (``row``) share: one cable for each NIC.

    ``left`` is the left edge of the stripe, and ``place`` is (index of the row, number of rows). ``links`` has the index of every cable by
    name. Each drawn cable lists the indexes of the cables that it represents. ``frame`` has the dimensions of the drawing.
    """
    at, rows = place
    cables: list[str] = []
    of_nic: dict[str, list[int]] = {}
    for server in row:
        for cable in network.cables_of(server.name):
            if cable.fabric == fabric.name:
                of_nic.setdefault(cable.a.port, []).append(links[cable.name])
    for nic in nics_of(row[0], fabric):
        x = number(frame.cable_x(left, nic.rail, at, rows))
        path = f"M{x} {number(frame.leaf_top + LEAF_HEIGHT - 2)}V{number(_top(frame, at))}"
        title = f"{len(row)} cables from {nic.leaf} to {nic.name} of {_names(row)}"
        cables.append(
            element(
                "g",
                element("title", text(title)),
                element("path", d=path, class_="plain line"),
                class_="cable shared",
                data_a=_names(row),
                data_b=nic.leaf,
                data_links=" ".join(map(str, of_nic.get(nic.name, ()))),
            )
        )
    return "".join(cables)


def shared_bar(fabric: Fabric, frame: Frame, left: float, place: tuple[int, int], row: Row) -> str:
    """Return the markup of a bar for several identical servers (``row``), with their number and the number of cables from each leaf.

    ``left`` is the left edge of the stripe, and ``place`` is (index of the row, number of rows). ``frame`` has the dimensions of the
    drawing.
    """
    top = _top(frame, place[0])
    middles = [frame.rail_x(left, nic.rail) + frame.column / 2 for nic in nics_of(row[0], fabric)]
    return element(
        "g",
        element("title", text(f"{len(row)} servers like the one above: {_names(row)}")),
        element(
            "rect",
            x=left + PAD - 6,
            y=top,
            width=frame.stripe_width - 2 * PAD + 10,
            height=BAR_HEIGHT,
            rx=7.0,
            class_="box",
            stroke_dasharray="4 3",
        ),
        element("text", text(f"{len(row)} more"), x=left + PAD + 4, y=top + 19, class_="name"),
        *(element("text", text(f"x {len(row)}"), x=x, y=top + 18.5, class_="muted small middle") for x in middles),
        class_="device servers",
        data_row=_names(row),
        data_servers=" ".join(server.name for server in row),
    )


def _top(frame: Frame, place: int) -> float:
    return frame.bars_top + place * (BAR_HEIGHT + BAR_GAP)


def _names(row: Row) -> str:
    return span([server.name for server in row])


def spine_box(spine: Switch, left: float, wide: float) -> str:
    """Return the markup of a spine, a box at the top of the drawing. ``left`` is its left edge, and ``wide`` its width."""
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


def leaf_box(leaf: Switch, left: float, wide: float, top: float) -> str:
    """Return the markup of a leaf, a box above the rails that it serves.

    ``left`` and ``top`` are its left and upper edge, and ``wide`` is its width.
    """
    middle = left + wide / 2
    first, last = two_lines(leaf.name)
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


def server_bar(fabric: Fabric, frame: Frame, left: float, place: tuple[int, int], server: Server) -> str:
    """Return the markup of a server, a bar across its stripe.

    ``left`` is the left edge of the stripe, and ``place`` is (index of the row, number of rows). ``frame`` has the dimensions of the
    drawing.
    """
    row, rows = place
    top = frame.bars_top + row * (BAR_HEIGHT + BAR_GAP)
    nics: list[str] = []
    marked = letters(fabric)
    for nic in nics_of(server, fabric):
        letter, edge = marked.get(nic.tenant, ("", ""))
        x = frame.rail_x(left, nic.rail)
        lines = [
            f"{server.name} {nic.name} ({nic.rdma}), {rail_label((nic.rail,))}",
            f"{nic.leaf} {nic.leaf_port}" + (f", VLAN {nic.vlan}" if nic.vlan else ""),
        ]
        lines += [f"tenant {nic.tenant}"] if letter else []
        lines += [
            f"{fabric.color_name(address.color)}: {address.address}/{address.prefix_length}"
            for address in nic.addresses
        ]
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


def detail(
    network: Network,
    fabric: Fabric,
    stripes: list[Stripe],
    strokes: dict[int, Stroke],
    most_rows: int | None = None,
) -> tuple[str, float, float]:
    """Return (markup, width, height) of a drawing with every device and cable of a fabric. Sizes are in SVG user units.

    ``strokes`` has the drawing style of each path color (class of uplinks), by index. In a stripe with more than ``most_rows`` servers,
    identical servers share a row.
    """
    drawn = {stripe.name: rows_of(stripe.servers, fabric, most_rows) for stripe in stripes}
    spines = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == "spine"]
    rows = max(map(len, drawn.values()), default=0)
    frame = measure(fabric, stripes, bool(spines), rows)
    spine_room = max((width(spine.name, 14) + 40 for spine in spines), default=0)
    total = max(len(stripes) * (frame.stripe_width + STRIPE_GAP) - STRIPE_GAP, len(spines) * (spine_room + 18))
    across = network.long_links(fabric.name)
    if spines or across:
        zone = min(330.0, 120 + total * 0.085)
        frame.leaf_top += zone
        frame.bars_top += zone
    used = len(stripes) * (frame.stripe_width + STRIPE_GAP) - STRIPE_GAP
    lefts = [(total - used) / 2 + place * (frame.stripe_width + STRIPE_GAP) for place in range(len(stripes))]
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
        stripe_rows = drawn[stripe.name]
        parts += _server_cables(network, fabric, frame, left, stripe_rows, links)
        parts += [leaf_box(leaf, *places[leaf.name], frame.leaf_top) for leaf in stripe.leaves]
        for place, row in enumerate(stripe_rows):
            at = (place, len(stripe_rows))
            bar = (
                server_bar(fabric, frame, left, at, row[0])
                if len(row) == 1
                else shared_bar(fabric, frame, left, at, row)
            )
            parts.append(bar)
    parts += [spine_box(spine, *places[spine.name]) for spine in spines]
    return "".join(parts), total, bottom


def _ground(frame: Frame, left: float, stripe: Stripe, bottom: float) -> str:
    """Return the SVG markup of a stripe's background: a box, the stripe's name with its numbers of servers and GPUs, and shaded columns.

    Every second rail has a shaded column. ``left`` is the left edge of the stripe, ``bottom`` its lower edge, and ``frame`` has the
    dimensions of the drawing.
    """
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
    """Return the x position of each cable at its ``near`` end (``a`` or ``b``), by cable name.

    The cables of a device are evenly spaced, in the order of the devices at their other ends. ``places`` has (left edge, width) of
    each device.
    """
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
    """Return the markup of the cables between leaves of two sites: nested arches with a label.

    ``places`` has (left edge, width) of each device, ``links`` the index of each cable by name, and ``leaf_top`` is the upper edge of the
    leaves.
    """
    if not cables:
        return []
    at_a, at_b = _spread(cables, "a", places), _spread(cables, "b", places)
    pairs: dict[tuple[str, str], list[Cable]] = {}
    for cable in cables:
        pairs.setdefault((cable.a.device, cable.b.device), []).append(cable)
    drawn: list[str] = []
    for alike in pairs.values():
        ends = sorted((at_b[cable.name] for cable in alike), reverse=True)  # the outermost arch reaches farthest
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
    network: Network, fabric: Fabric, frame: Frame, left: float, rows: list[Row], links: dict[str, int]
) -> list[str]:
    """Return the markup of a stripe's server cables, each straight down its rail. Longer cables are to the right of shorter ones.

    ``left`` is the left edge of the stripe, and ``links`` has the index of each cable by name. Servers that share a row also share a cable
    for each NIC. ``frame`` has the dimensions of the drawing.
    """
    top = frame.leaf_top + LEAF_HEIGHT - 2
    drawn: list[str] = []
    for row, (server, *others) in enumerate(rows):
        if others:
            drawn.append(shared_cables(network, fabric, frame, left, (row, len(rows)), rows[row], links))
            continue
        cables = {cable.a.port: cable for cable in network.cables_of(server.name) if cable.fabric == fabric.name}
        for nic in nics_of(server, fabric):
            x = number(frame.cable_x(left, nic.rail, row, len(rows)))
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
    """Return the markup of a cable: a visible line, a wide invisible line for the pointer, and a tooltip.

    - ``place``: the cable's index. ``path``: the SVG path.
    - ``line``, ``kind``: the CSS classes of the visible line, and of the whole element.
    - ``color``: the attribute ``data-color`` of the path color (class of uplinks); None without one.
    """
    optics = cable.a.optic if cable.a.optic == cable.b.optic else f"{cable.a.optic} / {cable.b.optic}"
    facts = [f"{cable.speed_gbps}G", f"{cable.length_m:g} m {'measured' if cable.measured else 'planned'}"]
    if cable.color is not None:
        chosen = next(color for color in fabric.colors if color.index == cable.color)
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
