"""The page of ``railweave init --gpus``: a picture of the chosen fabric, and a comparison with the topologies that were not chosen.

The input is the JSON of sizing (``railweave.design.sizing.report.to_json``) and the design of the fabric file that was written.
Like the other pages, this page loads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.outputs.report.bom import Item, Prices, cost, power
from railweave.outputs.report.figures import subscription_word
from railweave.outputs.report.topology.picture import MOST_ROWS, topology_svg
from railweave.pages.charts import Bar, bars, card
from railweave.pages.palette import line_colors, network_strokes, stroke_rules
from railweave.pages.shell import asset, element, html_page, section, still_picture, text
from railweave.pages.table import Cell, Table, columns
from railweave.pages.terms import NETWORK, glossary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.network.model import Network


ABOUT = (
    "The charts leave servers and NICs out: they are the same in every shape. Power is the most that data sheets and hardware files "
    "state, prices are those of the file that was given."
)
OF_SERVERS = frozenset(("server", "NIC"))


def bar_card(title: str, values: Mapping[str, float], note: str = "") -> str:
    """Return a bar chart with a title. ``values`` has the value of each topology, by its name; ``note`` is shown below the title."""
    return card(title, note, bars([Bar(name, value, f"{value:,.0f}") for name, value in values.items()]))


def costs(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> str:
    """Return charts and a table of cost and power by topology, and sentences about unknown prices and power draws.

    ``bills`` has the bill of materials of each topology, by its name.
    """
    cards = [*_price_card(bills, prices), *_power_card(bills)]
    lacking = "".join(element("p", text(line), class_="about") for line in _unknown(bills, prices))
    charts = element("div", *cards, class_="charts") if cards else ""
    return lacking + charts + cost_table(bills, prices).to_html()


def cost_table(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> Table:
    """Return the table of cost and power, with a row for each topology. ``bills`` has the bill of materials of each topology, by its name.

    ``prices`` has the prices of items; None if no prices are known.
    """
    rows = [(shape, _cost(items, prices), _power(items)) for shape, items in bills.items()]
    return Table(columns("Shape", "Cost with servers", "Draw at most", numbers=["Cost with servers"]), rows)


KNOWN = {"switch": "switches", "pluggable": "optics"}
"""The kinds of items whose power draw is added up, each with its plural as the page shows it."""


def _price_card(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> list[str]:
    if prices is None:
        return []
    by_shape = {shape: cost(_of_network(items), prices) for shape, items in bills.items()}
    lacking = dict.fromkeys(name for bill_cost in by_shape.values() for name in bill_cost.unpriced)
    note = f"Without {', '.join(lacking)}: no price is given." if lacking else ""
    title = f"Cost of switches, optics and cables, {prices.currency}"
    return [bar_card(title, {shape: bill_cost.total for shape, bill_cost in by_shape.items()}, note)]


def _power_card(bills: Mapping[str, Sequence[Item]]) -> list[str]:
    """Return a list with the chart of power by topology. ``bills`` has the bill of materials of each topology, by its name.

    The list is empty if a switch's power is unknown, because the chart would then compare only optics.
    """
    if any(item.watts is None for items in bills.values() for item in items if item.kind == "switch"):
        return []
    by_shape = {shape: power(_of_network(items)) for shape, items in bills.items()}
    lacking = dict.fromkeys(name for bill_power in by_shape.values() for name in bill_power.unknown)
    note = f"Without {', '.join(lacking)}, whose power is not known." if lacking else ""
    watts = {shape: sum(bill_power.watts.values()) for shape, bill_power in by_shape.items()}
    return [bar_card("Power of switches and optics at most, W", watts, note)]


def _of_network(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.kind not in OF_SERVERS]


def _cost(items: Sequence[Item], prices: Prices | None) -> Cell:
    if prices is None:
        return Cell(None, "no prices were given")
    bill_cost = cost(items, prices)
    return Cell(bill_cost.total, f"{bill_cost.total:,.0f} {bill_cost.currency}")


def _power(items: Sequence[Item]) -> str:
    bill_power = power(_of_network(items))
    if not bill_power.watts:
        return "not known"
    known = " and ".join(KNOWN[kind] for kind in bill_power.watts)
    statement = f"{known} {sum(bill_power.watts.values()) / 1000:,.1f} kW"
    return statement + (
        f"; of {', '.join(dict.fromkeys(bill_power.unknown))} it is not known" if bill_power.unknown else ""
    )


def _unknown(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> list[str]:
    """Return sentences about missing prices and power figures. Each names the kind of file in which the operator can add them.

    ``bills`` has the bill of materials of each topology by name.
    """
    items = [item for bill in bills.values() for item in bill]
    lines: list[str] = []
    if prices is None:
        lines.append("railweave knows no prices: --prices FILE gives them, by the names in the bill of materials.")
    elif unpriced := cost(items, prices).unpriced:
        lines.append(f"No price is given for {', '.join(dict.fromkeys(unpriced))}.")
    if unknown := dict.fromkeys(power(_of_network(items)).unknown):
        lines.append(
            f"No public document says what {', '.join(unknown)} draw: a hardware file can, with the field power_w."
        )
    return lines


PURPOSE = (
    "This page shows the fabric that was sized for a number of GPUs, and the other shapes that would take them. "
    "Nothing is bought or built yet: the counts are those of the design."
)

MEASURES = (
    ("Switches", ("leaves", "spines", "super_spines")),
    ("Cables, of servers and between switches", ("server_cables", "fabric_cables")),
    ("Optics", ("optics",)),
)
"""The measures by which topologies are compared: (title, the fields of sizing's JSON that are added up)."""


def sized_html(
    network: Network,
    sized: Mapping[str, Any],
    lines: Sequence[str],
    bills: Mapping[str, Sequence[Item]],
    prices: Prices | None = None,
) -> str:
    """Return the page as one HTML document, which loads nothing and needs no script.

    - ``network``: the design of the fabric file that was written.
    - ``sized``: the JSON of sizing.
    - ``lines``: the text that sizing prints.
    - ``bills``: the bill of materials of each topology, by its name.
    - ``prices``: the prices of items, if known.
    """
    shapes = [candidate for candidate in sized["shapes"] if candidate["fits"]]
    chosen = next(shape for shape in shapes if shape["shape"] == sized["chosen"])
    picture, hint = still_picture(topology_svg(network, MOST_ROWS))
    styles = [asset("charts.css"), line_colors(), stroke_rules(network_strokes(network)), hint]
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
        ("counts", "Counts", _refused(sized), counts_table(shapes, chosen).to_html()),
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
        main=[section(*part) for part in sections],
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
    """Return the oversubscription of a topology's fullest leaf, or None if leaves have no uplinks. ``shape`` is the topology's JSON."""
    return shape["servers_per_stripe"] / shape["uplinks"] if shape["uplinks"] else None


def _charts(shapes: Sequence[Mapping[str, Any]]) -> str:
    """Return a chart for each measure (switches, cables, optics), with a bar for each topology. ``shapes`` are the topologies' JSON."""
    counts = (
        (title, {str(shape["shape"]): float(sum(shape[key] for key in keys)) for shape in shapes})
        for title, keys in MEASURES
    )
    return element("div", *(bar_card(title, values) for title, values in counts), class_="charts")


def _refused(sized: Mapping[str, Any]) -> str:
    refusals = [f"Not {shape['shape']}: {shape['why']}." for shape in sized["shapes"] if not shape["fits"]]
    return " ".join(["The shape chosen is marked.", *refusals])


def counts_table(shapes: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> Table:
    """Return the table of counts with a row for each kind of part and a column for each topology.

    ``shapes`` are the JSON objects of all topologies, and ``chosen`` is the object of the chosen topology. Rows are kinds of parts, not
    topologies, so that a table of up to four topologies fits a narrow window.
    """
    counts = (
        ("Leaves", "leaves"), ("Spines", "spines"), ("Super-spines", "super_spines"), ("Stripes", "stripes"),
        ("Server cables", "server_cables"), ("Cables between switches", "fabric_cables"), ("Optics", "optics"),
        ("Uplinks of a leaf", "uplinks"), ("Path colors", "path_colors"), ("Free server ports", "free_server_ports"),
    )  # fmt: skip
    names = [f"{shape['shape']} (chosen)" if shape is chosen else str(shape["shape"]) for shape in shapes]
    rows = [(name, *(shape[key] for shape in shapes)) for name, key in counts]
    return Table(
        columns("", *names, numbers=names), [*rows, ("Oversubscription", *map(_oversubscription, map(_ratio, shapes)))]
    )


def _oversubscription(ratio: float | None) -> Cell:
    if ratio is None:
        return Cell(None, "no uplinks")
    return Cell(ratio, f"{ratio:.3g}:1" + (" (undersubscribed)" if ratio < 1 else ""))
