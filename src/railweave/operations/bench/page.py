"""The HTML page of a store of benchmark results."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import log2
from statistics import median
from typing import TYPE_CHECKING, Any

from railweave.operations.bench.comparing.estimate import Estimate, leaves_of, slowest_table
from railweave.operations.bench.comparing.rows import row_table
from railweave.operations.store.export import runs_table
from railweave.pages.charts import LINES, Axis, HeatCell, Line, card, heatmap, lines
from railweave.pages.palette import line_colors
from railweave.pages.shell import asset, element, html_page, json_for_script, section, text
from railweave.pages.terms import BENCHMARKS, glossary, tile
from railweave.prediction.simulation.grid import shown as shown_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.bench.comparing.curves import Curve
    from railweave.operations.bench.comparing.reported import StoreReport
    from railweave.operations.bench.comparing.rows import Pair
    from railweave.pages.table import Table


MOST_CELLS = 64
"""The largest number of rows with which a map of pairs is still readable.

The rows and columns of the map are NICs if there are at most this many, else servers, else leaves.
"""
CELL, LABEL = 14.0, 190.0
DARKEST = 0.5
"""The fraction of the usual rate at which a cell of the map has the strongest color. Lower rates have the same color."""

SCATTER = 2.0
"""The number of standard deviations below the usual rate at which a cell of the map begins to be colored."""

Ends = tuple[str, str]


def pair_map(pairs: Sequence[Pair], usual: float = 1.0, noise: float = 0.0) -> tuple[str, str]:
    """Return (map of pairs as SVG, sentence that explains its cells). Both are empty if no pair can be shown.

    ``usual`` is the rate of healthy pairs, and ``noise`` its standard deviation. Both are fractions of the expected rate.
    """
    rated = [pair for pair in pairs if pair.relative is not None]
    for kind, of in KINDS.items():
        ends = [(pair, of(pair)) for pair in rated]
        named = sorted({name for _, pair in ends if pair for name in pair})
        if named and (len(named) <= MOST_CELLS or kind == "leaf"):
            left_out = len(named) - MOST_CELLS
            if left_out > 0:
                named = _worst(ends, named)
            return _svg([end for end in ends if end[1]], named, usual, noise), _about_map(kind, max(left_out, 0))
    return "", ""


def _nics(pair: Pair) -> Ends | None:
    return (pair.src, pair.dst) if ":" in pair.src and ":" in pair.dst and len(pair.hosts) < 3 else None


def _servers(pair: Pair) -> Ends | None:
    first, *others = pair.hosts
    return None if len(others) > 1 else (first, others[-1] if others else first)


def _leaves(pair: Pair) -> Ends | None:
    leaves = sorted(leaves_of(pair))
    return (leaves[0], leaves[-1]) if leaves and not pair.servers else None


KINDS: dict[str, Callable[[Pair], Ends | None]] = {"NIC": _nics, "server": _servers, "leaf": _leaves}
"""The kinds of rows and columns that a map of pairs can have, each with the function that returns the names of a pair's two ends.

