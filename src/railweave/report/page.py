"""The report: one HTML file with the picture, the findings, the decisions, the tables and the bill of materials.

It loads nothing: style, script and data are inside, so that it can be mailed, archived, and opened on a machine that
has no network.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.findings import SEVERITIES
from railweave.report.capacity import capacity_grid, rail_capacities
from railweave.report.decisions import decisions
from railweave.report.failures import failures_decision
from railweave.report.figures import figures
from railweave.report.forwarding import forwarding
from railweave.report.lab_notes import lab_notes_joined
from railweave.report.markup import asset, element, json_for_script, text
from railweave.report.palette import network_strokes, stroke_rules
from railweave.report.tables import (
    addresses_table,
    bill_table,
    buffers_table,
    cables_table,
    findings_table,
    switches_table,
)
from railweave.report.topology import topology_svg
from railweave.spec.topology import Cabling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.network import Network
    from railweave.findings import Finding
    from railweave.report.statement import Decision, Grid
    from railweave.routes.table import Routes

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""Content security policy of the page: the browser itself refuses every request to a network."""

TABLES = (
    (
        "buffers",
        "Buffers per switch",
        "PFC headroom that each switch needs, against what its buffer sets aside; the arithmetic is under Decisions.",
    ),
    ("cables", "Cabling", "Every cable with its ports, lanes and optics; the same rows are in cabling.csv."),
    (
        "addresses",
        "NIC addresses",
        "Every address of every NIC, with its leaf port; the same rows are in addresses.csv.",
    ),
    (
        "switches",
        "Switches",
        (
            "Every switch with its numbers. Its configuration is in devices/NAME/; its runbook says what to do and what to "
            "expect on it. Links to runbooks work where this page stands in the folder of the build. Switches are brought "
            "up from the top: those with 1 first, in any order among each other; servers last."
        ),
    ),
    (
        "bill",
        "Bill of materials",
        (
            "One pluggable per physical port, one fibre cable per link, no spares. Not counted: the management network, "
            "racks, power, patch panels."
        ),
    ),
)
"""Tables with a section of their own: id, title, what it holds."""

SCRIPTS = ("tables.js", "facts.js", "picture.js", "stripe.js", "paths.js", "page.js")
"""The page's script, in the order in which the parts build on each other."""


