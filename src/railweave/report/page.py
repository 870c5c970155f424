"""The report: one HTML file with the picture, the findings, the decisions, the tables and the bill of materials.

It loads nothing: style, script and data are inside, so that it can be mailed, archived, and opened on a machine that
has no network.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.findings import SEVERITIES
from railweave.report.decisions import decisions
from railweave.report.figures import figures
from railweave.report.markup import asset, element, json_for_script, text
from railweave.report.palette import network_strokes, stroke_rules
from railweave.report.tables import addresses_table, bill_table, cables_table, findings_table, switches_table
from railweave.report.topology import topology_svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.network import Network
    from railweave.findings import Finding
    from railweave.report.statement import Decision, Grid

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""Content security policy of the page: the browser itself refuses every request to a network."""

TABLES = (
    ("cables", "Cabling", "Every cable with its ports, lanes and optics."),
    ("addresses", "NIC addresses", "Every address of every NIC, with the leaf port it is on."),
    ("switches", "Switches", "Every switch with its numbers."),
)
"""Tables with a section of their own: id, title, what it holds."""


def report_html(network: Network, findings: Sequence[Finding]) -> str:
    """The report of a network as one HTML document. ``findings`` are listed errors first."""
    strokes = network_strokes(network)
    tables = [
        findings_table(findings),
        cables_table(network, strokes),
        addresses_table(network, strokes),
        switches_table(network),
        bill_table(network),
    ]
    sections = [
        _section("topology", "Topology", "", _picture(network)),
        _section("findings", "Findings", _tally(findings), _table("findings") if findings else ""),
        _section("decisions", "Decisions", "What was chosen, and why.", _decisions(network)),
        *(_section(name, title, about, _table(name)) for name, title, about in TABLES),
        _section(
            "bill",
            "Bill of materials",
            "One pluggable per physical port, one fibre cable per link.",
            _table("bill"),
        ),
    ]
    titles = [("topology", "Topology"), ("findings", "Findings"), ("decisions", "Decisions")]
    titles += [(name, title) for name, title, _ in TABLES] + [("bill", "Bill of materials")]
    navigation = "".join(element("a", text(title), href=f"#{name}") for name, title in titles)
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        element("title", text(f"{network.name}: network report")),
        element("style", f"{asset('page.css')}\n{stroke_rules(strokes)}"),
    ]
    body = [
        element("header", element("div", *_header(network, findings), class_="wide")),
        element("nav", element("div", navigation, class_="wide"), aria_label="Sections"),
        element("main", *sections, class_="wide"),
        '<footer class="wide">Made by railweave. The same design gives the same page.</footer>',
        element("script", json_for_script(tables), type="application/json", id="tables"),
        element("script", asset("page.js")),
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
        (f"{sums.server_links + sums.fabric_links:,}", "links"),
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
    hint = "Point at a device to see its links, click to keep them; click a path color to see where it runs."
    bar = element(
        "div",
        element("span", hint, id="selection", role="status"),
        '<button type="button" id="zoom" aria-pressed="false">Actual size</button>',
        class_="bar",
    )
    return bar + element("div", topology_svg(network), class_="picture", id="picture")


def _tally(findings: Sequence[Finding]) -> str:
    counts = Counter(one.severity for one in findings)
    words = {"error": "error", "warning": "warning", "info": "note"}
    return ", ".join(counted(counts[one], words[one]) for one in SEVERITIES if counts[one]) or "Nothing was found."


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
