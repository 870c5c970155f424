"""The pages of the topology, of paths and of rails: the network with its current load, and the traffic of each path color."""

from __future__ import annotations

from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from railweave.analysis.routing.paths import LinkShare, QueuePairPath, queue_pair_paths
from railweave.errors import InputError
from railweave.operations.watch.console.links import NOWHERE, Group, level
from railweave.operations.watch.console.view import (
    UNKNOWN,
    Live,
    PageView,
    Values,
    per_second,
    percent,
    rate,
    size,
)
from railweave.pages.palette import network_strokes, stroke_rules
from railweave.pages.shell import element, section, still_picture, text
from railweave.pages.table import columns, html_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.model.network.devices import Cable, Fabric, Switch
    from railweave.operations.watch.console.state import Console


NUMBERS = ("Share", "Carried", "Used", "Queue", "Paused/s", "Marks/s", "Drops/s")
HEADS = columns("Hop", "Link", *NUMBERS, numbers=NUMBERS)
COLOR_NUMBERS = ("Links", "Carried", "Used", "Busiest")
COLOR_HEADS = columns("Path color", "Links", "Busiest link", "Carried", "Used", "Busiest", numbers=COLOR_NUMBERS)
MOST_PAIRS = 64
PATH_ABOUT = (
    "The links that each queue pair crosses with nothing down, from the forwarding tables that follow from the design, and the queue of the port "
    "that sends into each: how many bytes stood in it at most, and how often the next device pauses it. The queue of the first hop is the NIC's own."
)


def path(console: Console, query: Mapping[str, str], values: Values) -> PageView:
    """Return the page of the path between two NICs. Values that change while the page is open are added to ``values``.

    The query parameters ``src`` and ``dst`` have the form ``SERVER:NIC``; by default, they are two NICs of one rail.
    The parameter ``qps`` is the number of queue pairs.
    """
    ends = _first(console)
    src, dst = query.get("src") or ends[0], query.get("dst") or ends[1]
    colors = max((len(fabric.colors) for fabric in console.network.fabrics), default=1)
    asked = query.get("qps", "")
    qps = int(asked) if asked.isdecimal() and 0 < int(asked) <= MOST_PAIRS else min(max(colors, 1), MOST_PAIRS)
    form = _form(console, src, dst, qps)
    try:
        pairs = queue_pair_paths(console.network, console.watching.validator.routes, src, dst, qps)
    except InputError as error:
        alerts = [
            element("p", text(f"{problem.what}: {problem.fix}"), class_="wrong", role="alert")
            for problem in error.problems
        ]
        return PageView("Path", [section("path", "Path", PATH_ABOUT, form + "".join(alerts))], values.live)
    same = src == dst
    shown = [element("p", "A NIC needs no path to itself.", class_="wrong")] if same else [
        _pair(console, values, pair, src.partition(":")[0]) for pair in pairs
    ]  # fmt: skip
    return PageView(
        "Path",
        [section("path", "Path", PATH_ABOUT, form), *shown],
        values.live,
        styles=[stroke_rules(network_strokes(console.network))],
    )


def _form(console: Console, src: str, dst: str, qps: int) -> str:
    nics = console.network.servers[0].nics if console.network.servers else ()
    hint = element("datalist", *(element("option", value=f"{server.name}:{nics[0].name}") for server in console.network.servers), id="nics") if nics else ""  # fmt: skip

    def field(name: str, label: str, value: str, **more: object) -> str:
        return element("label", text(f"{label} "), element("input", name=name, value=value, **more))

    return element(
        "form",
        field("src", "From", src, list="nics", size=24, autocomplete="off", spellcheck="false"),
        field("dst", "To", dst, list="nics", size=24, autocomplete="off", spellcheck="false"),
        field("qps", "Queue pairs", str(qps), type="number", min=1, max=MOST_PAIRS),
        element("button", "Show", type="submit"),
        hint,
        action="/path",
        method="get",
        class_="search",
    )


def _first(console: Console) -> tuple[str, str]:
    """Return two NICs of one rail, as ``SERVER:NIC``: a NIC of the first server with the rail, and a NIC of the last."""
    network = console.network
    first = next((server for server in network.servers if server.nics), None)
    if first is None:
        return "", ""
    nic = first.nics[0]
    alike = [
        (server.name, each.name)
        for server in network.servers
        for each in server.nics
        if (each.fabric, each.rail) == (nic.fabric, nic.rail)
    ]
    return ":".join(alike[0]), ":".join(alike[-1])