def report_html(
    network: Network, findings: Sequence[Finding], routes: Routes, design: str = "", checks: Sequence[str] = ()
) -> str:
    """The report of a network as one HTML document.

    ``findings`` are listed errors first; ``routes`` are the forwarding tables with nothing down; ``design`` is what
    tells this design from another (the digest of ``design.json``); ``checks`` are the ids of those that were run.
    """
    strokes = network_strokes(network)
    findings = lab_notes_joined(network, findings)
    tables = [
        findings_table(findings),
        buffers_table(network),
        cables_table(network, strokes),
        addresses_table(network, strokes),
        switches_table(network),
        bill_table(network),
    ]
    shown = [
        ("topology", "Topology", "", _picture(network)),
        ("paths", "Queue pair paths", PATHS_ABOUT, _paths(network)),
        ("findings", "Findings", _tally(findings, checks), _table("findings") if findings else ""),
        ("capacity", "Capacity per rail", "", _capacity(network, routes)),
        ("decisions", "Decisions", "What was chosen, and why.", _decisions(network)),
        *((name, title, about + _lengths(network, name), _table(name)) for name, title, about in TABLES),
    ]
    navigation = "".join(element("a", text(title), href=f"#{name}") for name, title, _, _ in shown)
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        element("title", text(f"{network.name}: network report")),
        element("style", f"{asset('page.css')}\n{stroke_rules(strokes)}"),
    ]
    made = "Made by railweave. The same design gives the same page."
    body = [
        element("header", element("div", *_header(network, findings), class_="wide")),
        element("nav", element("div", navigation, class_="wide"), aria_label="Sections"),
        element("main", *(_section(*one) for one in shown), class_="wide"),
        element(
            "footer", text(made + (f" This one is {design} (SHA-256 of design.json)." if design else "")), class_="wide"
        ),
        element("script", json_for_script(tables), type="application/json", id="tables"),
        element("script", json_for_script(forwarding(network, routes)), type="application/json", id="forwarding"),
        element("script", '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in SCRIPTS) + "\n})();"),
    ]
    return "\n".join(
        ['<!doctype html>\n<html lang="en">\n<head>', *head, "</head>\n<body>", *body, "</body>\n</html>\n"]
    )


def _header(network: Network, findings: Sequence[Finding]) -> list[str]:
    sums = figures(network)
    tiles = [
        (f"{sums.gpus:,}", "GPU" if sums.gpus == 1 else "GPUs"),
        (f"{sums.servers:,}", "server" if sums.servers == 1 else "servers"),
        (f"{sums.leaves:,}", "leaf" if sums.leaves == 1 else "leaves"),
        (f"{sums.spines:,}", "spine" if sums.spines == 1 else "spines"),
        *([(f"{sums.super_spines:,}", "super-spines")] if sums.super_spines else []),
        *([(f"{sums.dci:,}", "routers between sites")] if sums.dci else []),
        (f"{sums.server_links + sums.fabric_links + sums.upper_links + sums.long_links:,}", "links"),
        *([(f"{sums.long_links:,}", "of them between sites")] if sums.long_links else []),
        (f"{sums.colors:,}", "path color" if sums.colors == 1 else "path colors"),
        ("–" if sums.oversubscription is None else f"{sums.oversubscription:.4g}:1", "oversubscription"),
    ]
    errors = sum(one.severity == "error" for one in findings)
    verdict = element(
        "span",
        text(counted(errors, "error")) if errors else "no errors",
        class_="error" if errors else "good",
    )
    return [
        element("h1", text(network.name), " ", verdict),
        element("p", text(network.description), class_="description") if network.description else "",
        element(
            "ul",
            *(element("li", element("b", value), element("span", label)) for value, label in tiles),
            class_="tiles",
        ),
    ]


def _section(name: str, title: str, about: str, content: str) -> str:
    return element(
        "section",
        element("h2", text(title)),
        element("p", text(about), class_="about") if about else "",
        content,
        id=name,
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
    return bar + element("div", topology_svg(network), class_="picture", id="picture") + '<div id="expanded"></div>'


PATHS_ABOUT = (
    "The links that each queue pair between two NICs crosses with nothing down, from the computed forwarding tables of "
    "the switches; railweave paths tells the same, also with links down."
)


def _paths(network: Network) -> str:
    """The form that asks for two NICs; nothing where there are no two on one fabric."""
    fabric = network.fabrics[0].name
    nics = [(server, nic) for server in network.servers for nic in server.nics if nic.fabric == fabric]
    if len(nics) < 2:
        return element("p", "There are no two NICs on one fabric yet.", class_="about")
    server, source = nics[0]
    # The far end of the same rail shows what spines are for; where a rail has one NIC, any other does.
    there, target = next(
        (one for one in reversed(nics) if one[1].rail == source.rail and one[0] is not server), nics[-1]
    )
    count = max(len(source.addresses), 1)
    fields = [
        _field("source", "From", f"{server.name}:{source.name}"),
        _field("target", "To", f"{there.name}:{target.name}"),
        f'<label>Queue pairs <input id="path-count" type="number" min="1" max="64" value="{min(count, 64)}"></label>',
        '<button type="submit">Show</button><datalist id="path-nics"></datalist>',
    ]
    return element("form", *fields, id="path-form", class_="search") + element("div", "", id="path-result")


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


def _lengths(network: Network, name: str) -> str:
    """How far the lengths of the cabling are to be believed."""
    if name != "cables" or not network.cables:
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


def _tally(findings: Sequence[Finding], checks: Sequence[str]) -> str:
    counts = Counter(one.severity for one in findings)
    words = {"error": "error", "warning": "warning", "info": "note"}
    found = ", ".join(counted(counts[one], words[one]) for one in SEVERITIES if counts[one]) or "Nothing was found"
    return f"{found}." + (f" Checked: {', '.join(checks)}." if checks else "")


def _table(name: str) -> str:
    """Where the script puts a table; readers without it are told."""
    noscript = (
        '<noscript><p class="about">The rows are drawn by the page\'s own script, which is turned off.</p></noscript>'
    )
    return element("div", noscript, class_="table", data_table=name)


def _decisions(network: Network) -> str:
    several = len(network.fabrics) > 1
    parts: list[str] = []
    for fabric in network.fabrics:
        if several:
            parts.append(element("h3", text(f"Fabric {fabric.name}")))
        parts.append(element("div", *(_decision(one) for one in decisions(network, fabric)), class_="cards"))
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
            class_="short" if place in grid.emphasis else None,
        )
        for place, row in enumerate(grid.rows)
    ]
    return element("div", element("table", element("thead", head), element("tbody", *rows)), class_="grid")
