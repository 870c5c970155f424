"""What the report shows of a network beside findings: it can be drawn before they are all known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.model.intent.topology import Cabling
from railweave.model.network.status import absent_sentence, present
from railweave.outputs.report.bill_table import bill_table
from railweave.outputs.report.capacity import capacity_grid, rail_capacities
from railweave.outputs.report.decisions.fabric import decisions
from railweave.outputs.report.decisions.management import management_decision
from railweave.outputs.report.failures import failures_decision
from railweave.outputs.report.forwarding import forwarding
from railweave.outputs.report.servers import placeholders, servers_decisions
from railweave.outputs.report.tables import addresses_table, buffers_table, cables_table, switches_table
from railweave.outputs.report.topology.picture import topology_svg
from railweave.pages.markup import element, json_for_script, text
from railweave.pages.palette import network_strokes

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.network.model import Network
    from railweave.outputs.report.decisions.statement import Decision, Grid
    from railweave.outputs.report.prices import Prices


class Body(NamedTuple):
    """Markup of sections, and as JSON the tables and how packets are forwarded.

    ``remarks`` are sentences about a table, by its id: which cables were measured, which MAC addresses are known.
    """

    picture: str
    paths: str
    capacity: str
    decisions: str
    servers: str
    remarks: dict[str, str]
    tables: tuple[str, ...]
    forwarding: str


def body_of(network: Network, routes: Routes, prices: Prices | None = None) -> Body:
    """Draw a network; ``routes`` are the forwarding tables with nothing down, ``prices`` those of its parts."""
    strokes = network_strokes(network)
    tables = (
        buffers_table(network),
        cables_table(network, strokes),
        addresses_table(network, strokes),
        switches_table(network),
        bill_table(network, prices),
    )
    return Body(
        _picture(network),
        _paths(network),
        _capacity(present(network), routes),
        _decisions(network),
        element("div", *(_decision(one) for one in servers_decisions(network)), class_="cards wide-cards"),
        {"cables": _lengths(network), "addresses": placeholders(network)},
        tuple(map(json_for_script, tables)),
        json_for_script(forwarding(network, routes)),
    )


def _picture(network: Network) -> str:
    hint = (
        "Point at a device to see its links, click to keep them; click a path color to see where it runs, "
        "a stripe of a large fabric to open it."
    )
    bar = element(
        "div",
        element("span", hint, id="selection", role="status"),
        '<button type="button" id="zoom" aria-pressed="false">Actual size</button>',
        class_="bar",
    )
    said = absent_sentence(network)
    bar += element("p", text(said[0].upper() + said[1:] + "."), class_="about") if said else ""
    # What a narrow window leaves out must not look cut off: the script shows this where the picture has to be scrolled.
    wider = (
        "The picture is wider than this window: scroll it sideways, or choose Whole picture to see all of it, smaller."
    )
    bar += element("p", wider, id="wider", hidden="")
    picture = element("div", topology_svg(network), class_="picture", id="picture", tabindex=0)
    return bar + picture + '<div id="expanded"></div>'


def _paths(network: Network) -> str:
    """The form that asks for two NICs; nothing where there are no two on one fabric."""
    fabric = network.fabrics[0].name
    nics = [(server, nic) for server in present(network).servers for nic in server.nics if nic.fabric == fabric]
    if len(nics) < 2:
        return element("p", "There are no two NICs on one fabric yet.", class_="about")
    server, source = nics[0]
    # The far end of the same rail shows what spines are for; where a rail has one NIC, any other does.
    there, target = next(
        (one for one in reversed(nics) if one[1].rail == source.rail and one[0] is not server), nics[-1]
    )
    used = network.job_family(fabric, source.tenant) or (source.addresses[0].family if source.addresses else None)
    count = max(len(source.addresses_of(used)), 1)
    fields = [
        _field("source", "From", f"{server.name}:{source.name}"),
        _field("target", "To", f"{there.name}:{target.name}"),
        f'<label>Queue pairs <input id="path-count" type="number" min="1" max="64" value="{min(count, 64)}"></label>',
        *_families(network, used),
        '<button type="submit">Show</button><datalist id="path-nics"></datalist>',
    ]
    return element("form", *fields, id="path-form", class_="search") + element("div", "", id="path-result")


def _families(network: Network, used: str | None) -> list[str]:
    """The choice of an address family, where NICs have both; the one that jobs use is chosen."""
    if not any(len({one.family for one in nic.addresses}) > 1 for server in network.servers for nic in server.nics):
        return []
    options = [
        element("option", name, value=name.lower(), selected="selected" if name.lower() == used else None)
        for name in ("IPv4", "IPv6")
    ]
    return [element("label", "Family ", element("select", *options, id="path-family"))]


def _field(name: str, label: str, value: str) -> str:
    return element(
        "label",
        f"{label} ",
        element("input", id=f"path-{name}", list="path-nics", value=value, autocomplete="off", spellcheck="false"),
    )


def _capacity(network: Network, routes: Routes) -> str:
    several = len(network.fabrics) > 1
    parts: list[str] = []
    for fabric in network.fabrics:
        capacities = rail_capacities(network, fabric, routes)
        about, grid = capacity_grid(network, fabric, capacities)
        parts += [element("h3", text(f"Fabric {fabric.name}"))] if several else []
        parts += [element("p", text(about), class_="about"), element("div", _grid(grid), class_="table")]
        failures = failures_decision(network, fabric, routes, capacities)
        parts += [_decision(failures)] if failures else []
    return "".join(parts)


def _lengths(network: Network) -> str:
    """How far the lengths of the cabling are to be believed."""
    if not network.cables:
        return ""
    measured = sum(cable.measured for cable in network.cables)
    defaults = Cabling()
    planned = {"server": defaults.server.length, "fabric": defaults.fabric.length}
    if not measured and all(cable.length_m == planned[cable.kind] for cable in network.cables):
        return (
            f" No length is measured, and all are the defaults ({planned['server']:g} m to servers, "
            f"{planned['fabric']:g} m between switches): set cabling in the fabric file, or measure."
        )
    return f" {measured:,} of {len(network.cables):,} lengths are measured, the others as planned."


def _decisions(network: Network) -> str:
    several = len(network.fabrics) > 1
    parts: list[str] = []
    for fabric in network.fabrics:
        if several:
            parts.append(element("h3", text(f"Fabric {fabric.name}")))
        more = [] if several else [management_decision(network)]
        parts.append(element("div", *(_decision(one) for one in [*decisions(network, fabric), *more]), class_="cards"))
    if several:
        parts.append(
            element("h3", "All fabrics") + element("div", _decision(management_decision(network)), class_="cards")
        )
    return "".join(parts)


def _decision(one: Decision) -> str:
    facts = "".join(element("dt", text(name)) + element("dd", text(value)) for name, value in one.facts)
    return element(
        "article",
        element("h4", text(one.title)),
        element("p", text(one.chosen), class_="chosen"),
        element("p", text(one.why), class_="why"),
        element("dl", facts) if facts else "",
        *(_grid(grid) for grid in one.grids),
        class_="card",
    )


def _grid(grid: Grid) -> str:
    head = element("tr", *(element("th", text(name) or " ", scope="col") for name in grid.header))
    rows = [
        element(
            "tr",
            *(element("td", text(cell) or " ") for cell in row),
            class_=("noted" if grid.noted else "short") if place in grid.emphasis else None,
        )
        for place, row in enumerate(grid.rows)
    ]
    return element("div", element("table", element("thead", head), element("tbody", *rows)), class_="grid")
