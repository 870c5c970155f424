"""A prediction as one HTML page: the question, the result, the reasons, and the behavior of the network.

Like the report of a network, the page loads nothing, and the same result gives the same page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.pages.charts import Axis, Bar, HeatCell, Line, bars, card, columns, heatmap, lines
from railweave.pages.charts import shown as figure
from railweave.pages.palette import line_colors
from railweave.pages.shell import asset, element, html_page, json_for_script, section, text
from railweave.pages.terms import PREDICTION, glossary, tile
from railweave.prediction.simulation.grid import shown
from railweave.prediction.simulation.job_run import steps_table
from railweave.prediction.simulation.reasons import reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.engines.measured import PacketCounts
    from railweave.prediction.simulation.job_run import JobPrediction, JobStep
    from railweave.prediction.simulation.prediction import Prediction


BUCKETS = 120
"""The largest number of columns in a chart. If a run has more intervals, several of them are combined into one column."""

TOP = 24
"""The number of busiest links that are shown one by one."""

QUEUES = 6
"""The number of deepest queues that are shown one by one."""

PERCENTILES = ((0, "slowest"), (10, "10th percentile"), (50, "median"), (90, "90th percentile"), (100, "fastest"))


@dataclass(frozen=True)
class Chart:
    """A chart with its HTML id, its title, and an explanation (``about``). ``markup`` is the drawing; an empty text means that there is none."""

    id: str
    title: str
    about: str
    markup: str


def run_charts(measured: PacketCounts, marks: Sequence[tuple[float, str]] = ()) -> tuple[list[Chart], list[str]]:
    """Return (the charts of a run, names of events that did not happen in the run, such as PFC pauses). Charts without data are left out.

    ``measured`` has the counters of the run. ``marks`` are events to mark in the charts: (time in us, event).
    """
    charts, nothing = _over_time(measured, marks)
    charts += [_by_link(measured), *_completion(measured)]
    charts.sort(key=lambda chart: chart.id in WIDE)  # charts that share a row come first
    return [chart for chart in charts if chart.markup], nothing


def absent(nothing: Sequence[str]) -> str:
    """Return a sentence that replaces empty charts: "None in this run:" and the names of ``nothing``, which has at least one name."""
    *others, last = nothing
    names = f"{', '.join(others)} and {last}" if others else last
    return f"None in this run: {names}."


def direction(measured: PacketCounts) -> NDArray[np.int64]:
    """Return the direction of each port: 0 server to leaf, 1 leaf to spine, 2 spine to leaf, 3 leaf to server.

    ``measured`` has the counters of the run.
    """
    wiring, nics = measured.wiring, len(measured.wiring.nics)
    ends = wiring.cables[wiring.port_cable, :2].astype(np.int64)
    owner = np.searchsorted(wiring.first_port, np.arange(len(ends)), side="right") - 1
    of_server = ends[:, 0] < nics
    is_near = ends[:, 0] == owner  # a cable's first end is that of the lower tier
    return np.where(of_server, np.where(is_near, 0, 3), np.where(is_near, 1, 2))


DIRECTIONS = ("servers to leaves", "leaves to spines", "spines to leaves", "leaves to servers")


def _link_name(links: dict[str, Any], port: int) -> str:
    """Return "SENDER:PORT → RECEIVER" for the link on which ``port`` sends. ``links`` has the columns of the table of ports."""
    near = next(end for end in links["link"][port].split("--") if f"{end}:".startswith(f"{links['from'][port]}:"))
    return f"{near} → {links['to'][port]}"


def _over_time(measured: PacketCounts, marks: Sequence[tuple[float, str]]) -> tuple[list[Chart], list[str]]:
    raw = measured.raw
    if raw is None or "ports" not in raw or not len(raw["ports"]["time_ps"]):
        return [], []
    ports = raw["ports"]
    intervals = int(-(-min(measured.time_ps, int(raw["end_ps"])) // measured.every_ps))
    per = max(1, -(-intervals // BUCKETS))
    count = -(-intervals // per)
    width_ps = per * measured.every_ps
    axis = Axis([(place + 1) * width_ps / 1e6 for place in range(count)], "us", marks)
    inside = ports["time_ps"] <= np.uint64(count * width_ps)
    time = ports["time_ps"][inside]
    bucket = ((time - np.uint64(1)) // np.uint64(width_ps)).astype(np.int64)
    port = ports["port"][inside].astype(np.int64)
    busy = np.zeros((len(measured.wiring.port_cable), count))
    np.add.at(busy, (port, bucket), ports["utilisation"][inside] / per)
    links = measured.links
    charts: list[Chart] = []
    nothing: list[str] = []
    of = direction(measured)
    mean = [
        Line(name, (busy[of == place].mean(axis=0) * 100).tolist())
        for place, name in enumerate(DIRECTIONS)
        if (of == place).any()
    ]
    about = "Mean over all links of a direction, percent of line rate."
    title = "Utilisation over time"
    charts.append(Chart("utilisation", title, about, lines(axis, mean, "%", label=title, most=100)))
    charts.append(_rates(measured, axis, per, count))
    order = np.argsort(-links["utilisation"], kind="stable")[:TOP].tolist()
    rows: list[tuple[str, list[HeatCell | None]]] = []
    for index in order:
        name = _link_name(links, index)
        cells = [
            HeatCell(value, f"{name}\n{figure(at)} us: {value:.1%}")
            for at, value in zip(axis.places, busy[index].tolist(), strict=True)
        ]
        rows.append((name, [*cells]))
    about = f"The {len(rows)} busiest of {len(busy):,} directions of links: the fuller the color, the fuller the link."
    title = "Busiest links over time"
    charts.append(Chart("heatmap", title, about, heatmap(rows, label=title, axis=axis)))
    queues = _queues(measured, axis, port, time, ports["queued_bytes"][inside], width_ps, links)
    charts += [queues] if queues.markup else []
    nothing += [] if queues.markup else ["waiting in queues"]
    by_name: dict[str, Any] = dict(ports)
    for name, column, title, about, unit in (
        ("ecn", "ecn_ce_packets", "ECN marks", "Packets marked by switches.", "packets"),
        ("pfc", "paused_ps", "PFC pauses", "Microseconds for which senders were paused, all ports together.", "us"),
        ("drops", "dropped_packets", "Dropped packets", "Packets dropped, for whatever reason.", "packets"),
    ):
        counted: NDArray[np.uint64] = by_name[column][inside]
        values = np.bincount(bucket, counted.astype(np.float64), count)
        values = values / 1e6 if name == "pfc" else values
        if values.any():
            charts.append(Chart(name, title, about, columns(axis, values.tolist(), unit, label=title)))
        else:
            nothing.append(title if title.startswith(("ECN", "PFC")) else title.lower())
    return charts, nothing


def _queues(
    measured: PacketCounts,
    axis: Axis,
    port: NDArray[np.int64],
    time: NDArray[np.uint64],
    queued: NDArray[np.uint64],
    width_ps: int,
    links: dict[str, Any],
) -> Chart:
    """Return the chart of the deepest queues of switch ports: the waiting bytes at the end of each interval of ``width_ps`` picoseconds.

    ``port``, ``time`` and ``queued`` have one value per measurement: the port, the time in ps, and the waiting bytes. ``axis`` is the time
    axis. ``measured`` has the counters of the run.
    """
    at_end = time % np.uint64(width_ps) == 0
    held = np.zeros((len(measured.wiring.port_cable), len(axis.places)))
    held[port[at_end], (time[at_end] // np.uint64(width_ps)).astype(np.int64) - 1] = queued[at_end] / 1e3
    deepest = [index for index in np.argsort(-held.max(axis=1), kind="stable")[:QUEUES].tolist() if held[index].any()]
    about = f"The {len(deepest)} deepest queues of switch ports, KB."
    if not deepest:
        return Chart("queues", "Queue depths", "", "")
    shown = [Line(f"{links['from'][index]} → {links['to'][index]}", held[index].tolist()) for index in deepest]
    return Chart("queues", "Queue depths", about, lines(axis, shown, "KB", label="Queue depths"))


def between(low: float, high: float) -> str:
    """Return two rates as text, such as ``12.0 to 15.5``, or as one number if both are equal when rounded."""
    first, last = f"{low:,.1f}", f"{high:,.1f}"
    return first if first == last else f"{first} to {last}"


def _rates(measured: PacketCounts, axis: Axis, per: int, count: int) -> Chart:
    """Return the chart of the job's queue pairs: percentiles of the rates that they delivered, and the range of rates that DCQCN allowed.

    The chart has ``count`` positions on its time ``axis``. Each combines ``per`` intervals of ``measured``.
    """
    raw = measured.raw
    if raw is None or "queue_pairs" not in raw:
        return Chart("rates", "", "", "")
    rows = raw["queue_pairs"]
    width_ps = per * measured.every_ps
    inside = (rows["time_ps"] <= np.uint64(count * width_ps)) & (rows["queue_pair"] < measured.own_pairs)
    bucket = ((rows["time_ps"][inside] - np.uint64(1)) // np.uint64(width_ps)).astype(np.int64)
    pair = rows["queue_pair"][inside].astype(np.int64)
    carried = np.zeros((measured.own_pairs, count))
    np.add.at(carried, (pair, bucket), rows["delivered_bytes"][inside] * 8e3 / width_ps)
    under_way = np.zeros((measured.own_pairs, count), np.bool_)
    under_way[pair, bucket] = True
    several: list[Line] = []
    for percent, name in PERCENTILES:
        values = [
            float(np.percentile(carried[:, place][under_way[:, place]], percent)) if under_way[:, place].any() else None
            for place in range(count)
        ]
        several.append(Line(name, values))
    allowed = rows["rate_mbps"][inside] / 1e3
    about = (
        f"What {measured.own_pairs:,} queue pairs delivered, Gb/s: percentiles over those with something under way. DCQCN allowed "
        f"{between(allowed.min(), allowed.max())} Gb/s."
        if len(allowed)
        else ""
    )
    title = "Rates of queue pairs"
    return Chart("rates", title, about, lines(axis, several, "Gb/s", label=title))


def _by_link(measured: PacketCounts) -> Chart:
    links = measured.links
    order = np.argsort(-links["utilisation"], kind="stable")[:TOP].tolist()
    counted = [name for name in ("ecn_ce_packets", "pfc_rx", "dropped_packets") if name in links]
    rows = [
        Bar(
            _link_name(links, index),
            float(links["utilisation"][index]),
            f"{links['utilisation'][index]:.1%}",
            "\n".join(
                [
                    f"{links['tx_bytes'][index]:,.0f} bytes at {links['rate_gbps'][index]:g}G",
                    *(f"{name}: {int(links[name][index]):,}" for name in counted),
                ]
            ),
        )
        for index in order
    ]
    of, busy = direction(measured), links["utilisation"]
    mean = "; ".join(
        f"{name} {busy[of == place].mean():.1%} (most {busy[of == place].max():.1%})"
        for place, name in enumerate(DIRECTIONS)
        if (of == place).any()
    )
    return Chart("links", "Utilisation by link", f"Over the whole collective. Means: {mean}.", bars(rows, most=1.0))


def _completion(measured: PacketCounts) -> list[Chart]:
    flows = measured.flows
    took = np.sort(flows["fct_us"][~np.isnan(flows["fct_us"])])
    if not len(took):
        return []
    places = np.unique(np.linspace(0, len(took) - 1, min(len(took), BUCKETS)).astype(np.int64))
    share = (places + 1) / len(flows["fct_us"]) * 100
    axis = Axis(took[places].tolist(), "us")
    late = len(flows["fct_us"]) - len(took)
    about = (
        f"Share of {len(flows['fct_us']):,} queue pairs that had delivered all by then: first {took[0]:,.1f} us, median "
        f"{np.median(took):,.1f}, last {took[-1]:,.1f}{f'; {late:,} never did' if late else ''}."
    )
    chart = lines(axis, [Line("finished", share.tolist())], "%", label="Flow completion", most=100)
    return [Chart("fct", "Flow completion", about, chart)]


MOST_RUNS = 8
"""The largest number of runs for which a page has charts: those with the longest times. The table lists all runs."""

MOST_ROWS = 500

WIDE = {"heatmap", "links"}
"""The charts that use the full width of the page."""


PURPOSE = (
    "This page predicts what a job gets from a designed network: how long its collectives take, what holds them back, and what the "
    "network's links and queues do meanwhile. Nothing was measured on hardware."
)


def document(title: str, header: str, sections: Sequence[str], data: object, links: Iterable[tuple[str, str]]) -> str:
    """Return a complete page. ``header`` and ``sections`` are markup.

    ``links`` has (id, title) of each section, for the navigation. ``data`` is embedded as JSON, for use by programs.
    """
    shown = [*links, ("terms", "Terms")]
    return html_page(
        title,
        [asset("charts.css"), line_colors()],
        header=[header],
        links=shown,
        main=[*sections, section("terms", "Terms", "", glossary(PREDICTION))],
        footer="Made by railweave. The same question gives the same page.",
        scripts=[element("script", json_for_script(data), type="application/json", id="result")],
    )


def prediction_html(network: Network, jobs: Sequence[JobPrediction]) -> str:
    """Return the page of a prediction. ``jobs`` has the prediction of one job, or one prediction for each size of a collective."""
    steps = [(job, run) for job in jobs for run in job.own_runs()]
    drawn = sorted(steps, key=lambda pair: -pair[1].prediction.time_ps)[:MOST_RUNS]
    drawn = [pair for pair in steps if any(pair[1] is job_step for _, job_step in drawn)]
    single = len(steps) == 1 and len(jobs[0].steps) == 1
    name = jobs[0].name or " and ".join(dict.fromkeys(job_step.step.collective for _, job_step in steps))
    complete = all(job.complete for job in jobs)
    verdict = element("span", "complete" if complete else "not complete", class_="good" if complete else "error")
    header = [element("h1", text(f"{network.name}: {name}"), " ", verdict)]
    first = steps[0][1].prediction
    header.append(element("p", f"{PURPOSE} {_next(complete)}", class_="lead"))
    if single:
        header.append(element("ul", *(tile(value, label) for value, label in tiles(first)), class_="tiles"))
    else:
        total = sum(job.time_ps for job in jobs) / 1e6
        computing = sum(job.compute_ps for job in jobs) / 1e6
        several = [
            (f"{total:,.1f} us", "job completion time" if len(jobs) == 1 else "of all"),
            (f"{computing:,.1f} us", "computing"),
        ]
        several.append((f"{sum(len(job.steps) for job in jobs):,}", "collectives"))
        header.append(element("ul", *(tile(value, label) for value, label in several), class_="tiles"))
    table = steps_table(job_step for job in jobs for job_step in job.steps).first(MOST_ROWS)
    sections = [] if single else [section("steps", "Collectives", "", table.to_html())]
    links = [] if single else [("steps", "Collectives")]
    for place, (job, job_step) in enumerate(drawn, 1):
        title = f"{job_step.step.collective} of {size(job_step.step.size)}" + (
            "" if single else f", from {job_step.at_ps / 1e6:,.1f} us on"
        )
        links.append((f"run{place}", title))
        sections.append(section(f"run{place}", title, "", run_section(job_step, job, with_tiles=not single)))
    notes = dict.fromkeys(note for _, job_step in steps for note in job_step.prediction.notes)
    sections.append(section("notes", "Assumed", "", element("ul", *(element("li", text(note)) for note in notes))))
    links.append(("notes", "Assumed"))
    values = [_without_flows(job.to_json()) for job in jobs]
    return document(f"{network.name}: {name}", "".join(header), sections, values, links)


def _next(complete: bool) -> str:
    """Return a sentence with the reader's next step. ``complete`` is True if every run was simulated to its end."""
    assumed = element("a", "Assumed", href="#notes")
    if not complete:
        return f"Next: it did not come to its end, so read first why, then what is {assumed}."
    return f"Next: read what limits it, in the list below the figures, and what is {assumed}; then compare other settings with railweave sim --compare."


