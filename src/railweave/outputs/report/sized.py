"""The page of ``railweave init --gpus``: the fabric that was chosen as a picture, and its alternatives beside it.

It is made from what sizing says for machines (``railweave.design.sizing.report.to_json``) and from the design of the file written;
like the other pages it loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.outputs.report.figures import subscription_word
from railweave.outputs.report.sized_costs import ABOUT, bar_card, costs, plain_table
from railweave.outputs.report.topology.picture import topology_svg
from railweave.pages.markup import asset, element, text
from railweave.pages.palette import HUES, network_strokes, stroke_rules
from railweave.pages.shell import html_page, section, still_picture
from railweave.pages.terms import NETWORK, glossary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.outputs.report.bom import Item
    from railweave.outputs.report.prices import Prices

PURPOSE = (
    "This page shows the fabric that was sized for a number of GPUs, and the other shapes that would take them. "
    "Nothing is bought or built yet: the counts are those of the design."
)

MOST_ROWS = 8
"""Servers of a stripe that the picture gives a row each; of more, those that are alike share one."""

MEASURES = (
    ("Switches", ("leaves", "spines", "super_spines")),
    ("Cables, of servers and between switches", ("server_cables", "fabric_cables")),
    ("Optics", ("optics",)),
)
"""What the shapes are compared by: the title, and what is added up of each shape."""


def sized_html(
    network: Network,
    sized: Mapping[str, Any],
    lines: Sequence[str],
    bills: Mapping[str, Sequence[Item]],
    prices: Prices | None = None,
) -> str:
    """The page as one HTML document that loads nothing and needs no script.

    ``network`` is the design of the fabric file written, ``sized`` what sizing says for machines, ``lines`` what it prints, and
    ``bills`` the bill of materials of each shape.
    """
    shapes = [one for one in sized["shapes"] if one["fits"]]
    chosen = next(one for one in shapes if one["shape"] == sized["chosen"])
    light, dark = HUES["blue"]
    colors = f":root{{--k0:{light};--k1:{light}}}@media(prefers-color-scheme:dark){{:root{{--k0:{dark};--k1:{dark}}}}}"
    picture, hint = still_picture(topology_svg(network, MOST_ROWS))
    styles = [asset("prediction.css"), colors, stroke_rules(network_strokes(network)), hint]
    sections = [
        (
            "topology",
            "Topology",
            f"The shape chosen is {chosen['shape']}: {chosen['why']}.",
            picture,
        ),
        (
            "shapes",
            "Shapes compared",
            "Every shape that takes these GPUs; fewer is cheaper to buy and to cable.",
            _charts(shapes),
        ),
        ("counts", "Counts", _refused(sized), _table(shapes, chosen)),
        ("costs", "Cost and power", ABOUT, costs(bills, prices)),
        (
            "words",
            "As printed",
            "What railweave init says: layout, growth, limits met.",
            element("pre", text("\n".join(lines))),
        ),
        ("terms", "Terms", "Words of this page.", glossary(NETWORK)),
    ]
    return html_page(
        f"{network.name}: sizing",
        styles,
        header=_header(network, sized, chosen),
        links=[(name, title) for name, title, _, _ in sections],
        main=[section(*one) for one in sections],
        footer="Made by railweave. The same question gives the same page.",
    )


def _header(network: Network, sized: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    ratio = _ratio(chosen)
    tiles = [
        (f"{sized['gpus']:,}", "GPUs"),
        (f"{sized['servers']:,}", "servers"),
        *((f"{chosen[key]:,}", name) for key, name in (("leaves", "leaves"), ("spines", "spines")) if chosen[key]),
        *([(f"{chosen['super_spines']:,}", "super-spines")] if chosen["super_spines"] else []),
        (f"{chosen['server_cables'] + chosen['fabric_cables']:,}", "cables"),
        *([(f"{ratio:.3g}:1", subscription_word(ratio))] if ratio is not None else []),
    ]
    models = f"{sized['server']} servers on {sized['switch']} switches."
    return [
        element("h1", text(network.name), " ", element("span", text(chosen["shape"]), class_="good")),
        element("p", text(models), class_="description"),
        element("p", f"{PURPOSE} Next: fill in what the file still lacks, then railweave build.", class_="lead"),
        element(
            "ul",
            *(element("li", element("b", value), element("span", text(name))) for value, name in tiles),
            class_="tiles",
        ),
    ]


def _ratio(shape: Mapping[str, Any]) -> float | None:
    """Oversubscription of the fullest leaf, None without uplinks."""
    return shape["servers_per_stripe"] / shape["uplinks"] if shape["uplinks"] else None


def _charts(shapes: Sequence[Mapping[str, Any]]) -> str:
    """A chart for each measure, a bar for each shape with its count."""
    counts = (
        (title, {str(one["shape"]): float(sum(one[key] for key in keys)) for one in shapes}) for title, keys in MEASURES
    )
    return element("div", *(bar_card(title, values) for title, values in counts), class_="charts")


def _refused(sized: Mapping[str, Any]) -> str:
    said = [f"Not {one['shape']}: {one['why']}." for one in sized["shapes"] if not one["fits"]]
    return " ".join(["The shape chosen is marked.", *said])


def _table(shapes: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> str:
    """A column for each shape: there are at most four, so that the table fits a narrow window."""
    counts = (
        ("Leaves", "leaves"), ("Spines", "spines"), ("Super-spines", "super_spines"), ("Stripes", "stripes"),
        ("Server cables", "server_cables"), ("Cables between switches", "fabric_cables"), ("Optics", "optics"),
        ("Uplinks of a leaf", "uplinks"), ("Path colors", "path_colors"), ("Free server ports", "free_server_ports"),
    )  # fmt: skip
    heads = ["", *(f"{one['shape']} (chosen)" if one is chosen else str(one["shape"]) for one in shapes)]
    rows = [[name, *(f"{one[key]:,}" for one in shapes)] for name, key in counts]
    rows.append(["Oversubscription", *map(_said, map(_ratio, shapes))])
    return plain_table(heads, rows)


def _said(ratio: float | None) -> str:
    if ratio is None:
        return "no uplinks"
    return f"{ratio:.3g}:1" + (" (undersubscribed)" if ratio < 1 else "")