The first kind with at most ``MOST_CELLS`` names is used.
"""


def _worst(ends: Sequence[tuple[Pair, Ends | None]], named: Sequence[str]) -> list[str]:
    """Return the ``MOST_CELLS`` of ``named`` (NICs, servers or leaves) with the lowest median rates, sorted by name.

    ``ends`` holds (pair, names of its two ends or None if unknown) for each measured pair.
    """
    levels: dict[str, list[float]] = {name: [] for name in named}
    for pair, names in ends:
        for name in set(names or ()):
            levels[name].append(pair.relative or 0.0)
    return sorted(sorted(named, key=lambda name: median(levels[name]))[:MOST_CELLS])


def _about_map(kind: str, left_out: int) -> str:
    rest = f" The {left_out} leaves that are best are left out." if left_out else ""
    return (
        f"Each cell is the slowest of the pairs between two {'leaves' if kind == 'leaf' else kind + 's'}, of all colors and in both directions. "
        f"The stronger the color, the slower the pair is relative to its expected rate.{rest}"
    )


def _svg(ends: Sequence[tuple[Pair, Ends | None]], names: Sequence[str], usual: float, noise: float) -> str:
    place = {name: number_ for number_, name in enumerate(names)}
    cells: dict[tuple[int, int], list[float]] = {}
    failed: Counter[tuple[int, int]] = Counter()
    for pair, pair_names in ends:
        if pair_names is None or not all(name in place for name in pair_names):
            continue
        first, other = sorted(place[name] for name in pair_names)
        for key in {(first, other), (other, first)}:
            cells.setdefault(key, []).append((pair.relative or 0.0) / usual)
            failed[key] += pair.gbps == 0
    rows: list[tuple[str, list[HeatCell | None]]] = [(name, [None] * len(names)) for name in names]
    for (row, column), levels in sorted(cells.items()):
        level = min(levels)
        tooltip = f"{names[row]} and {names[column]}\n{level:.0%} of the usual, the slowest of {len(levels)}"
        tooltip += f", {failed[row, column]} with nothing" if failed[row, column] else ""
        rows[row][1][column] = HeatCell((1 - level - SCATTER * noise) / (1 - DARKEST), tooltip)
    return heatmap(rows, label="Rates of pairs, the slower the stronger", cell=CELL, left=LABEL, css="pairs")


def size_chart(curve: Curve) -> str:
    """Return a curve as a chart with its legend, in HTML. The latest run is a line with circles; the prediction is dashed, with its band."""
    places = [log2(size) for size in curve.sizes]
    names = [shown_value("size", str(size)) for size in curve.sizes]
    bands = [None if band is None else (band[1], band[2]) for band in curve.predicted]
    several = [
        Line(name, values, 2 + place % (LINES - 2), faint=True) for place, (name, values) in enumerate(curve.earlier)
    ]
    if any(bands):
        middles = [None if band is None else band[0] for band in curve.predicted]
        several.append(Line("predicted, with its band", middles, 1, bands))
    several.append(Line("latest run", curve.now, 0, dots=True))
    axis = Axis(places, "", names=names, first=places[0])
    return lines(axis, several[::-1], curve.unit, label=f"{curve.title}, by size", height=250.0)


MOST_ROWS = 300
"""The largest number of rows in a table of the page. The worst rows come first."""
MOST_CURVES = 24
MOST_DATA = 500
"""The largest number of rows of each comparison in the page's JSON data."""
PURPOSE = "This page compares measurements of a network with its predictions and with earlier measurements."


def bench_html(report: StoreReport) -> str:
    """Return the report as an HTML page."""
    bad = [row for row in report.predicted.rows if row.bad]
    worse = None if report.regressions is None else [row for row in report.regressions if row.bad]
    words = "nothing stands out" if report.good else "something is slow" if report.compared else "nothing is compared"
    verdict = element("span", words, class_="good" if report.good else "error")
    tiles = [(f"{len(report.runs):,}", "run" if len(report.runs) == 1 else "runs")]
    tiles += [(f"{len(report.pairs):,}", "pairs of NICs or servers")] if report.pairs else []
    tiles += (
        [(f"{len(bad):,} of {len(report.predicted.rows):,}", "worse than predicted")] if report.predicted.rows else []
    )
    tiles += (
        [(f"{len(worse):,} of {len(report.regressions or ()):,}", "worse than the baseline")]
        if worse is not None
        else []
    )
    header = [
        element("h1", text("Benchmarks"), " ", verdict),
        element("p", text(report.store), class_="description"),
        element("p", text(f"{PURPOSE} {_next(report)}"), class_="lead"),
        element("ul", *(tile(value, label) for value, label in tiles), class_="tiles"),
    ]
    sections: list[tuple[str, str, str]] = []
    if report.pairs:
        sections.append(("pairs", "Pairs of NICs and servers", _pairs(report)))
    if report.curves:
        sections.append(("sizes", "Bandwidth by size", _curves(report)))
    if report.predicted.rows:
        about = "A number is worse if it is below the range of its prediction by more than the tolerance, and better if it is above the range."
        sections.append(("predicted", "Beside the prediction", _about(about) + _long(report.predicted.table)))
    if report.regressions is not None:
        sections.append(
            (
                "regressions",
                "Beside the baseline",
                _about(_baseline(report)) + _long(row_table(report.regressions, "runs")),
            )
        )
    if report.completion:
        tables = [
            element("h3", text(f"{completion.model}: {completion.what}")) + completion.table.to_html()
            for completion in report.completion
        ]
        sections.append(("completion", "Job completion time", "".join(tables)))
    sections.append(
        ("runs", "Runs", _long(runs_table(report.runs[::-1])) if report.runs else _about("The store has no run."))
    )
    if report.notes:
        notes = element("ul", *(element("li", text(note)) for note in dict.fromkeys(report.notes)))
        sections.append(("notes", "Notes", notes))
    sections.append(("terms", "Terms", glossary(BENCHMARKS)))
    return html_page(
        "Benchmarks",
        [asset("charts.css"), asset("bench.css", "railweave.operations.bench"), line_colors()],
        header=header,
        links=[(name, title) for name, title, _ in sections],
        main=[section(name, title, "", content) for name, title, content in sections],
        footer="Made by railweave. The same store gives the same page.",
        scripts=[element("script", json_for_script(_data(report)), type="application/json", id="result")],
    )


