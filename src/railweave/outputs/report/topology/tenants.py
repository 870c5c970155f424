"""Tenants in the picture: every NIC of a tenant has the tenant's letter and edge, and a legend says whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.pages.markup import element, text, width
from railweave.pages.palette import HUES, TURN

if TYPE_CHECKING:
    from railweave.model.network.fabric import Fabric

ROOM = 14.0
"""What a letter adds to the width of a NIC's box, pixels."""


def letters(fabric: Fabric) -> dict[str, tuple[str, str]]:
    """By a tenant's name, its letter (a number after Z) and the CSS class of its edge. The letter alone tells tenants apart."""
    return {
        tenant.name: (chr(ord("A") + place) if place < 26 else str(place + 1), f"t{place % len(TURN)}")
        for place, tenant in enumerate(fabric.tenants)
    }


def tenant_rules() -> str:
    """CSS of the edges, in light and dark shades."""
    light, dark = (
        "".join(f".rw .t{place}{{stroke:{HUES[name][shade]};stroke-width:1.6}}" for place, name in enumerate(TURN))
        for shade in (0, 1)
    )
    return f"{light}@media(prefers-color-scheme:dark){{{dark}}}"


def tenant_legend(fabric: Fabric, wide: float) -> tuple[str, float]:
    """The tenants with their letters, in as many lines as they need. Markup and height; nothing where there are none."""
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