def size(value: int) -> str:
    """Return a size in bytes in the notation of nccl-tests, such as ``16M``."""
    return shown("size", str(value))


def tiles(prediction: Prediction) -> list[tuple[str, str]]:
    """Return the main figures of a collective, such as time and bandwidth, as (value, label)."""
    shown = [
        (f"{prediction.bus_bandwidth_text} GB/s", "bus bandwidth"),
        (f"{prediction.time_ps / 1e6:,.1f} us" if prediction.complete else "never completes", "time"),
        (f"{prediction.algorithm}, {prediction.program.protocol}", f"{prediction.program.channels} channels"),
        (prediction.choice.engine, "engine"),
    ]
    if prediction.band is not None:
        shown.insert(
            0,
            (f"{prediction.band.low_ps / 1e6:,.1f} to {prediction.band.high_ps / 1e6:,.1f} us", "the time is between"),
        )
    for name, label in (("ecn_marked_packets", "marked"), ("pfc_pauses", "PFC pauses"), ("timeouts", "timeouts")):
        if prediction.counters is not None:
            shown.append((f"{prediction.counters[name]:,}", label))
    return shown


def run_section(job_step: JobStep, job: JobPrediction, *, with_tiles: bool) -> str:
    """Return the section of a run: the reasons for its time, and its charts. With ``with_tiles``, its main figures come first.

    ``job_step`` is the run, a step of the predicted ``job``.
    """
    prediction = job_step.prediction
    parts = (
        [element("ul", *(tile(value, label) for value, label in tiles(prediction)), class_="tiles")]
        if with_tiles
        else []
    )
    parts.append(element("ul", *(element("li", text(reason)) for reason in reasons(prediction)), class_="why-list"))
    if prediction.band is not None:
        parts.append(element("p", text(prediction.band.sentence()), class_="about", data_band=""))
    if prediction.steady is not None:
        until = f"Packets were run up to {prediction.steady.at_ps / 1e6:,.1f} us, when every round was alike: charts over time end there."
        parts.append(element("p", text(until), class_="about"))
    if prediction.measured is not None:
        marks = [((at - job_step.at_ps) / 1e6, event) for at, event in job.events if at >= job_step.at_ps]
        charts, nothing = run_charts(prediction.measured, marks)
        cards = [
            card(chart.title, chart.about, chart.markup, name=chart.id, whole=chart.id in WIDE) for chart in charts
        ]
        lacking = [element("p", text(absent(nothing)), class_="about")] if nothing else []
        parts += [*lacking, element("div", *cards, class_="charts")]
    return "".join(parts)


def _without_flows(value: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a result in the shorter form that the page embeds.

    It has no values of single queue pairs (which the page shows as a curve), no computing time, and only the first ``MOST_ROWS`` steps.
    """
    kept = {key: inner for key, inner in value.items() if key not in {"flows", "wall_s"}}
    if "steps" in kept:
        kept["steps"] = [_without_flows(step) for step in kept["steps"][:MOST_ROWS]]
    return kept
