"""The report: one HTML file with the picture, the findings, the decisions, the tables and the bill of materials.

The file loads nothing: style, script and data are inside. Therefore, it can be mailed, archived, and opened on a
machine without a network.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.findings import SEVERITIES, Finding
from railweave.model.findings.registry import Rule
from railweave.outputs.rendering.network import EMULATION
from railweave.outputs.report.figures import figures, subscription_word
from railweave.outputs.report.tables import findings_table
from railweave.pages.palette import network_strokes, stroke_rules
from railweave.pages.shell import asset, element, html_page, json_for_script, section, text
from railweave.pages.terms import NETWORK, glossary, linked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.network.model import Network
    from railweave.outputs.report.body import Body


def _tenants(network: Network) -> bool:
    return any(fabric.tenants for fabric in network.fabrics)


ABOUT: dict[str, Callable[[Network], bool]] = {
    "path-color": lambda network: any(fabric.colors for fabric in network.fabrics),
    "leaf-transit": lambda network: any(fabric.underlay.protocol == "bgp" for fabric in network.fabrics),
    "tenant-isolation": _tenants,
    "tenant-missing": _tenants,
    "network-reach": _tenants,
    "no-vtep": lambda network: any(fabric.overlay for fabric in network.fabrics),
    "no-login": lambda network: any(catalog().systems[switch.nos].login for switch in network.switches),
}
"""For checks that apply only to some networks: a function that returns True if the check applies, by the check's id.

Checks that are not listed apply to every network.
"""


def applies(check: str, network: Network) -> bool:
    """Return True if a check, given by its id, applies to a network.

    A check of configuration syntax (lint) applies if a switch of the network runs the lint's operating system.
    """
    lints = {system.lint.id: nos for nos, system in catalog().systems.items() if system.lint is not None}
    if check in lints:
        return any(switch.nos == lints[check] for switch in network.switches)
    return check not in ABOUT or ABOUT[check](network)


CANNOT = "frr.conf cannot express "

LAB_NOTES = Rule(
    id="frr-*",
    severity="info",
    applies="report",
    fault="the number of features that `frr.conf` cannot express: all findings `frr-no-KEY` and `frr-peer-as` of a "
    "network without FRR switches, in one row",
    why="the switches of this design do not load frr.conf; findings.json has each finding",
)


def lab_notes_joined(network: Network, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, with all notes about ``frr.conf``, the FRR configuration for a virtual lab, merged into one.

    If a switch of the network runs FRR, the findings are returned unchanged.
    """
    notes = [finding for finding in findings if finding.severity == "info" and finding.id.startswith(f"{EMULATION}-")]
    if len(notes) < 2 or any(switch.nos == EMULATION for switch in network.switches):
        return list(findings)
    subjects = "; ".join(dict.fromkeys(note.what.removeprefix(CANNOT) for note in notes))
    places = ", ".join(dict.fromkeys(note.where for note in notes))
    joined = LAB_NOTES.finding(places, f"lab file only: {CANNOT}{subjects}")
    rest = [finding for finding in findings if finding not in notes]
    return [*rest, joined]


TABLES = (
    (
        "buffers",
        "Buffers per switch",
        (
            "PFC headroom that each switch needs, against what its buffer allocates if the whole of it is shared (assumed), and "
            "less the dedicated buffers where they are published (short: it does not fit then; thin: nothing is published, and "
            "little is left). The arithmetic is under Decisions."
        ),
    ),
    ("cables", "Cabling", "Every cable with its ports, lanes and optics; the same rows are in cabling.csv."),
    (
        "addresses",
        "NIC addresses",
        "Every address of every NIC, with its leaf port. addresses.csv has these rows and those of the switches.",
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
            "One pluggable per physical port, one fibre cable per link, no spares. Not counted: software licences and support, "
            "the management network, racks, power distribution, patch panels. Parts are what the catalog's sources name: ask the switch's "
            "vendor for its own number of the same optic."
        ),
    ),
)
"""The tables that have their own section, as (id, title, description)."""

PURPOSE = (
    "This page describes a GPU network as it was designed: what it consists of, which checks it passed, why each choice was made, "
    "and how to cable it."
)

PATHS_ABOUT = (
    "The links that each queue pair between two NICs crosses with nothing down, from the computed forwarding tables of "
    "the switches; railweave paths shows the same, also with links down."
)

SERVERS_ABOUT = (
    "What a server of each model is configured with; its files are in hosts/NAME/, in the order in which they are put in place "
    "(how-to: bring up a GPU server)."
)

SCRIPTS = ("tables.js", "facts.js", "picture.js", "stripe.js", "paths.js", "page.js")
"""The parts of the page's script, in order. Each part depends only on earlier parts."""


