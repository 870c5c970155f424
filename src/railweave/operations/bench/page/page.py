"""The page of a store: what stands out among pairs, bandwidth by size beside its prediction, regressions, job completion times.

It loads nothing, and the same store gives the same page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.operations.bench.page.pair_map import pair_map
from railweave.operations.bench.page.size_chart import size_chart
from railweave.operations.bench.page.tables import completion_table, row_table, run_table, slowest_table
from railweave.pages.markup import asset, element, json_for_script, text
from railweave.pages.palette import line_colors
from railweave.pages.shell import html_page, section
from railweave.pages.terms import BENCHMARKS, glossary, tile

if TYPE_CHECKING:
    from railweave.operations.bench.comparing.estimate import Estimate
    from railweave.operations.bench.comparing.reported import Reported

MOST_CURVES = 24
MOST_DATA = 500
"""Rows of a kind in the data of the page."""
PURPOSE = (
    "This page shows what was measured on a network, beside what was predicted of it and what was measured before."
)


def bench_html(found: Reported) -> str:
    """The page as HTML."""
    bad = [row for row in found.predicted.rows if row.bad]
    worse = None if found.regressions is None else [row for row in found.regressions if row.bad]
    words = "nothing stands out" if found.good else "something is slow"
    verdict = element("span", words, class_="good" if found.good else "error")
    tiles = [(f"{len(found.runs):,}", "run" if len(found.runs) == 1 else "runs")]
    tiles += [(f"{len(found.pairs):,}", "pairs of NICs")] if found.pairs else []
    tiles += (
        [(f"{len(bad):,} of {len(found.predicted.rows):,}", "worse than predicted")] if found.predicted.rows else []
    )
    tiles += (
        [(f"{len(worse):,} of {len(found.regressions or ()):,}", "worse than the baseline")]
        if worse is not None
        else []
    )
    header = [
        element("h1", text("Benchmarks"), " ", verdict),
        element("p", text(found.store), class_="description"),
        element("p", text(f"{PURPOSE} {_next(found)}"), class_="lead"),
        element("ul", *(tile(value, label) for value, label in tiles), class_="tiles"),
    ]
    sections: list[tuple[str, str, str]] = []
    if found.pairs:
        sections.append(("pairs", "Pairs of NICs", _pairs(found)))
    if found.curves:
        sections.append(("sizes", "Bandwidth by size", _curves(found)))
    if found.predicted.rows:
        about = "A number is worse where it is below the band of its prediction by more than the tolerance, better where it is above it."
        sections.append(
            ("predicted", "Beside the prediction", _about(about) + row_table(found.predicted.rows, "predicted"))
        )
    if found.regressions is not None:
        sections.append(
            ("regressions", "Beside the baseline", _about(_baseline(found)) + row_table(found.regressions, "baseline"))
        )
    if found.completion:
        tables = [element("h3", text(f"{one.model}: {one.what}")) + completion_table(one) for one in found.completion]
        sections.append(("completion", "Job completion time", "".join(tables)))
    sections.append(("runs", "Runs", run_table(found.runs) if found.runs else _about("The store has no run.")))
    if found.notes:
        notes = element("ul", *(element("li", text(note)) for note in dict.fromkeys(found.notes)))
        sections.append(("notes", "Notes", notes))
    sections.append(("terms", "Terms", glossary(BENCHMARKS)))
    return html_page(
        "Benchmarks",
        [asset("prediction.css"), asset("bench.css", "railweave.operations.bench"), line_colors()],
        header=header,
        links=[(name, title) for name, title, _ in sections],
        main=[section(name, title, "", content) for name, title, content in sections],
        footer="Made by railweave. The same store gives the same page.",
        scripts=[element("script", json_for_script(_data(found)), type="application/json", id="result")],
    )


def _data(found: Reported) -> dict[str, Any]:
    """The report for machines, without the rows that are as they should be: they are thousands."""
    data = found.to_json()
    data["predicted"]["rows"] = [row.to_json() for row in found.predicted.rows if row.bad][:MOST_DATA]
    if found.regressions is not None:
        data["regressions"] = [row.to_json() for row in found.regressions if row.bad][:MOST_DATA]
    return data


def _next(found: Reported) -> str:
    """What a reader does next."""
    estimate = found.predicted.estimate
    if estimate.suspects:
        return f"Next: look at {estimate.suspects[0].part.to_text()}, which explains the slow pairs best."
    if any(row.verdict == "failed" for row in found.predicted.rows):
        return "Next: find out why runs failed, with railweave bench triage on their output."
    if not found.good:
        return "Next: read what is likely to hold back the rows that are worse."
    return "Next: keep the store as the baseline that later runs are laid beside."


def _about(words: str) -> str:
    return element("p", text(words), class_="about")


def _baseline(found: Reported) -> str:
    rows = found.regressions or ()
    few = sum(row.verdict == "too few repeats" for row in rows)
    said = (
        "A row is worse where its median is worse by more than the tolerance, and repeated runs say that this is no chance "
        "(a t-test over all rows together). "
    )
    return said + (f"{few} are worse but were run once on one of the two sides: repeat them to be sure." if few else "")


def _pairs(found: Reported) -> str:
    estimate = found.predicted.estimate
    parts = [_blame(estimate)]
    picture, about = pair_map(found.pairs, estimate.usual, estimate.noise)
    if picture:
        parts.append(
            element(
                "div",
                element("h4", "Heat map of pairs"),
                element("p", text(about)),
                element("div", picture, class_="grid"),
                class_="chart-card whole",
            )
        )
    if found.slowest:
        parts += [element("h3", "The slowest of each kind"), _about(SLOWEST), slowest_table(found.slowest)]
    return "".join(parts)


SLOWEST = (
    "The median of all pairs that cross a part, as a part of what they should have. A part may be slow here because of another that "
    "its pairs cross too: what is to blame is named above."
)


def _blame(estimate: Estimate) -> str:
    """What stands out, with the runner-up."""
    if not estimate.pairs:
        return _about("No pair can be compared: nothing was predicted of them, and fewer than three are alike.")
    noise = f"{estimate.pairs:,} pairs get {estimate.usual:.0%} of what they should in the median, and scatter by {estimate.noise:.1%}."
    if not estimate.suspects:
        return _about(f"{noise} No part stands out.")
    items: list[str] = []
    for one, second in zip(estimate.suspects, estimate.runners_up, strict=True):
        other = (
            f"Runner-up: {second.part.to_text()}, with a score of {second.score:.0f}; this has {one.score:.0f}."
            if second
            else f"No other part explains them; its score is {one.score:.0f}."
        )
        items.append(
            element(
                "li", element("b", text(one.part.to_text())), text(f": {one.to_text()}."), element("small", text(other))
            )
        )
    return _about(noise) + element("ol", *items, class_="blame")


def _curves(found: Reported) -> str:
    cards = [
        element(
            "div",
            element("h4", text(one.title)),
            element("p", text(one.unit)),
            size_chart(one),
            class_="chart-card",
            data_chart="size",
        )
        for one in found.curves[:MOST_CURVES]
    ]
    rest = len(found.curves) - len(cards)
    said = _about(f"{rest} more are left out: railweave bench report STORE#RUN shows one run.") if rest else ""
    return element("div", *cards, class_="charts") + said
