"""The first page: the network's picture with its load as it is, and what each path color carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.operations.watch.console.links import level
from railweave.operations.watch.console.view import Shown, Values, table
from railweave.operations.watch.console.words import UNKNOWN, percent, rate
from railweave.pages.markup import element, text
from railweave.pages.palette import network_strokes, stroke_rules
from railweave.pages.shell import section, still_picture

if TYPE_CHECKING:
    from railweave.operations.watch.console.links import Group
    from railweave.operations.watch.console.state import Console
    from railweave.operations.watch.console.view import Live

ABOUT = (
    "A link is drawn in the hue of its path color, the wider the more of its bandwidth is used by the busier direction. Red and amber are "
    "errors and warnings; a red dashed box is a switch that does not answer any more, a gray one that never did. Click a device, or choose it with Tab and Enter."
)


def topology(console: Console, values: Values) -> Shown:
    """The page."""
    key = "".join(
        element("span", element("i", "", class_=f"key-line {css}"), text(words))
        for css, words in (("l0", "under 1 %"), ("l1", "1 %"), ("l2", "20 %"), ("l3", "40 %"), ("l4", "60 %"), ("l5", "80 % and more"), ("unknown", "not known"))
    )  # fmt: skip
    picture, hint = still_picture(console.picture)
    rows = [_row(console, values, one) for one in (*console.links.colors, *console.links.downlinks)]
    heads = ("Path color", "Links", "Busiest link", "Carried", "Used", "Busiest")
    return Shown(
        "Topology",
        [
            section("topology", "Topology", ABOUT, element("p", key, class_="load-key") + picture),
            section(
                "colors",
                "Load by path color",
                "Both directions added up; used is of all bandwidth of the color's links.",
                table(heads, rows, numbers=3),
            ),
        ],
        values.live | marks(console),
        styles=[stroke_rules(network_strokes(console.network)), hint],
        scripts=["topology.js"],
    )


def _row(console: Console, values: Values, group: Group) -> str:
    """What one path color carries."""
    load = console.links.of(group, console.load)
    name = console.past.colors.get((group.fabric, group.color), "none")
    if group.key.startswith("servers/"):
        name = "to servers"
    fabric = f"{group.fabric}: " if len(console.network.fabrics) > 1 else ""
    swatch = console.swatches.get((group.fabric, group.color), "")
    hue = element("i", "", class_=f"swatch {swatch}".strip())
    busiest = UNKNOWN if load is None else console.network.cables[load.busiest].name
    nan = float("nan")
    return element(
        "tr",
        element("th", hue, text(fabric + name), scope="row", class_="color"),
        element("td", text(f"{len(group.places):,}")),
        values.word(f"{group.key}/name", busiest, "td", class_="mono"),
        values.word(f"{group.key}/carried", rate(nan if load is None else load.carried), "td", class_="number"),
        values.bar(
            f"{group.key}/used",
            nan if load is None else load.mean,
            percent(nan if load is None else load.mean),
            swatch,
        ),
        values.bar(
            f"{group.key}/most",
            nan if load is None else load.most,
            percent(nan if load is None else load.most),
            swatch,
        ),
    )


def marks(console: Console) -> Live:
    """What the script draws into the picture: the load of each link or bundle, and what is wrong at devices and links.

    A link is named by its place in the cabling only where links are drawn one by one, so that of a large network little travels.
    """
    found: Live = {}
    picture = console.picture
    listed = console.anomalies()
    for device, severity in console.worst(listed).items():
        found[f"device/{device}"] = severity
    for name, severity in _groups(console).items():
        found[f"group/{name}"] = severity
    if "data-link=" in picture:
        wrong = _wrong_links(console)
        for place in np.flatnonzero(~np.isnan(console.load)):
            one = console.network.cables[place]
            said = f"{percent(float(console.load[place]))} of {one.speed_gbps}G: up {rate(float(console.links.up[place]))}, down {rate(float(console.links.down[place]))}"
            found[f"link/{place}"] = (
                f"{level(float(console.load[place]))} {wrong.pop(int(place), '')}".strip() + f"|{said}"
            )
        found |= {f"link/{place}": f"unknown {severity}|" for place, severity in wrong.items()}
    for group in console.links.bundles:
        load = console.links.of(group, console.load)
        if load is not None:
            found[group.key] = (
                f"{level(load.mean)}|{percent(load.mean)} used, {rate(load.carried)}, the busiest link {percent(load.most)}"
            )
    return found


def _groups(console: Console) -> dict[str, str]:
    """The worst of each stripe and tier of the picture, which stand as one block in a large one: ``FABRIC/STRIPE``, ``FABRIC/spines``."""
    order = ("silent", "error", "warning", "not-known")
    found: dict[str, str] = {}
    worst = console.worst()
    for one in console.network.switches:
        severity = worst.get(one.name)
        if severity is not None:
            block = f"{one.fabric}/{one.stripe if one.role == 'leaf' else f'{one.role}s'}"
            found[block] = min(found.get(block, "not-known"), severity, key=order.index)
    return found


def _wrong_links(console: Console) -> dict[int, str]:
    """By its place the severity of each cable that an anomaly is at; what follows from another is not marked."""
    ends = {(end.device, end.port): place for place, one in enumerate(console.network.cables) for end in (one.a, one.b)}
    names = {one.name: place for place, one in enumerate(console.network.cables)}
    found: dict[int, str] = {}
    for one in console.anomalies():
        if one.finding.severity == "info":
            continue
        for port in one.port.split(" and "):
            row = console.ports.rows.get((one.device, port))
            place = ends.get((one.device, port)) if row is None else names.get(console.ports.ports[row].link)
            if place is not None and found.get(place) != "error":
                found[place] = one.finding.severity
    return found
