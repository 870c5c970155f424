"""Training jobs with one thing changed as one HTML page: what each choice costs, and what GPUs do in a step with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.report.prediction.page import document
from railweave.outputs.report.prediction.training import FILL
from railweave.pages.markup import element, number, text
from railweave.pages.shell import section, table
from railweave.prediction.simulation.training.answer import KINDS
from railweave.prediction.simulation.training.variants import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.prediction.simulation.training.variants import Row, Variants

WIDTH, LEFT, HEIGHT, GAP = 1150.0, 230.0, 22.0, 10.0
FILLS = {"compute": 0, **{kind: place for kind, place in FILL.items() if kind in KINDS}}
"""The fill of each part of a step, as a number of the page's colors; a bubble has none."""
PURPOSE = (
    "This page compares what a step of training takes with different choices, on a network that is designed anew where a choice changes it; only what "
    "the first column names differs. GPUs wasted: how many fewer would do the same at the pace of the quickest choice."
)


def variants_html(found: Variants) -> str:
    """The page of a comparison."""
    network = found.found[0][1].network
    title = f"{network}: {'choices' if found.name == SEVERAL else found.name} compared"
    sections: list[str] = []
    links: list[tuple[str, str]] = []
    for place in range(found.jobs):
        name, rows = found.title(place), found.rows(place)
        links.append((f"job{place + 1}", name))
        sections.append(section(f"job{place + 1}", name, "", _job(found, rows)))
    notes = dict.fromkeys(note for _, one in found.found for note in one.notes)
    links.append(("notes", "Assumed"))
    sections.append(section("notes", "Assumed", "", element("ul", *(element("li", text(note)) for note in notes))))
    header = element("h1", text(title)) + element("p", text(PURPOSE), class_="lead")
    value = found.to_json()
    for one in value["variants"]:
        for job in one["jobs"]:
            del job["communications"], job["links"]
    return document(title, header, sections, value, links)


def _job(found: Variants, rows: Sequence[Row]) -> str:
    best = min(rows, key=lambda one: one.job.step_ps)
    body: list[str] = []
    for one in rows:
        cells = (
            one.label,
            f"{one.job.step_ps / 1e9:,.1f}",
            f"{one.slower:+.1%}",
            "" if one.job.mfu is None else f"{one.job.mfu:.1%}",
            f"{one.job.exposed_ps / 1e9:,.1f}",
            f"{one.gpus_wasted:,.1f} of {one.job.plan.ranks:,}",
            one.job.binds(),
        )
        tags = [element("td", text(cell), class_="said" if cell is cells[-1] else None) for cell in cells]
        body.append(element("tr", *tags, class_="best" if one is best else None))
    head = (found.name, "step, ms", "slower", "MFU", "waiting for communication, ms", "GPUs wasted", "bound by")
    drawn = element(
        "article",
        element("h4", "What GPUs do in a step"),
        element("p", "Mean over the pipeline stages. What is left white is waiting for other stages."),
        _keys(rows),
        element("div", _bars(rows), class_="scroll", tabindex=0),
        class_="chart-card whole",
        data_chart="parts",
    )
    return "".join(
        [
            table(head, body),
            element("div", drawn, class_="charts"),
        ]
    )


def _keys(rows: Sequence[Row]) -> str:
    there = {kind for one in rows for kind, time in one.job.parts.items() if time}
    keys = [
        element(
            "span",
            element("i", "", style=f"background:var(--k{FILLS[kind]});height:10px"),
            text(KINDS.get(kind, "computing")),
        )
        for kind in FILLS
        if kind in there
    ]
    return element("p", *keys, class_="keys")


def _bars(rows: Sequence[Row]) -> str:
    """A bar for each choice, divided into what GPUs do."""
    scale = (WIDTH - LEFT - 90) / max(one.job.step_ps for one in rows)
    marks: list[str] = []
    y = 4.0
    for one in rows:
        label = one.label if len(one.label) <= 34 else f"{one.label[:33]}…"
        marks.append(f'<text x="{number(LEFT - 8)}" y="{number(y + 15)}" class="side">{text(label)}</text>')
        x = LEFT
        for kind in ["compute", *KINDS]:
            long = one.job.parts.get(kind, 0.0) * scale
            fill = f"var(--k{FILLS[kind]})" if kind in FILLS else "none"
            if long:
                said = f"{one.label}, {KINDS.get(kind, 'computing')}: {one.job.parts[kind] / 1e9:,.1f} ms"
                marks.append(
                    f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(long, 0.5))}" height="{number(HEIGHT)}" '
                    f'fill="{fill}" class="part"><title>{text(said)}</title></rect>'
                )
            x += long
        marks.append(
            f'<text x="{number(x + 6)}" y="{number(y + 15)}" class="tick" style="text-anchor:start">{one.job.step_ps / 1e9:,.0f} ms</text>'
        )
        y += HEIGHT + GAP
    return (
        f'<svg class="chart" viewBox="0 0 {number(WIDTH)} {number(y)}" style="min-width:900px" role="img" '
        f'aria-label="What GPUs do in a step">{"".join(marks)}</svg>'
    )
