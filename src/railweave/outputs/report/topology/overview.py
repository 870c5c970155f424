"""A large fabric drawn as blocks: all spines as one, each stripe as one, and between them one bundle per stripe.

A block names its stripes in ``data-stripes``, so that the page can open it (``stripe.js``).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.figures import Stripe, gpus, plural, span
from railweave.pages.markup import element, number, text, width

if TYPE_CHECKING:
    from railweave.model.network.devices import Switch
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network
    from railweave.pages.palette import Stroke

MAXIMUM_BLOCKS = 30
"""Most stripes with a block of their own; what is beyond shares the last block."""

COLUMNS = 6
"""Most blocks in a row."""

MAXIMUM_WIDTH = 1600.0
"""Widest drawing, where fewer columns make it narrower: a page of 1,400 px shows it whole at four fifths of its size."""

BUNDLE_STRANDS = 8
"""Most path colors that a bundle shows as strands; more would blur, and it is drawn as one."""

STRAND = 3.2
SPINE_HEIGHT = 74.0
FIRST_GAP = 92.0
ROW_GAP = 62.0
BLOCK_HEIGHT = 126.0
LOWER: frozenset[str] = frozenset(("leaf", "spine"))
"""Roles of the tiers that every fabric with spines has."""

MARKS = 64
"""Most switches drawn as little squares in a block."""


def overview(
    network: Network, fabric: Fabric, stripes: list[Stripe], strokes: dict[int, Stroke]
) -> tuple[str, float, float]:
    """Markup, width and height of a fabric in blocks, with counts in place of single devices."""
    spines = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == "spine"]
    blocks = _blocks(stripes)
    strands = _strands(fabric, strokes)
    band = len(strands) * STRAND
    names = [line for block in blocks for line in (block.name, *_ranges(block))]
    block_width = max(156.0, *(width(name, 10.5) + 24 for name in names))
    rows, columns, gutter, total = _grid(len(blocks), block_width, band)
    upper = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role not in LOWER]
    first = (SPINE_HEIGHT + FIRST_GAP) if spines else 0.0
    parts: list[str] = []
    labels: list[str] = []
    boxes: list[str] = []
    for place, block in enumerate(blocks):
        row, column = divmod(place, columns)
        left = column * (block_width + gutter) + (gutter if rows > 1 else 0)
        top = first + row * (BLOCK_HEIGHT + ROW_GAP)
        boxes.append(_block(fabric, block, left, top, block_width))
        if spines:
            middle = left + block_width / 2
            # Lower rows reach the spines through the gutter at their left, the lowest row farthest left.
            lane = left - 11 - (band + 7) * (row - 0.5) if row else middle
            parts.append(_bundle(fabric, block, (middle, top), lane, strands))
            labels.append(_bundle_label(block, middle + band / 2 + 6, top))
    if spines:
        boxes.append(_tier(fabric, spines, total))
    height = first + rows * BLOCK_HEIGHT + (rows - 1) * ROW_GAP
    drawing = "".join([*parts, *labels, *boxes])
    if not upper:
        return drawing, total, height
    top = SPINE_HEIGHT + ROW_GAP
    above = _upper_bundle(network, fabric, spines, total, upper[0].role)
    above += _tier(fabric, upper, total, _between(network, fabric))
    return above + element("g", drawing, transform=f"translate(0,{top:g})"), total, height + top


def _grid(blocks: int, block_width: float, band: float) -> tuple[int, int, float, float]:
    """Rows, columns, gutter and total width of the blocks: as many columns as fit, but the narrowest where none does.

    Bundles of every row but the first run down the gutters, so more rows make wider gutters.
    """
    found: list[tuple[int, int, float, float]] = []
    for most in range(min(COLUMNS, blocks), 0, -1):
        rows = -(-blocks // most)
        columns = -(-blocks // rows)
        gutter = 22 + (rows - 1) * (band + 7)
        found.append((rows, columns, gutter, columns * (block_width + gutter) - (gutter if rows == 1 else 0)))
        if found[-1][-1] <= MAXIMUM_WIDTH:
            return found[-1]
    return min(found, key=lambda one: one[-1])


def _blocks(stripes: list[Stripe]) -> list[Stripe]:
    """The stripes that get a block each; too many to draw are summed up in a last one."""
    if len(stripes) <= MAXIMUM_BLOCKS:
        return stripes
    rest = stripes[MAXIMUM_BLOCKS - 1 :]
    return [
        *stripes[: MAXIMUM_BLOCKS - 1],
        Stripe(
            name=f"{len(rest)} more stripes",
            names=tuple(stripe.name for stripe in rest),
            leaves=tuple(leaf for stripe in rest for leaf in stripe.leaves),
            servers=tuple(server for stripe in rest for server in stripe.servers),
            uplinks=tuple(cable for stripe in rest for cable in stripe.uplinks),
        ),
    ]


def _strands(fabric: Fabric, strokes: dict[int, Stroke]) -> list[tuple[str, str | None]]:
    """CSS class and ``data-color`` of each line of a bundle: one per path color where that stays readable."""
    if 0 < len(fabric.colors) <= BUNDLE_STRANDS:
        return [(strokes[color.index].css_class, f"{fabric.name}/{color.number}") for color in fabric.colors]
    return [("plain", None)] * 3


def _bundle(
    fabric: Fabric,
    block: Stripe,
    end: tuple[float, float],
    lane: float,
    strands: list[tuple[str, str | None]],
) -> str:
    x, y = end
    lines: list[str] = []
    for place, (css_class, color) in enumerate(strands):
        shift = (place - (len(strands) - 1) / 2) * STRAND
        if lane == x:
            path = f"M{number(x + shift)} {number(SPINE_HEIGHT - 4)}V{number(y + 4)}"
        else:
            # The turn into the block: strands stay parallel, so the outer one turns lower.
            turn, radius = y - 26 - shift, 9.0
            path = (
                f"M{number(lane + shift)} {number(SPINE_HEIGHT - 4)}V{number(turn - radius)}"
                f"q0 {radius:g} {radius:g} {radius:g}H{number(x + shift - radius)}"
                f"q{radius:g} 0 {radius:g} {radius:g}V{number(y + 4)}"
            )
        lines.append(element("path", d=path, class_=f"{css_class} line", data_color=color))
    return element(
        "g",
        element("title", text(_about_links(fabric, block))),
        *lines,
        class_="cable bundle",
        data_a=f"{fabric.name}/{block.name}",
        data_b=f"{fabric.name}/spines",
    )


def _bundle_label(block: Stripe, x: float, top: float) -> str:
    return element("text", text(_links(block)), x=x, y=top - 8, class_="small muted")


def _links(block: Stripe) -> str:
    """``512 x 400G``; several speeds one after the other."""
    speeds = Counter(cable.speed_gbps for cable in block.uplinks)
    return ", ".join(f"{count:,} × {speed}G" for speed, count in sorted(speeds.items()))


def _about_links(fabric: Fabric, block: Stripe) -> str:
    rate = sum(cable.speed_gbps for cable in block.uplinks) / 1000
    lengths = [cable.length_m for cable in block.uplinks]
    optics = sorted({end.optic for cable in block.uplinks for end in (cable.a, cable.b)})
    lines = [f"{block.name} to spines: {_links(block)}, {rate:,.1f} Tb/s"]
    if fabric.colors:
        lines.append(
            f"{counted(len(fabric.colors), 'path color')}, {len(block.uplinks) // len(fabric.colors):,} links each"
        )
    if lengths:
        least, most = min(lengths), max(lengths)
        lines.append(f"{least:g} m" if least == most else f"{least:g} to {most:g} m")
        lines[-1] += f", {', '.join(optics)}"
    return "\n".join(lines)


def _ranges(block: Stripe) -> tuple[str, str]:
    """First and last leaf and server; the names are in the order of their numbers."""
    return span([leaf.name for leaf in block.leaves]), span([server.name for server in block.servers])


def _block(fabric: Fabric, block: Stripe, left: float, top: float, wide: float) -> str:
    leaves, servers = _ranges(block)
    x = left + 12
    return element(
        "g",
        element("title", text(f"{block.name}\nleaves {leaves}\nservers {servers}")),
        element("rect", x=left, y=top, width=wide, height=BLOCK_HEIGHT, rx=10.0, class_="box"),
        _marks(left + wide / 2, top + 12, wide - 24, len(block.leaves)),
        element("text", text(block.name), x=x, y=top + 46, class_="name", font_size=13.5),
        element("text", text(counted(len(block.leaves), "leaf", "leaves")), x=x, y=top + 65, class_="small name"),
        element("text", text(leaves), x=x, y=top + 79, class_="muted small"),
        element(
            "text",
            text(f"{counted(len(block.servers), 'server')}, {counted(gpus(block.servers), 'GPU')}"),
            x=x,
            y=top + 98,
            class_="small name",
        ),
        element("text", text(servers), x=x, y=top + 112, class_="muted small"),
        class_="device leaf",
        data_device=f"{fabric.name}/{block.name}",
        data_fabric=fabric.name,
        data_stripes=" ".join(block.names or (block.name,)),
    )


def _upper_bundle(network: Network, fabric: Fabric, spines: list[Switch], total: float, upper: str) -> str:
    """The links of spines to super-spines, or to the routers of their sites, as one bundle."""
    names = {spine.name for spine in spines}
    cables = [c for c in network.cables if c.fabric == fabric.name and c.kind == "fabric" and c.a.device in names]
    links = _links(Stripe("", (), (), tuple(cables)))
    lines = [
        element(
            "path",
            d=f"M{number(total / 2 + shift)} {SPINE_HEIGHT - 4}V{SPINE_HEIGHT + ROW_GAP + 4}",
            class_="plain line",
        )
        for shift in (-STRAND, 0.0, STRAND)
    ]
    bundle = element(
        "g",
        element("title", text(f"spines to {plural(upper)}: {links}")),
        *lines,
        class_="cable bundle",
        data_a=f"{fabric.name}/spines",
        data_b=f"{fabric.name}/{upper}s",
    )
    return bundle + element(
        "text", text(links), x=total / 2 + 14, y=SPINE_HEIGHT + ROW_GAP / 2 + 4, class_="small muted"
    )


def _between(network: Network, fabric: Fabric) -> str:
    """The links between sites in words; empty where there are none."""
    cables = network.long_links(fabric.name)
    if not cables:
        return ""
    length = max(cable.length_m for cable in cables)
    return f"  ·  between sites {_links(Stripe('', (), (), tuple(cables)))}, {length / 1000:g} km"


def _tier(fabric: Fabric, spines: list[Switch], total: float, more: str = "") -> str:
    """Spines, super-spines, or routers between sites, as one block."""
    role = spines[0].role
    title = f"{counted(len(spines), 'router' if role == 'dci' else role)}  ·  {', '.join(dict.fromkeys(spine.model for spine in spines))}{more}"
    names = span([spine.name for spine in spines])
    return element(
        "g",
        element("title", text(f"{title}\n{names}\nAS {spines[0].asn} to {spines[-1].asn}")),
        element("rect", x=0.0, y=0.0, width=total, height=SPINE_HEIGHT, rx=10.0, class_="box"),
        element("text", text(title), x=total / 2, y=22.0, class_="name middle", font_size=14),
        element("text", text(names), x=total / 2, y=39.0, class_="muted small middle"),
        _marks(total / 2, 50, total * 0.9, len(spines)),
        class_="device spine",
        data_device=f"{fabric.name}/{role}s",
    )


def _marks(middle: float, top: float, wide: float, count: int) -> str:
    """A row of little squares around ``middle``, one per switch; none where there are too many to see one."""
    size = min(14.0, wide / max(1, count) - 3)
    if not 0 < count <= MARKS or size < 3:
        return ""
    pitch = min(wide / count, size + 8)
    start = middle - (count * pitch - (pitch - size)) / 2
    return "".join(
        element("rect", x=start + place * pitch, y=top, width=size, height=12.0, rx=2.5, class_="chip")
        for place in range(count)
    )
