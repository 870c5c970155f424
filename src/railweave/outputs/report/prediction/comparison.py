"""Variants side by side as one HTML page: who wins, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.report.prediction.page import document, run_charts
from railweave.pages.markup import element, text
from railweave.pages.shell import table
from railweave.pages.terms import tile
from railweave.prediction.simulation.compare import longest_run, why
from railweave.prediction.simulation.reasons import reasons

if TYPE_CHECKING:
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.compare import Comparison

SHOWN = ("utilisation", "queues", "ecn", "pfc", "rates", "fct")
"""Charts that stand side by side."""


def comparison_html(network: Network, found: Comparison) -> str:
    """The page of a comparison: a table, fastest first, what limits each, and their charts side by side."""
    ranked = found.ranked
    best = ranked[0]
    title = f"{network.name}: {found.name} compared"
    header = element("h1", text(title)) + element("p", text(found.verdict()), class_="verdict")
    purpose = (
        "This page compares predictions for one network; only what is named in the first column differs between them."
    )
    header += element("p", purpose, class_="lead")
    header += element(
        "ul",
        *(tile(f"{longest_run(one.answer).bus_bandwidth_text} GB/s", one.value) for one in ranked),
        class_="tiles",
    )
    rows: list[str] = []
    for one in ranked:
        longest = longest_run(one.answer)
        counted = longest.counters or {}
        cells = [
            one.value,
            f"{one.answer.time_ps / 1e6:,.1f}" if one.answer.complete else "never",
            f"{one.answer.time_ps / best.answer.time_ps - 1:+.1%}" if one.answer.complete else "–",
            longest.bus_bandwidth_text,
            *(
                f"{counted[name]:,}" if name in counted else "–"
                for name in ("ecn_marked_packets", "pfc_pauses", "timeouts")
            ),
            why(one),
        ]
        tags = [
            element("td", text(cell), class_="said" if place == len(cells) - 1 else None)
            for place, cell in enumerate(cells)
        ]
        rows.append(element("tr", *tags, class_="best" if one is found.winner else None))
    head = (found.name, "time us", "longer", "bus bandwidth GB/s", "marked", "PFC pauses", "timeouts", "why")
    sections = [element("section", element("h2", "Times, the shortest first"), table(head, rows), id="table")]
    because = [
        element("h3", text(one.value))
        + element(
            "ul", *(element("li", text(reason)) for reason in reasons(longest_run(one.answer))), class_="why-list"
        )
        for one in ranked
    ]
    sections.append(element("section", element("h2", "Why"), *because, id="why"))
    cards: dict[str, list[str]] = {name: [] for name in SHOWN}
    for one in ranked:
        measured = longest_run(one.answer).measured
        for chart in run_charts(measured) if measured is not None else ():
            if chart.id in cards:
                heading = element("h4", text(f"{one.value}: {chart.title}"))
                about = element("p", text(chart.about)) if chart.about else ""
                cards[chart.id].append(
                    element("article", heading, about, chart.markup, class_="chart-card", data_chart=chart.id)
                )
    charts = "".join(element("div", *several, class_="charts") for several in cards.values() if several)
    sections.append(element("section", element("h2", "Side by side"), charts, id="charts"))
    links = [("table", "Times"), ("why", "Why"), ("charts", "Side by side")]
    value = found.to_json()
    for variant in value["variants"]:
        del variant["result"]
    return document(title, header, sections, value, links)
