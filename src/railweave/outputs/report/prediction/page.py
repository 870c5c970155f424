"""A prediction as one HTML page: what was asked and what it gets, why, and what the network did meanwhile.

Like the report of a network it loads nothing, and the same result gives the same page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.outputs.report.prediction.run_charts import run_charts
from railweave.pages.markup import asset, element, json_for_script, text
from railweave.pages.palette import line_colors
from railweave.pages.shell import html_page, section, table
from railweave.pages.terms import PREDICTION, glossary, tile
from railweave.prediction.simulation.grid import shown
from railweave.prediction.simulation.reasons import reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction, JobStep
    from railweave.prediction.simulation.prediction import Prediction

MOST_RUNS = 8
"""Runs that a page draws: those that took longest. All are in its table."""

MOST_ROWS = 500

WIDE = {"heatmap", "links"}
"""Charts that take the whole width."""


PURPOSE = (
    "This page predicts what a job gets from a designed network: how long its collectives take, what holds them back, and what the "
    "network's links and queues do meanwhile. Nothing was measured on hardware."
)


def document(title: str, header: str, sections: Sequence[str], data: object, links: Iterable[tuple[str, str]]) -> str:
    """A page of its own. ``links`` are its sections: id and title; ``data`` is there for machines."""
    shown = [*links, ("terms", "Terms")]
    return html_page(
        title,
        [asset("prediction.css"), line_colors()],
        header=[header],
        links=shown,
        main=[*sections, section("terms", "Terms", "", glossary(PREDICTION))],
        footer="Made by railweave. The same question gives the same page.",
        scripts=[element("script", json_for_script(data), type="application/json", id="result")],
    )


def prediction_html(network: Network, found: Sequence[JobPrediction]) -> str:
    """The page of one job, or of a collective of several sizes."""
    steps = [(job, one) for job in found for one in job.own_runs()]
    drawn = sorted(steps, key=lambda pair: -pair[1].prediction.time_ps)[:MOST_RUNS]
    drawn = [pair for pair in steps if any(pair[1] is one for _, one in drawn)]
    single = len(steps) == 1 and len(found[0].steps) == 1
    name = found[0].name or " and ".join(dict.fromkeys(one.step.collective for _, one in steps))
    complete = all(job.complete for job in found)
    verdict = element("span", "complete" if complete else "not complete", class_="good" if complete else "error")
    header = [element("h1", text(f"{network.name}: {name}"), " ", verdict)]
    first = steps[0][1].prediction
    header.append(element("p", f"{PURPOSE} {_next(complete)}", class_="lead"))
    if single:
        header.append(element("ul", *(tile(value, label) for value, label in tiles(first)), class_="tiles"))
    else:
        total = sum(job.time_ps for job in found) / 1e6
        computing = sum(job.compute_ps for job in found) / 1e6
        several = [
            (f"{total:,.1f} us", "job completion time" if len(found) == 1 else "of all"),
            (f"{computing:,.1f} us", "computing"),
        ]
        several.append((f"{sum(len(job.steps) for job in found):,}", "collectives"))
        header.append(element("ul", *(tile(value, label) for value, label in several), class_="tiles"))
    sections = [] if single else [section("steps", "Collectives", "", _steps(found))]
    links = [] if single else [("steps", "Collectives")]
    for place, (job, one) in enumerate(drawn, 1):
        title = f"{one.step.collective} of {size(one.step.size)}" + (
            "" if single else f", from {one.at_ps / 1e6:,.1f} us on"
        )
        links.append((f"run{place}", title))
        sections.append(section(f"run{place}", title, "", run_section(one, job, with_tiles=not single)))
    notes = dict.fromkeys(note for _, one in steps for note in one.prediction.notes)
    sections.append(section("notes", "Assumed", "", element("ul", *(element("li", text(note)) for note in notes))))
    links.append(("notes", "Assumed"))
    values = [_without_flows(job.to_json()) for job in found]
    return document(f"{network.name}: {name}", "".join(header), sections, values, links)


def _next(complete: bool) -> str:
    """What a reader does next."""
    assumed = element("a", "Assumed", href="#notes")
    if not complete:
        return f"Next: it did not come to its end, so read first why, then what is {assumed}."
    return f"Next: read what limits it, in the list below the figures, and what is {assumed}; then compare other settings with railweave sim --compare."


def size(value: int) -> str:
    """A size as nccl-tests writes it."""
    return shown("size", str(value))


def tiles(found: Prediction) -> list[tuple[str, str]]:
    """The figures of a collective."""
    shown = [
        (f"{found.bus_bandwidth_text} GB/s", "bus bandwidth"),
        (f"{found.time_ps / 1e6:,.1f} us" if found.complete else "never completes", "time"),
        (f"{found.program.algorithm}, {found.program.protocol}", f"{found.program.channels} channels"),
        (found.choice.engine, "engine"),
    ]
    if found.band is not None and found.band.error is not None:
        shown.insert(
            2, (f"{found.band.low_ps / 1e6:,.1f} to {found.band.high_ps / 1e6:,.1f} us", "the time is between")
        )
    for name, label in (("ecn_marked_packets", "marked"), ("pfc_pauses", "PFC pauses"), ("timeouts", "timeouts")):
        if found.counters is not None:
            shown.append((f"{found.counters[name]:,}", label))
    return shown


def run_section(one: JobStep, job: JobPrediction, *, with_tiles: bool) -> str:
    """A run: its figures, why it took so long, its charts."""
    found = one.prediction
    parts = (
        [element("ul", *(tile(value, label) for value, label in tiles(found)), class_="tiles")] if with_tiles else []
    )
    parts.append(element("ul", *(element("li", text(reason)) for reason in reasons(found)), class_="why-list"))
    if found.band is not None:
        parts.append(element("p", text(found.band.sentence()), class_="about", data_band=""))
    if found.steady is not None:
        until = f"Packets were run up to {found.steady.at_ps / 1e6:,.1f} us, when every round was alike: charts over time end there."
        parts.append(element("p", text(until), class_="about"))
    if found.measured is not None:
        marks = [((at - one.at_ps) / 1e6, what) for at, what in job.events if at >= one.at_ps]
        cards = [
            element(
                "article",
                element("h4", text(chart.title)),
                element("p", text(chart.about)) if chart.about else "",
                chart.markup,
                class_="chart-card whole" if chart.id in WIDE else "chart-card",
                data_chart=chart.id,
            )
            for chart in run_charts(found.measured, marks)
        ]
        parts.append(element("div", *cards, class_="charts"))
    return "".join(parts)


def _steps(found: Sequence[JobPrediction]) -> str:
    rows = [(job, one) for job in found for one in job.steps]
    head = ("collective", "size", "begins at us", "time us", "bus bandwidth GB/s", "engine")
    body = [
        element(
            "tr",
            *(
                element("td", text(cell))
                for cell in (
                    one.step.collective,
                    size(one.step.size),
                    f"{one.at_ps / 1e6:,.1f}",
                    f"{one.prediction.time_ps / 1e6:,.1f}" if one.prediction.complete else "never completes",
                    one.prediction.bus_bandwidth_text,
                    one.prediction.choice.engine,
                )
            ),
        )
        for _, one in rows[:MOST_ROWS]
    ]
    more = f"{len(rows) - MOST_ROWS:,} more are left out." if rows[MOST_ROWS:] else ""
    return table(head, body) + (element("p", text(more), class_="about") if more else "")


def _without_flows(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a result, without its queue pairs: the page has them as a curve."""
    kept = {key: inner for key, inner in value.items() if key not in {"flows", "wall_s"}}
    if "steps" in kept:
        kept["steps"] = [_without_flows(step) for step in kept["steps"][:MOST_ROWS]]
    return kept
