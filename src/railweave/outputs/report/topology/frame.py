"""The dimensions of a fabric that is drawn device by device (columns, rails, cables), and the marks of tenants in the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.pages.palette import HUES, TURN
from railweave.pages.shell import element, text, width

if TYPE_CHECKING:
    from railweave.model.network.devices import Fabric, Nic, Server
    from railweave.outputs.report.figures import Stripe


ROOM = 14.0
"""The space in pixels for a tenant's letter in the box of a NIC."""


def letters(fabric: Fabric) -> dict[str, tuple[str, str]]:
    """Return (letter, CSS class of the NIC box's edge) for each tenant, by tenant name. From the 27th tenant on, numbers replace letters.

    Letters are unique, but edge colors repeat.
    """
    return {
        tenant.name: (chr(ord("A") + place) if place < 26 else str(place + 1), f"t{place % len(TURN)}")
        for place, tenant in enumerate(fabric.tenants)
    }


def tenant_rules() -> str:
    """Return the CSS rules for the edges of tenants' NICs, in light and dark mode."""
    light, dark = (
        "".join(f".rw .t{place}{{stroke:{HUES[name][shade]};stroke-width:1.6}}" for place, name in enumerate(TURN))
        for shade in (0, 1)
    )
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"


def tenant_legend(fabric: Fabric, wide: float) -> tuple[str, float]:
    """Return (markup, height) of the list of tenants with their letters, in lines of up to ``wide`` pixels. Without tenants it is empty."""
    entries: list[str] = []
    x, y = 0.0, 0.0
    for name, (letter, css_class) in letters(fabric).items():
        total = 30 + width(name, 12.5) + 26
        if x and x + total > wide:
            x, y = 0.0, y + 22
        entries.append(
            element(
                "g",
                element("title", text(f"tenant {name}: NICs marked {letter}")),
                element("rect", x=x, y=y - 9, width=22.0, height=18.0, rx=4.0, class_=f"nic {css_class}"),
                element("text", text(letter), x=x + 11, y=y + 4, class_="name middle"),
                element("text", text(name), x=x + 30, y=y + 4, class_="name"),
                class_="tenant-entry",
            )
        )
        x += total
    return "".join(entries), y + 36 if entries else 0.0


SPINE_HEIGHT = 44.0
LEAF_HEIGHT = 56.0
BAR_HEIGHT = 30.0
BAR_GAP = 11.0
PAD = 14.0
STRIPE_GAP = 26.0


@dataclass
class Frame:
    """The dimensions of a drawing, in pixels. A stripe is a group of leaves with its servers.

    - ``rails``: the number of rails of a stripe.
    - ``column``: the width of a rail's column.
    - ``gutter``: the width of the names next to the rails.
    - ``leaf_top`` and ``bars_top``: the vertical positions of leaves and servers.
    """

    rails: int
    column: float
    gutter: float
    leaf_top: float
    bars_top: float

    @property
    def stripe_width(self) -> float:
        """The width of a stripe: its names and its rails, with padding."""
        return 2 * PAD + self.gutter + self.rails * self.column

    def rail_x(self, left: float, rail: int) -> float:
        """Return the left edge of a rail's column in a stripe that begins at ``left``."""
        return left + PAD + self.gutter + (rail - 1) * self.column

    def cable_x(self, left: float, rail: int, row: int, rows: int) -> float:
        """Return the x position of a server cable in its rail's column. The cables of different rows are side by side.

        ``left`` is the left edge of the stripe, ``row`` is the index of the server's row, and ``rows`` is the number of rows.
        """
        step = min(7.0, (self.column - 20) / max(1, rows))
        return self.rail_x(left, rail) + self.column / 2 + (row - (rows - 1) / 2) * step


def measure(fabric: Fabric, stripes: list[Stripe], spines: bool, rows: int) -> Frame:
    """Return the dimensions of a fabric's drawing. Columns are wide enough for every name, and for the server cables of all rows.

    ``spines`` is True if the drawing has spines. ``rows`` is the largest number of rows of servers in a stripe (group of leaves).
    """
    rails = max((rail for stripe in stripes for leaf in stripe.leaves for rail in leaf.rails), default=1)
    columns = [58.0, 2.2 * rows + 20]
    for stripe in stripes:
        columns += [
            max(width(part, size) for part, size in zip(two_lines(leaf.name), (10, 12.5), strict=True))
            / len(leaf.rails)
            + 18
            for leaf in stripe.leaves
        ]
        columns += [
            width(nic.name, 9.5) + 16 + (ROOM if fabric.tenants else 0)
            for server in stripe.servers
            for nic in nics_of(server, fabric)
        ]
    labels = [width(server.name, 12.5) for stripe in stripes for server in stripe.servers]
    labels += [width(stripe.name, 13) for stripe in stripes] + [62.0]
    top = (SPINE_HEIGHT if spines else 0.0) + PAD
    return Frame(rails, max(columns), max(labels) + 16, top, top + LEAF_HEIGHT + 30)


def nics_of(server: Server, fabric: Fabric) -> list[Nic]:
    """Return the NICs of a server that are on a fabric."""
    return [nic for nic in server.nics if nic.fabric == fabric.name]


def two_lines(name: str) -> tuple[str, str]:
    """Return a name split after its last separator into two lines: ``("stripe1-", "leaf1")``."""
    cut = max(name.rfind(mark) for mark in "-_.") + 1
    return name[:cut], name[cut:]
