"""The picture of a network as one SVG: a panel per fabric, spines at the top, leaves and servers grouped by stripe.

A fabric of up to ``DETAIL_DEVICES`` leaves and servers and ``DETAIL_LINKS`` uplinks is drawn device by device and cable by cable
(``detail``). A larger fabric is drawn as blocks with counts (``overview``), so that the picture stays readable and small.

The page and other programs find elements by their attributes:

- A device has ``data-device``.
- A cable has ``data-a`` and ``data-b``, the ``data-device`` of its ends. A single cable also has ``data-link``, its index in
  the cabling.
- Cables and legend entries of a path color have ``data-color`` (``FABRIC/NUMBER``).

``--natural`` on the root element is the width in pixels at which texts have their natural size.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.figures import Stripe, figures, gpus, plural, span, stripes
from railweave.outputs.report.topology.detail import detail
from railweave.outputs.report.topology.frame import tenant_legend, tenant_rules
from railweave.pages.palette import Stroke, network_strokes, stroke_rules
from railweave.pages.shell import asset, element, number, text, width

if TYPE_CHECKING:
    from railweave.model.network.devices import Fabric, Switch
    from railweave.model.network.model import Network


MAXIMUM_BLOCKS = 30
"""The largest number of blocks, one for each stripe (group of leaves with its servers).

If there are more stripes, the last block represents all remaining ones.
"""

COLUMNS = 6
"""The largest number of blocks in a row."""

MAXIMUM_WIDTH = 1600.0
"""The largest width in pixels. A picture is wider only if no number of columns fits.

On a page that is 1,400 px wide, a picture of this width is shown at four fifths of its size.
"""

BUNDLE_STRANDS = 8
"""The largest number of path colors (classes of uplinks) that are drawn as separate strands of a bundle. More strands would blur."""

STRAND = 3.2
SPINE_HEIGHT = 74.0
FIRST_GAP = 92.0
ROW_GAP = 62.0
BLOCK_HEIGHT = 126.0
TITLE_SIZE = 14
"""The font size of the titles of tiers above the leaves, in pixels."""
LOWER: frozenset[str] = frozenset(("leaf", "spine"))
"""The roles of the two lowest tiers of switches. Switches of other roles are drawn above spines."""

MARKS = 64
"""The largest number of switches that are drawn as small squares in a block."""


def overview(
    network: Network, fabric: Fabric, stripes: list[Stripe], strokes: dict[int, Stroke]
) -> tuple[str, float, float]:
    """Return (markup, width, height) of a fabric drawn as blocks, with counts instead of single devices.

    ``strokes`` has the drawing style of each path color (class of uplinks), by index. ``stripes`` are the fabric's groups of leaves.
    """
    spines = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == "spine"]
    blocks = _blocks(stripes)
    strands = _strands(fabric, strokes)
    band = len(strands) * STRAND
    names = [line for block in blocks for line in (block.name, *_ranges(block))]
    upper = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role not in LOWER]
    titles = [_tier_title(spines)] if spines else []
    titles += [_tier_title(upper, _between(network, fabric))] if upper else []
    widest = max((width(title, TITLE_SIZE) + 24 for title in titles), default=0.0)
    block_width = max(156.0, widest / len(blocks), *(width(name, 10.5) + 24 for name in names))
    rows, columns, gutter, total = _grid(len(blocks), block_width, band)
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
            # Lower rows reach the spines through the gutter to their left; the lowest row uses the leftmost part.
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
    """Return (rows, columns, gutter width, total width) of a grid of ``blocks`` blocks within the largest width of a picture.

    The grid has as many columns as fit. If no number of columns fits, it is the narrowest possible grid. The bundles of links to all rows
    except the first run down the gutters, so a grid with more rows has wider gutters. ``block_width`` and ``band`` are the widths of a
    block and of a bundle.
    """
    layouts: list[tuple[int, int, float, float]] = []
    for most in range(min(COLUMNS, blocks), 0, -1):
        rows = -(-blocks // most)
        columns = -(-blocks // rows)
        gutter = 22 + (rows - 1) * (band + 7)
        layouts.append((rows, columns, gutter, columns * (block_width + gutter) - (gutter if rows == 1 else 0)))
        if layouts[-1][-1] <= MAXIMUM_WIDTH:
            return layouts[-1]
    return min(layouts, key=lambda layout: layout[-1])


def _blocks(stripes: list[Stripe]) -> list[Stripe]:
    """Return the stripes (groups of leaves) that are drawn as blocks. If there are too many, the last block represents all remaining stripes."""
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
    """Return (CSS class, ``data-color`` attribute) of each line in a bundle of links. The attribute is None for a plain line.

    Each path color (class of uplinks) has its own line, in the style that ``strokes`` has for it. If there are no path colors, or too many,
    the bundle has three plain lines.
    """
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
            # At the turn into the block, strands stay parallel, so the outer strand turns lower.
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
    """Return the number of a block's uplinks by speed, such as "512 × 400G"."""
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
    """Return (the range of leaf names, the range of server names) of a block, in numeric order."""
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
    """Return the markup of the links from spines to the tier above, drawn as one bundle.

    ``upper`` is the role of that tier: super-spines or routers between sites. ``total`` is the width of the drawing.
    """
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
    """Return the number, speed and length of the links between sites, for a title; empty if there are none."""
    cables = network.long_links(fabric.name)
    if not cables:
        return ""
    length = max(cable.length_m for cable in cables)
    return f"  ·  between sites {_links(Stripe('', (), (), tuple(cables)))}, {length / 1000:g} km"