def _pair(console: Console, values: Values, pair: QueuePairPath, server: str) -> str:
    fabric = f"queue pair {pair.qp}"
    held = f"held to its {pair.pinned_to}" if pair.pinned_to else "spread over all links of a hop"
    about = f"{pair.src_gid} to {pair.dst_gid}, {held}."
    if not pair.hops:
        return section(f"qp{pair.qp}", f"{fabric.capitalize()}: no way", about, "")
    rows: list[str] = []
    here = {server}
    for number, hop in enumerate(pair.hops, 1):
        there: set[str] = set()
        for share in hop:
            cable = console.network.cable(share.link)
            sender = cable.a.device if cable.a.device in here else cable.b.device
            there.add(cable.b.device if sender == cable.a.device else cable.a.device)
            rows.append(_hop(console, values, number, share, cable, sender))
        here = there
    color = f", color {pair.color}" if pair.color else ""
    return section(f"qp{pair.qp}", f"{fabric.capitalize()}{color}", about, html_table(HEADS, rows))


def _hop(console: Console, values: Values, number: int, share: LinkShare, cable: Cable, sender: str) -> str:
    """Return the table row of a link on a path, with the numbers of the port that sends into the link.

    - ``number``: the number of the hop. ``share``: the part of the traffic that uses this link.
    - ``sender``: the device that sends into the link's ``cable``.
    - ``values``: collects the values that change while the page is open.
    """
    up = sender == cable.a.device
    place = console.links.places[cable.name]
    row = int(console.links.rows[place, 0 if up else 1])
    nan = float("nan")
    numbers = {column: nan if row == NOWHERE else float(of[row]) for column, of in console.ports.numbers.items()}
    carried = float((console.links.up if up else console.links.down)[place])
    used = carried / (cable.speed_gbps * 1e9)
    here, there = (cable.a, cable.b) if up else (cable.b, cable.a)
    swatch = console.swatches.get((cable.fabric, cable.color), "")
    hue = element("i", "", class_=f"swatch {swatch}") if swatch else ""
    key = f"{cable.name}/{'up' if up else 'down'}"
    ends = [
        element("a", text(end.device), href=f"/devices/{quote(end.device, safe='')}") + text(f" {end.port}")
        for end in (here, there)
    ]
    queue = "NIC" if row == NOWHERE and up and cable.kind == "server" else size(numbers["queue"])
    return element(
        "tr",
        element("th", str(number), scope="row"),
        element("td", hue, ends[0], " → ", ends[1], class_="mono"),
        element("td", percent(share.share), class_="number"),
        values.word(f"{key}/carried", rate(carried), "td", class_="number"),
        values.bar(f"{key}/used", used, percent(used), swatch),
        values.word(f"{key}/queue", queue, "td", class_="number"),
        *(
            values.word(
                f"{key}/{column}", UNKNOWN if row == NOWHERE else per_second(numbers[column]), "td", class_="number"
            )
            for column in ("paused", "marks", "drops")
        ),
    )


@dataclass(frozen=True, slots=True)
class Shade:
    """A quantity by which the cells of a rail map (rails by leaves) can be shaded.

    - ``label``: the quantity's name; ``about``: an explanation.
    - ``kind``: the kind of cables, such as ``server``. A cell combines the numbers of the leaf's cables of this kind.
    - ``column``: the column of ``links.COLUMNS`` that is shown for the cables' ports; empty means the load.
    """

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


