"""The heat map: a row for each rail, a column for each stripe, and in it the leaf that the rail's NICs are on."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from railweave.operations.watch.console.links import level
from railweave.operations.watch.console.view import Shown, Values
from railweave.operations.watch.console.words import per_second, percent
from railweave.pages.markup import element, text
from railweave.pages.shell import section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.model.network.devices import Switch
    from railweave.model.network.fabric import Fabric
    from railweave.operations.watch.console.state import Console


@dataclass(frozen=True, slots=True)
class Shade:
    """What a cell shows. ``kind`` says which cables of the leaf; ``column`` the number of their ports (empty: load)."""

    label: str
    about: str
    kind: str
    column: str = ""


SHADES: Mapping[str, Shade] = {
    "servers": Shade("Load to servers", "Used bandwidth of the busier direction, of the rail's NICs together.", "server"),
    "uplinks": Shade("Load of uplinks", "Used bandwidth of the busier direction, of the leaf's uplinks together.", "fabric"),
    "paused": Shade("Pauses received", "PFC frames per second that the leaf's ports receive: from servers, slow NICs.", "", "paused"),
    "pauses": Shade("Pauses sent", "PFC frames per second that the leaf sends: it cannot pass on what arrives.", "", "pauses"),
    "marks": Shade("ECN marks", "Packets per second that leave with a mark of congestion.", "", "marks"),
    "drops": Shade("Drops", "Packets per second that the leaf drops.", "", "drops"),
}  # fmt: skip


def rails(console: Console, query: Mapping[str, str], values: Values) -> Shown:
    """The page. ``of`` in the query chooses what is shown."""
    chosen = query.get("of", "servers")
    chosen = chosen if chosen in SHADES else "servers"
    shade = SHADES[chosen]
    choices = "".join(
        element(
            "a",
            text(one.label),
            href=f"/rails?of={name}",
            aria_current="true" if name == chosen else None,
            class_="choice-link",
        )
        for name, one in SHADES.items()
    )
    maps = [
        (element("h3", text(one.name)) if len(console.network.fabrics) > 1 else "") + _map(console, values, one, shade)
        for one in console.network.fabrics
    ]
    key = element(
        "p",
        "The stronger a shade, the more. A red edge is an error at the leaf, an amber one a warning, a red dashed one a leaf that does not answer any more, a gray one that never did.",
        class_="about",
    )
    return Shown(
        "Rails",
        [
            section(
                "rails",
                f"Rails: {shade.label.lower()}",
                shade.about,
                element("p", choices, class_="choices-row") + "".join(maps) + key,
            )
        ],
        values.live,
    )


def _map(console: Console, values: Values, fabric: Fabric, shade: Shade) -> str:
    leaves = [one for one in console.network.switches if one.fabric == fabric.name and one.role == "leaf"]
    stripes = list(dict.fromkeys(one.stripe for one in leaves))
    at = {(one.stripe, number): one for one in leaves for number in one.rails}
    numbers = sorted({number for one in leaves for number in one.rails})
    worst = console.worst()
    busy = np.fmax(np.nan_to_num(console.links.up, nan=-1), np.nan_to_num(console.links.down, nan=-1))
    rows: list[str] = []
    for number in numbers:
        cells = [_cell(console, values, at.get((stripe, number)), number, shade, worst, busy) for stripe in stripes]
        rows.append(element("tr", element("th", f"rail {number}", scope="row"), *cells))
    heads = [
        element("th", "", scope="col"),
        *(element("th", element("span", text(one)), scope="col") for one in stripes),
    ]
    inner = element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="heat")
    return element("div", element("div", inner, class_="scroll", tabindex=0), class_="table")


def _cell(
    console: Console,
    values: Values,
    leaf: Switch | None,
    rail: int,
    shade: Shade,
    worst: Mapping[str, str],
    busy: NDArray[np.float64],
) -> str:
    if leaf is None:
        return element("td", "")
    if shade.column:
        of = console.ports.numbers[shade.column][console.ports.slices.get(leaf.name, slice(0, 0))]
        known = of[~np.isnan(of)]
        amount = float(known.sum()) if len(known) else float("nan")
        shown, css, full = per_second(amount), *_amount(amount)
    else:
        places = console.links.by_leaf.get((leaf.name, shade.kind, rail if shade.kind == "server" else 0), [])
        own = busy[places]
        speed = console.links.speed[places][own >= 0].sum()
        used = float(own[own >= 0].sum() / speed) if speed else float("nan")
        shown, css, full = percent(used), level(used), used
    key = f"{leaf.name}/{rail}"
    classes = f"{css} {worst.get(leaf.name, '')}".strip()
    values.live[f"{key}/class"] = classes
    link = element(
        "a", values.word(key, shown), href=f"/devices/{quote(leaf.name, safe='')}", aria_label=None, title=leaf.name
    )
    filled = f"{min(full, 1):.2f}" if full == full else "0"
    values.live[f"{key}#"] = filled
    return element(
        "td",
        link,
        class_=classes,
        data_live_class=f"{key}/class",
        data_was=classes,
        data_live_fill=f"{key}#",
        style=f"--fill:{filled}",
    )


def _amount(number: float) -> tuple[str, float]:
    """The CSS class of frames or packets per second, each step ten times the one before, and how strong its shade is (0 to 1)."""
    if number != number:
        return "unknown", number
    return f"l{sum(number >= one for one in (1, 10, 100, 1_000, 10_000))}", log10(1 + number) / 5