def _tier(fabric: Fabric, spines: list[Switch], total: float, more: str = "") -> str:
    """Return the markup of a tier (the spines, the super-spines or the routers between sites) as one block.

    ``spines`` are the switches of the tier. ``total`` is the width of the block. ``more`` is added to its title.
    """
    role = spines[0].role
    title = _tier_title(spines, more)
    names = span([spine.name for spine in spines])
    return element(
        "g",
        element("title", text(f"{title}\n{names}\nAS {spines[0].asn} to {spines[-1].asn}")),
        element("rect", x=0.0, y=0.0, width=total, height=SPINE_HEIGHT, rx=10.0, class_="box"),
        element("text", text(title), x=total / 2, y=22.0, class_="name middle", font_size=TITLE_SIZE),
        element("text", text(names), x=total / 2, y=39.0, class_="muted small middle"),
        _marks(total / 2, 50, total * 0.9, len(spines)),
        class_="device spine",
        data_device=f"{fabric.name}/{role}s",
    )


def _tier_title(switches: list[Switch], more: str = "") -> str:
    """Return the title of a tier: the number of its switches and their models, followed by ``more``."""
    role = "router" if switches[0].role == "dci" else switches[0].role
    models = ", ".join(dict.fromkeys(switch.model for switch in switches))
    return f"{counted(len(switches), role)}  ·  {models}{more}"


def _marks(middle: float, top: float, wide: float, count: int) -> str:
    """Return the markup of a centered row of small squares, one per switch; empty if they would be too small to see.

    ``middle`` is the center of the row, ``top`` its upper edge, ``wide`` the width available, and ``count`` the number of switches.
    """
    size = min(14.0, wide / max(1, count) - 3)
    if not 0 < count <= MARKS or size < 3:
        return ""
    pitch = min(wide / count, size + 8)
    start = middle - (count * pitch - (pitch - size)) / 2
    return "".join(
        element("rect", x=start + place * pitch, y=top, width=size, height=12.0, rx=2.5, class_="chip")
        for place in range(count)
    )


DETAIL_DEVICES = 64
"""The largest number of leaves, and of servers, for which a fabric is drawn device by device."""

DETAIL_LINKS = 640
"""The largest number of leaf-spine cables for which a fabric is drawn cable by cable. With more, the lines would merge."""

DETAIL_PARALLEL = 8
"""The largest number of cables between one leaf and one spine for which they are drawn one by one. More would merge into a band."""

LEGEND_COLORS = 16
"""The largest number of path colors (classes of uplinks) that the legend lists one by one."""

MOST_ROWS = 8
"""The number of rows up to which a page's picture draws each server of a stripe (group of leaves) in its own row.

In a stripe with more servers, identical servers share a row.
"""

MARGIN = 28.0
MINIMUM_WIDTH = 720.0


def topology_svg(network: Network, most_rows: int | None = None) -> str:
    """Return a self-contained SVG of a network's fabrics, without fonts or scripts. It follows the reader's light or dark mode.

    In a stripe (group of leaves) with more than ``most_rows`` servers, identical servers share a row. If it is None, every server has its
    own row.
    """
    strokes = network_strokes(network)
    panels = [_panel(network, fabric, strokes[fabric.name], most_rows) for fabric in network.fabrics]
    wide = max(MINIMUM_WIDTH, *(panel[1] for panel in panels)) + 2 * MARGIN
    body: list[str] = []
    y = MARGIN
    for markup, _, height in panels:
        body.append(element("g", markup, transform=f"translate({MARGIN:g},{y:g})"))
        y += height + MARGIN
    return element(
        "svg",
        element("title", text(f"Topology of {network.name}")),
        element("desc", text(network.description)) if network.description else "",
        element(
            "style",
            _style(stroke_rules(strokes))
            + (tenant_rules() if any(fabric.tenants for fabric in network.fabrics) else ""),
        ),
        element("rect", class_="paper", width=wide, height=y, rx=10.0),
        *body,
        xmlns="http://www.w3.org/2000/svg",
        class_="rw",
        viewBox=f"0 0 {wide:g} {y:g}",
        width=wide,
        height=y,
        role="img",
        style=f"--natural:{wide:g}px",
    )


def _style(rules: str) -> str:
    """Return the style sheet of the picture: the fixed part, then ``rules``, the strokes of this network's path colors."""
    return asset("topology.css", "railweave.outputs.report") + "\n" + rules.replace(".k", ".rw .k")