def rails(console: Console, query: Mapping[str, str], values: Values) -> PageView:
    """Return the page with a map of rails and leaves, shaded by a quantity that the query parameter ``of`` selects.

    Values that change while the page is open are added to ``values``.
    """
    chosen = query.get("of", "servers")
    chosen = chosen if chosen in SHADES else "servers"
    shade = SHADES[chosen]
    choices = "".join(
        element(
            "a",
            text(option.label),
            href=f"/rails?of={name}",
            aria_current="true" if name == chosen else None,
            class_="choice-link",
        )
        for name, option in SHADES.items()
    )
    maps = [
        (element("h3", text(fabric.name)) if len(console.network.fabrics) > 1 else "")
        + _map(console, values, fabric, shade)
        for fabric in console.network.fabrics
    ]
    key = element(
        "p",
        "The stronger a shade, the more. A red edge is an error at the leaf, an amber one a warning, a red dashed one a leaf that does not answer any more, a gray one that never did.",
        class_="about",
    )
    return PageView(
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
    leaves = [switch for switch in console.network.switches if switch.fabric == fabric.name and switch.role == "leaf"]
    stripes = list(dict.fromkeys(leaf.stripe for leaf in leaves))
    at = {(leaf.stripe, number): leaf for leaf in leaves for number in leaf.rails}
    numbers = sorted({number for leaf in leaves for number in leaf.rails})
    worst = console.worst()
    busy = np.fmax(np.nan_to_num(console.links.up, nan=-1), np.nan_to_num(console.links.down, nan=-1))
    rows: list[str] = []
    for number in numbers:
        cells = [_cell(console, values, at.get((stripe, number)), number, shade, worst, busy) for stripe in stripes]
        rows.append(element("tr", element("th", f"rail {number}", scope="row"), *cells))
    heads = [
        element("th", "", scope="col"),
        *(element("th", element("span", text(stripe)), scope="col") for stripe in stripes),
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
        loads = busy[places]
        speed = console.links.speed[places][loads >= 0].sum()
        used = float(loads[loads >= 0].sum() / speed) if speed else float("nan")
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
    """Return the CSS class and the shade (0 to 1) of a cell for a number of frames or packets per second. Each class covers a factor of ten."""
    if number != number:
        return "unknown", number
    return f"l{sum(number >= threshold for threshold in (1, 10, 100, 1_000, 10_000))}", log10(1 + number) / 5


ABOUT = (
    "A link is drawn in the hue of its path color, the wider the more of its bandwidth is used by the busier direction. Red and amber are "
    "errors and warnings; a red dashed box is a switch that does not answer any more, a gray one that never did. Click a device, or choose it with Tab and Enter."
)


def topology(console: Console, values: Values) -> PageView:
    """Return the page with the picture of the network and the load of its links.

    Values that change while the page is open are added to ``values``.
    """
    key = "".join(
        element("span", element("i", "", class_=f"key-line {css}"), text(words))
        for css, words in (("l0", "under 1 %"), ("l1", "1 %"), ("l2", "20 %"), ("l3", "40 %"), ("l4", "60 %"), ("l5", "80 % and more"), ("unknown", "not known"))
    )  # fmt: skip
    picture, hint = still_picture(console.picture)
    rows = [_row(console, values, group) for group in (*console.links.colors, *console.links.downlinks)]
    return PageView(
        "Topology",
        [
            section("topology", "Topology", ABOUT, element("p", key, class_="load-key") + picture),
            section(
                "colors",
                "Load by path color",
                "Both directions added up; used is of all bandwidth of the color's links.",
                html_table(COLOR_HEADS, rows),
            ),
        ],
        values.live | marks(console),
        styles=[stroke_rules(network_strokes(console.network)), hint],
        scripts=["topology.js"],
    )


def _row(console: Console, values: Values, group: Group) -> str:
    """Return the table row with the load of a group of links, such as all links of a path color or all links to servers.

    Values that change while the page is open are added to ``values``.
    """
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
        element("td", text(f"{len(group.places):,}"), class_="number"),
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
    """Return the values that the script draws into the picture: the load of links, and the severity of anomalies of devices and links.

    The picture of a large network does not draw single links. Its loads are those of groups of links.
    """
    live: Live = {}
    picture = console.picture
    listed = console.anomalies()
    for device, severity in console.worst(listed).items():
        live[f"device/{device}"] = severity
    for name, severity in _groups(console).items():
        live[f"group/{name}"] = severity
    if "data-link=" in picture:
        wrong = _wrong_links(console)
        for place in np.flatnonzero(~np.isnan(console.load)):
            cable = console.network.cables[place]
            description = f"{percent(float(console.load[place]))} of {cable.speed_gbps}G: up {rate(float(console.links.up[place]))}, down {rate(float(console.links.down[place]))}"
            live[f"link/{place}"] = (
                f"{level(float(console.load[place]))} {wrong.pop(int(place), '')}".strip() + f"|{description}"
            )
        live |= {f"link/{place}": f"unknown {severity}|" for place, severity in wrong.items()}
    for group in console.links.bundles:
        load = console.links.of(group, console.load)
        if load is not None:
            live[group.key] = (
                f"{level(load.mean)}|{percent(load.mean)} used, {rate(load.carried)}, the busiest link {percent(load.most)}"
            )
    return live


def _groups(console: Console) -> dict[str, str]:
    """Return the worst severity of each block of the picture, by block: ``FABRIC/STRIPE`` or ``FABRIC/spines``.

    The picture of a large network has one block for each stripe or tier.
    """
    order = ("silent", "error", "warning", "not-known")
    severities: dict[str, str] = {}
    worst = console.worst()
    for switch in console.network.switches:
        severity = worst.get(switch.name)
        if severity is not None:
            block = f"{switch.fabric}/{switch.stripe if switch.role == 'leaf' else f'{switch.role}s'}"
            severities[block] = min(severities.get(block, "not-known"), severity, key=order.index)
    return severities


def _wrong_links(console: Console) -> dict[int, str]:
    """Return the worst severity of each cable with an anomaly, by the cable's index.

    Anomalies that another anomaly explains are left out.
    """
    ends = {
        (end.device, end.port): place
        for place, cable in enumerate(console.network.cables)
        for end in (cable.a, cable.b)
    }
    names = {cable.name: place for place, cable in enumerate(console.network.cables)}
    severities: dict[int, str] = {}
    for anomaly in console.anomalies():
        if anomaly.finding.severity == "info":
            continue
        for port in anomaly.port.split(" and "):
            row = console.ports.rows.get((anomaly.device, port))
            place = ends.get((anomaly.device, port)) if row is None else names.get(console.ports.ports[row].link)
            if place is not None and severities.get(place) != "error":
                severities[place] = anomaly.finding.severity
    return severities
