"""A study as one HTML page: what is proposed and what it changes, and how the search went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.operations.tune.page.charts import course, frontier, parallel
from railweave.operations.tune.scoring import aims_of, over_seeds
from railweave.operations.tune.space import short_names
from railweave.pages.charts import bars, shown
from railweave.pages.markup import asset, element, json_for_script, text
from railweave.pages.palette import line_colors
from railweave.pages.shell import html_page, section, table
from railweave.pages.terms import TUNING, glossary, linked

if TYPE_CHECKING:
    from railweave.operations.tune.result import Result

MOST_ROWS = 400
"""Trials that the table has."""

WHERE = {
    "sim": "of the simulator. Nothing was measured on hardware.",
    "bench": "on hardware.",
    "both": "of the simulator; its best were measured on hardware.",
}
"""Where a study was measured, as the end of a sentence."""


def tuning_html(found: Result) -> str:
    """The page."""
    outcome = found.outcome
    study = outcome.study
    title = f"{study.name}: {len(outcome.trials)} trials"
    kind = (
        "good" if found.verdict == "better" else "warning" if found.verdict in {"nothing", "breaks a limit"} else "info"
    )
    header = [
        element("h1", text(title), " ", element("span", text(found.verdict), class_=kind)),
        element("p", text(f"{found.meaning[0].upper()}{found.meaning[1:]}."), class_="verdict"),
        element("p", text(_lead(found)), class_="lead"),
        element("ul", *_tiles(found), class_="tiles"),
    ]
    sections = [("proposed", "Proposed", _proposed(found))]
    if found.parts:
        sections.append(("parts", "Before and after", _parts(found)))
    if outcome.importance:
        sections.append(("importance", "Which knobs matter", _importance(found)))
    if outcome.scores:
        wide = element("div", parallel(outcome), class_="parallel", tabindex=0)
        about = "A line is a trial, from knob to knob to what it got: the darker, the better. The best is drawn bold; dashed lines broke a limit."
        sections.append(("trials", "All trials", element("p", about, class_="about") + wide + _card(course(outcome))))
    if len(study.goal.objectives) > 1 and outcome.scores:
        about = "A filled circle is a trial that no other beats in every objective: `--take NUMBER` makes the patch of one of them."
        sections.append(("frontier", "Frontier", element("p", about, class_="about") + _card(frontier(outcome))))
    sections.append(("table", "Table", _table(found)))
    data = found.to_json()
    return html_page(
        title,
        [asset("prediction.css"), asset("tuning.css", "railweave.operations.tune"), line_colors()],
        header=header,
        links=[*((id_, name) for id_, name, _ in sections), ("terms", "Terms")],
        main=[
            *(section(id_, name, "", content) for id_, name, content in sections),
            section("terms", "Terms", "", glossary(TUNING)),
        ],
        footer="Made by railweave. The same study gives the same page.",
        scripts=[element("script", json_for_script(data), type="application/json", id="result")],
    )


def _lead(found: Result) -> str:
    study, outcome = found.outcome.study, found.outcome
    about = f"{study.description} " if study.description else ""
    return (
        f"{about}This page shows a search over {outcome.space.size:,} combinations of {len(outcome.space.knobs)} knobs of {found.fabric.name}, "
        f"by {outcome.runs:,} runs {WHERE[study.evaluator]}"
    )


def _tiles(found: Result) -> list[str]:
    outcome, check = found.outcome, found.outcome.confirmed
    tiles: list[tuple[str, str]] = []
    if check is not None and check.own and check.best:
        for aim in aims_of(outcome.study.goal):
            before, after = (over_seeds(aim, outcome.study.goal.tail, one) for one in (check.own, check.best))
            tiles.append((f"{shown(before)} → {shown(after)} {aim.unit}".rstrip(), f"{aim.title}"))
        tiles.append((f"{check.chance:.1%}", "by chance"))
    tiles += [(f"{outcome.runs:,}", "runs"), (f"{outcome.space.size:,}", "combinations")]
    return [element("li", element("b", text(value)), element("span", linked(label, TUNING))) for value, label in tiles]


def _proposed(found: Result) -> str:
    outcome, check = found.outcome, found.outcome.confirmed
    short = short_names([one.name for one in outcome.space.knobs])
    rows: list[str] = []
    for knob, own in zip(outcome.space.knobs, outcome.space.own, strict=True):
        new = None if check is None else check.values.get(knob.name, own)
        said = "makes no difference" if check is not None and knob.name in check.needless else ""
        cells = [
            short[knob.name],
            "–" if own is None else str(own),
            "–" if new is None else str(new),
            said or knob.name,
        ]
        changed = found.patch and new != own
        tags = [element("td", text(cell), class_="said" if place == 3 else None) for place, cell in enumerate(cells)]
        rows.append(element("tr", *tags, class_="best" if changed else None))
    patch = element("pre", text(found.patch), class_="patch", tabindex=0) if found.patch else ""
    beside = ""
    if found.beside:
        said = ", ".join(f"{name}={value}" for name, value in found.beside.items())
        beside = element("p", text(f"No fabric file has these, set them where they belong: {said}"), class_="about")
    return table(("knob", "now", "best found", "field"), rows) + patch + beside


def _parts(found: Result) -> str:
    unit = "GB/s" if found.outcome.study.goal.job is None else "ms"
    rows = [
        element(
            "tr",
            *(
                element("td", text(cell))
                for cell in (name, f"{before:,.2f}", f"{after:,.2f}", f"{after / before - 1:+.1%}" if before else "–")
            ),
        )
        for name, before, after in found.parts
    ]
    return table(("", f"now {unit}", f"best found {unit}", "change"), rows)


def _importance(found: Result) -> str:
    knobs = found.outcome.importance
    short = short_names([one.name for one in found.outcome.space.knobs])
    ranked = sorted(knobs.items(), key=lambda one: -one[1].share)
    rows = [(short[name], one.share, f"{one.to_text()} of the differences between trials") for name, one in ranked]
    return _card(bars(rows, left=220.0, width=720.0))


def _table(found: Result) -> str:
    outcome = found.outcome
    aims = aims_of(outcome.study.goal)
    short = short_names([one.name for one in outcome.space.knobs])
    rows: list[str] = []
    for one in outcome.trials[:MOST_ROWS]:
        score = outcome.scores.get(one.number)
        got = ["–"] * len(aims) if score is None else [shown(value) for value in score.values]
        why = one.why or (
            "given up early" if one.state == "pruned" else ", ".join(what for what, _ in score.broken) if score else ""
        )
        cells = [str(one.number), *(str(value) for value in outcome.values(one.number).values()), *got, why]
        tags = [
            element("td", text(cell), class_="said" if place == len(cells) - 1 else None)
            for place, cell in enumerate(cells)
        ]
        rows.append(element("tr", *tags, class_="best" if one.number == outcome.best else None))
    head = (
        "trial",
        *(short[one.name] for one in outcome.space.knobs),
        *(f"{aim.title} {aim.unit}".strip() for aim in aims),
        "",
    )
    more = len(outcome.trials) - MOST_ROWS
    return table(head, rows) + (
        element("p", text(f"and {more:,} more, which journal.jsonl has"), class_="about") if more > 0 else ""
    )


def _card(content: str) -> str:
    return element("article", content, class_="chart-card whole")
