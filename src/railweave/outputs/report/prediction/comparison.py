"""The comparison of variants as an HTML page, which shows the fastest variant and the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.report.prediction.page import absent, document, run_charts
from railweave.pages.charts import Axis, Bar, Line, Point, bars, card, lines, shown
from railweave.pages.shell import element, text
from railweave.pages.terms import tile
from railweave.prediction.simulation.compare import Comparison, longest_run
from railweave.prediction.simulation.grid import Grid, GridCell, words
from railweave.prediction.simulation.reasons import reasons

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.network.model import Network


UNITS = ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "bytes"))


def grid_html(network: Network, grid: Grid) -> str:
    """Return the page of a grid: predictions for all combinations of some settings' values.

    The page has line charts, a table of all predictions, and measured points if they were given.
    """
    title = f"{network.name}: {' and '.join(dimension.name for dimension in grid.dimensions)} compared"
    axis = f"over {grid.across.name}" + ("" if grid.by is None else f", a line for each {grid.by.name}")
    lead = f"This page shows what is predicted {axis}: {len(grid.cells)} predictions for one network. Nothing was measured by railweave."
    if grid.measured:
        lead += f" Circles are the {len(grid.measured)} measured points that were given."
    best = min(grid.cells, key=lambda candidate: (not candidate.answer.complete, -_bandwidth(candidate)))
    header = element("h1", text(title)) + element("p", text(lead), class_="lead")
    header += element(
        "ul",
        tile(f"{longest_run(best.answer).bus_bandwidth_text} GB/s", f"most bus bandwidth, at {words(best.values)}"),
        class_="tiles",
    )
    charts = element("div", *(_chart(grid, apart) for apart in grid.apart), class_="charts")
    sections = [
        element("section", element("h2", "Time"), _about(grid), charts, id="time"),
        element("section", element("h2", "All of them"), grid.table.to_html(), id="table"),
    ]
    value = grid.to_json()
    for cell in value["cells"]:
        del cell["result"]
    return document(title, header, sections, value, [("time", "Time"), ("table", "All of them")])


def _about(grid: Grid) -> str:
    if grid.across.name != "size":
        return ""
    note = (
        "Of each line the slope is given as bus bandwidth: what a larger size would add, without what every collective takes "
        "once. It is the straight line with the least squares through its points."
    )
    return element("p", note, class_="about")


def _chart(grid: Grid, apart: dict[str, str]) -> str:
    across = grid.across
    numbers = across.numbers or tuple(float(place) for place in range(1, len(across.values) + 1))
    unit, scale = across.name, 1.0
    if across.name == "size":
        power, unit = next(candidate for candidate in UNITS if max(numbers) >= 1 << candidate[0])
        scale = float(1 << power)
    places = sorted(number / scale for number in numbers)
    drawn: list[Line] = []
    points: list[Point] = []
    line_values: list[dict[str, str]] = [{}] if grid.by is None else [{grid.by.name: value} for value in grid.by.values]
    longest = max((cell.time_us for cell in grid.cells), default=0.0)
    factor, of_time = (1e3, "ms") if longest >= 10_000 else (1.0, "us")
    for number, fixed in enumerate(line_values):
        cells = sorted(grid.line({**apart, **fixed}), key=lambda candidate: _place(grid, candidate.values, numbers))
        fit = grid.fit({**apart, **fixed})
        slope = f", slope {fit.bus_gbytes:,.1f} GB/s" if fit else ""
        drawn.append(Line(words(fixed) + slope, [cell.time_us / factor for cell in cells]))
        for point in grid.points({**apart, **fixed}):
            if across.name in point.values and point.values[across.name] in across.values:
                x = _place(grid, point.values, numbers) / scale
                label = f"measured: {shown(point.time_us / factor)} {of_time}"
                points.append(Point(number, x, point.time_us / factor, label))
    heading = words(apart) or f"time over {across.name}"
    about = f"{of_time} over {across.name}{f' in {unit}' if scale > 1 else ''}: the lower, the better."
    axis = Axis(places, unit if across.numbers else "", names=() if across.numbers else across.values)
    return card(heading, about, lines(axis, drawn, of_time, label=heading, points=points), name="grid")


def _place(grid: Grid, values: Mapping[str, str], numbers: tuple[float, ...]) -> float:
    """Return the horizontal position of a prediction or of a measured point.

    ``values`` has, by setting, the value with which the prediction or measurement was made. ``grid`` is the comparison, and ``numbers`` has
    the position of each value on the axis.
    """
    value = values[grid.across.name]
    return numbers[grid.across.values.index(value)]


def _bandwidth(cell: GridCell) -> float:
    return longest_run(cell.answer).bus_bandwidth_gbytes


SHOWN = ("utilisation", "queues", "ecn", "pfc", "rates", "fct")
"""The ids of the charts that are shown side by side for all variants."""


def comparison_html(network: Network, comparison: Comparison) -> str:
    """Return the page of a comparison of variants.

    The page has bars and a table with the fastest variant first, then sentences on what limits each variant, then charts side by side.
    """
    ranked = comparison.ranked
    title = f"{network.name}: {comparison.name} compared"
    winner = comparison.winner
    badge = (
        [element("span", text(f"{winner.value} is fastest"), class_="good")]
        if winner and winner.answer.complete
        else []
    )
    header = element("h1", text(title), " ", *badge) + element(
        "p", text(f"{comparison.verdict()} {comparison.elsewhere}".strip()), class_="verdict"
    )
    purpose = (
        "This page compares predictions for one network; only what is named in the first column differs between them. "
        "Nothing was measured on hardware."
    )
    header += element("p", purpose, class_="lead")
    sections = [
        element(
            "section",
            element("h2", "Times, the shortest first"),
            _bars(comparison),
            comparison.table.to_html(),
            id="table",
        )
    ]
    because = [
        element("h3", text(candidate.value))
        + element(
            "ul", *(element("li", text(reason)) for reason in reasons(longest_run(candidate.answer))), class_="why-list"
        )
        for candidate in ranked
    ]
    sections.append(element("section", element("h2", "Why"), *because, id="why"))
    links = [("table", "Times"), ("why", "Why")]
    if drawn := _side_by_side(comparison):
        sections.append(element("section", element("h2", "Side by side"), drawn, id="charts"))
        links.append(("charts", "Side by side"))
    value = comparison.to_json()
    for variant in value["variants"]:
        del variant["result"]
    return document(title, header, sections, value, links)


def _bars(comparison: Comparison) -> str:
    """Return the bar charts of times and bandwidths as HTML, with the likely range of each value. Variants that never complete have no bar."""
    complete = [candidate for candidate in comparison.ranked if candidate.answer.complete]
    if not complete:
        return ""
    times: list[Bar] = []
    rates: list[Bar] = []
    for candidate in complete:
        run, time_us = longest_run(candidate.answer), candidate.answer.time_ps / 1e6
        low, high = (time_ps / 1e6 for time_ps in candidate.answer.between_ps)
        between = (low, high) if high > low else None
        reach = f"between {low:,.1f} and {high:,.1f} us" if between else "no range is known"
        best = candidate is comparison.winner
        times.append(Bar(candidate.value, time_us, f"{time_us:,.1f} us", reach, between=between, best=best))
        rate = run.bus_bandwidth_gbytes
        band = run.band
        spread = (
            (rate * run.time_ps / band.high_ps, rate * run.time_ps / band.low_ps)
            if band and band.high_ps > band.low_ps
            else None
        )
        rates.append(Bar(candidate.value, rate, f"{run.bus_bandwidth_text} GB/s", between=spread, best=best))
    explained = (
        "The line over the end of a bar is the range in which the real value probably lies, by the errors of predictions "
        "against published results."
        if any(bar.between for bar in times)
        else "No published result is like these, so no range is known."
    )
    return element(
        "div",
        card("Time", f"Smaller is better. {explained}", bars(times), name="time"),
        card("Bus bandwidth", "Larger is better. Of the collective that takes longest.", bars(rates), name="bandwidth"),
        class_="charts",
    )


def _side_by_side(comparison: Comparison) -> str:
    """Return the charts of all variants as HTML, one row for each kind of chart. A note names the events that did not occur in a variant."""
    cards: dict[str, list[str]] = {name: [] for name in SHOWN}
    lacking: dict[str, list[str]] = {}
    for candidate in comparison.ranked:
        measured = longest_run(candidate.answer).measured
        if measured is None:
            continue
        charts, nothing = run_charts(measured)
        for chart in charts:
            if chart.id in cards:
                cards[chart.id].append(
                    card(f"{candidate.value}: {chart.title}", chart.about, chart.markup, name=chart.id)
                )
        if nothing:
            lacking.setdefault(absent(nothing), []).append(candidate.value)
    sentences = [
        element("p", text(f"{', '.join(names)}: {sentence[0].lower()}{sentence[1:]}"), class_="about")
        for sentence, names in lacking.items()
    ]
    return "".join([*sentences, *(element("div", *several, class_="charts") for several in cards.values() if several)])
