"""The picture of a network as one SVG: a panel per fabric, spines on top, leaves and servers grouped by stripe.

A fabric of up to ``DETAIL_DEVICES`` leaves and servers and ``DETAIL_LINKS`` uplinks is drawn device by device and
cable by cable (``topology_detail``); a larger one as blocks with counts (``topology_overview``), so that the picture
stays readable and its size bounded.

The page and other readers find things by their attributes: a device has ``data-device``, a cable ``data-a`` and
``data-b`` (the ``data-device`` of its ends) and, where it is one cable, ``data-link`` (its place in the cabling);
cables and legend entries of a path color have ``data-color`` (``FABRIC/NUMBER``). ``--natural`` on the root is the width at which texts have their own size.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.figures import figures, stripes
from railweave.outputs.report.topology.detail import detail
from railweave.outputs.report.topology.overview import overview
from railweave.outputs.report.topology.tenants import tenant_legend, tenant_rules
from railweave.pages.markup import asset, element, text, width
from railweave.pages.palette import network_strokes, stroke_rules

if TYPE_CHECKING:
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network
    from railweave.pages.palette import Stroke

DETAIL_DEVICES = 64
"""Most leaves, and most servers, of a fabric that is drawn device by device."""

DETAIL_LINKS = 640
"""Most leaf-spine cables of a fabric that is drawn cable by cable; beyond that the lines run into one."""

DETAIL_PARALLEL = 8
"""Most cables between one leaf and one spine that are drawn one by one; more run into a band."""

LEGEND_COLORS = 16
"""Most path colors that the legend lists one by one."""

MARGIN = 28.0
MINIMUM_WIDTH = 720.0


def topology_svg(network: Network, most_rows: int | None = None) -> str:
    """A self-contained SVG of a network's fabrics, light or dark as the reader has it, without fonts or scripts.

    In stripes of more than ``most_rows`` servers those that are alike share a row; None: every server has one.
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
            _style(stroke_rules(strokes)) + (tenant_rules() if any(one.tenants for one in network.fabrics) else ""),
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
    """The style sheet of the picture: the fixed part, then the strokes of this network's path colors."""
    return asset("topology.css", "railweave.outputs.report") + "\n" + rules.replace(".k", ".rw .k")


def _panel(
    network: Network, fabric: Fabric, strokes: dict[int, Stroke], most_rows: int | None
) -> tuple[str, float, float]:
    """Markup, width and height of one fabric."""
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
    small = small and not sums.super_spines and not sums.dci  # their tier is drawn in blocks only
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
    """The most cables between any two switches of a site."""
    pairs = Counter(
        (cable.a.device, cable.b.device)
        for cable in network.cables
        if cable.fabric == fabric.name and cable.kind == "fabric" and not network.between_sites(cable)
    )
    return max(pairs.values(), default=0)


def _legend(network: Network, fabric: Fabric, strokes: dict[int, Stroke], wide: float) -> tuple[str, float]:
    """The path colors by name and community, in as many lines as they need. Markup and height."""
    if not fabric.colors:
        spread = any(switch.fabric == fabric.name and switch.role == "spine" for switch in network.switches)
        mode = fabric.load_balancing.mode
        label = f"no path colors: {mode} over all uplinks" if spread else "no spines, no uplinks"
        label = f"{mode} over all links between sites" if fabric.interconnect and not spread else label
        return element("text", text(label), x=0.0, y=4.0, class_="muted"), 30.0
    if len(fabric.colors) > LEGEND_COLORS:
        ends = " to ".join(f"{one.name} (color:0:{one.number})" for one in (fabric.colors[0], fabric.colors[-1]))
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
