"""The bill of materials as a table of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.outputs.report.bom import bill, power
from railweave.outputs.report.prices import cost
from railweave.outputs.report.tables import table

if TYPE_CHECKING:
    from railweave.model.network.model import Network
    from railweave.outputs.report.bom import Item
    from railweave.outputs.report.prices import Prices

KINDS_DRAWN = {"switch": "switches", "server": "servers", "pluggable": "pluggables"}


def bill_table(network: Network, prices: Prices | None = None) -> dict[str, Any]:
    """The bill of materials, with what it draws, where that is known, and what it costs, where prices are given."""
    items = bill(network)
    shown = [(*_bill_row(one), _watts(one), *_priced(one, prices)) for one in items]
    drawn = power(items)
    if drawn.watts:
        kinds = ", ".join(f"{KINDS_DRAWN[kind]} {watts / 1000:,.1f} kW" for kind, watts in drawn.watts.items())
        missing = f"; not known: {', '.join(drawn.unknown)}" if drawn.unknown else ""
        shown.append(
            ("total", "", "", f"power at most: {kinds}{missing}", "", f"{sum(drawn.watts.values()):,.0f}", "", "")
        )
    if prices is not None:
        shown.append(("total", "", "", f"cost: {cost(items, prices)}", "", "", "", f"{cost(items, prices).total:,.0f}"))
    money = prices.currency if prices else ""
    columns = (
        ("Kind", "word"),
        ("Catalog name", "mono"),
        ("Count", "number"),
        ("Description", "text"),
        ("Used at", "text"),
        ("Watts at most", "number"),
        (f"Each, {money}", "number"),
        (f"All, {money}", "number"),
    )
    return table("bill", columns, shown)


def _bill_row(one: Item) -> tuple[str, str, str, str, str]:
    return one.kind, one.name, f"{one.count:,}", one.description, one.used_at


def _watts(one: Item) -> str:
    return "" if one.watts is None else f"{one.count * one.watts:,.0f}"


def _priced(one: Item, prices: Prices | None) -> tuple[str, str]:
    each = prices.each(one) if prices else None
    return ("", "") if each is None else (f"{each:,.2f}", f"{each * one.count:,.0f}")
