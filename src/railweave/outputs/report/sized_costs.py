"""Money and watts of the shapes that ``railweave init --gpus`` compares, as charts and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.report.bom import power
from railweave.outputs.report.prices import cost
from railweave.pages.charts import bars
from railweave.pages.markup import element, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.outputs.report.bom import Item
    from railweave.outputs.report.prices import Prices

ABOUT = (
    "The charts leave servers and NICs out: they are the same in every shape. Power is the most that data sheets and hardware files "
    "state, prices are those of the file that was given."
)
OF_SERVERS = frozenset(("server", "NIC"))


def bar_card(title: str, values: Mapping[str, float], note: str = "") -> str:
    """A chart with a bar for each shape; ``note`` stands below the title."""
    rows = [(name, value, f"{value:,.0f}") for name, value in values.items()]
    chart = bars(rows, most=max([1.0, *values.values()]), show=lambda value: f"{value:,.0f}", left=110.0, width=560.0)
    return element(
        "div", element("h4", text(title)), element("p", text(note)) if note else "", chart, class_="chart-card"
    )


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts."""
    head = element("thead", element("tr", *(element("th", text(one)) for one in heads)))
    cells = (element("tr", *(element("td", text(cell)) for cell in row)) for row in rows)
    return element("div", element("table", head, element("tbody", *cells), class_="plain"), class_="scroll")


def costs(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> str:
    """Charts of what shapes cost and draw, and a table of both; sentences on what is not known. ``bills`` are by shape."""
    cards = [*_price_card(bills, prices), *_power_card(bills)]
    rows = [[shape, _cost(items, prices), _power(items)] for shape, items in bills.items()]
    lacking = "".join(element("p", text(line), class_="about") for line in _unknown(bills, prices))
    charts = element("div", *cards, class_="charts") if cards else ""
    return lacking + charts + plain_table(_HEADS, rows)


_HEADS = ("Shape", "Cost with servers", "Draw at most")
KNOWN = {"switch": "switches", "pluggable": "optics"}
"""Kinds whose power is added."""


def _price_card(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> list[str]:
    if prices is None:
        return []
    found = {shape: cost(_of_network(items), prices) for shape, items in bills.items()}
    lacking = dict.fromkeys(name for one in found.values() for name in one.unpriced)
    note = f"Without {', '.join(lacking)}: no price is given." if lacking else ""
    title = f"Cost of switches, optics and cables, {prices.currency}"
    return [bar_card(title, {shape: one.total for shape, one in found.items()}, note)]


def _power_card(bills: Mapping[str, Sequence[Item]]) -> list[str]:
    """The chart of watts, where the power of all switches is known: without them it would compare optics only."""
    if any(item.watts is None for items in bills.values() for item in items if item.kind == "switch"):
        return []
    found = {shape: power(_of_network(items)) for shape, items in bills.items()}
    lacking = dict.fromkeys(name for one in found.values() for name in one.unknown)
    note = f"Without {', '.join(lacking)}, whose power is not known." if lacking else ""
    watts = {shape: sum(one.watts.values()) for shape, one in found.items()}
    return [bar_card("Power of switches and optics at most, W", watts, note)]


def _of_network(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if item.kind not in OF_SERVERS]


def _cost(items: Sequence[Item], prices: Prices | None) -> str:
    if prices is None:
        return "no prices were given"
    found = cost(items, prices)
    return f"{found.total:,.0f} {found.currency}"


def _power(items: Sequence[Item]) -> str:
    found = power(_of_network(items))
    if not found.watts:
        return "not known"
    known = " and ".join(KNOWN[kind] for kind in found.watts)
    said = f"{known} {sum(found.watts.values()) / 1000:,.1f} kW"
    return said + (f"; of {', '.join(dict.fromkeys(found.unknown))} it is not known" if found.unknown else "")


def _unknown(bills: Mapping[str, Sequence[Item]], prices: Prices | None) -> list[str]:
    """What nobody said, with who could."""
    items = [item for found in bills.values() for item in found]
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
