"""What a network costs, by prices that its user gives (``--prices FILE``): no price comes with railweave.

A prices file names a currency and a price for things of the bill of materials, by their names there::

    currency: EUR
    prices: {qfx5240-64od: 50000, connectx-7: 1800, osfp-800g-2x400g-sr4: 900}
    fibre_per_metre: 2
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from railweave.model.intent.base import Line, Model
from railweave.model.intent.reading.document import read_document, validate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from railweave.outputs.report.bom import Item


class Prices(Model):
    """Prices of things by their name in the bill of materials, in one currency."""

    currency: Line = Field(description="as it is printed: EUR")
    prices: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default_factory=dict[str, float], description="price of one, by its name in the bill of materials"
    )
    fibre_per_metre: float | None = Field(
        default=None, ge=0, description="price of a metre of fibre, where a cable has no price of its own"
    )

    def each(self, item: Item) -> float | None:
        """The price of one; None where the file does not say."""
        if item.name in self.prices:
            return self.prices[item.name]
        length = re.search(r", ([0-9.]+) m$", item.name) if item.kind == "fibre cable" else None
        if length is not None and self.fibre_per_metre is not None:
            return float(length[1]) * self.fibre_per_metre
        return None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a bill comes to: ``total`` of what has a price, and the names of what has none."""

    currency: str
    total: float
    unpriced: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{self.total:,.0f} {self.currency}"
        if self.unpriced:
            text += f", without {', '.join(self.unpriced)}: no price is given"
        return text


def read_prices(path: Path) -> Prices:
    """Read a prices file. Raises ``SpecError`` with file and line of everything that is wrong."""
    return validate(Prices, read_document(path))


def cost(items: Iterable[Item], prices: Prices) -> Cost:
    """What a bill costs."""
    total, unpriced = 0.0, list[str]()
    for item in items:
        each = prices.each(item)
        if each is None:
            unpriced.append(item.name)
        else:
            total += each * item.count
    return Cost(prices.currency, total, tuple(unpriced))
