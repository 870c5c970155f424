"""The path between two NICs, queue pair by queue pair, with what stands in the queue of each hop."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError
from railweave.operations.watch.console.links import NOWHERE
from railweave.operations.watch.console.view import Shown, Values, table
from railweave.operations.watch.console.words import UNKNOWN, per_second, percent, rate, size
from railweave.pages.markup import element, text
from railweave.pages.palette import network_strokes, stroke_rules
from railweave.pages.shell import section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.routing.paths import LinkShare, QueuePairPath
    from railweave.model.network.devices import Cable
    from railweave.operations.watch.console.state import Console

HEADS = ("Hop", "Link", "Share", "Carried", "Used", "Queue", "Paused/s", "Marks/s", "Drops/s")
MOST_PAIRS = 64
ABOUT = (
    "The links that each queue pair crosses with nothing down, from the forwarding tables that follow from the design, and the queue of the port "
    "that sends into each: how many bytes stood in it at most, and how often the next device pauses it. The queue of the first hop is the NIC's own."
)


def path(console: Console, query: Mapping[str, str], values: Values) -> Shown:
    """The page. ``src`` and ``dst`` are ``SERVER:NIC``, ``qps`` how many queue pairs; the first two NICs of a rail where they are not given."""
    ends = _first(console)
    src, dst = query.get("src") or ends[0], query.get("dst") or ends[1]
    colors = max((len(one.colors) for one in console.network.fabrics), default=1)
    asked = query.get("qps", "")
    qps = int(asked) if asked.isdecimal() and 0 < int(asked) <= MOST_PAIRS else min(max(colors, 1), MOST_PAIRS)
    form = _form(console, src, dst, qps)
    try:
        found = queue_pair_paths(console.network, console.watching.validator.routes, src, dst, qps)
    except InputError as error:
        said = [element("p", text(f"{one.what}: {one.fix}"), class_="wrong", role="alert") for one in error.problems]
        return Shown("Path", [section("path", "Path", ABOUT, form + "".join(said))], values.live)
    same = src == dst
    shown = [element("p", "A NIC needs no path to itself.", class_="wrong")] if same else [
        _pair(console, values, one, src.partition(":")[0]) for one in found
    ]  # fmt: skip
    return Shown(
        "Path",
        [section("path", "Path", ABOUT, form), *shown],
        values.live,
        styles=[stroke_rules(network_strokes(console.network))],
    )


def _form(console: Console, src: str, dst: str, qps: int) -> str:
    nics = console.network.servers[0].nics if console.network.servers else ()
    hint = element("datalist", *(element("option", value=f"{one.name}:{nics[0].name}") for one in console.network.servers), id="nics") if nics else ""  # fmt: skip

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
    """Two NICs of one rail, of the first and the last server that have it."""
    network = console.network
    first = next((one for one in network.servers if one.nics), None)
    if first is None:
        return "", ""
    nic = first.nics[0]
    alike = [
        (one.name, each.name)
        for one in network.servers
        for each in one.nics
        if (each.fabric, each.rail) == (nic.fabric, nic.rail)
    ]
    return ":".join(alike[0]), ":".join(alike[-1])


def _pair(console: Console, values: Values, one: QueuePairPath, server: str) -> str:
    fabric = f"queue pair {one.qp}"
    held = f"held to its {one.pinned_to}" if one.pinned_to else "spread over all links of a hop"
    about = f"{one.src_gid} to {one.dst_gid}, {held}."
    if not one.hops:
        return section(f"qp{one.qp}", f"{fabric.capitalize()}: no way", about, "")
    rows: list[str] = []
    here = {server}
    for number, hop in enumerate(one.hops, 1):
        there: set[str] = set()
        for share in hop:
            cable = console.network.cable(share.link)
            sender = cable.a.device if cable.a.device in here else cable.b.device
            there.add(cable.b.device if sender == cable.a.device else cable.a.device)
            rows.append(_hop(console, values, number, share, cable, sender))
        here = there
    color = f", color {one.color}" if one.color else ""
    return section(f"qp{one.qp}", f"{fabric.capitalize()}{color}", about, table(HEADS, rows, numbers=7))


def _hop(console: Console, values: Values, number: int, share: LinkShare, cable: Cable, sender: str) -> str:
    """A link of a hop with the numbers of the port that sends into it."""
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
            values.word(f"{key}/{one}", UNKNOWN if row == NOWHERE else per_second(numbers[one]), "td", class_="number")
            for one in ("paused", "marks", "drops")
        ),
    )