def report_html(
    network: Network, findings: Sequence[Finding], body: Body, design: str = "", checks: Sequence[str] = ()
) -> str:
    """Return the report of a network as one HTML document.

    - ``findings``: the findings, shown with errors first. If there is any error or warning, the section of findings is above the picture.
    - ``body``: the other sections, as returned by ``outputs.report.body.body_of``.
    - ``design``: an identifier of this design, the digest of ``design.json``.
    - ``checks``: the ids of the checks that ran.
    """
    strokes = network_strokes(network)
    joined = lab_notes_joined(network, findings)
    listed = ("findings", "Findings", _tally(network, findings, joined, checks), _table("findings") if joined else "")
    first = any(finding.severity in {"error", "warning"} for finding in findings)
    shown = [
        *([listed] if first else []),
        ("topology", "Topology", "", body.picture),
        ("paths", "Queue pair paths", PATHS_ABOUT, body.paths),
        *([] if first else [listed]),
        ("capacity", "Capacity per rail", "", body.capacity),
        ("decisions", "Decisions", "What was chosen, and why.", body.decisions),
        ("servers", "Servers", SERVERS_ABOUT, body.servers),
        *((name, title, about + body.remarks.get(name, ""), _table(name)) for name, title, about in TABLES),
        ("terms", "Terms", "Words of this page.", glossary(NETWORK)),
    ]
    made = "Made by railweave. The same design gives the same page."
    tables = ",".join((json_for_script(findings_table(joined)), *body.tables))
    made += f" This one is {design} (SHA-256 of design.json)." if design else ""
    return html_page(
        f"{network.name}: network report",
        [stroke_rules(strokes)],
        header=_header(network, findings),
        links=[(name, title) for name, title, _, _ in shown],
        main=[section(*part) for part in shown],
        footer=made,
        scripts=[
            element("script", f"[{tables}]", type="application/json", id="tables"),
            element("script", body.forwarding, type="application/json", id="forwarding"),
            element(
                "script",
                '"use strict";\n(() => {\n'
                + "\n".join(asset(name, "railweave.outputs.report") for name in SCRIPTS)
                + "\n})();",
            ),
        ],
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
        (f"{sums.server_links + sums.fabric_links + sums.upper_links + sums.long_links:,}", "cables"),
        *([(f"{sums.long_links:,}", "of them between sites")] if sums.long_links else []),
        (f"{sums.colors:,}", "path color" if sums.colors == 1 else "path colors"),
        *_subscription_tiles(network),
    ]
    counts = Counter(finding.severity for finding in findings)
    verdict = [
        element("span", text(counted(counts[severity], severity)), class_=severity)
        for severity in ("error", "warning")
        if counts[severity]
    ] or [element("span", "no errors, no warnings", class_="good")]
    return [
        element("h1", text(network.name), " ", *verdict),
        element("p", text(network.description), class_="description") if network.description else "",
        element("p", f"{PURPOSE} {_next(counts)}", class_="lead"),
        element(
            "ul",
            *(element("li", element("b", value), element("span", _tile_label(label))) for value, label in tiles),
            class_="tiles",
        ),
    ]


def _subscription_tiles(network: Network) -> list[tuple[str, str]]:
    """Return the network's oversubscription as [(ratio, label)]. If it differs between fabrics, the list has one member for each fabric."""
    ratios = {fabric.name: figures(network, fabric).oversubscription for fabric in network.fabrics}
    alike = len(set(ratios.values())) == 1
    return [
        ("–" if ratio is None else f"{ratio:.3g}:1", subscription_word(ratio) + ("" if alike else f", {name}"))
        for name, ratio in (list(ratios.items())[:1] if alike else ratios.items())
    ]


def _tile_label(label: str) -> str:
    terms = {
        "path colors": "path color",
        "undersubscribed": "oversubscription",
        "leaves": "leaf, spine",
        "spines": "leaf, spine",
    }
    term = label.partition(",")[0]  # a fabric's name follows the comma
    return linked(label, NETWORK, terms.get(term, term))


def _next(counts: Counter[str]) -> str:
    """Return a sentence with the reader's next step: fix the errors, read the warnings or, if there are neither, bring up the switches.

    ``counts`` has the number of findings by severity.
    """
    findings = element("a", "Findings", href="#findings")
    if counts["error"]:
        mend = "it" if counts["error"] == 1 else "them"
        return f"Next: {counted(counts['error'], 'error')}. Fix {mend} before anything is loaded onto a switch: {findings} says how."
    if counts["warning"]:
        return f"No errors. Next: read {counted(counts['warning'], 'warning')} under {findings}; each says what to do."
    return f"No errors. Next: bring the switches up in the order under {element('a', 'Switches', href='#switches')}, each by its runbook."


def _tally(network: Network, findings: Sequence[Finding], joined: Sequence[Finding], checks: Sequence[str]) -> str:
    """Return two sentences: the number of findings by severity, and the checks that apply to the network.

    ``joined`` are the findings after ``lab_notes_joined``. ``checks`` are the ids of the checks that ran.
    """
    counts = Counter(finding.severity for finding in findings)
    words = {"error": "error", "warning": "warning", "info": "note"}
    summary = (
        ", ".join(counted(counts[severity], words[severity]) for severity in SEVERITIES if counts[severity])
        or "Nothing was found"
    )
    together = len(findings) - len(joined)
    if together:
        summary += f" ({together + 1} about the lab's frr.conf in one row)"
    applying = [check for check in checks if applies(check, network)]
    return f"{summary}." + (f" Checked: {', '.join(applying)}." if applying else "")


def _table(name: str) -> str:
    """Return the element that the page's script fills with the table called ``name``. For readers without scripts, the element has a note."""
    noscript = (
        '<noscript><p class="about">The rows are drawn by the page\'s own script, which is turned off.</p></noscript>'
    )
    return element("div", noscript, class_="table", data_table=name)
