"""The result page of a study, as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.operations.tune.scoring import aims_of, over_seeds
from railweave.operations.tune.space import short_names
from railweave.pages.charts import Axis, Bar, Dot, bars, card, dots, drawing, shown
from railweave.pages.palette import line_colors
from railweave.pages.shell import asset, element, html_page, json_for_script, number, section, text
from railweave.pages.terms import TUNING, glossary, linked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.tune.result import Result
    from railweave.operations.tune.run import Outcome
    from railweave.operations.tune.search import Trial


TOP, BOTTOM, SIDE = 46.0, 26.0, 64.0
HEIGHT = 330.0
COLUMN = 170.0
"""The number of pixels between two axes of the parallel coordinates plot, which scrolls in a narrow window."""
MOST_LABELS = 9
"""The largest number of labels on an axis."""


def parallel(outcome: Outcome) -> str:
    """Return a parallel coordinates plot of a study's trials as SVG: an axis for each knob (a field to vary) and one for the first objective.

    Each trial that was measured with every seed is a line. The best trial is bold.
    """
    knobs, aim = outcome.space.knobs, aims_of(outcome.study.goal)[0]
    measured = [trial for trial in outcome.trials if trial.number in outcome.scores]
    values = [outcome.scores[trial.number].values[0] for trial in measured]
    least, most = min(values, default=0.0), max(values, default=1.0)
    wide = 2 * SIDE + COLUMN * len(knobs)
    parts: list[str] = []
    short = short_names([knob.name for knob in knobs])
    for place, knob in enumerate(knobs):
        labels = [str(value) for value in knob.values]
        parts.append(_axis(SIDE + COLUMN * place, short[knob.name], knob.name, labels))
    span = most - least or 1.0
    marks = [shown(least + span * part / 4) for part in range(5)]
    parts.append(_axis(SIDE + COLUMN * len(knobs), f"{aim.title} {aim.unit}".strip(), aim.title, marks))
    order = sorted(measured, key=lambda trial: (trial.number == outcome.best, _part(outcome, trial, least, span)))
    for trial in order:
        part = _part(outcome, trial, least, span)
        places = [_up(_share(chosen, len(knob.values))) for chosen, knob in zip(trial.chosen, knobs, strict=True)]
        places.append(_up((outcome.scores[trial.number].values[0] - least) / span))
        path = "L".join(f"{number(SIDE + COLUMN * place)} {number(y)}" for place, y in enumerate(places))
        kind = "best" if trial.number == outcome.best else "kept" if outcome.scores[trial.number].feasible else "broken"
        opacity = 1.0 if kind == "best" else 0.12 + 0.6 * part
        parts.append(
            f'<path class="trial {kind}" style="stroke-opacity:{opacity:.2f}" d="M{path}"><title>{text(_said(outcome, trial))}</title></path>'
        )
    return drawing("All trials, from knob to knob", parts, HEIGHT, wide, "parallel")


def _part(outcome: Outcome, trial: Trial, least: float, span: float) -> float:
    """Return the position of a trial's result on its axis, between the worst (0) and the best (1) result.

    ``least`` is the lowest result, and ``span`` the difference between the highest and the lowest.
    """
    part = (outcome.scores[trial.number].values[0] - least) / span
    return part if aims_of(outcome.study.goal)[0].more else 1 - part


def _said(outcome: Outcome, trial: Trial) -> str:
    score = outcome.scores[trial.number]
    short = short_names([knob.name for knob in outcome.space.knobs])
    lines = [
        f"trial {trial.number}",
        *(f"{short[name]}: {value}" for name, value in outcome.values(trial.number).items()),
    ]
    lines += [
        f"{aim.title}: {shown(value)} {aim.unit}".rstrip()
        for aim, value in zip(aims_of(outcome.study.goal), score.values, strict=True)
    ]
    return "\n".join([*lines, *(breach for breach, _ in score.broken)])


def _axis(x: float, title: str, whole: str, labels: Sequence[str]) -> str:
    every = max(1, -(-len(labels) // MOST_LABELS))
    parts = [
        f'<path class="rule" d="M{number(x)} {number(TOP)}V{number(HEIGHT - BOTTOM)}"/>',
        f'<text class="title" x="{number(x)}" y="20">{text(title)}<title>{text(whole)}</title></text>',
    ]
    places = [place for place in range(len(labels)) if place % every == 0 or place == len(labels) - 1]
    if len(places) > 1 and places[-1] - places[-2] < every:
        places.pop(-2)
    parts += [
        f'<text class="mark" x="{number(x + 5)}" y="{number(_up(_share(place, len(labels))) + 4)}">{text(labels[place])}</text>'
        for place in places
    ]
    return "".join(parts)


def _share(place: int, count: int) -> float:
    return place / (count - 1) if count > 1 else 0.5


def _up(part: float) -> float:
    return HEIGHT - BOTTOM - part * (HEIGHT - BOTTOM - TOP)


def course(outcome: Outcome) -> str:
    """Return a chart (SVG) of the first objective of each trial of a study, in search order, with a line for the best result so far."""
    aim = aims_of(outcome.study.goal)[0]
    drawn: list[Dot] = []
    steps: list[Dot] = []
    for place, score in sorted(outcome.scores.items()):
        kind = "kept" if score.feasible else "broken"
        drawn.append(Dot(place, score.values[0], kind, _said(outcome, outcome.trials[place])))
        if score.feasible and (not steps or aim.better(drawn[-1].y, steps[-1].y)):
            steps.append(drawn[-1])
    axis = Axis([max(len(outcome.trials) - 1, 1)], "trial")
    return dots(
        axis, drawn, f"{aim.title} {aim.unit}".strip(), label="Results of the trials, in search order", steps=steps
    )


def frontier(outcome: Outcome) -> str:
    """Return a chart (SVG) of the first two objectives of every trial of a study. Trials that no other beats in every objective are filled."""
    aim, other = aims_of(outcome.study.goal)[:2]
    drawn = [
        Dot(
            score.values[1],
            score.values[0],
            "front" if place in outcome.frontier else "kept" if score.feasible else "broken",
            _said(outcome, outcome.trials[place]),
        )
        for place, score in outcome.scores.items()
    ]
    axis = Axis([max((dot.x for dot in drawn), default=1.0)], other.unit)
    across, up = (f"{each.title} {each.unit}".strip() for each in (other, aim))
    return dots(axis, drawn, f"{up}, over {across}", label=f"{up}, over {across}")


MOST_ROWS = 400
"""The largest number of trials that the table shows."""

WHERE = {
    "sim": "of the simulator. Nothing was measured on hardware.",
    "bench": "on hardware.",
    "both": "of the simulator; its best were measured on hardware.",
}
"""By a study's evaluator, the end of the sentence that states where the study's trials were measured."""


def tuning_html(result: Result) -> str:
    """Return the page about the result of a study as HTML."""
    outcome = result.outcome
    study = outcome.study
    title = f"{study.name}: {len(outcome.trials)} trials"
    kind = (
        "good"
        if result.verdict == "better"
        else "warning"
        if result.verdict in {"nothing", "breaks a limit"}
        else "info"
    )
    header = [
        element("h1", text(title), " ", element("span", text(result.verdict), class_=kind)),
        element("p", text(f"{result.meaning[0].upper()}{result.meaning[1:]}."), class_="verdict"),
        element("p", text(_lead(result)), class_="lead"),
        element("ul", *_tiles(result), class_="tiles"),
    ]
    sections = [("proposed", "Proposed", _proposed(result))]
    if result.parts:
        sections.append(("parts", "Before and after", result.parts_table.to_html()))
    if outcome.importance:
        sections.append(("importance", "Which knobs matter", _importance(result)))
    if outcome.scores:
        wide = card("From knob to knob", "", parallel(outcome))
        goodness = "More is better." if aims_of(study.goal)[0].more else "Less is better."
        about = "A line is a trial, from knob to knob to what it got: the darker, the better. The best is drawn bold; dashed lines broke a limit."
        sections.append(
            (
                "trials",
                "All trials",
                element("p", about, class_="about")
                + wide
                + card("In search order", f"{goodness} The dashed line is the best so far.", course(outcome)),
            )
        )
    if len(study.goal.objectives) > 1 and outcome.scores:
        about = "A filled circle is a trial that no other beats in every objective: `--take NUMBER` makes the patch of one of them."
        sections.append(
            (
                "frontier",
                "Frontier",
                element("p", about, class_="about") + card("The first two objectives", "", frontier(outcome)),
            )
        )
    sections.append(("table", "Table", result.table.first(MOST_ROWS).to_html() + _journal(outcome)))
    data = result.to_json()
    return html_page(
        title,
        [asset("charts.css"), asset("tuning.css", "railweave.operations.tune"), line_colors()],
        header=header,
        links=[*((id_, name) for id_, name, _ in sections), ("terms", "Terms")],
        main=[
            *(section(id_, name, "", content) for id_, name, content in sections),
            section("terms", "Terms", "", glossary(TUNING)),
        ],
        footer="Made by railweave. The same study gives the same page.",
        scripts=[element("script", json_for_script(data), type="application/json", id="result")],
    )


def _lead(result: Result) -> str:
    study, outcome = result.outcome.study, result.outcome
    about = f"{study.description} " if study.description else ""
    return (
        f"{about}This page shows a search over {outcome.space.size:,} combinations of {len(outcome.space.knobs)} knobs of {result.fabric.name}, "
        f"by {outcome.runs:,} runs {WHERE[study.evaluator]}"
    )


def _tiles(result: Result) -> list[str]:
    outcome, check = result.outcome, result.outcome.confirmed
    tiles: list[tuple[str, str]] = []
    if check is not None and check.own_samples and check.best:
        for aim in aims_of(outcome.study.goal):
            before, after = (
                over_seeds(aim, outcome.study.goal.tail, samples) for samples in (check.own_samples, check.best)
            )
            tiles.append((f"{shown(before)} → {shown(after)} {aim.unit}".rstrip(), f"{aim.title}"))
        tiles.append((f"{check.chance:.1%}", "by chance"))
    tiles += [(f"{outcome.runs:,}", "runs"), (f"{outcome.space.size:,}", "combinations")]
    return [element("li", element("b", text(value)), element("span", linked(label, TUNING))) for value, label in tiles]


def _proposed(result: Result) -> str:
    patch = element("pre", text(result.patch), class_="patch", tabindex=0) if result.patch else ""
    beside = ""
    if result.beside:
        note = ", ".join(f"{name}={value}" for name, value in result.beside.items())
        beside = element("p", text(f"No fabric file has these, set them where they belong: {note}"), class_="about")
    return result.knobs_table.to_html() + patch + beside


def _importance(result: Result) -> str:
    knobs = result.outcome.importance
    short = short_names([knob.name for knob in result.outcome.space.knobs])
    ranked = sorted(knobs.items(), key=lambda pair: -pair[1].share)
    several = [
        Bar(
            short[name],
            importance.share,
            f"{importance.share:.1%}",
            f"{importance.to_text()} of the differences between trials",
        )
        for name, importance in ranked
    ]
    return card("Share of the differences between trials", "", bars(several, most=1.0))


def _journal(outcome: Outcome) -> str:
    """Return the paragraph that points to ``journal.jsonl`` if the table leaves trials of the study out; empty otherwise."""
    all_of = "journal.jsonl has all of them."
    return element("p", all_of, class_="about") if len(outcome.trials) > MOST_ROWS else ""