def _data(report: StoreReport) -> dict[str, Any]:
    """Return the report as JSON data. Each comparison has at most ``MOST_DATA`` bad rows, and no good rows.

    Good rows are left out, because there may be thousands of them.
    """
    data = report.to_json()
    data["predicted"]["rows"] = [row.to_json() for row in report.predicted.rows if row.bad][:MOST_DATA]
    if report.regressions is not None:
        data["regressions"] = [row.to_json() for row in report.regressions if row.bad][:MOST_DATA]
    return data


def _next(report: StoreReport) -> str:
    """Return a sentence that tells the reader of the page what to do next, chosen by the results in ``report``."""
    estimate = report.predicted.estimate
    if estimate.suspects:
        return f"Next: look at {estimate.suspects[0].part.to_text()}, which explains the slow pairs best."
    if any(row.verdict == "failed" for row in report.predicted.rows):
        return "Next: find out why runs failed, with railweave bench triage on their output."
    if not report.compared:
        return "Next: compare these runs with earlier ones (--baseline) or with a prediction (--fabric); `railweave bench check` needs neither."
    if not report.good:
        return "Next: read the likely causes given for the rows that are worse."
    return "Next: keep the store as the baseline for later runs."


def _long(table: Table) -> str:
    """Return a table as HTML, with at most ``MOST_ROWS`` rows. A long table can be scrolled."""
    return replace(table.first(MOST_ROWS), scrolls=True).to_html()


def _about(words: str) -> str:
    return element("p", text(words), class_="about")


def _baseline(report: StoreReport) -> str:
    rows = report.regressions or ()
    few = sum(row.verdict == "too few repeats" for row in rows)
    explanation = (
        "A row is worse if its median is worse by more than the tolerance, and repeated runs show that this is not chance "
        "(a t-test over all rows together). "
    )
    return explanation + (
        f"{few} are worse but were run once on one of the two sides: repeat them to be sure." if few else ""
    )


def _pairs(report: StoreReport) -> str:
    estimate = report.predicted.estimate
    parts = [_blame(estimate)]
    picture, about = pair_map(report.pairs, estimate.usual, estimate.noise)
    if picture:
        parts.append(
            element(
                "div",
                element("h3", "Heat map of pairs"),
                element("p", text(about)),
                element("div", picture, class_="grid"),
                class_="chart-card whole",
            )
        )
    if report.slowest:
        parts += [element("h3", "The slowest of each kind"), _about(SLOWEST), slowest_table(report.slowest).to_html()]
    return "".join(parts)


SLOWEST = (
    "The median of all pairs that cross a part, as a fraction of their expected rate. A part may be slow here because its pairs also "
    "cross another part that is slow: the likely cause is named above."
)


def _blame(estimate: Estimate) -> str:
    """Return the suspected parts of the network in ``estimate`` as HTML, each with its runner-up (second-best explanation)."""
    if not estimate.pairs:
        return _about("No pair can be compared: nothing was predicted of them, and fewer than three are alike.")
    noise = f"{estimate.pairs:,} pairs get {estimate.usual:.0%} of what they should in the median, and scatter by {estimate.noise:.1%}."
    if not estimate.suspects:
        return _about(f"{noise} No part stands out.")
    items: list[str] = []
    for suspect, second in zip(estimate.suspects, estimate.runners_up, strict=True):
        other = (
            f"Runner-up: {second.part.to_text()}, with a score of {second.score:.0f}; this has {suspect.score:.0f}."
            if second
            else f"No other part explains them; its score is {suspect.score:.0f}."
        )
        items.append(
            element(
                "li",
                element("b", text(suspect.part.to_text())),
                text(f": {suspect.to_text()}."),
                element("small", text(other)),
            )
        )
    return _about(noise) + element("ol", *items, class_="blame")


def _curves(report: StoreReport) -> str:
    cards = [
        card(curve.title, f"{curve.unit}: the higher, the better.", size_chart(curve), name="size")
        for curve in report.curves[:MOST_CURVES]
    ]
    rest = len(report.curves) - len(cards)
    remark = _about(f"{rest} more are left out: railweave bench report STORE#RUN shows one run.") if rest else ""
    return element("div", *cards, class_="charts") + remark