def _panel(
    network: Network, fabric: Fabric, strokes: dict[int, Stroke], most_rows: int | None
) -> tuple[str, float, float]:
    """Return (markup, width, height) of the drawing of one fabric.

    ``strokes`` has the drawing style of each path color (class of uplinks), by index. In a stripe with more than ``most_rows`` servers,
    identical servers share a row.
    """
    sums = figures(network, fabric)
    uplinks = max(
        (
            cable.speed_gbps
            for cable in network.cables
            if cable.fabric == fabric.name and cable.kind == "fabric" and not network.between_sites(cable)
        ),
        default=0,
    )
    small = max(sums.leaves, sums.servers) <= DETAIL_DEVICES and sums.fabric_links <= DETAIL_LINKS
    small = small and _most_parallel(network, fabric) <= DETAIL_PARALLEL
    small = small and not sums.super_spines and not sums.dci  # tiers above the spines are drawn only as blocks
    groups = stripes(network, fabric)
    if small:
        drawing, wide, height = detail(network, fabric, groups, strokes, most_rows)
    else:
        drawing, wide, height = overview(network, fabric, groups, strokes)
    title = network.name if len(network.fabrics) == 1 else f"{network.name} / {fabric.name}"
    line = [
        counted(sums.gpus, "GPU"),
        counted(sums.servers, "server"),
        counted(len(groups), "stripe"),
        counted(sums.leaves, "leaf", "leaves"),
    ]
    if sums.spines:
        line += [
            counted(sums.spines, "spine"),
            f"{counted(sums.fabric_links, 'leaf-spine link')} of {uplinks}G",
        ]
    if sums.super_spines:
        line += [counted(sums.super_spines, "super-spine"), counted(sums.upper_links, "spine-super-spine link")]
    if sums.long_links:
        routers = f"{counted(sums.dci, 'router')} and " if sums.dci else ""
        line.append(f"{routers}{counted(sums.long_links, 'link')} between sites")
    legend, legend_height = _legend(network, fabric, strokes, max(wide, MINIMUM_WIDTH))
    tenants, tenants_height = tenant_legend(fabric, max(wide, MINIMUM_WIDTH)) if small else ("", 0.0)
    top = 48.0 + legend_height + tenants_height
    shift = max(0.0, (MINIMUM_WIDTH - wide) / 2)
    markup = [
        element("text", text(title), x=0.0, y=18.0, class_="heading"),
        element("text", text("  ·  ".join(line)), x=0.0, y=39.0, class_="muted"),
        element("g", legend, transform="translate(0,62)", class_="legend"),
        element("g", tenants, transform=f"translate(0,{62 + legend_height:g})") if tenants else "",
        element("g", drawing, transform=f"translate({shift:g},{top:g})"),
    ]
    return "".join(markup), wide, top + height


def _most_parallel(network: Network, fabric: Fabric) -> int:
    """Return the largest number of cables between any two switches of a site."""
    pairs = Counter(
        (cable.a.device, cable.b.device)
        for cable in network.cables
        if cable.fabric == fabric.name and cable.kind == "fabric" and not network.between_sites(cable)
    )
    return max(pairs.values(), default=0)


def _legend(network: Network, fabric: Fabric, strokes: dict[int, Stroke], wide: float) -> tuple[str, float]:
    """Return (markup, height) of the legend of path colors (classes of uplinks), with the name and community of each.

    The legend has as many lines as it needs for the width ``wide``. ``strokes`` has the drawing style of each color.
    """
    if not fabric.colors:
        spread = any(switch.fabric == fabric.name and switch.role == "spine" for switch in network.switches)
        mode = fabric.load_balancing.mode
        label = f"no path colors: {mode} over all uplinks" if spread else "no spines, no uplinks"
        label = f"{mode} over all links between sites" if fabric.interconnect and not spread else label
        return element("text", text(label), x=0.0, y=4.0, class_="muted"), 30.0
    if len(fabric.colors) > LEGEND_COLORS:
        ends = " to ".join(
            f"{end_color.name} (color:0:{end_color.number})" for end_color in (fabric.colors[0], fabric.colors[-1])
        )
        label = f"{len(fabric.colors)} path colors, {ends}"
        return element("text", text(label), x=0.0, y=4.0, class_="muted"), 30.0
    entries: list[str] = []
    x, y = 0.0, 0.0
    for color in fabric.colors:
        community = f"color:0:{color.number}"
        name_width = width(color.name, 12.5)
        total = 36 + name_width + 8 + width(community, 10.5) + 26
        if x and x + total > wide:
            x, y = 0.0, y + 22
        entries.append(
            element(
                "g",
                element("title", text(f"path color {color.name}, {community}")),
                element(
                    "rect",
                    x=x - 6,
                    y=y - 10,
                    width=total - 14,
                    height=20.0,
                    rx=5.0,
                    fill="transparent",
                    class_="key",
                ),
                element(
                    "path",
                    d=f"M{x:g} {y:g}h28",
                    class_=f"{strokes[color.index].css_class} line",
                    stroke_width=3,
                ),
                element("text", text(color.name), x=x + 36, y=y + 4, class_="name"),
                element("text", text(community), x=x + 36 + name_width + 8, y=y + 4, class_="muted small"),
                class_="legend-entry",
                data_color=f"{fabric.name}/{color.number}",
            )
        )
        x += total
    return "".join(entries), y + 34
